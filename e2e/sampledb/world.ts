/** A cluster with the SampleDB operator installed, and everything that scenarios do to it. */
import { execFile as execFileWithCallback } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Client } from "@keelson/client";
import { isNotFound } from "@keelson/client";
import type { Fault, NodeHost } from "@keelson/node";
import {
  type RedisConnection,
  SampleDB,
  SampleDBBackup,
  type SampleDBObject,
} from "@keelson/sampledb-operator";
import {
  Deployment,
  Event,
  Namespace,
  Node,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  Secret,
  Service,
  StatefulSet,
  StorageClass,
} from "keelson/kinds";
import { type ControlPlaneName, startGround } from "../operator/control-plane.ts";
import { eventually } from "../operator/eventually.ts";
import { makeOperatorImages } from "../operator/images.ts";
import { Installation } from "../operator/installation.ts";
import { operatorImages, project } from "./images.ts";
import { type Binding, Load, logIn } from "./load.ts";

const execFile = promisify(execFileWithCallback);

/** A storage class whose volumes are full when they are full. */
const cappedClass = {
  metadata: { name: "capped" },
  provisioner: "keelson.dev/local",
  parameters: { capped: "true" },
  reclaimPolicy: "Delete" as const,
  volumeBindingMode: "WaitForFirstConsumer" as const,
};
export const cappedStorage = { size: "128Mi", className: cappedClass.metadata.name } as const;

interface Parts {
  readonly client: Client;
  readonly kubeconfig: string;
  readonly nodes: NodeHost;
  readonly socket: string;
}

export type Spec = Partial<SampleDBObject["spec"]>;

export class World implements AsyncDisposable {
  readonly client: Client;
  readonly operator: Installation;
  readonly kubeconfig: string;
  /** Of the databases. */
  readonly namespace: string;
  readonly #parts: Parts;
  readonly #nodes: NodeHost;
  readonly #socket: string;
  readonly #stack: AsyncDisposableStack;
  #loads = 0;

  private constructor(parts: Parts, namespace: string, stack: AsyncDisposableStack) {
    this.namespace = namespace;
    this.#parts = parts;
    this.client = parts.client;
    this.kubeconfig = parts.kubeconfig;
    this.operator = new Installation(parts.client, project);
    this.#nodes = parts.nodes;
    this.#socket = parts.socket;
    this.#stack = stack;
  }

  static async start(controlPlane: ControlPlaneName, say: (sentence: string) => void): Promise<World> {
    const stack = new AsyncDisposableStack();
    try {
      const { plane, nodes, dataDirectory } = await startGround(stack, { controlPlane, nodes: 3, say });
      await makeOperatorImages(project, operatorImages, say);
      const socket = join(dataDirectory, "sockets", "dial");
      const { client, kubeconfig } = plane;
      const world = new World({ client, kubeconfig, nodes, socket }, "default", stack);
      await client.kind(StorageClass).create(cappedClass);
      await world.operator.install(operatorImages[0]);
      return world;
    } catch (error) {
      await stack.disposeAsync();
      throw error;
    }
  }

