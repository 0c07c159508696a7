/** Keeps a cache of one kind in step with the server, and tells who cares what changed. */
import { type Client, ReceivedObject, type ReflectEvent, type Reflection } from "@keelson/client";
import {
  type AnyKind,
  type Clock,
  groupKind,
  matchesLabels,
  type ObjectOf,
  objectKey,
  parseKey,
  parseLabelSelector,
  type Stored,
} from "@keelson/core";
import type { Logger } from "../log/logger.ts";
import type { IndexFunction } from "./cache-indexes.ts";
import { type CacheReader, ObjectCache } from "./object-cache.ts";
import type { Observation } from "./observation.ts";

/** What part of a kind a cache follows. */
export interface CacheScope {
  /** All namespaces when absent. */
  readonly namespace?: string;
  readonly labels?: string;
  readonly fields?: string;
  /** Objects come without spec and status. */
  readonly metadataOnly?: boolean;
}

/** Objects are parsed at the first look: a handler that needs the key alone costs little in a large cache. */
export interface Change<T = Stored> {
  readonly type: "added" | "modified" | "deleted";
  /** `namespace/name`. */
  readonly key: string;
  readonly resourceVersion: string;
  readonly object: T;
  /** What the cache held before; absent when it held nothing. */
  readonly previous: T | undefined;
  /** Part of the first read of the whole state. */
  readonly initial: boolean;
}

export type ChangeHandler<T = Stored> = (change: Change<T>) => void;

/** Whether an informer is synchronized and hears from the server. */
export interface InformerHealth {
  readonly synced: boolean;
  /** Cut off from the server since, by the monotonic clock; undefined while it answers. */
  readonly interruptedSinceMs: number | undefined;
  readonly lastError: Error | undefined;
  readonly objects: number;
  readonly resourceVersion: string;
}

/** What an informer watches, and how. */
export interface InformerOptions<K extends AnyKind = AnyKind> {
  readonly client: Client;
  readonly kind: K;
  readonly scope?: CacheScope;
  readonly clock: Clock;
  readonly log?: Logger;
  /** Remembers which fields this manager owns; see `ObjectCache.ownedFields`. */
  readonly fieldManager?: string;
  /** Told when the cache was complete and cannot follow its kind any more. */
  readonly onLost?: (error: Error) => void;
}

/** A list and watch that never ends, behind a cache that includes our own writes. */
export class Informer<K extends AnyKind = AnyKind> {
  readonly kind: K;
  readonly scope: CacheScope;
  readonly cache: ObjectCache<ObjectOf<K> & Stored>;
  readonly #options: InformerOptions<K>;
  readonly #handlers = new Set<ChangeHandler<ObjectOf<K> & Stored>>();
  readonly #stop = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  #isSynced = false;
  #interruptedSince: number | undefined;
  #lastError: Error | undefined;
  #running: Promise<void> | undefined;
  /** Live reads under way of objects in doubt. */
  readonly #settling = new Map<string, Promise<void>>();

  constructor(options: InformerOptions<K>) {
    this.#options = options;
    this.kind = options.kind;
    this.scope = options.scope ?? {};
    const { labels, namespace, fields } = this.scope;
    const selector = labels === undefined ? undefined : parseLabelSelector(labels);
    this.cache = new ObjectCache({
      name: groupKind(options.kind),
      ...(options.fieldManager === undefined ? {} : { fieldManager: options.fieldManager }),
      accepts: (object) =>
        (namespace === undefined || object.metadata.namespace === namespace) &&
        (selector === undefined || matchesLabels(selector, object.metadata.labels)) &&
        // Fields are the server's to judge: such a cache takes our writes only for what it holds already.
        (fields === undefined || this.cache.uidOf(objectKey(object)) !== undefined),
      onIndexError: (index, key, error) =>
        options.log?.warn("an index function failed; the object is not found by it", { index, key, error }),
    });
    // Nobody may ask: an informer that is stopped before it has synced must not end the process.
    this.#synced.promise.catch(() => {});
  }

  get reader(): CacheReader<ObjectOf<K>> {
    return this.cache;
  }

  get synced(): boolean {
    return this.#isSynced;
  }

  get health(): InformerHealth {
    return {
      synced: this.#isSynced,
      interruptedSinceMs: this.#interruptedSince,
      lastError: this.#lastError,
      objects: this.cache.size,
      resourceVersion: this.cache.version,
    };
  }

  addIndex(name: string, of: IndexFunction<ObjectOf<K>>): void {
    this.cache.addIndex(name, of);
  }

  /** Handlers are called in order of arrival, synchronously; they must be quick. */
  onChange(handler: ChangeHandler<ObjectOf<K>>): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  /** Resolves when the whole state has been read once; rejects when that became impossible. */
  whenSynced(): Promise<void> {
    return this.#synced.promise;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#synced.reject(new Error(`the informer of ${groupKind(this.kind)} was stopped`));
    await this.#running;
  }

