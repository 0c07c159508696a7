/** A control plane, three nodes with real pods, the operator in it, one Database, and ways to break things. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Client } from "@keelson/client";
import { Database, type DatabaseObject, type PgRow } from "@keelson/database-operator";
import type { Fault, NodeHost } from "@keelson/node";
import type { ObjectOf } from "keelson";
import { Deployment, PersistentVolumeClaim, Pod, Secret, Service, StorageClass } from "keelson/kinds";
import { type ControlPlaneName, type Ground, startGround } from "../operator/control-plane.ts";
import { eventually } from "../operator/eventually.ts";
import { makeOperatorImages } from "../operator/images.ts";
import { Installation } from "../operator/installation.ts";
import { startBucket } from "./bucket.ts";
import { operatorImages, project } from "./images.ts";
import { Ledger, type Target } from "./ledger.ts";

export const namespace = "default";

export class World implements AsyncDisposable {
  readonly client: Client;
  readonly kubeconfig: string;
  readonly operator: Installation;
  readonly #stack: AsyncDisposableStack;
  readonly #nodes: NodeHost;
  readonly #serverPid: number;
  readonly #socket: string;
  #image = 0;
  /** Pods of PostgreSQL by namespace and name, as the API server last told. */
  readonly #pods = new Map<string, ObjectOf<typeof Pod>>();

  private constructor({ plane, nodes, dataDirectory }: Ground, stack: AsyncDisposableStack) {
    this.client = plane.client;
    this.kubeconfig = plane.kubeconfig;
    this.operator = new Installation(plane.client, project);
    this.#nodes = nodes;
    this.#serverPid = plane.pid;
    this.#socket = join(dataDirectory, "sockets", "dial");
    this.#stack = stack;
  }

  static async start(
    name: ControlPlaneName,
    say: (sentence: string) => void,
    { nodes = 3 }: { readonly nodes?: number } = {},
  ): Promise<World> {
    const stack = new AsyncDisposableStack();
    try {
      const ground = await startGround(stack, { controlPlane: name, nodes, say });
      await makeOperatorImages(project, operatorImages, say);
      const world = new World(ground, stack);
      await world.operator.install(operatorImages[0]);
      const watching = new AbortController();
      const watched = world.#watchPods(watching.signal);
      stack.defer(async () => {
        watching.abort();
        await watched;
      });
      return world;
    } catch (error) {
      await stack.disposeAsync();
      throw error;
    }
  }

  async create(name: string, spec: object): Promise<void> {
    if (JSON.stringify(spec).includes('"backups"')) await this.#makeStore();
    if (JSON.stringify(spec).includes('"capped"')) await this.#makeCappedClass();
    if (JSON.stringify(spec).includes('"s3"')) await startBucket(this.client, namespace, operatorImages[0]);
    await this.client.kind(Database).create({ metadata: { namespace, name }, spec: spec as never });
  }

  async get(name: string): Promise<DatabaseObject> {
    return await this.client.kind(Database).get({ namespace, name });
  }

  async annotate(name: string, annotations: { [key: string]: string | null }): Promise<void> {
    const body = { metadata: { annotations } };
    await this.client.kind(Database).patch({ namespace, name }, { type: "merge", body });
  }

  async change(name: string, spec: object): Promise<void> {
    await this.client.kind(Database).patch({ namespace, name }, { type: "merge", body: { spec } as never });
  }

  async whenReady(name: string, withinMs: number): Promise<void> {
    await eventually(
      `${name} is ready`,
      withinMs,
      async () => {
        const { status, spec, metadata } = await this.get(name);
        const is = (type: string) =>
          status?.conditions?.find((each) => each.type === type)?.status === "True";
        return (
          status?.observedGeneration === metadata.generation &&
          is("Ready") &&
          (is("Protected") || spec.durability === "async" || spec.instances === 1) &&
          status?.readyInstances === spec.instances &&
          this.instances(name).length === spec.instances
        );
      },
      async () => JSON.stringify((await this.get(name)).status),
    );
  }

  /** Where backups go; as many instances as want to mount it. */
  async #makeStore(): Promise<void> {
    const where = { namespace, name: "backups" };
    if (await this.client.kind(PersistentVolumeClaim).find(where)) return;
    await this.client.kind(PersistentVolumeClaim).create({
      metadata: where,
      spec: { accessModes: ["ReadWriteMany"], resources: { requests: { storage: "20Gi" } } },
    });
  }

  /** Volumes that can be full, and can grow. */
  async #makeCappedClass(): Promise<void> {
    if (await this.client.kind(StorageClass).find({ name: "capped" })) return;
    await this.client.kind(StorageClass).create({
      metadata: { name: "capped" },
      provisioner: "keelson.dev/local",
      reclaimPolicy: "Delete",
      volumeBindingMode: "Immediate",
      allowVolumeExpansion: true,
      parameters: { capped: "true" },
    });
  }

  async exists(name: string): Promise<boolean> {
    return (await this.client.kind(Database).find({ namespace, name })) !== undefined;
  }

  async delete(
    name: string,
    options: { readonly propagation: "Background" | "Foreground" | "Orphan" },
  ): Promise<void> {
    await this.client.kind(Database).delete({ namespace, name }, options);
  }

  /** Nothing more can be written to the instance's volume. */
  async fillDisk(instance: string): Promise<void> {
    await this.inject({ kind: "fillDisk", pod: { namespace, name: instance }, volume: "data" });
  }

  async remove(name: string): Promise<void> {
    await this.change(name, { onDelete: "Delete" });
    await this.client.kind(Database).delete({ namespace, name });
    await eventually(`${name} is gone`, 120_000, async () => {
      return (await this.client.kind(Database).find({ namespace, name })) === undefined;
    });
  }

  async primary(name: string): Promise<string> {
    const { status } = await this.get(name);
    if (status?.primary === undefined) throw new Error(`${name} has no primary`);
    return status.primary;
  }

  pod(name: string): ObjectOf<typeof Pod> | undefined {
    return this.#pods.get(`${namespace}/${name}`);
  }

  instances(name: string, within = namespace): { name: string; ip: string }[] {
    return [...this.#pods.values()].flatMap(({ metadata, status }) =>
      metadata.namespace === within &&
      metadata.labels?.["app.kubernetes.io/instance"] === name &&
      status?.podIP
        ? [{ name: metadata.name, ip: status.podIP }]
        : [],
    );
  }

  /** Clients that go through the Service, by its address. */
  async ledger(name: string, through?: "pooler"): Promise<Ledger> {
    const ledger = new Ledger(await this.target(name, { through }));
    await ledger.start();
    return ledger;
  }

  /** The password of its first role, as its binding says. */
  async password(name: string, within = namespace): Promise<string> {
    const { data } = await this.client.kind(Secret).get({ namespace: within, name: `${name}-app` });
    return Buffer.from(data?.["password"] ?? "", "base64").toString();
  }

  /** How clients reach a Database: by the address of its Service. */
  async target(
    name: string,
    {
      through,
      within = namespace,
    }: { readonly through?: "pooler" | undefined; readonly within?: string } = {},
  ): Promise<Target> {
    const at = through ? `${name}-${through}` : name;
    if (through) await this.#deployed(at);
    const service = await this.client.kind(Service).get({ namespace: within, name: at });
    return {
      host: service.spec?.clusterIP ?? "",
      instances: () => this.instances(name, within),
      password: await this.password(name, within),
      // A pooler holds clients back while primaryship changes: those that come through it are told to wait.
      patienceMs: through === "pooler" ? 5_000 : 1_500,
      socket: this.#socket,
    };
  }

  async #deployed(name: string): Promise<void> {
    const available = async () => {
      const { spec, status } = await this.client.kind(Deployment).get({ namespace, name });
      return (status?.availableReplicas ?? 0) === spec?.replicas;
    };
    await eventually(`${name} is available`, 60_000, available, async () => {
      const { items } = await this.client.kind(Pod).list({ namespace });
      const own = items.filter(({ metadata }) => metadata.name.startsWith(`${name}-`));
      return JSON.stringify(
        own.map(({ status }) => [status?.initContainerStatuses, status?.containerStatuses]),
      );
    });
  }

  /** One statement, on each instance. */
  async everywhere(name: string, text: string): Promise<PgRow[]> {
    const target = await this.target(name);
    const rows = await Promise.all(
      this.instances(name).map(async ({ ip }) => await new Ledger({ ...target, host: ip }).query(text)),
    );
    return rows.flat();
  }

  /** Resolves when a condition is False for this reason. */
  async says(name: string, type: string, reason: string): Promise<void> {
    await eventually(
      `${type} is False: ${reason}`,
      60_000,
      async () => {
        const condition = (await this.get(name)).status?.conditions?.find((each) => each.type === type);
        return condition?.status === "False" && condition.reason === reason;
      },
      async () => JSON.stringify((await this.get(name)).status?.conditions),
    );
  }

  async holds(name: string, type: string): Promise<boolean> {
    const condition = (await this.get(name)).status?.conditions?.find((each) => each.type === type);
    return condition?.status === "True";
  }

  async secret(name: string, values: { readonly [key: string]: string }): Promise<void> {
    const data = Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]);
    await this.client
      .kind(Secret)
      .apply(
        { metadata: { namespace, name }, type: "Opaque", data: Object.fromEntries(data) },
        { force: true },
      );
  }

  /** Whether a client gets in with this password. */
  async canLogIn(name: string, user: string, password: string): Promise<boolean> {
    const ledger = new Ledger({ ...(await this.target(name)), user, password });
    return await ledger.query("SELECT 1").then(
      () => true,
      () => false,
    );
  }

  /** One statement, through the Service. */
  async sql(name: string, text: string, options: { readonly timeoutMs?: number } = {}): Promise<PgRow[]> {
    const ledger = new Ledger(await this.target(name));
    return await ledger.query(text, options);
  }

  async inject(fault: Fault): Promise<void> {
    await this.#nodes.inject(fault);
  }

  async deletePod(name: string, options: { readonly force?: boolean } = {}): Promise<void> {
    await this.client
      .kind(Pod)
      .delete({ namespace, name }, options.force ? { gracePeriodSeconds: 0 } : undefined);
  }

  /** Some instance that is not the primary. */
  async replica(name: string): Promise<string> {
    const primary = await this.primary(name);
    const replica = this.instances(name).find((each) => each.name !== primary);
    if (!replica) throw new Error(`${name} has no replica`);
    return replica.name;
  }

  /** The data of an instance is gone, and its processes end. */
  async loseVolume(instance: string): Promise<void> {
    const claim = await this.client.kind(PersistentVolumeClaim).get({ namespace, name: instance });
    await this.inject({ kind: "loseVolume", volume: claim.spec?.volumeName ?? "" });
    await this.inject({ kind: "kill", pod: { namespace, name: instance } });
  }

  /** What the agent and PostgreSQL of an instance said since its container started. */
  async logOf(instance: string): Promise<string> {
    const args = ["--kubeconfig", this.kubeconfig, "logs", "--timestamps", instance, "-c", "postgres"];
    const { stdout } = await promisify(execFile)("kubectl", args, { maxBuffer: 1 << 28 });
    return stdout;
  }

  /** PostgreSQL ends without a word, and its agent lives on. Works without the API server. */
  async crashPostgres(instance: string, within = namespace): Promise<void> {
    const pid = postmasterOf(instance, within);
    if (pid === undefined) throw new Error(`no postmaster of ${within}/${instance} runs here`);
    process.kill(pid, "SIGKILL");
  }

  /** One for each instance; changes when its pod is made again or its container restarts. */
  incarnations(name: string): string[] {
    return this.instances(name)
      .map((each) => this.pod(each.name))
      .map((pod) => `${pod?.metadata.uid}/${pod?.status?.containerStatuses?.[0]?.restartCount}`)
      .sort();
  }

  /** To the other image. */
  async upgradeOperator(): Promise<void> {
    this.#image = 1 - this.#image;
    await this.operator.install(operatorImages[this.#image] ?? operatorImages[0]);
  }

  /** The API server is frozen, as if gone; the embedded one with its controllers. */
  stopApiServer(): void {
    process.kill(this.#serverPid, "SIGSTOP");
  }

  continueApiServer(): void {
    process.kill(this.#serverPid, "SIGCONT");
  }

  async #watchPods(signal: AbortSignal): Promise<void> {
    const labels = "app.kubernetes.io/name=postgresql";
    const events = this.client.kind(Pod).reflect({ labels, signal });
    try {
      for await (const event of events) {
        if (event.type === "restart") this.#pods.clear();
        if (event.type === "deleted") this.#pods.delete(keyOf(event.object));
        if (event.type === "item" || event.type === "added" || event.type === "modified") {
          this.#pods.set(keyOf(event.object), event.object);
        }
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

function keyOf({ metadata }: ObjectOf<typeof Pod>): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** The postmaster whose environment's agent is that of the instance, among the processes of this machine. */
function postmasterOf(instance: string, within: string): number | undefined {
  const read = (pid: string, file: string) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, "utf8");
    } catch {
      return "";
    }
  };
  const parentOf = (pid: string) => /^PPid:\s+(\d+)$/m.exec(read(pid, "status"))?.[1] ?? "0";
  const found = readdirSync("/proc").find(
    (pid) =>
      /^\d+$/.test(pid) &&
      /\/postgres\0-D\0/.test(read(pid, "cmdline")) &&
      [`"instance":"${instance}"`, `"namespace":"${within}"`].every((each) =>
        read(parentOf(pid), "environ").includes(each),
      ),
  );
  return found === undefined ? undefined : Number(found);
}