  /** The same cluster, with databases in a namespace that is made for them. */
  async inNamespace(name: string): Promise<World> {
    await this.client.kind(Namespace).create({ metadata: { name } });
    return new World(this.#parts, name, new AsyncDisposableStack());
  }

  // ---------------------------------------------------------------------------------- databases

  async create(name: string, spec: Spec): Promise<void> {
    const whole = { version: "7.0", onDelete: "Delete" as const, ...spec };
    await this.client
      .kind(SampleDB)
      .create(SampleDB.object({ metadata: { namespace: this.namespace, name }, spec: whole }));
  }

  async get(name: string): Promise<SampleDBObject> {
    return await this.client.kind(SampleDB).get({ namespace: this.namespace, name });
  }

  async change(name: string, spec: object, annotations?: Record<string, string | null>): Promise<void> {
    const body = { spec, ...(annotations && { metadata: { annotations } }) };
    await this.client
      .kind(SampleDB)
      .patch({ namespace: this.namespace, name }, { type: "merge", body: body as never });
  }

  async isReady(name: string): Promise<boolean> {
    const { status, metadata } = await this.get(name);
    return (
      status?.observedGeneration === metadata.generation &&
      (status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false)
    );
  }

  async whenReady(name: string, withinMs: number): Promise<void> {
    await eventually(
      `${name} is ready`,
      withinMs,
      async () => await this.isReady(name),
      async () => await this.told(name),
    );
  }

  async told(name: string): Promise<string> {
    const { status } = await this.get(name);
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    return `${status?.phase}: ${ready?.reason}: ${ready?.message}`;
  }

  async remove(name: string, withinMs = 120_000): Promise<void> {
    await this.client
      .kind(SampleDB)
      .delete({ namespace: this.namespace, name })
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    await eventually(`${name} is gone`, withinMs, async () => (await this.find(name)) === undefined);
  }

  async find(name: string): Promise<SampleDBObject | undefined> {
    return await this.client.kind(SampleDB).find({ namespace: this.namespace, name });
  }

  async backup(name: string) {
    return await this.client.kind(SampleDBBackup).find({ namespace: this.namespace, name });
  }

  /** Takes a backup and waits until it is proven. */
  async takeBackup(name: string, database: string): Promise<void> {
    await this.client
      .kind(SampleDBBackup)
      .create(SampleDBBackup.object({ metadata: { namespace: this.namespace, name }, spec: { database } }));
    await eventually(`${name} is taken`, 180_000, async () => {
      const { status } = await this.client.kind(SampleDBBackup).get({ namespace: this.namespace, name });
      if (status?.phase === "Failed") throw new Error(status.failure?.message);
      return status?.phase === "Done";
    });
  }

  async password(name: string): Promise<string> {
    const secret = await this.client.kind(Secret).get({ namespace: this.namespace, name: `${name}-binding` });
    return Buffer.from(secret.data?.["password"] ?? "", "base64").toString();
  }

  async deleteSecret(name: string): Promise<void> {
    await this.client.kind(Secret).delete({ namespace: this.namespace, name });
  }

  async binding(name: string): Promise<Binding> {
    const { spec } = await this.client.kind(Service).get({ namespace: this.namespace, name });
    const { data = {} } = await this.client
      .kind(Secret)
      .get({ namespace: this.namespace, name: `${name}-binding` });
    const value = (key: string) => Buffer.from(data[key] ?? "", "base64").toString();
    const authority = value("ca.crt");
    return {
      ip: spec?.clusterIP ?? "",
      host: value("host"),
      password: value("password"),
      ...(authority === "" ? {} : { authority }),
    };
  }

  async logIn(binding: Binding, timeoutMs = 2_000): Promise<RedisConnection> {
    return await logIn(this.#socket, binding, timeoutMs);
  }

  async canLogIn(name: string, password: string): Promise<boolean> {
    try {
      await using redis = await this.logIn({ ...(await this.binding(name)), password });
      return (await redis.call(["PING"])) === "PONG";
    } catch (error) {
      if ((error as { code?: string }).code === "Denied") return false;
      throw error;
    }
  }

  /** Writes so many megabytes that do not compress, one in each key. */
  async fill(name: string, megabytes: number): Promise<void> {
    await using redis = await this.logIn(await this.binding(name), 30_000);
    for (let index = 0; index < megabytes; index++)
      await redis.call(["SET", `ballast/${index}`, randomBytes(1 << 20)]);
  }

  /** The names of the proven backups that a deleted database left: there should be one. */
  async lastSnapshots(name: string): Promise<string[]> {
    const { items } = await this.client.kind(SampleDBBackup).list({ namespace: this.namespace });
    return items
      .filter(({ metadata, status }) => metadata.name.startsWith(`${name}-final`) && status?.phase === "Done")
      .map(({ metadata }) => metadata.name);
  }

  /** Makes a database of the same name from the last snapshot, and resolves when it serves that. */
  async restoreLast(name: string, spec: Spec, withinMs = 300_000): Promise<void> {
    const [backup] = await this.lastSnapshots(name);
    if (backup === undefined) throw new Error(`${name} left no snapshot`);
    await this.create(name, {
      ...spec,
      onDelete: "Delete",
      restoreFrom: { backup, allowUnverified: false, request: "" },
    });
    await eventually(
      `${name} is restored`,
      withinMs,
      async () => (await this.get(name)).status?.restore?.phase === "Done" && (await this.isReady(name)),
      async () => await this.told(name),
    );
  }

  /** How many pods are not as the StatefulSet makes them now. */
  async outdated(name: string): Promise<number> {
    const key = "sampledb.keelson.dev/template";
    const set = await this.client.kind(StatefulSet).get({ namespace: this.namespace, name });
    const wanted = set.spec?.template?.metadata?.annotations?.[key];
    const { metadata, status } = await this.get(name);
    if (status?.observedGeneration !== metadata.generation) return 99;
    return (await this.pods(name)).filter((pod) => pod.metadata.annotations?.[key] !== wanted).length;
  }

  /** In any namespace: an event about a volume is in none of those that go. */
  async hasEvent(reason: string, about: string): Promise<boolean> {
    const { items } = await this.client.kind(Event).list();
    return items.some((event) => event.reason === reason && event.involvedObject?.name === about);
  }

  load(name: string, wait: number): Load {
    return new Load({
      socket: this.#socket,
      prefix: `load-${this.#loads++}`,
      wait,
      binding: async () => await this.binding(name),
    });
  }

  // ---------------------------------------------------------------------------------- pods and faults

  async pods(name: string) {
    const { items } = await this.client.kind(Pod).list({
      namespace: this.namespace,
      labels: `app.kubernetes.io/instance=${name},app.kubernetes.io/name=sampledb`,
    });
    return items;
  }

  async claims(name: string) {
    const { items } = await this.client
      .kind(PersistentVolumeClaim)
      .list({ namespace: this.namespace, labels: `app.kubernetes.io/instance=${name}` });
    return items;
  }

  async pod(name: string) {
    return await this.client.kind(Pod).find({ namespace: this.namespace, name });
  }

  async deletePod(name: string, gracePeriodSeconds?: number): Promise<void> {
    await this.client
      .kind(Pod)
      .delete(
        { namespace: this.namespace, name },
        gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds },
      );
  }

  async cordon(node: string, cordoned: boolean): Promise<void> {
    const body = { spec: { unschedulable: cordoned } };
    await this.client.kind(Node).patch({ name: node }, { type: "merge", body });
  }

  /** As a person does: cordons, and evicts every pod as soon as its disruption budgets allow that. */
  async drain(node: string): Promise<void> {
    const options = ["--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=60s"];
    try {
      await execFile("kubectl", ["--kubeconfig", this.kubeconfig, "drain", node, ...options]);
    } catch (error) {
      // Each attempt has its line; the last ones say what kubectl gave up on.
      const words = (error as { stderr?: string }).stderr?.trim().split("\n").at(-1) ?? String(error);
      throw new Error(`${node} could not be drained: ${words}; ${await this.#budgets()}`, { cause: error });
    }
  }

  async #budgets(): Promise<string> {
    const { items } = await this.client.kind(PodDisruptionBudget).list({ namespace: this.namespace });
    const told = items.map(({ metadata, status }) => {
      const {
        currentHealthy = 0,
        desiredHealthy = 0,
        disruptionsAllowed = 0,
        expectedPods = 0,
      } = status ?? {};
      return `${metadata.name} allows ${disruptionsAllowed}: ${currentHealthy} healthy of ${expectedPods} expected, ${desiredHealthy} wanted`;
    });
    return told.join("; ");
  }

  async operatorNode(): Promise<string | undefined> {
    return (await this.client.kind(Pod).get(await this.operator.pod())).spec?.nodeName;
  }

  /** Moves the operator to another node, where a fault will not meet it. */
  async deleteOperatorFrom(node: string): Promise<void> {
    await this.cordon(node, true);
    await this.client.kind(Pod).delete(await this.operator.pod());
    await eventually("the operator works elsewhere", 60_000, async () => {
      const { status } = await this.client
        .kind(Deployment)
        .get({ namespace: project.name, name: project.name });
      return status?.availableReplicas === 1 && (await this.operator.pods()).length === 1;
    });
    await this.cordon(node, false);
  }

  async inject(fault: Fault): Promise<void> {
    await this.#nodes.inject(fault);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
