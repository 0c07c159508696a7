/**
 * The level below `controller()`: watches, keys and a function, and nothing else. No conditions are written, no
 * labels or owners are put on what it makes, nothing is adopted or pruned. The built-in controllers of the embedded
 * cluster are written with it.
 *
 * What it shares with `controller()`: shared caches that include our own writes, the queue with one worker per
 * key and backoff, no action before every cache is complete, leader election, metrics, the check of permissions.
 */
import type { KindClient } from "@keelson/client";
import {
  type AnyKind,
  type Clock,
  groupKind,
  type JsonObject,
  type ObjectOf,
  objectKey,
  type Random,
  type Stored,
} from "@keelson/core";
import type { IndexFunction } from "../cache/cache-indexes.ts";
import type { CacheScope, Change } from "../cache/informer.ts";
import type { CacheReader } from "../cache/object-cache.ts";
import type { Logger } from "../log/logger.ts";
import type { Cause, Connection, ConnectTarget, RunningControllers, ServerFacts } from "./context.ts";
import type { Backoff } from "./controller.ts";
import type { Writes } from "./declaration.ts";

/** How a kind is watched, and which keys its events lead to. */
export interface RawWatchOptions<K extends AnyKind> extends CacheScope {
  /** Ways to find objects in the cache: `cache.byIndex("node", "n1")`. Pure functions of the object. */
  readonly indexes?: Readonly<Record<string, IndexFunction<ObjectOf<K>>>>;
  /**
   * The keys that a change concerns. Default: the object's own `namespace/name`. `previous` is what was there
   * before: look at both when what you look at may change. Return nothing to only keep the cache.
   */
  readonly keys?: (change: Change<ObjectOf<K>>, caches: RawCaches) => Iterable<string>;
  /** Remembers which fields this controller owns, so that `ctx.apply` sends nothing for what is there. Default: false. */
  readonly applies?: boolean;
}

/** A kind that a raw controller watches. */
export interface RawWatch<K extends AnyKind = AnyKind> {
  readonly role: "watch";
  readonly kind: K;
  readonly options: RawWatchOptions<K>;
}

/** Follows a kind, or a part of it. */
export function watch<K extends AnyKind>(kind: K, options: RawWatchOptions<K> = {}): RawWatch<K> {
  return { role: "watch", kind, options };
}

/** Keeps a cache of a kind whose changes concern no key. */
export function cached<K extends AnyKind>(
  kind: K,
  options: Omit<RawWatchOptions<K>, "keys"> = {},
): RawWatch<K> {
  return { role: "watch", kind, options: { ...options, keys: () => [] } };
}

/** Maps a change to the controlling owner of this kind, before and after: `keys: controllerOf(ReplicaSet)`. */
export function controllerOf(owner: AnyKind): (change: Change) => Iterable<string> {
  return ({ object, previous }) => {
    const keys = new Set<string>();
    for (const each of [object, previous]) {
      const reference = each?.metadata.ownerReferences?.find((candidate) => candidate.controller);
      if (!each || reference?.kind !== owner.kind || !reference.apiVersion.startsWith(owner.group)) continue;
      keys.add(objectKey({ metadata: { namespace: each.metadata.namespace, name: reference.name } }));
    }
    return keys;
  };
}

/** Index function for the UID of the controlling owner. */
export function controllerUid(object: {
  metadata: { ownerReferences?: { uid: string; controller?: boolean }[] };
}): readonly string[] {
  const reference = object.metadata.ownerReferences?.find((candidate) => candidate.controller);
  return reference ? [reference.uid] : [];
}

export type RawWatches = Readonly<Record<string, RawWatch>>;

/** Caches by the name of their watch, for mappings. */
export type RawCaches = Readonly<Record<string, CacheReader<never>>>;

/** How an apply is sent, beyond what it says. */
export interface RawApplyOptions {
  /** Takes fields over from other managers. Default: true. */
  readonly force?: boolean;
}

