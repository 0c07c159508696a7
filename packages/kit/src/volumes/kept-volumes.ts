/**
 * Volumes survive whatever happens to their claims: from the moment they are bound their reclaim policy is Retain. Only
 * when data was saved elsewhere, or nobody wants it, do they get back the policy that they had.
 */
import { isNotFound, type KindClient } from "@keelson/client";
import type { Event, PersistentVolume } from "@keelson/core/kinds";

/** Names of annotations on volumes, which belong to the operator's own API group. */
export interface VolumeAnnotations {
  /** The reclaim policy that the volume had before. */
  readonly reclaimPolicy: string;
  /** Whose data is on it, as `namespace/name`. */
  readonly dataOf: string;
}

/** Whose data is on a volume. */
export interface DataOwner {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** As a client for volumes, with the verbs that are needed. */
export type VolumeClient = Pick<KindClient<typeof PersistentVolume>, "get" | "patch">;
/** As a client for events. */
export type EventClient = Pick<KindClient<typeof Event>, "create">;

/**
 * Keeps and releases the volumes of one operator. Needs `get` and `patch` of PersistentVolumes, and `create` of Events.
 *
 * @example
 * const volumes = new KeptVolumes({ reclaimPolicy: "redis.example.com/reclaim-policy", dataOf: "redis.example.com/data-of" }, { component: "redis-operator" });
 * await volumes.keep(ctx.client.kind(PersistentVolume), "pvc-1", { kind: "Redis", namespace: "default", name: "cache", uid });
 */
export class KeptVolumes {
  readonly #annotations: VolumeAnnotations;
  readonly #component: string;

  constructor(annotations: VolumeAnnotations, options: { readonly component: string }) {
    this.#annotations = annotations;
    this.#component = options.component;
  }

  /** The volume stays when its claim goes. */
  async keep(client: VolumeClient, volume: string, owner: DataOwner): Promise<void> {
    const { dataOf, reclaimPolicy } = this.#annotations;
    const found = await client.get({ name: volume });
    const before = found.spec?.persistentVolumeReclaimPolicy ?? "Delete";
    if (before === "Retain" && found.metadata.annotations?.[dataOf] !== undefined) return;
    const body = {
      metadata: {
        uid: found.metadata.uid,
        annotations: { [reclaimPolicy]: before, [dataOf]: `${owner.namespace}/${owner.name}` },
      },
      spec: { persistentVolumeReclaimPolicy: "Retain" },
    };
    await client.patch({ name: volume }, { type: "merge", body: body as never });
  }

  /** Gives a volume back the policy that it had before; one that is gone or was never kept is left alone. */
  async release(client: VolumeClient, volume: string): Promise<void> {
    const { dataOf, reclaimPolicy } = this.#annotations;
    try {
      const found = await client.get({ name: volume });
      const before = found.metadata.annotations?.[reclaimPolicy];
      if (before === undefined) return;
      const body = {
        metadata: { uid: found.metadata.uid, annotations: { [reclaimPolicy]: null, [dataOf]: null } },
        spec: { persistentVolumeReclaimPolicy: before },
      };
      await client.patch({ name: volume }, { type: "merge", body: body as never });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Told on the volume itself, in a namespace that stays: that of the owner may be going. */
  async tell(
    client: EventClient,
    volume: string,
    { owner, why, nowMs }: { readonly owner: DataOwner; readonly why: string; readonly nowMs: number },
  ): Promise<void> {
    const at = new Date(nowMs).toISOString().replace(/\.\d{3}Z$/, "Z");
    const { kind, namespace, name, uid } = owner;
    try {
      await client.create({
        metadata: { namespace: "default", name: `${volume}.${uid.slice(0, 8)}.kept` },
        involvedObject: { apiVersion: "v1", kind: "PersistentVolume", name: volume, namespace: "default" },
        type: "Warning",
        reason: "VolumeKept",
        message: `the data of ${kind} ${namespace}/${name} is kept on this volume: ${why}`,
        source: { component: this.#component },
        firstTimestamp: at,
        lastTimestamp: at,
        count: 1,
      } as never);
    } catch (error) {
      if ((error as { code?: unknown }).code !== 409) throw error;
    }
  }
}
