/** Collects what its owners left behind, in the background, the foreground, or by letting it go. */
import { type Client, type DeleteOptions, isConflict, isNotFound } from "@keelson/client";
import {
  type AnyKind,
  type Clock,
  deepEqual,
  groupKind,
  keyOf,
  type OwnerReference,
  parseApiVersion,
  type Random,
  type Stored,
} from "@keelson/core";
import type { Logger } from "@keelson/runtime";
import { type RawContext, WorkQueue } from "@keelson/runtime/internal";
import type { EveryKind } from "../everything/every-kind.ts";
import { judge, type OwnerState } from "./decide.ts";
import {
  blocks,
  foregroundFinalizer,
  isDeletingDependents,
  isOrphaning,
  OwnerGraph,
  orphanFinalizer,
  type Vertex,
  vertexOf,
} from "./graph.ts";

export interface CollectorOptions {
  readonly client: Client;
  readonly everything: Pick<EveryKind, "onChange" | "find">;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly event: RawContext["event"];
  readonly signal: AbortSignal;
}

const workers = 8;
/**
 * What an owner leaves stays for this long. The collector sees its end in the server's own process, before it is on its way
 * to anybody else. An operator that hears of the child's end first makes the child again, for an owner that is gone.
 */
const noticeMs = 20;

export class Collector {
  readonly #options: CollectorOptions;
  readonly #graph = new OwnerGraph();
  readonly #queue: WorkQueue;
  #isRunning = false;

  constructor(options: CollectorOptions) {
    this.#options = options;
    this.#queue = new WorkQueue({ clock: options.clock, random: options.random, longestRetryMs: 30_000 });
    options.everything.onChange((kind, change) => {
      const { uid } = change.object.metadata;
      if (change.type === "forgotten") return this.#graph.forget(uid, kind);
      const before = change.previous?.metadata.uid;
      // After a gap in the watch, another object may stand under the same name.
      if (before !== undefined && before !== uid) this.#lookSoonAt(this.#graph.remove(before));
      if (change.type === "deleted") this.#lookSoonAt(this.#graph.remove(uid));
      else this.#lookAt(this.#graph.put(vertexOf(kind, change.object)));
    });
    options.signal.addEventListener("abort", () => this.#queue.close(), { once: true });
  }

  /** Begins once everything is known: an owner that is merely unread looks like one that is gone. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    for (let i = 0; i < workers; i++) void this.#work();
  }

  /** Looks at everything again, as when kinds appeared that references name. */
  lookAtAll(): void {
    for (const uid of this.#graph.uids()) this.#queue.add(uid, { priority: "background" });
  }

  #lookAt(uids: Iterable<string>): void {
    for (const uid of uids) this.#queue.add(uid);
  }

  /** After an owner has gone. */
  #lookSoonAt(uids: Iterable<string>): void {
    for (const uid of uids) this.#queue.schedule(uid, noticeMs);
  }

  async #work(): Promise<void> {
    for (;;) {
      const item = await this.#queue.take();
      if (!item) return;
      try {
        if ((await this.#process(item.key)) === "unseen") this.#queue.retry(item.key);
        else this.#queue.forget(item.key);
      } catch (error) {
        if (this.#options.signal.aborted) return;
        const retryInMs = this.#queue.retry(item.key);
        const level = isConflict(error) || isNotFound(error) ? "debug" : "warn";
        this.#options.log[level]("an object could not be collected and will be tried again", {
          object: this.#describe(item.key),
          retryInMs: Math.round(retryInMs),
          error,
        });
      } finally {
        this.#queue.finish(item.key);
      }
    }
  }

