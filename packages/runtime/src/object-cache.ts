/**
 * The state of one kind as a controller sees it: what the watch delivered, and on top of it our own writes
 * that the watch has not shown yet. Get, list and indexes all see the same.
 *
 * What the watch delivers is kept as the JSON it came in, and parsed when someone reads it: most objects of a large
 * cache are read rarely, if ever. In a large cache, an object that nobody has read for a while is JSON again.
 */
import { compareResourceVersions, type Decoder, ReceivedObject, uidIn, versionIn } from "@keelson/client";
import { deepFreeze, objectKey, parseKey, type Stored } from "@keelson/core";
import { ByteStore, type Holder, type Slab } from "./byte-store.ts";
import { RuntimeError } from "./errors.ts";
import { KeyTable } from "./key-table.ts";

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

/**
 * - parsed: `object` is there; its JSON may be too.
 * - unread: only its JSON is there.
 * - tombstone: neither is; we know the object to be gone before the watch does.
 */
interface Entry<T> extends Holder {
  readonly key: string;
  object: T | undefined;
  /** The last read of the whole state that held the object. */
  epoch: number;
  /** The last period in which the object was read. */
  readIn: number;
}

interface Index<T> {
  readonly of: IndexFunction<T>;
  readonly keys: KeyMap;
}

/** Keys by a value. Most values have one key, and a set for each would outweigh the objects. */
type KeyMap = Map<string, string | Set<string>>;

/** Below so many bytes of JSON a cache keeps what was parsed for good. */
const smallBytes = 4 << 20;

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

/** What an event from the watch meant to the cache. Objects are parsed and frozen when they are asked for. */
export interface Observation<T> {
  /** Whether the watch said something new: that is so also of our own write, which we saw before the watch did. */
  readonly news: boolean;
  readonly object: T;
  /** Whether anything was seen before, and what. */
  readonly known: boolean;
  readonly previous: T | undefined;
}

export class ObjectCache<T extends Stored = Stored> implements CacheReader<T> {
  readonly #options: ObjectCacheOptions;
  readonly #entries = new KeyTable<Entry<T>>();
  readonly #bytes = new ByteStore();
  #decode: Decoder | undefined;
  /** Entries that are parsed and could be JSON alone again. */
  #parsed: Entry<T>[] = [];
  /** Grows with each bookmark, about once a minute. */
  #period = 0;
  readonly #indexes = new Map<string, Index<T>>();
  /** Keys by namespace; built when someone first lists a namespace, since most caches are never asked. */
  #namespaces: KeyMap | undefined;
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
  /** Reading the whole state: objects come in any order, so their versions say nothing of the others. */
  #reading = true;
  #epoch = 0;

  constructor(options: ObjectCacheOptions = {}) {
    this.#options = options;
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
    return this.#serve(this.#entries.get(key));
  }

