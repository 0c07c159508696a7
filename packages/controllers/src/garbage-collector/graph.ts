/** Who owns whom: every object with its owners, and for every owner its dependents. Pure memory, no I/O. */
import type { AnyKind, OwnerReference, Stored } from "@keelson/core";

export const foregroundFinalizer = "foregroundDeletion";
export const orphanFinalizer = "orphan";

/** What is known of an object. */
export interface Vertex {
  readonly kind: AnyKind;
  readonly apiVersion: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
  readonly owners: readonly OwnerReference[];
  readonly isDeleting: boolean;
  readonly finalizers: readonly string[];
}

export function vertexOf(kind: AnyKind, { apiVersion, metadata }: Stored): Vertex {
  return {
    kind,
    apiVersion,
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    owners: metadata.ownerReferences ?? [],
    isDeleting: metadata.deletionTimestamp !== undefined,
    finalizers: metadata.finalizers ?? [],
  };
}

/** In the foreground: the object stays until those that depend on it are gone. */
export function isDeletingDependents({
  isDeleting,
  finalizers,
}: Pick<Vertex, "isDeleting" | "finalizers">): boolean {
  return isDeleting && finalizers.includes(foregroundFinalizer);
}

export function isOrphaning({ isDeleting, finalizers }: Pick<Vertex, "isDeleting" | "finalizers">): boolean {
  return isDeleting && finalizers.includes(orphanFinalizer);
}

/** Whether deleting the owner in the foreground has to wait for the dependent. */
export function blocks(dependent: Vertex, ownerUid: string): boolean {
  return dependent.owners.some(
    ({ uid, blockOwnerDeletion }) => uid === ownerUid && blockOwnerDeletion === true,
  );
}

/** So many of those that are gone are remembered: their kind may be gone too, and then nobody can be asked. */
const rememberedGone = 1_000;

export class OwnerGraph {
  readonly #vertices = new Map<string, Vertex>();
  readonly #gone = new Set<string>();
  readonly #dependents = new Map<string, Set<string>>();

  get(uid: string): Vertex | undefined {
    return this.#vertices.get(uid);
  }

  /** Whether it was seen to go while others depended on it. UIDs never come back. */
  isGone(uid: string): boolean {
    return this.#gone.has(uid);
  }

  dependentsOf(uid: string): Vertex[] {
    const uids = this.#dependents.get(uid) ?? [];
    return [...uids].flatMap((dependent) => this.#vertices.get(dependent) ?? []);
  }

  /** Takes in an object as it is now. Returns the UIDs of those to look at. */
  put(vertex: Vertex): Set<string> {
    const before = this.#vertices.get(vertex.uid);
    const look = new Set<string>();
    this.#vertices.set(vertex.uid, vertex);
    for (const { uid } of before?.owners ?? []) this.#detach(uid, vertex.uid);
    for (const { uid } of vertex.owners) this.#attach(uid, vertex.uid);
    if (vertex.owners.length > 0 && !sameOwners(before, vertex)) look.add(vertex.uid);
    if (isDeletingDependents(vertex) || isOrphaning(vertex)) look.add(vertex.uid);
    // Dependents of one that began to wait for them are next; an owner that one no longer blocks may go.
    for (const { uid } of before?.owners ?? []) {
      const owner = this.#vertices.get(uid);
      if (owner && isDeletingDependents(owner)) look.add(uid);
    }
    return look;
  }

  /** The object is gone. Returns the UIDs of those to look at. */
  remove(uid: string): Set<string> {
    const look = new Set(this.#dependents.get(uid) ?? []);
    if (look.size > 0) this.#addTombstone(uid);
    for (const owner of this.#drop(uid)?.owners ?? []) {
      const still = this.#vertices.get(owner.uid);
      if (still && isDeletingDependents(still)) look.add(owner.uid);
    }
    return look;
  }

  /** Nothing is known any more of an object of this very kind and version; another version of it may be followed. */
  forget(uid: string, kind: AnyKind): void {
    if (this.#vertices.get(uid)?.kind === kind) this.#drop(uid);
  }

  uids(): Iterable<string> {
    return this.#vertices.keys();
  }

  #drop(uid: string): Vertex | undefined {
    const vertex = this.#vertices.get(uid);
    this.#vertices.delete(uid);
    for (const owner of vertex?.owners ?? []) this.#detach(owner.uid, uid);
    return vertex;
  }

  #addTombstone(uid: string): void {
    this.#gone.add(uid);
    if (this.#gone.size <= rememberedGone) return;
    for (const oldest of this.#gone) {
      this.#gone.delete(oldest);
      return;
    }
  }

  #attach(owner: string, dependent: string): void {
    const known = this.#dependents.get(owner);
    if (known) known.add(dependent);
    else this.#dependents.set(owner, new Set([dependent]));
  }

  #detach(owner: string, dependent: string): void {
    const known = this.#dependents.get(owner);
    known?.delete(dependent);
    if (known?.size === 0) this.#dependents.delete(owner);
  }
}

function sameOwners(before: Vertex | undefined, now: Vertex): boolean {
  return (
    before !== undefined &&
    before.owners.length === now.owners.length &&
    before.owners.every((owner, index) => {
      const { uid, kind, name } = now.owners[index] ?? {};
      return owner.uid === uid && owner.kind === kind && owner.name === name;
    })
  );
}
