/** Collects what its owners left behind, in the background, the foreground, or by letting it go. */
import { type Client, isConflict, isNotFound } from "@keelson/client";
import {
  type AnyKind,
  type Clock,
  groupKind,
  keyOf,
  type OwnerReference,
  type Random,
  type Stored,
} from "@keelson/core";
import { type Logger, type RawContext, WorkQueue } from "@keelson/runtime";
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
  readonly everything: EveryKind;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly event: RawContext["event"];
  readonly signal: AbortSignal;
}

const workers = 8;

export class Collector {
  readonly #options: CollectorOptions;
  readonly #graph = new OwnerGraph();
  readonly #queue: WorkQueue;
  #isRunning = false;

  constructor(options: CollectorOptions) {
    this.#options = options;
    this.#queue = new WorkQueue({ clock: options.clock, random: options.random, longestRetryMs: 30_000 });
    options.everything.onChange((kind, { type, object }) => {
      const look =
        type === "deleted"
          ? this.#graph.remove(object.metadata.uid)
          : this.#graph.put(vertexOf(kind, object));
      for (const uid of look) this.#queue.add(uid);
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

  async #work(): Promise<void> {
    for (;;) {
      const item = await this.#queue.take();
      if (!item) return;
      try {
        await this.#process(item.key);
        this.#queue.forget(item.key);
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

  async #process(uid: string): Promise<void> {
    const vertex = this.#graph.get(uid);
    if (!vertex) return;
    if (isOrphaning(vertex)) await this.#orphan(vertex);
    else if (isDeletingDependents(vertex)) await this.#deleteDependents(vertex);
    else if (!vertex.isDeleting && vertex.owners.length > 0) await this.#judge(vertex);
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

  async #judge(vertex: Vertex): Promise<void> {
    // Nearly always all owners are there, and nothing has to be asked.
    if (vertex.owners.every((reference) => this.#stateInGraph(vertex, reference) === "solid")) return;
    const live = await this.#read(vertex);
    if (!live || live.metadata.deletionTimestamp !== undefined) return;
    const references = live.metadata.ownerReferences ?? [];
    const owners: { reference: OwnerReference; state: OwnerState }[] = [];
    for (const reference of references)
      owners.push({ reference, state: await this.#stateOf(vertex, reference) });
    const dependents = this.#graph.dependentsOf(vertex.uid);
    const verdict = judge({
      owners,
      finalizers: live.metadata.finalizers ?? [],
      hasDependents: dependents.length > 0,
    });
    if (verdict.action === "disown") {
      await this.#change(vertex, (object) => withoutOwners(object, verdict.uids));
    } else if (verdict.action === "delete") {
      // A dependent that waits for us while our owner waits too is a circle: we no longer hold our owner up.
      if (verdict.propagation === "Foreground" && dependents.some(isDeletingDependents)) {
        await this.#change(vertex, unblocked);
      }
      await this.#options.client.kind(vertex.kind).delete(vertex, {
        uid: vertex.uid,
        propagation: verdict.propagation,
      });
    }
  }

  #stateInGraph(vertex: Vertex, { uid }: OwnerReference): OwnerState | undefined {
    const owner = this.#graph.get(uid);
    if (!owner) return undefined;
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
    if (elsewhere || (vertex.namespace === undefined && kind.scope === "Namespaced"))
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