/** What a raw controller is handed at each reconcile. */
export interface RawContext<W extends RawWatches = RawWatches> {
  /** What is followed, with our own writes on top. Complete before the first run. */
  readonly caches: { readonly [S in keyof W]: CacheReader<ObjectOf<W[S]["kind"]>> };
  /** All verbs on a kind; those that neither `watches` nor `writes` declare throw. Writes show in the caches at once. */
  kind<K extends AnyKind>(kind: K): KindClient<K>;
  /**
   * Applies a body to the kind of a watch that `applies`. Sends nothing when the cache shows that all of it is there and
   * ours, and puts back what others changed of it. Name a `metadata.uid` to apply to that very object.
   */
  apply(watch: keyof W & string, body: JsonObject, options?: RawApplyOptions): Promise<Stored>;
  /** Whether an apply of this body would change the object that the cache shows; the server is asked only where it cannot tell. */
  wouldChange(watch: keyof W & string, body: JsonObject): Promise<boolean>;
  /**
   * Follows a kind that became known only now, until the controller stops. The second call with a name answers with the
   * same cache. Resolves when it is complete.
   */
  follow<K extends AnyKind>(
    name: string,
    kind: K,
    options?: RawWatchOptions<K>,
  ): Promise<CacheReader<ObjectOf<K>>>;
  /** Opens a way to a pod or Service. */
  connect(target: ConnectTarget, port: number): Promise<Connection>;
  /** Records a Kubernetes event on an object; equal ones are aggregated. */
  event(
    regarding: {
      apiVersion: string;
      kind: string;
      metadata: { name: string; namespace?: string; uid: string };
    },
    type: "Normal" | "Warning",
    reason: string,
    message: string,
  ): void;
  /** Looks at the key again after this long, though nothing changed. The shortest wish wins. */
  recheck(afterMs: number): void;
  /** Controllers that this one starts and stops. The operator's role must hold what they need. */
  readonly controllers: RunningControllers;
  readonly server: ServerFacts;
  readonly causes: readonly Cause[];
  /** Failures in a row before this run. */
  readonly failures: number;
  readonly log: Logger;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/** A raw controller: what it watches, and how it reconciles a key. */
export interface RawDefinition<W extends RawWatches> {
  /** Names the controller in metrics and logs, and its field manager. */
  readonly name: string;
  readonly watches: W;
  readonly writes?: Writes;
  /** Signs its writes. Default: `keelson-<name>`. */
  readonly fieldManager?: string;
  /** Default: 4. */
  readonly concurrency?: number;
  /** Default: 5 minutes. */
  readonly timeoutMs?: number;
  /** Looks at every key of the first watch this often. Default: never. */
  readonly resyncMs?: number;
  /** How long a key whose reconcile threw waits before it is tried again. */
  readonly backoff?: Backoff;
  /** Slows a key down that comes again and again, because what it writes calls it. Default: false. */
  readonly calms?: boolean;
  /** Runs for a key, also when no object of that key exists any more. A throw is retried with backoff. */
  readonly reconcile: (key: string, ctx: RawContext<W>) => Promise<void>;
}

/** A controller without a resource of its own: it reconciles keys of any kind. */
export interface RawController {
  readonly role: "raw";
  readonly name: string;
  readonly fieldManager: string;
  readonly watches: RawWatches;
  readonly writes: Writes;
  readonly options: {
    readonly concurrency: number;
    readonly timeoutMs: number;
    readonly resyncMs?: number;
    readonly backoff: Backoff;
    readonly calms: boolean;
  };
  readonly reconcile: (key: string, ctx: RawContext) => Promise<void>;
}

/** Makes a raw controller. It does nothing until an operator runs it. */
export function rawController<const W extends RawWatches>(definition: RawDefinition<W>): RawController {
  return Object.freeze({
    role: "raw",
    name: definition.name,
    fieldManager: definition.fieldManager ?? `keelson-${definition.name}`,
    watches: definition.watches,
    writes: definition.writes ?? [],
    options: {
      concurrency: definition.concurrency ?? 4,
      timeoutMs: definition.timeoutMs ?? 300_000,
      backoff: definition.backoff ?? {},
      calms: definition.calms ?? false,
      ...(definition.resyncMs === undefined ? {} : { resyncMs: definition.resyncMs }),
    },
    reconcile: definition.reconcile as RawController["reconcile"],
  });
}

/** A cause for each key that a change concerns. */
export function causeOf(kind: AnyKind, change: Change, own: boolean): Cause {
  return {
    type: own
      ? change.type === "added"
        ? "created"
        : change.type === "deleted"
          ? "deleted"
          : "changed"
      : "read",
    kind: groupKind(kind),
    key: change.key,
    resourceVersion: change.resourceVersion,
  };
}
