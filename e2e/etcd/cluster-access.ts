/** The EtcdClusters of a namespace, as an administrator makes, changes and watches them. */
import type { Client } from "@keelson/client";
import { EtcdCluster, type EtcdClusterObject } from "@keelson/etcd-operator";
import type { ObjectOf } from "keelson";
import { PersistentVolumeClaim, Pod } from "keelson/kinds";
import { eventually } from "../operator/eventually.ts";

export const namespace = "default";

/** What a spec may say; the server fills in the rest. */
export type Wish = { readonly version: string; readonly [field: string]: unknown };

export class ClusterAccess {
  readonly client: Client;
  readonly namespace: string;

  constructor(client: Client, within = namespace) {
    this.client = client;
    this.namespace = within;
  }

  async create(name: string, spec: Wish): Promise<void> {
    await this.#clusters.create({ metadata: this.#ref(name), spec: spec as never });
  }

  async change(name: string, spec: object): Promise<void> {
    await this.#clusters.patch(this.#ref(name), { type: "merge", body: { spec } as never });
  }

  async annotate(name: string, annotations: Record<string, string>): Promise<void> {
    await this.#clusters.patch(this.#ref(name), { type: "merge", body: { metadata: { annotations } } });
  }

  async get(name: string): Promise<EtcdClusterObject> {
    return await this.#clusters.get(this.#ref(name));
  }

  async isGone(name: string): Promise<boolean> {
    return (await this.#clusters.find(this.#ref(name))) === undefined;
  }

  /** As the spec says, for its current generation, with so many members that serve. */
  async isReady(name: string, size: number): Promise<boolean> {
    const { status, metadata } = await this.get(name);
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    return (
      status !== undefined &&
      status.observedGeneration === metadata.generation &&
      ready?.status === "True" &&
      status.readyMembers === size &&
      // The status may be older than what was just done to a pod; the pods themselves are not.
      (await this.pods(name)).filter(isServing).length === size
    );
  }

  async whenReady(name: string, size: number, withinMs: number): Promise<void> {
    await eventually(
      `${name} has ${size} members`,
      withinMs,
      async () => await this.isReady(name, size),
      async () => await this.told(name),
    );
  }

  /** What the cluster says of itself, for messages. */
  async told(name: string): Promise<string> {
    const { status } = await this.get(name);
    const conditions = status?.conditions?.map(({ type, status: is, message }) => `${type}=${is} ${message}`);
    const { phase, members, tls } = status ?? {};
    return JSON.stringify({ phase, members, tls, conditions });
  }

  /** The cluster with its volumes. */
  async remove(name: string): Promise<void> {
    await this.change(name, { deletion: { volumes: "Remove" } });
    await this.#clusters.delete(this.#ref(name));
    await eventually(`${name} is gone`, 60_000, async () => await this.isGone(name));
  }

  /** Those of the members, not those that try something or take backups. */
  async pods(name: string): Promise<readonly ObjectOf<typeof Pod>[]> {
    return (await this.client.kind(Pod).list(this.#query(name))).items;
  }

  async claims(name: string): Promise<readonly ObjectOf<typeof PersistentVolumeClaim>[]> {
    return (await this.client.kind(PersistentVolumeClaim).list(this.#query(name))).items;
  }

  async pod(name: string): Promise<ObjectOf<typeof Pod> | undefined> {
    return await this.client.kind(Pod).find(this.#ref(name));
  }

  async deletePod(name: string): Promise<void> {
    await this.client.kind(Pod).delete(this.#ref(name));
  }

  /** One for every member; changes when a pod is recreated or its container restarts. */
  async incarnations(name: string): Promise<readonly string[]> {
    return (await this.pods(name))
      .map(({ metadata, status }) => `${metadata.uid}/${status?.containerStatuses?.[0]?.restartCount}`)
      .sort();
  }

  get #clusters() {
    return this.client.kind(EtcdCluster);
  }

  #ref(name: string): { namespace: string; name: string } {
    return { namespace: this.namespace, name };
  }

  #query(name: string) {
    return {
      namespace: this.namespace,
      labels: `app.kubernetes.io/name=etcd,app.kubernetes.io/instance=${name}`,
    };
  }
}

export function isServing({ metadata, status }: ObjectOf<typeof Pod>): boolean {
  const ready = status?.conditions?.some((each) => each.type === "Ready" && each.status === "True");
  return ready === true && metadata.deletionTimestamp === undefined;
}
