/**
 * The state of one kind as a controller sees it: what the watch delivered, and on top of it our own writes
 * that the watch has not shown yet. Get, list and indexes all see the same.
 */
import { compareResourceVersions, ReceivedObject } from "@keelson/client";
import { deepFreeze, objectKey, type Stored } from "@keelson/core";
import { RuntimeError } from "../errors.ts";
import { CacheIndexes, type IndexErrorHandler, type IndexFunction } from "./cache-indexes.ts";
import type { Entry } from "./entry.ts";
import { KeyTable } from "./key-table.ts";
import { ObjectStore } from "./object-store.ts";
import { type Observation, Passed } from "./observation.ts";

/** What a reader may do with a cache. Objects are frozen: a mutation throws. */
export interface CacheReader<T = Stored> {
  get(key: string): T | undefined;
  /** In no particular order. */
  list(namespace?: string): readonly T[];
  byIndex(index: string, value: string): readonly T[];
  readonly size: number;
}

export interface ObjectCacheOptions {
  /** Whether an object that we wrote belongs to what the cache follows. */
  readonly accepts?: (object: Stored) => boolean;
  /** Remembers which fields this manager owns by server-side apply. */
  readonly fieldManager?: string;
  readonly onIndexError?: IndexErrorHandler;
  /** Named in errors. */
  readonly name?: string;
}

/** The objects of one kind and scope as this process knows them, its own writes included. */
export class ObjectCache<T extends Stored = Stored> implements CacheReader<T> {
  readonly #options: ObjectCacheOptions;
  /** An empty entry is a tombstone: we know the object to be gone before the watch does. */
  readonly #entries = new KeyTable<Entry<T>>();
  readonly #objects = new ObjectStore<T>();
  readonly #indexes: CacheIndexes<T>;
  /** Objects whose last write may or may not have happened. Not served until a live read says. */
  readonly #uncertain = new Set<string>();
  /** The versions of our writes that the watch has not shown. Older events are history and leave the entry as it is. */
  readonly #ahead = new Map<string, string>();
  /** The objects of tombstones; another one under the same name is news. */
  readonly #buried = new Map<string, T>();
  /** What the field manager of interest owns, as JSON. */
  readonly #owned = new Map<string, string>();
  /** All that the watch has told up to this version has been taken in. */
  #version = "";
  #epoch = 0;

  constructor(options: ObjectCacheOptions = {}) {
    this.#options = options;
    this.#indexes = new CacheIndexes(options.onIndexError);
  }

  // --------------------------------------------------------------------------------------- reading

  get size(): number {
    return this.#entries.size - this.#buried.size;
  }

  get version(): string {
    return this.#version;
  }

