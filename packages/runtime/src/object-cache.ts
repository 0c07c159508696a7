/**
 * The state of one kind as a controller sees it: what the watch delivered, and on top of it our own writes
 * that the watch has not shown yet. Get, list and indexes all see the same.
 */
import { compareResourceVersions } from "@keelson/client";
import { deepFreeze, objectKey, type Stored } from "@keelson/core";
import { RuntimeError } from "./errors.ts";

/** Values under which an object is found again. Pure, and never changes the object. */
export type IndexFunction<T> = (object: T) => readonly string[];

/** What a reader may do with a cache. Objects are frozen: a mutation throws. */
export interface CacheReader<T = Stored> {
  get(key: string): T | undefined;
  /** In no particular order. */
  list(namespace?: string): readonly T[];
  byIndex(index: string, value: string): readonly T[];
  readonly size: number;
}

interface Entry<T> {
  readonly key: string;
  /** Absent in a tombstone: we know the object to be gone before the watch does. */
  object: T | undefined;
  frozen: boolean;
  /** The version of our write. Older events from the watch are history and leave the entry as it is. */
  ahead: string | undefined;
  /** In a tombstone, the object that is gone; another one under the same name is news. */
  buried: T | undefined;
  /** The last read of the whole state that held the object. */
  epoch: number;
  /** What the field manager of interest owns, as JSON. */
  ownedFields: string | undefined;
}

interface Index<T> {
  readonly of: IndexFunction<T>;
  readonly keys: Map<string, Set<string>>;
}

export interface ObjectCacheOptions {
  /** Whether an object that we wrote belongs to what the cache follows. */
  readonly accepts?: (object: Stored) => boolean;
  /** Remembers which fields this manager owns by server-side apply. */
  readonly fieldManager?: string;
  /** Called when an index function throws; the object is then not found under that index. */
  readonly onIndexError?: (index: string, key: string, error: unknown) => void;
  /** Named in errors. */
  readonly name?: string;
}

export class ObjectCache<T extends Stored = Stored> implements CacheReader<T> {
  readonly #options: ObjectCacheOptions;
  readonly #entries = new Map<string, Entry<T>>();
  readonly #indexes = new Map<string, Index<T>>();
  /** Keys by namespace; built when someone first lists a namespace, since most caches are never asked. */
  #namespaces: Map<string, Set<string>> | undefined;
  /** Objects whose last write may or may not have happened. Not served until a live read says. */
  readonly #uncertain = new Set<string>();
  /** Entries that are ahead of the watch. */
  readonly #ahead = new Set<string>();
  /** All that the watch has told up to this version has been taken in. */
  #version = "";
  /** Reading the whole state: objects come in any order, so their versions say nothing of the others. */
  #reading = true;
  #epoch = 0;
  #tombstones = 0;

  constructor(options: ObjectCacheOptions = {}) {
    this.#options = options;
  }

  // --------------------------------------------------------------------------------------- reading

  get size(): number {
    return this.#entries.size - this.#tombstones;
  }

  get version(): string {
    return this.#version;
  }