  #describe(uid: string): string {
    const vertex = this.#graph.get(uid);
    return vertex ? `${groupKind(vertex.kind)} ${keyOf(vertex)}` : uid;
  }

  async #process(uid: string): Promise<"unseen" | undefined> {
    const vertex = this.#graph.get(uid);
    if (!vertex) return undefined;
    if (isOrphaning(vertex)) await this.#orphan(vertex);
    else if (isDeletingDependents(vertex)) await this.#deleteDependents(vertex);
    else if (!vertex.isDeleting && vertex.owners.length > 0) return await this.#judge(vertex);
    return undefined;
  }

  /** Dependents that block go first; the object itself may go when none is left. */
  async #deleteDependents(vertex: Vertex): Promise<void> {
    const blocking = this.#graph
      .dependentsOf(vertex.uid)
      .filter((dependent) => blocks(dependent, vertex.uid));
    if (blocking.length === 0) {
      await this.#removeFinalizer(vertex, foregroundFinalizer);
    }
    for (const dependent of this.#graph.dependentsOf(vertex.uid)) {
      if (!isDeletingDependents(dependent)) this.#queue.add(dependent.uid);
    }
  }

  async #orphan(vertex: Vertex): Promise<void> {
    for (const dependent of this.#graph.dependentsOf(vertex.uid)) {
      await this.#change(dependent, (live) => withoutOwners(live, [vertex.uid]));
    }
    await this.#removeFinalizer(vertex, orphanFinalizer);
  }

  /**
   * `unseen` where an owner is there by the server's word and not in the graph yet: should it go before we see it, as in a
   * gap of the watch, nothing would bring this object back, so it is looked at again until we do.
   */
  async #judge(vertex: Vertex): Promise<"unseen" | undefined> {
    // Nearly always all owners are there, and nothing has to be asked.
    if (vertex.owners.every((reference) => this.#stateInGraph(vertex, reference) === "solid"))
      return undefined;
    const live = await this.#read(vertex);
    if (!live || live.metadata.deletionTimestamp !== undefined) return undefined;
    const references = live.metadata.ownerReferences ?? [];
    const owners: { reference: OwnerReference; state: OwnerState }[] = [];
    for (const reference of references)
      owners.push({ reference, state: await this.#stateOf(vertex, reference) });
    const dependents = this.#graph.dependentsOf(vertex.uid);
    const decision = judge({
      owners,
      finalizers: live.metadata.finalizers ?? [],
      hasDependents: dependents.length > 0,
    });
    if (decision.action === "disown") {
      await this.#change(vertex, (object) => withoutOwners(object, decision.uids));
    } else if (decision.action === "delete") {
      // A dependent that waits for us while our owner waits too is a circle: we no longer hold our owner up.
      if (decision.propagation === "Foreground" && dependents.some(isDeletingDependents)) {
        await this.#change(vertex, unblocked);
      }
      await this.#delete(vertex, live, decision.propagation);
      return undefined;
    }
    const unseen = owners.some(
      ({ reference, state }) => state === "solid" && !this.#stateInGraph(vertex, reference),
    );
    return unseen ? "unseen" : undefined;
  }

  /** Deletes it as it was judged: who adopted it meanwhile keeps it. Other changes, as to a pod's status, do not count. */
  async #delete(vertex: Vertex, judged: Stored, propagation: DeleteOptions["propagation"]): Promise<void> {
    let { resourceVersion } = judged.metadata;
    for (;;) {
      try {
        await this.#options.client
          .kind(vertex.kind)
          .delete(vertex, { uid: vertex.uid, resourceVersion, propagation });
        return;
      } catch (error) {
        if (!isConflict(error)) throw error;
        const live = await this.#read(vertex);
        if (!live || !deepEqual(live.metadata.ownerReferences, judged.metadata.ownerReferences)) throw error;
        if (live.metadata.resourceVersion === resourceVersion) throw error;
        resourceVersion = live.metadata.resourceVersion;
      }
    }
  }

  #stateInGraph(vertex: Vertex, reference: OwnerReference): OwnerState | undefined {
    if (this.#graph.isGone(reference.uid)) return "dangling";
    const owner = this.#graph.get(reference.uid);
    if (!owner || !isNamedBy(owner, reference)) return undefined;
    if (owner.namespace !== undefined && owner.namespace !== vertex.namespace) return undefined;
    return isDeletingDependents(owner) ? "waiting" : "solid";
  }

  /** Asks the server about an owner that the graph does not know, in the namespace where it must be. */
  async #stateOf(vertex: Vertex, reference: OwnerReference): Promise<OwnerState> {
    const known = this.#stateInGraph(vertex, reference);
    if (known) return known;
    const { client, everything } = this.#options;
    const elsewhere = this.#graph.get(reference.uid);
    const kind = everything.find(reference.apiVersion, reference.kind);
    if (!kind) return "unresolvable";
    const isElsewhere = elsewhere?.namespace !== undefined && elsewhere.namespace !== vertex.namespace;
    if (isElsewhere || (vertex.namespace === undefined && kind.scope === "Namespaced"))
      this.#refuse(vertex, reference);
    if (vertex.namespace === undefined && kind.scope === "Namespaced") return "unresolvable";
    const namespace = kind.scope === "Namespaced" ? vertex.namespace : undefined;
    const owner = (await client.kind(kind).find({ name: reference.name, namespace })) as Stored | undefined;
    if (owner?.metadata.uid !== reference.uid) return "dangling";
    return isDeletingDependents(vertexOf(kind, owner)) ? "waiting" : "solid";
  }

  #refuse(vertex: Vertex, { apiVersion, kind, name, uid }: OwnerReference): void {
    const namespace = vertex.namespace ?? "";
    const identity = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
    this.#options.event(
      {
        apiVersion: vertex.apiVersion,
        kind: vertex.kind.kind,
        metadata: { name: vertex.name, uid: vertex.uid, ...(namespace ? { namespace } : {}) },
      },
      "Warning",
      "OwnerRefInvalidNamespace",
      `ownerRef ${identity} does not exist in namespace "${namespace}"`,
    );
  }

  async #read(vertex: Vertex): Promise<Stored | undefined> {
    const object = (await this.#options.client.kind(vertex.kind).find(vertex)) as Stored | undefined;
    return object?.metadata.uid === vertex.uid ? object : undefined;
  }

  async #removeFinalizer(vertex: Vertex, finalizer: string): Promise<void> {
    await this.#change(vertex, ({ metadata }) =>
      metadata.finalizers?.includes(finalizer)
        ? { finalizers: metadata.finalizers.filter((each) => each !== finalizer) }
        : undefined,
    );
  }

  /** Changes metadata of the very object that was read; another change meanwhile is a conflict, tried again. */
  async #change(
    vertex: Vertex,
    change: (live: Stored) => Partial<Stored["metadata"]> | undefined,
  ): Promise<void> {
    const live = await this.#read(vertex);
    const next = live && change(live);
    if (!next) return;
    const metadata = { ...next, uid: vertex.uid, resourceVersion: live.metadata.resourceVersion };
    const kind: AnyKind = vertex.kind;
    try {
      await this.#options.client.kind(kind).patch(vertex, { type: "merge", body: { metadata } as never });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

/** A reference with the right UID and another's name or kind leads nowhere, whatever version it speaks. */
function isNamedBy(owner: Vertex, { apiVersion, kind, name }: OwnerReference): boolean {
  return (
    owner.name === name && owner.kind.kind === kind && owner.kind.group === parseApiVersion(apiVersion).group
  );
}

function withoutOwners(
  { metadata }: Stored,
  uids: readonly string[],
): { ownerReferences: OwnerReference[] } | undefined {
  const before = metadata.ownerReferences ?? [];
  const ownerReferences = before.filter(({ uid }) => !uids.includes(uid));
  return ownerReferences.length === before.length ? undefined : { ownerReferences };
}

function unblocked({ metadata }: Stored): { ownerReferences: OwnerReference[] } | undefined {
  const before = metadata.ownerReferences ?? [];
  if (!before.some(({ blockOwnerDeletion }) => blockOwnerDeletion)) return undefined;
  return { ownerReferences: before.map((reference) => ({ ...reference, blockOwnerDeletion: false })) };
}