  get(key: string): T | undefined {
    if (this.#uncertain.size > 0 && this.#uncertain.has(key)) throw this.#refusal(key);
    return this.#objects.serve(this.#entries.get(key));
  }

  list(namespace?: string): readonly T[] {
    this.#refuseUncertain();
    const out: T[] = [];
    if (namespace === undefined) {
      for (const entry of this.#entries) {
        const object = this.#objects.serve(entry);
        if (object) out.push(object);
      }
      return out;
    }
    return this.#collect(this.#indexes.inNamespace(namespace, () => this.keys()));
  }

  byIndex(index: string, value: string): readonly T[] {
    this.#refuseUncertain();
    const keys = this.#indexes.find(index, value);
    if (!keys) throw new TypeError(`no index "${index}" on the cache of ${this.#options.name ?? "objects"}`);
    return this.#collect(keys);
  }

  /** Keys under an index, also of objects whose state is uncertain. */
  keysByIndex(index: string, value: string): Iterable<string> {
    return this.#indexes.find(index, value) ?? [];
  }

  *keys(): Iterable<string> {
    for (const { key } of this.#entries) if (!this.#buried.has(key)) yield key;
  }

  /** The fields that the manager of interest owns, as the JSON of a field set. */
  ownedFields(key: string): string | undefined {
    return this.#owned.get(key);
  }

  /** Adds an index; objects that are there already are found under it too. */
  addIndex(name: string, of: IndexFunction<T>): void {
    this.#indexes.add(name, of, () => this.#present());
  }

  removeIndex(name: string): void {
    this.#indexes.remove(name);
  }

  // ------------------------------------------------------------------------------------- the watch

  /** The whole state is being read again. */
  begin(rewound: boolean): void {
    this.#epoch++;
    this.#objects.filling = true;
    if (rewound) {
      this.#version = "";
      this.#ahead.clear();
    }
  }

  /** Takes in an object from the watch. */
  observe(incoming: T | ReceivedObject): Observation<T> {
    const received = incoming instanceof ReceivedObject ? incoming : ReceivedObject.of(incoming);
    const { key } = received;
    // Objects of a whole state come in any order, so their versions say nothing of the others.
    if (!this.#objects.filling) this.#advance(received.resourceVersion);
    const entry = this.#entries.get(key);
    if (!entry) {
      const added = this.#insert(key, received);
      return this.#objects.taken(added, true, undefined);
    }
    entry.epoch = this.#epoch;
    const previous = this.#objects.view(entry);
    const ahead = this.#ahead.get(key);
    const version = received.resourceVersion;
    const past =
      this.#buried.get(key)?.metadata.uid === received.uid ||
      (ahead !== undefined && isNewer(ahead, version));
    if (past) return new Passed(ahead !== undefined, plain<T>(received), previous);
    this.#ahead.delete(key);
    const same = this.#objects.versionOf(entry) === version;
    if (!same) this.#replace(entry, received);
    else if (!entry.slab) this.#keep(entry, received);
    return this.#objects.taken(entry, ahead !== undefined || !same, previous);
  }

  /** Takes in a deletion from the watch. */
  observeDeleted(incoming: T | ReceivedObject): Observation<T> {
    const received = incoming instanceof ReceivedObject ? incoming : ReceivedObject.of(incoming);
    const { key, resourceVersion } = received;
    if (!this.#objects.filling) this.#advance(resourceVersion);
    const entry = this.#entries.get(key);
    const seen = new Passed(true, plain<T>(received), entry && this.#objects.view(entry));
    if (!entry) return seen;
    const ours = this.#buried.get(key)?.metadata.uid === received.uid;
    const ahead = this.#ahead.get(key);
    if (!ours && ahead !== undefined && isNewer(ahead, resourceVersion)) return seen;
    this.#remove(entry);
    return seen;
  }

  /** The whole state has been read: what it did not hold is gone. Returns what went. */
  end(version: string): T[] {
    const gone: T[] = [];
    for (const entry of this.#entries) {
      if (entry.epoch === this.#epoch) continue;
      const ahead = this.#ahead.get(entry.key);
      const buried = this.#buried.get(entry.key);
      // Written by us after the state was read: its event is still to come.
      if (!buried && ahead !== undefined && isNewer(ahead, version)) continue;
      // What we deleted ourselves is told as well: nobody has heard of it from the watch yet.
      const object = this.#objects.serve(entry) ?? buried;
      this.#remove(entry);
      if (object) gone.push(object);
    }
    this.#objects.filling = false;
    this.#advance(version);
    return gone;
  }

  /** The watch has told all there is up to this version. */
  caughtUp(version: string): void {
    this.#advance(version);
    for (const [key, ahead] of this.#ahead) {
      if (!this.#buried.has(key) && !isNewer(ahead, version)) this.#ahead.delete(key);
    }
    this.#objects.fold();
  }

  // -------------------------------------------------------------------------------------- our writes

  /** Takes in the answer to a write or a live read. */
  wrote(incoming: T | ReceivedObject): T {
    const received = incoming instanceof ReceivedObject ? incoming : ReceivedObject.of(incoming);
    const object = received.object as T;
    // It has been parsed: its JSON is not kept as well.
    const news = this.#options.fieldManager === undefined ? ReceivedObject.of(object) : received;
    const key = objectKey(object);
    const version = object.metadata.resourceVersion;
    this.#uncertain.delete(key);
    const entry = this.#entries.get(key);
    const buried = this.#buried.get(key);
    const present = entry !== undefined && buried === undefined;
    if (!this.#accepts(object)) {
      if (present) this.#bury(entry, version);
      return deepFreeze(withoutManagedFields(object));
    }
    if (present) {
      // An answer that came late, or a write that changed nothing: the view is there already.
      if (!isNewer(version, this.#objects.versionOf(entry) ?? "")) return this.#objects.serve(entry) as T;
      this.#replace(entry, news);
      this.#setAhead(entry, version);
      return this.#objects.serve(entry) as T;
    }
    if (entry) {
      const ahead = this.#ahead.get(key);
      if (buried?.metadata.uid === object.metadata.uid || (ahead !== undefined && !isNewer(version, ahead))) {
        return deepFreeze(withoutManagedFields(object));
      }
      this.#replace(entry, news);
      this.#setAhead(entry, version);
      return this.#objects.serve(entry) as T;
    }
    // Not in the cache although the watch is past this version: it was deleted again meanwhile.
    if (this.#version !== "" && !isNewer(version, this.#version)) {
      return deepFreeze(withoutManagedFields(object));
    }
    const added = this.#insert(key, news);
    this.#setAhead(added, version);
    return this.#objects.serve(added) as T;
  }

  /**
   * The object is gone, by our own delete or by a live read that found none. `uid` is the one that was known
   * when the request was sent: whatever came under that name since is another object.
   */
  gone(key: string, uid: string | undefined): void {
    this.#uncertain.delete(key);
    const entry = this.#entries.get(key);
    const version = entry && this.#objects.versionOf(entry);
    if (!entry || version === undefined || this.uidOf(key) !== uid) return;
    this.#bury(entry, version);
  }

  /** The UID of what is seen under a key, also while it is in doubt. */
  uidOf(key: string): string | undefined {
    const entry = this.#entries.get(key);
    return entry && this.#objects.uidOf(entry);
  }

  /** A write of the object may or may not have happened. */
  doubt(key: string): void {
    this.#uncertain.add(key);
  }

  get doubted(): ReadonlySet<string> {
    return this.#uncertain;
  }

  // ----------------------------------------------------------------------------------------- inside

  #accepts(object: Stored): boolean {
    return this.#options.accepts?.(object) ?? true;
  }

  #advance(version: string): void {
    if (this.#version === "" || isNewer(version, this.#version)) this.#version = version;
  }

  *#present(): Generator<readonly [string, T]> {
    for (const entry of this.#entries) {
      const object = this.#objects.peek(entry);
      if (object) yield [entry.key, object];
    }
  }

  #collect(keys: Iterable<string>): T[] {
    const out: T[] = [];
    for (const key of keys) {
      const object = this.#objects.serve(this.#entries.get(key));
      if (object) out.push(object);
    }
    return out;
  }

  #refusal(key: string): RuntimeError {
    return new RuntimeError(
      "OutcomeUnknown",
      `the last write to ${this.#options.name ?? "an object"} ${key} may or may not have happened, and no live ` +
        "read has told yet; the reconcile will run again once one has",
    );
  }

  #refuseUncertain(): void {
    for (const key of this.#uncertain) throw this.#refusal(key);
  }

  #insert(key: string, received: ReceivedObject): Entry<T> {
    const entry = this.#objects.entry(key, this.#epoch);
    this.#entries.add(entry);
    this.#set(entry, received);
    return entry;
  }

  #replace(entry: Entry<T>, received: ReceivedObject): void {
    if (!this.#buried.delete(entry.key)) this.#unindex(entry);
    this.#objects.empty(entry);
    this.#set(entry, received);
  }

  #set(entry: Entry<T>, received: ReceivedObject): void {
    const { key } = entry;
    const { fieldManager } = this.#options;
    if (fieldManager !== undefined) {
      const fields = received.appliedFields(fieldManager);
      if (fields === undefined) this.#owned.delete(key);
      else this.#owned.set(key, fields);
    }
    if (!this.#keep(entry, received)) entry.object = withoutManagedFields(received.object as T);
    this.#indexes.addKey(key);
    if (!this.#indexes.readObjects) return;
    const object = entry.object ?? (received.object as T);
    this.#indexes.addObject(key, object);
    if (!entry.object) this.#objects.adopt(entry, object);
  }

  #unindex(entry: Entry<T>): void {
    this.#indexes.removeKey(entry.key);
    if (this.#indexes.readObjects) this.#indexes.removeObject(entry.key, this.#objects.peek(entry) as T);
  }

  /** Keeps the JSON, where the object came as such; with managed fields in it, it would be larger than the object. */
  #keep(entry: Entry<T>, received: ReceivedObject): boolean {
    return this.#options.fieldManager === undefined && this.#objects.keep(entry, received);
  }

  #bury(entry: Entry<T>, version: string): void {
    const object = this.#objects.serve(entry) as T;
    this.#unindex(entry);
    this.#objects.empty(entry);
    this.#buried.set(entry.key, object);
    this.#owned.delete(entry.key);
    this.#setAhead(entry, version);
  }

  #remove(entry: Entry<T>): void {
    if (!this.#buried.delete(entry.key)) this.#unindex(entry);
    this.#objects.empty(entry);
    this.#owned.delete(entry.key);
    this.#ahead.delete(entry.key);
    this.#entries.delete(entry.key);
  }

  #setAhead(entry: Entry<T>, version: string): void {
    if (this.#version !== "" && !this.#buried.has(entry.key) && !isNewer(version, this.#version)) {
      this.#ahead.delete(entry.key);
      return;
    }
    this.#ahead.set(entry.key, version);
  }
}

/** Parsed at once, since the bytes it came in are used again. */
function plain<T>(received: ReceivedObject): T {
  return withoutManagedFields(received.object as Stored) as T;
}

/** Versions without an order (an aggregated server that uses none) count as newer: the last word wins. */
function isNewer(a: string, b: string): boolean {
  return (compareResourceVersions(a, b) ?? 1) > 0;
}

/** The object without `metadata.managedFields`; rebuilt, because `delete` would turn it into a slow hash table. */
export function withoutManagedFields<T extends Stored>(object: T): T {
  if (object.metadata.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
