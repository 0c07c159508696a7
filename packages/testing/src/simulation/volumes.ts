/** Claims become volumes: bound, grown, kept while a pod uses them, gone with their claim. */
import type { EventType } from "@keelson/apiserver";
import type { ObjectOf } from "@keelson/core";
import { PersistentVolumeClaim } from "@keelson/core/kinds";
import { type Later, type SimulationHost, unlessGone } from "./host.ts";
import type { SimulatedVolume } from "./process.ts";

type ClaimObject = ObjectOf<typeof PersistentVolumeClaim>;

const bindMs = 100;

/** Volumes of simulated pods: what is written to them survives the pod. */
export class SimulatedVolumes {
  /** By the uid of the claim. */
  readonly all = new Map<string, SimulatedVolume>();
  /** Storage classes for which no volume comes; the empty name is the default class. */
  readonly stuckClasses = new Set<string>();
  readonly #host: SimulationHost;
  readonly #later: Later;
  /** Whether a pod uses the claim. */
  isUsed: (namespace: string, name: string) => boolean = () => false;
  /** A pod that waited for a volume may start now. */
  onBound: () => void = () => {};

  constructor(host: SimulationHost, later: Later) {
    this.#host = host;
    this.#later = later;
  }

  start(): () => void {
    const { stored } = this.#host;
    for (const claim of stored.list("persistentvolumeclaims"))
      this.#changed("ADDED", claim as unknown as ClaimObject);
    return stored.subscribe("persistentvolumeclaims", ({ type, object }) =>
      this.#changed(type, object as unknown as ClaimObject),
    );
  }

  /** The volume behind a claim, once it is bound. */
  of(namespace: string, name: string): SimulatedVolume | undefined {
    const claim = this.claim(namespace, name);
    return claim?.status?.phase === "Bound" ? this.all.get(claim.metadata.uid) : undefined;
  }

  claim(namespace: string, name: string): ClaimObject | undefined {
    return this.#host.stored.get("persistentvolumeclaims", name, namespace) as unknown as
      | ClaimObject
      | undefined;
  }

  /** Whether several nodes may have the volume at once. */
  isShared(namespace: string, name: string): boolean {
    return this.claim(namespace, name)?.spec?.accessModes?.includes("ReadWriteMany") === true;
  }

  /** No volume is made for claims of a class until it ends. */
  stick(className: string): () => void {
    this.stuckClasses.add(className);
    return () => {
      this.stuckClasses.delete(className);
      for (const claim of this.#host.stored.list("persistentvolumeclaims"))
        this.#bindLater(claim as unknown as ClaimObject);
    };
  }

  /** The volume is gone and its claim says so. */
  async lose(namespace: string, name: string): Promise<void> {
    const claim = this.claim(namespace, name);
    if (!claim) return;
    delete this.all.get(claim.metadata.uid)?.data;
    await this.#report(claim, { phase: "Lost" });
  }

  /** A pod starts with the volume: its file system takes what the volume has grown to. */
  async mounted(namespace: string, name: string): Promise<void> {
    const claim = this.claim(namespace, name);
    if (claim) await this.#grow(claim, true);
  }

  /** A pod has gone. */
  released(): void {
    for (const claim of this.#host.stored.list("persistentvolumeclaims"))
      this.#release(claim as unknown as ClaimObject);
  }

  #changed(type: EventType, claim: ClaimObject): void {
    const { uid } = claim.metadata;
    if (type === "DELETED") {
      this.all.delete(uid);
      return;
    }
    if (!this.all.has(uid)) this.all.set(uid, {});
    if (claim.metadata.deletionTimestamp !== undefined) this.#later.after(0, () => this.#release(claim));
    if (claim.status?.phase === "Bound") this.#later.after(0, async () => await this.#grow(claim, false));
    else this.#bindLater(claim);
  }

  #bindLater({ metadata, status, spec }: ClaimObject): void {
    if ((status?.phase ?? "Pending") !== "Pending" || this.stuckClasses.has(spec?.storageClassName ?? ""))
      return;
    this.#later.after(bindMs, async () => {
      const now = this.claim(metadata.namespace ?? "", metadata.name);
      if (now?.metadata.uid !== metadata.uid || now.status?.phase === "Bound") return;
      if (this.stuckClasses.has(now.spec?.storageClassName ?? "")) return;
      const capacity = { storage: now.spec?.resources?.requests?.["storage"] };
      await this.#report(now, { phase: "Bound", capacity });
      this.onBound();
    });
  }

  /** A volume grows at once, its file system when a pod starts with it. */
  async #grow(claim: ClaimObject, started: boolean): Promise<void> {
    const { spec, status } = claim;
    const size = spec?.resources?.requests?.["storage"];
    const pending = status?.conditions?.some(({ type }) => type === "FileSystemResizePending");
    if (status?.capacity?.["storage"] === size || (pending && !started)) return;
    const volume = this.all.get(claim.metadata.uid);
    if (started && volume) volume.full = false;
    const condition = { type: "FileSystemResizePending", status: "True" };
    await this.#report(
      claim,
      started ? { capacity: { storage: size }, conditions: [] } : { conditions: [condition] },
    );
  }

  /** A claim that is deleted goes when no pod uses it any more. */
  #release({ metadata }: ClaimObject): void {
    const { uid, name, namespace = "", deletionTimestamp, finalizers = [] } = metadata;
    if (deletionTimestamp === undefined || finalizers.length === 0 || this.isUsed(namespace, name)) return;
    const body = { metadata: { uid, finalizers: [] } };
    void unlessGone(
      this.#host.client.kind(PersistentVolumeClaim).patch({ namespace, name }, { type: "merge", body }),
    );
  }

  async #report({ metadata }: ClaimObject, status: object): Promise<void> {
    const { uid, name, namespace = "" } = metadata;
    await unlessGone(
      this.#host.client
        .kind(PersistentVolumeClaim)
        .subresource("status")
        .patch({ namespace, name }, { type: "merge", body: { metadata: { uid }, status } as never }),
    );
  }
}