  get(key: string): T | undefined {
    if (this.#uncertain.size > 0 && this.#uncertain.has(key)) throw this.#refusal(key);
    return this.#serve(this.#entries.get(key));
  }

  list(namespace?: string): readonly T[] {
    this.#refuseUncertain();
    const out: T[] = [];
    if (namespace === undefined) {
      for (const entry of this.#entries.values()) if (entry.object) out.push(this.#serve(entry) as T);
      return out;
    }
    return this.#collect(this.#byNamespace().get(namespace));
  }

  byIndex(index: string, value: string): readonly T[] {
    this.#refuseUncertain();
    const found = this.#indexes.get(index);
    if (!found) throw new TypeError(`no index "${index}" on the cache of ${this.#options.name ?? "objects"}`);
    return this.#collect(found.keys.get(value));
  }

  /** Keys under an index, also of objects whose state is uncertain. */
  keysByIndex(index: string, value: string): Iterable<string> {
    return this.#indexes.get(index)?.keys.get(value) ?? [];
  }

  *keys(): Iterable<string> {
    for (const entry of this.#entries.values()) if (entry.object) yield entry.key;
  }

  /** The fields that the manager of interest owns, as the JSON of a field set. */
  ownedFields(key: string): string | undefined {
    return this.#entries.get(key)?.ownedFields;
  }

  /** Adds an index; objects that are there already are found under it too. */
  addIndex(name: string, of: IndexFunction<T>): void {
    const existing = this.#indexes.get(name);
    if (existing) {
      if (existing.of !== of) throw new TypeError(`the index "${name}" exists with another function`);
      return;
    }
    const index: Index<T> = { of, keys: new Map() };
    this.#indexes.set(name, index);
    for (const entry of this.#entries.values()) {
      if (entry.object) this.#indexIn(name, index, entry);
    }
  }

  // ------------------------------------------------------------------------------------- the watch

  /** The whole state is being read anew. */
  begin(rewound: boolean): void {
    this.#epoch++;
    this.#reading = true;
    if (rewound) {
      this.#version = "";
      for (const key of this.#ahead) {
        const entry = this.#entries.get(key);
        if (entry) entry.ahead = undefined;
      }
      this.#ahead.clear();
    }
  }

  /**
   * Takes in an object from the watch. Returns what was seen before, and whether the watch said something new: that
   * is so also when it tells of our own write, which we saw before it did.
   */
  observe(object: T): { previous: T | undefined; news: boolean } {
    const key = objectKey(object);
    const version = object.metadata.resourceVersion;
    if (!this.#reading) this.#advance(version);
    const entry = this.#entries.get(key);
    const previous = this.#serve(entry);
    if (!entry) {
      this.#insert(key, object);
      return { previous, news: true };
    }
    entry.epoch = this.#epoch;
    const ahead = entry.ahead !== undefined;
    if (entry.buried !== undefined && entry.buried.metadata.uid === object.metadata.uid) {
      return { previous, news: ahead };
    }
    if (entry.ahead !== undefined && isNewer(entry.ahead, version)) return { previous, news: ahead };
    const same = previous !== undefined && previous.metadata.resourceVersion === version;
    this.#clearAhead(entry);
    if (!same) this.#replace(entry, object);
    return { previous, news: ahead || !same };
  }

  /** Takes in a deletion from the watch. */
  observeDeleted(object: T): { previous: T | undefined } {
    const key = objectKey(object);
    if (!this.#reading) this.#advance(object.metadata.resourceVersion);
    const entry = this.#entries.get(key);
    const previous = this.#serve(entry);
    if (!entry) return { previous };
    const ours = entry.buried !== undefined && entry.buried.metadata.uid === object.metadata.uid;
    if (!ours && entry.ahead !== undefined && isNewer(entry.ahead, object.metadata.resourceVersion)) {
      return { previous };
    }
    this.#remove(entry);
    return { previous };
  }

  /** The whole state has been read: what it did not hold is gone. Returns what went. */
  end(version: string): T[] {
    const gone: T[] = [];
    for (const entry of this.#entries.values()) {
      if (entry.epoch === this.#epoch) continue;
      // Written by us after the state was read: its event is still to come.
      if (entry.object && entry.ahead !== undefined && isNewer(entry.ahead, version)) continue;
      // What we deleted ourselves is told as well: nobody has heard of it from the watch yet.
      const object = this.#serve(entry) ?? entry.buried;
      this.#remove(entry);
      if (object) gone.push(object);
    }
    this.#reading = false;
    this.#advance(version);
    return gone;
  }

  /** The watch has told all there is up to this version. */
  caughtUp(version: string): void {
    this.#advance(version);
    for (const key of this.#ahead) {
      const entry = this.#entries.get(key);
      if (entry?.object && entry.ahead !== undefined && !isNewer(entry.ahead, version))
        this.#clearAhead(entry);
    }
  }

  // -------------------------------------------------------------------------------------- our writes

  /** Takes in the answer to a write or a live read. */
  wrote(object: T): T {
    const key = objectKey(object);
    const version = object.metadata.resourceVersion;
    this.#uncertain.delete(key);
    const entry = this.#entries.get(key);
    if (!this.#accepts(object)) {
      if (entry?.object) this.#bury(entry, version);
      return deepFreeze(withoutManagedFields(object));
    }
    if (entry?.object) {
      const seen = entry.object.metadata.resourceVersion;
      // An answer that came late, or a write that changed nothing: the view is there already.
      if (!isNewer(version, seen)) return this.#serve(entry) as T;
      this.#replace(entry, object);
      this.#setAhead(entry, version);
      return this.#serve(entry) as T;
    }
    if (entry) {
      if (entry.buried?.metadata.uid === object.metadata.uid) return deepFreeze(withoutManagedFields(object));
      if (entry.ahead !== undefined && !isNewer(version, entry.ahead)) {
        return deepFreeze(withoutManagedFields(object));
      }
      this.#replace(entry, object);
      this.#setAhead(entry, version);
      return this.#serve(entry) as T;
    }
    // Not in the cache although the watch is past this version: it was deleted again meanwhile.
    if (this.#version !== "" && !isNewer(version, this.#version)) {
      return deepFreeze(withoutManagedFields(object));
    }
    const added = this.#insert(key, object);
    this.#setAhead(added, version);
    return this.#serve(added) as T;
  }

  /**
   * The object is gone, by our own delete or by a live read that found none. `uid` is the one that was known
   * when the request was sent: whatever came under that name since is another object.
   */
  gone(key: string, uid: string | undefined): void {
    this.#uncertain.delete(key);
    const entry = this.#entries.get(key);
    if (!entry?.object || entry.object.metadata.uid !== uid) return;
    this.#bury(entry, entry.object.metadata.resourceVersion);
  }

  /** The UID of what is seen under a key, also while it is in doubt. */
  uidOf(key: string): string | undefined {
    return this.#entries.get(key)?.object?.metadata.uid;
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

  /** Freezing waits until someone looks: a cold sync of many objects that nobody reads costs nothing. */
  #serve(entry: Entry<T> | undefined): T | undefined {
    if (!entry?.object) return undefined;
    if (!entry.frozen) {
      deepFreeze(entry.object);
      entry.frozen = true;
    }
    return entry.object;
  }

  #byNamespace(): Map<string, Set<string>> {
    if (this.#namespaces) return this.#namespaces;
    const namespaces = new Map<string, Set<string>>();
    for (const { key, object } of this.#entries.values()) {
      if (object) addTo(namespaces, object.metadata.namespace ?? "", key);
    }
    this.#namespaces = namespaces;
    return namespaces;
  }

  #collect(keys: ReadonlySet<string> | undefined): T[] {
    const out: T[] = [];
    if (!keys) return out;
    for (const key of keys) {
      const object = this.#serve(this.#entries.get(key));
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

  #insert(key: string, object: T): Entry<T> {
    const entry: Entry<T> = {
      key,
      object: undefined,
      frozen: false,
      ahead: undefined,
      buried: undefined,
      epoch: this.#epoch,
      ownedFields: undefined,
    };
    this.#entries.set(key, entry);
    this.#set(entry, object);
    return entry;
  }

  #replace(entry: Entry<T>, object: T): void {
    if (entry.object) this.#unindex(entry);
    else this.#tombstones--;
    entry.buried = undefined;
    this.#set(entry, object);
  }

  #set(entry: Entry<T>, object: T): void {
    entry.ownedFields = this.#options.fieldManager
      ? ownedFieldsOf(object, this.#options.fieldManager)
      : undefined;
    entry.object = withoutManagedFields(object);
    entry.frozen = false;
    if (this.#namespaces) addTo(this.#namespaces, object.metadata.namespace ?? "", entry.key);
    for (const [name, index] of this.#indexes) this.#indexIn(name, index, entry);
  }

  #bury(entry: Entry<T>, version: string): void {
    this.#unindex(entry);
    entry.buried = entry.object;
    entry.object = undefined;
    entry.ownedFields = undefined;
    this.#tombstones++;
    this.#setAhead(entry, version);
  }

  #remove(entry: Entry<T>): void {
    if (entry.object) this.#unindex(entry);
    else this.#tombstones--;
    this.#ahead.delete(entry.key);
    this.#entries.delete(entry.key);
  }

  #setAhead(entry: Entry<T>, version: string): void {
    if (this.#version !== "" && entry.object && !isNewer(version, this.#version)) {
      this.#clearAhead(entry);
      return;
    }
    entry.ahead = version;
    this.#ahead.add(entry.key);
  }

  #clearAhead(entry: Entry<T>): void {
    entry.ahead = undefined;
    this.#ahead.delete(entry.key);
  }

  #indexIn(name: string, index: Index<T>, entry: Entry<T>): void {
    const object = entry.object as T;
    let values: readonly string[];
    try {
      values = index.of(object);
    } catch (error) {
      this.#options.onIndexError?.(name, entry.key, error);
      return;
    }
    for (const value of values) addTo(index.keys, value, entry.key);
  }

  #unindex(entry: Entry<T>): void {
    const object = entry.object as T;
    if (this.#namespaces) removeFrom(this.#namespaces, object.metadata.namespace ?? "", entry.key);
    for (const index of this.#indexes.values()) {
      let values: readonly string[] = [];
      try {
        values = index.of(object);
      } catch {
        // It was not put in either.
      }
      for (const value of values) removeFrom(index.keys, value, entry.key);
    }
  }
}

/** Versions without an order (an aggregated server that uses none) count as newer: the last word wins. */
function isNewer(a: string, b: string): boolean {
  return (compareResourceVersions(a, b) ?? 1) > 0;
}

function addTo(map: Map<string, Set<string>>, value: string, key: string): void {
  const keys = map.get(value);
  if (keys) keys.add(key);
  else map.set(value, new Set([key]));
}

function removeFrom(map: Map<string, Set<string>>, value: string, key: string): void {
  const keys = map.get(value);
  if (!keys?.delete(key)) return;
  if (keys.size === 0) map.delete(value);
}

/** The object without `metadata.managedFields`; rebuilt, because `delete` would turn it into a slow hash table. */
export function withoutManagedFields<T extends Stored>(object: T): T {
  if (object.metadata.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function ownedFieldsOf(object: Stored, manager: string): string | undefined {
  for (const entry of object.metadata.managedFields ?? []) {
    if (entry.manager === manager && entry.operation === "Apply" && !entry.subresource && entry.fieldsV1) {
      return JSON.stringify(entry.fieldsV1);
    }
  }
  return undefined;
}