  /**
   * Reads every object whose last write may or may not have happened. Throws when the server cannot be asked:
   * nothing may be decided on these objects until it can.
   */
  async settle(signal?: AbortSignal): Promise<void> {
    if (this.cache.doubted.size === 0) return;
    await Promise.all([...this.cache.doubted].map((key) => this.#settleOne(key, signal)));
  }

  #settleOne(key: string, signal: AbortSignal | undefined): Promise<void> {
    const under = this.#settling.get(key);
    if (under) return under;
    const reading = this.#readLive(key, signal).finally(() => this.#settling.delete(key));
    this.#settling.set(key, reading);
    return reading;
  }

  async #readLive(key: string, signal: AbortSignal | undefined): Promise<void> {
    const uid = this.cache.uidOf(key);
    const object = await this.#options.client.kind(this.kind).find(parseKey(key), signal ? { signal } : {});
    if (object) this.cache.wrote(object as ObjectOf<K> & Stored);
    else this.cache.gone(key, uid);
  }

  async #run(): Promise<void> {
    const { metadataOnly, ...scope } = this.scope;
    const options = {
      ...scope,
      signal: this.#stop.signal,
      ...(this.#options.fieldManager === undefined ? {} : { keepManagedFields: "received" as const }),
    };
    const kind = this.#options.client.kind(this.kind);
    const events = (
      metadataOnly ? kind.reflect({ ...options, metadataOnly }) : kind.reflect(options)
    ) as Reflection<ObjectOf<K> & Stored>;
    try {
      await events.forEach((event) => {
        this.#take(event);
      });
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#lastError = error as Error;
      this.#interruptedSince ??= this.#options.clock.monotonic();
      this.#options.log?.error("the cache cannot follow its kind any more", {
        kind: groupKind(this.kind),
        error,
      });
      this.#synced.reject(error);
      if (this.#isSynced) this.#options.onLost?.(error as Error);
    }
  }

  #take(event: ReflectEvent<ObjectOf<K> & Stored>): void {
    switch (event.type) {
      case "restart":
        this.cache.begin(event.reason === "rewound");
        return;
      case "item":
      case "added":
      case "modified": {
        const received = event.received ?? ReceivedObject.of(event.object);
        const seen = this.cache.observe(received);
        // A new read of the whole state repeats what the watch has told before.
        if (event.type === "item" && !seen.news) return;
        this.#tell(seen.known ? "modified" : "added", received, seen);
        return;
      }
      case "deleted": {
        const received = event.received ?? ReceivedObject.of(event.object);
        this.#tell("deleted", received, this.cache.observeDeleted(received));
        return;
      }
      case "synced":
        for (const object of this.cache.end(event.resourceVersion)) {
          this.#tell("deleted", ReceivedObject.of(object), {
            news: true,
            known: true,
            object,
            previous: object,
          });
        }
        this.#isSynced = true;
        this.#synced.resolve();
        return;
      case "bookmark":
        this.cache.caughtUp(event.resourceVersion);
        return;
      case "interrupted":
        this.#interruptedSince ??= this.#options.clock.monotonic();
        this.#lastError = event.error;
        this.#options.log?.warn("cut off from the server", {
          kind: groupKind(this.kind),
          attempt: event.attempt,
          retryInMs: Math.round(event.retryInMs),
          error: event.error,
        });
        return;
      case "resumed":
        this.#interruptedSince = undefined;
        this.#lastError = undefined;
        return;
    }
  }

  #tell(type: Change["type"], received: ReceivedObject, seen: Observation<ObjectOf<K> & Stored>): void {
    if (this.#handlers.size === 0) return;
    const change = new ObservedChange(type, received, seen, !this.#isSynced);
    for (const handler of this.#handlers) {
      try {
        handler(change);
      } catch (error) {
        // One handler's bug must not end the watch that all share.
        this.#options.log?.error("a change handler failed", { kind: groupKind(this.kind), error });
      }
    }
  }
}

/** `settle` of several. */
export async function settleAll(informers: Iterable<Informer>, signal?: AbortSignal): Promise<void> {
  const unsettled: Promise<void>[] = [];
  for (const informer of informers) {
    if (informer.cache.doubted.size > 0) unsettled.push(informer.settle(signal));
  }
  if (unsettled.length > 0) await Promise.all(unsettled);
}

class ObservedChange<T> implements Change<T> {
  readonly type: Change["type"];
  readonly key: string;
  readonly resourceVersion: string;
  readonly initial: boolean;
  readonly #seen: Observation<T>;

  constructor(type: Change["type"], received: ReceivedObject, seen: Observation<T>, initial: boolean) {
    this.type = type;
    this.key = received.key;
    this.resourceVersion = received.resourceVersion;
    this.initial = initial;
    this.#seen = seen;
  }

  get object(): T {
    return this.#seen.object;
  }

  get previous(): T | undefined {
    return this.#seen.previous;
  }
}