  list(namespace?: string): readonly T[] {
    this.#refuseUncertain();
    const out: T[] = [];
    if (namespace === undefined) {
      for (const entry of this.#entries) {
        const object = this.#serve(entry);
        if (object) out.push(object);
      }
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
    return keysIn(this.#indexes.get(index)?.keys.get(value));
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
    const existing = this.#indexes.get(name);
    if (existing) {
      if (existing.of !== of) throw new TypeError(`the index "${name}" exists with another function`);
      return;
    }
    const index: Index<T> = { of, keys: new Map() };
    this.#indexes.set(name, index);
    for (const entry of this.#entries) {
      const object = this.#peek(entry);
      if (object) this.#indexIn(name, index, entry.key, object);
    }
  }

  // ------------------------------------------------------------------------------------- the watch

  /** The whole state is being read anew. */
  begin(rewound: boolean): void {
    this.#epoch++;
    this.#reading = true;
    if (rewound) {
      this.#version = "";
      this.#ahead.clear();
    }
  }

  /** Takes in an object from the watch. */
  observe(incoming: T | ReceivedObject): Observation<T> {
    const received = incoming instanceof ReceivedObject ? incoming : ReceivedObject.of(incoming);
    const { key } = received;
    if (!this.#reading) this.#advance(received.resourceVersion);
    const entry = this.#entries.get(key);
    if (!entry) {
      const added = this.#insert(key, received);
      return new Taken(this.#open, added, true, undefined);
    }
    entry.epoch = this.#epoch;
    const previous = this.#view(entry);
    const ahead = this.#ahead.get(key);
    const version = received.resourceVersion;
    const past =
      this.#buried.get(key)?.metadata.uid === received.uid ||
      (ahead !== undefined && isNewer(ahead, version));
    if (past) return new Passed(ahead !== undefined, plain<T>(received), previous);
    this.#ahead.delete(key);
    const same = this.#versionOf(entry) === version;
    if (!same) this.#replace(entry, received);
    else if (!entry.slab) this.#keep(entry, received);
    return new Taken(this.#open, entry, ahead !== undefined || !same, previous);
  }

  /** Takes in a deletion from the watch. */
  observeDeleted(incoming: T | ReceivedObject): Observation<T> {
    const received = incoming instanceof ReceivedObject ? incoming : ReceivedObject.of(incoming);
    const { key, resourceVersion } = received;
    if (!this.#reading) this.#advance(resourceVersion);
    const entry = this.#entries.get(key);
    const seen = new Passed(true, plain<T>(received), entry && this.#view(entry));
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
      const object = this.#serve(entry) ?? buried;
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
    for (const [key, ahead] of this.#ahead) {
      if (!this.#buried.has(key) && !isNewer(ahead, version)) this.#ahead.delete(key);
    }
    this.#fold();
  }

  // -------------------------------------------------------------------------------------- our writes

  /** Takes in the answer to a write or a live read. */
  wrote(object: T): T {
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
      if (!isNewer(version, this.#versionOf(entry) ?? "")) return this.#serve(entry) as T;
      this.#replace(entry, ReceivedObject.of(object));
      this.#setAhead(entry, version);
      return this.#serve(entry) as T;
    }
    if (entry) {
      const ahead = this.#ahead.get(key);
      if (buried?.metadata.uid === object.metadata.uid || (ahead !== undefined && !isNewer(version, ahead))) {
        return deepFreeze(withoutManagedFields(object));
      }
      this.#replace(entry, ReceivedObject.of(object));
      this.#setAhead(entry, version);
      return this.#serve(entry) as T;
    }
    // Not in the cache although the watch is past this version: it was deleted again meanwhile.
    if (this.#version !== "" && !isNewer(version, this.#version)) {
      return deepFreeze(withoutManagedFields(object));
    }
    const added = this.#insert(key, ReceivedObject.of(object));
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
    const version = entry && this.#versionOf(entry);
    if (!entry || version === undefined || this.uidOf(key) !== uid) return;
    this.#bury(entry, version);
  }

  /** The UID of what is seen under a key, also while it is in doubt. */
  uidOf(key: string): string | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (entry.object) return entry.object.metadata.uid;
    const bytes = this.#bytes.bytesOf(entry);
    return bytes && uidIn(bytes);
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

  /** Parsing and freezing wait until someone looks: a cold sync of many objects that nobody reads costs little. */
  #serve(entry: Entry<T> | undefined): T | undefined {
    if (!entry) return undefined;
    entry.readIn = this.#period;
    if (!entry.object && entry.slab) {
      entry.object = this.#peek(entry);
      this.#parsed.push(entry);
    }
    return deepFreeze(entry.object);
  }

  /** The object that an event brought into its entry, for whoever asks, however late. */
  readonly #open = ({ entry, slab, start, length }: Taken<T>): T => {
    const current = entry.slab === slab && entry.start === start;
    if (current && entry.object) return deepFreeze(entry.object);
    const parsed = this.#decode?.((slab as Slab).bytes.subarray(start, start + length)) as T;
    if (current) this.#adopt(entry, parsed);
    return deepFreeze(parsed);
  };

  /** Keeps what was parsed already: it will be read by whoever the event concerns. Not so a large state that is new. */
  #adopt(entry: Entry<T>, object: T): void {
    if (this.#reading && this.#bytes.size >= smallBytes) return;
    entry.object = object;
    entry.readIn = this.#period;
    this.#parsed.push(entry);
  }

  /** The object, not frozen and not kept. */
  #peek(entry: Entry<T>): T | undefined {
    if (entry.object) return entry.object;
    const bytes = this.#bytes.bytesOf(entry);
    return bytes && (this.#decode?.(bytes) as T);
  }

  /** What is seen now, for someone who may ask after it has changed. */
  #view(entry: Entry<T>): (() => T) | undefined {
    const { object } = entry;
    if (object) return () => deepFreeze(object);
    const bytes = this.#bytes.bytesOf(entry);
    return bytes && (() => deepFreeze(this.#decode?.(bytes)) as T);
  }

  #versionOf(entry: Entry<T>): string | undefined {
    if (entry.object) return entry.object.metadata.resourceVersion;
    const bytes = this.#bytes.bytesOf(entry);
    return bytes && versionIn(bytes);
  }

  /** Lets go of objects that were not read since the bookmark before this one; their JSON stays. */
  #fold(): void {
    if (this.#bytes.size < smallBytes) return;
    const still: Entry<T>[] = [];
    for (const entry of this.#parsed) {
      if (!entry.object || !entry.slab) continue;
      if (entry.readIn === this.#period) still.push(entry);
      else entry.object = undefined;
    }
    this.#parsed = still;
    this.#period++;
  }

  #byNamespace(): KeyMap {
    if (this.#namespaces) return this.#namespaces;
    const namespaces: KeyMap = new Map();
    for (const key of this.keys()) addTo(namespaces, namespaceOf(key), key);
    this.#namespaces = namespaces;
    return namespaces;
  }

  #collect(keys: string | ReadonlySet<string> | undefined): T[] {
    const out: T[] = [];
    for (const key of keysIn(keys)) {
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

  #insert(key: string, received: ReceivedObject): Entry<T> {
    const entry: Entry<T> = {
      key,
      object: undefined,
      slab: undefined,
      start: 0,
      length: 0,
      epoch: this.#epoch,
      readIn: this.#period,
    };
    this.#entries.add(entry);
    this.#set(entry, received);
    return entry;
  }

  #replace(entry: Entry<T>, received: ReceivedObject): void {
    if (!this.#buried.delete(entry.key)) this.#unindex(entry);
    this.#bytes.release(entry);
    entry.object = undefined;
    this.#set(entry, received);
  }

  #set(entry: Entry<T>, received: ReceivedObject): void {
    const { key } = entry;
    const { fieldManager } = this.#options;
    if (fieldManager !== undefined) {
      const fields = ownedFieldsOf(received.object as T, fieldManager);
      if (fields === undefined) this.#owned.delete(key);
      else this.#owned.set(key, fields);
    }
    if (!this.#keep(entry, received)) entry.object = withoutManagedFields(received.object as T);
    if (this.#namespaces) addTo(this.#namespaces, namespaceOf(key), key);
    if (this.#indexes.size === 0) return;
    const object = entry.object ?? (received.object as T);
    for (const [name, index] of this.#indexes) this.#indexIn(name, index, key, object);
    if (!entry.object) this.#adopt(entry, object);
  }

  /** Keeps the JSON, where the object came as such; with managed fields in it, it would be larger than the object. */
  #keep(entry: Entry<T>, received: ReceivedObject): boolean {
    const { decoder } = received;
    if (decoder === undefined || this.#options.fieldManager !== undefined) return false;
    this.#decode = decoder;
    this.#bytes.put(entry, received);
    if (entry.object) this.#parsed.push(entry);
    return true;
  }

  #bury(entry: Entry<T>, version: string): void {
    const object = this.#serve(entry) as T;
    this.#unindex(entry);
    this.#bytes.release(entry);
    entry.object = undefined;
    this.#buried.set(entry.key, object);
    this.#owned.delete(entry.key);
    this.#setAhead(entry, version);
  }

  #remove(entry: Entry<T>): void {
    if (!this.#buried.delete(entry.key)) this.#unindex(entry);
    this.#bytes.release(entry);
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

  #indexIn(name: string, index: Index<T>, key: string, object: T): void {
    let values: readonly string[];
    try {
      values = index.of(object);
    } catch (error) {
      this.#options.onIndexError?.(name, key, error);
      return;
    }
    for (const value of values) addTo(index.keys, value, key);
  }

  #unindex(entry: Entry<T>): void {
    const { key } = entry;
    if (this.#namespaces) removeFrom(this.#namespaces, namespaceOf(key), key);
    if (this.#indexes.size === 0) return;
    const object = this.#peek(entry) as T;
    for (const index of this.#indexes.values()) {
      let values: readonly string[] = [];
      try {
        values = index.of(object);
      } catch {
        // It was not put in either.
      }
      for (const value of values) removeFrom(index.keys, value, key);
    }
  }
}

/** An event whose object is in the cache now. One is made for every object of a state, so it is made of little. */
class Taken<T> implements Observation<T> {
  readonly news: boolean;
  readonly entry: Entry<T>;
  readonly slab: Slab | undefined;
  readonly start: number;
  readonly length: number;
  readonly #parsed: T | undefined;
  readonly #open: (taken: Taken<T>) => T;
  readonly #previous: (() => T) | undefined;

  constructor(open: (taken: Taken<T>) => T, entry: Entry<T>, news: boolean, previous: (() => T) | undefined) {
    this.news = news;
    this.entry = entry;
    this.slab = entry.slab;
    this.start = entry.start;
    this.length = entry.length;
    this.#parsed = entry.object;
    this.#open = open;
    this.#previous = previous;
  }

  get object(): T {
    return this.#parsed ? deepFreeze(this.#parsed) : this.#open(this);
  }

  get known(): boolean {
    return this.#previous !== undefined;
  }

  get previous(): T | undefined {
    return this.#previous?.();
  }
}

/** An event whose object the cache did not take. */
class Passed<T> implements Observation<T> {
  readonly news: boolean;
  readonly #object: T;
  readonly #previous: (() => T) | undefined;

  constructor(news: boolean, object: T, previous: (() => T) | undefined) {
    this.news = news;
    this.#object = object;
    this.#previous = previous;
  }

  get object(): T {
    return deepFreeze(this.#object);
  }

  get known(): boolean {
    return this.#previous !== undefined;
  }

  get previous(): T | undefined {
    return this.#previous?.();
  }
}

/** Parsed at once, since the bytes it came in are used again. */
function plain<T>(received: ReceivedObject): T {
  return withoutManagedFields(received.object as Stored) as T;
}

function namespaceOf(key: string): string {
  return parseKey(key).namespace ?? "";
}

/** Versions without an order (an aggregated server that uses none) count as newer: the last word wins. */
function isNewer(a: string, b: string): boolean {
  return (compareResourceVersions(a, b) ?? 1) > 0;
}

function addTo(map: KeyMap, value: string, key: string): void {
  const keys = map.get(value);
  if (keys === undefined) map.set(value, key);
  else if (typeof keys !== "string") keys.add(key);
  else if (keys !== key) map.set(value, new Set([keys, key]));
}

function removeFrom(map: KeyMap, value: string, key: string): void {
  const keys = map.get(value);
  if (keys === key) map.delete(value);
  else if (typeof keys === "object" && keys.delete(key) && keys.size === 0) map.delete(value);
}

function keysIn(keys: string | ReadonlySet<string> | undefined): Iterable<string> {
  return typeof keys === "string" ? [keys] : (keys ?? []);
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
