/** What is owned goes with its last owner: the garbage collector of a simulation, for the kinds it is told of. */
import type { ApiObject } from "@keelson/apiserver";
import { dynamicKind, type OwnerReference, parseApiVersion } from "@keelson/core";
import { type Later, type SimulationHost, unlessGone } from "./host.ts";

const collectMs = 200;
const foreground = "foregroundDeletion";
const orphan = "orphan";

export class SimulatedGarbageCollector {
  readonly #host: SimulationHost;
  readonly #later: Later;
  readonly #resources: readonly string[];
  #due = false;

  /** Resources are named as they are stored: `pods`, `policy/poddisruptionbudgets`. */
  constructor(host: SimulationHost, later: Later, resources: readonly string[]) {
    this.#host = host;
    this.#later = later;
    this.#resources = resources;
  }

  start(): () => void {
    const stops = this.#resources.map((resource) =>
      this.#host.stored.subscribe(resource, ({ type, object }) => {
        const finalizers = object.metadata.finalizers ?? [];
        const asks =
          object.metadata.deletionTimestamp !== undefined &&
          (finalizers.includes(foreground) || finalizers.includes(orphan));
        if (type === "DELETED" || asks) this.#collectLater();
      }),
    );
    return () => {
      for (const stop of stops) stop();
    };
  }

  #collectLater(): void {
    if (this.#due) return;
    this.#due = true;
    this.#later.after(collectMs, async () => {
      this.#due = false;
      await this.#collect();
    });
  }

  async #collect(): Promise<void> {
    const all = this.#resources.flatMap((resource) =>
      this.#host.stored.list(resource).map((object) => ({ resource, object })),
    );
    const byUid = new Map(all.map((each) => [each.object.metadata.uid, each.object]));
    for (const { resource, object } of all) {
      const { metadata } = object;
      const dependents = all.filter(({ object: other }) =>
        ownersOf(other).some(({ uid }) => uid === metadata.uid),
      );
      if (metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(orphan)) {
        for (const each of dependents)
          await this.#patch(each.resource, each.object, {
            ownerReferences: ownersWithout(each.object, new Set([metadata.uid ?? ""])),
          });
        await this.#patch(resource, object, { finalizers: without(object, orphan) });
      } else if (metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(foreground)) {
        const blocking = dependents.some(({ object: other }) =>
          ownersOf(other).some(
            ({ uid, blockOwnerDeletion }) => uid === metadata.uid && blockOwnerDeletion === true,
          ),
        );
        if (!blocking) await this.#patch(resource, object, { finalizers: without(object, foreground) });
      }
      await this.#judge(resource, object, byUid, dependents.length > 0);
    }
  }

  /** An object goes when no owner holds it any more. */
  async #judge(
    resource: string,
    object: ApiObject,
    byUid: ReadonlyMap<string | undefined, ApiObject>,
    hasDependents: boolean,
  ): Promise<void> {
    const owners = ownersOf(object);
    if (owners.length === 0 || object.metadata.deletionTimestamp !== undefined) return;
    const waits = ({ uid }: OwnerReference) => {
      const owner = byUid.get(uid);
      return (
        owner?.metadata.deletionTimestamp !== undefined && owner.metadata.finalizers?.includes(foreground)
      );
    };
    const gone = owners.filter((owner) => !byUid.has(owner.uid) && this.#knows(owner));
    const waiting = owners.filter((owner) => waits(owner));
    if (gone.length + waiting.length === 0) return;
    if (gone.length + waiting.length < owners.length) {
      const dropped = new Set([...gone, ...waiting].map(({ uid }) => uid));
      await this.#patch(resource, object, { ownerReferences: ownersWithout(object, dropped) });
      return;
    }
    const { name, namespace = "", uid = "" } = object.metadata;
    // Said in so many words: a Job that is deleted without it leaves its pods behind.
    const propagation = hasDependents && waiting.length > 0 ? "Foreground" : "Background";
    await unlessGone(this.#kind(resource, object).delete({ namespace, name }, { uid, propagation }));
  }

  /** An owner of a kind that we do not look at is taken to be there. */
  #knows({ apiVersion, kind }: OwnerReference): boolean {
    return this.#resources.some((resource) => {
      const { group } = parseApiVersion(apiVersion);
      const [own, plural = own] = resource.includes("/") ? resource.split("/") : ["", resource];
      return own === group && (plural ?? "").startsWith(kind.toLowerCase());
    });
  }

  async #patch(resource: string, object: ApiObject, metadata: object): Promise<void> {
    const { name, namespace = "", uid } = object.metadata;
    await unlessGone(
      this.#kind(resource, object).patch(
        { namespace, name },
        { type: "merge", body: { metadata: { uid, ...metadata } } as never },
      ),
    );
  }

  #kind(resource: string, { apiVersion, kind }: ApiObject) {
    const { group, version } = parseApiVersion(String(apiVersion));
    const plural = resource.slice(resource.indexOf("/") + 1);
    return this.#host.client.kind(
      dynamicKind({ group, version, kind: String(kind), resource: plural, scope: "Namespaced" }),
    );
  }
}

function without({ metadata }: ApiObject, finalizer: string): string[] {
  return (metadata.finalizers ?? []).filter((each) => each !== finalizer);
}

function ownersOf({ metadata }: ApiObject): readonly OwnerReference[] {
  return (metadata.ownerReferences ?? []) as unknown as OwnerReference[];
}

function ownersWithout(object: ApiObject, uids: ReadonlySet<string>): OwnerReference[] {
  return ownersOf(object).filter(({ uid }) => !uids.has(uid));
}
