/** All objects of one resource: the present by key, and enough of the past to watch and to page. */
import type { ApiObject } from "../contracts/object.ts";
import { position, SortedKeys } from "./sorted-keys.ts";

/** What happened to an object. */
export type EventType = "ADDED" | "MODIFIED" | "DELETED";

/** One commit. A deleted object is shown as it last was, under the revision of its deletion. */
export interface StoreEvent {
  readonly type: EventType;
  readonly revision: number;
  readonly key: string;
  readonly object: ApiObject;
  readonly previous: ApiObject | undefined;
  /** About how many characters the object has as JSON. */
  readonly size: number;
}

/** Objects in key order. */
export interface Entries {
  readonly length: number;
  readonly key: (index: number) => string;
  readonly object: (index: number) => ApiObject;
}

export type EventListener = (event: StoreEvent) => void;

/**
 * Keys are `namespace/name`, or `name` for cluster-scoped objects, in byte order as etcd has them.
 * Events lie in revision order; `compacted` is the newest revision whose past is gone.
 */
export class Table {
  readonly name: string;
  readonly #objects = new Map<string, ApiObject>();
  readonly #keys = new SortedKeys();
  #events: StoreEvent[] = [];
  #eventSize = 0;
  #compacted: number;
  readonly #listeners = new Set<EventListener>();

  constructor(name: string, compacted: number) {
    this.name = name;
    this.#compacted = compacted;
  }

  get size(): number {
    return this.#objects.size;
  }

  /** Revision of the last commit to this table; the one it was opened with when there was none. */
  get lastRevision(): number {
    return this.#events.at(-1)?.revision ?? this.#compacted;
  }

  get compacted(): number {
    return this.#compacted;
  }

  get(key: string): ApiObject | undefined {
    return this.#objects.get(key);
  }

  /** Objects whose key begins with `prefix`, in key order. */
  range(prefix: string): ApiObject[] {
    const { keys, start, end } = this.#bounds(prefix);
    const out = new Array<ApiObject>(end - start);
    for (let i = start; i < end; i++) out[i - start] = this.#objects.get(keys[i] as string) as ApiObject;
    return out;
  }

  rangeEntries(prefix: string): [string, ApiObject][] {
    const { length, key, object } = this.view(prefix);
    return Array.from({ length }, (_, index) => [key(index), object(index)]);
  }

  /** The same without a copy, from the key `from` on; valid until the next commit. */
  view(prefix: string, from = prefix): Entries {
    const { keys, start, end } = this.#bounds(prefix);
    const first = from === prefix ? start : Math.max(start, position(keys, from));
    const key = (index: number) => keys[first + index] as string;
    return {
      length: Math.max(end - first, 0),
      key,
      object: (index) => this.#objects.get(key(index)) as ApiObject,
    };
  }

  /** Entries as they stood at `revision`, or `undefined` when that past is compacted. */
  rangeAt(revision: number, prefix: string): [string, ApiObject][] | undefined {
    if (revision < this.#compacted) return undefined;
    const then = new Map<string, ApiObject | undefined>();
    for (let i = this.#events.length - 1; i >= 0; i--) {
      const event = this.#events[i] as StoreEvent;
      if (event.revision <= revision) break;
      if (event.key.startsWith(prefix)) then.set(event.key, event.previous);
    }
    const bounds = this.#bounds(prefix);
    const keys = bounds.keys.slice(bounds.start, bounds.end);
    if (then.size > 0) {
      for (const key of then.keys()) if (!this.#objects.has(key)) keys.push(key);
      keys.sort();
    }
    const out: [string, ApiObject][] = [];
    for (const key of keys) {
      const object = then.has(key) ? then.get(key) : this.#objects.get(key);
      if (object) out.push([key, object]);
    }
    return out;
  }

  /** Events after `revision`, the first `limit` of them; `undefined` when some are compacted. */
  eventsAfter(revision: number, limit = Number.POSITIVE_INFINITY): StoreEvent[] | undefined {
    if (revision < this.#compacted) return undefined;
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#events[middle] as StoreEvent).revision <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#events.slice(low, low + limit);
  }

  /** Puts the event in force. `publish` tells the listeners, later when the commit must become durable first. */
  apply(event: StoreEvent): void {
    if (event.type === "DELETED") {
      this.#objects.delete(event.key);
      this.#keys.delete(event.key);
    } else {
      if (event.type === "ADDED") this.#keys.add(event.key);
      this.#objects.set(event.key, event.object);
    }
    this.#events.push(event);
    this.#eventSize += event.size;
  }

  /** Takes the latest event back. */
  revert(event: StoreEvent): void {
    this.#events.pop();
    this.#eventSize -= event.size;
    if (event.type === "ADDED") {
      this.#objects.delete(event.key);
      this.#keys.delete(event.key);
    } else {
      if (event.type === "DELETED") this.#keys.add(event.key);
      this.#objects.set(event.key, event.previous as ApiObject);
    }
  }

  /** Fills an empty table when a data directory is opened: no history, no events. */
  load(entries: Iterable<readonly [string, ApiObject]>): void {
    for (const [key, object] of entries) {
      this.#objects.set(key, object);
      this.#keys.add(key);
    }
  }

  publish(event: StoreEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  subscribe(listener: EventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Forgets the past up to and including `revision`. */
  compact(revision: number): void {
    if (revision <= this.#compacted) return;
    const kept = this.eventsAfter(revision);
    if (kept && kept.length < this.#events.length) {
      this.#events = kept;
      this.#eventSize = kept.reduce((sum, { size }) => sum + size, 0);
    }
    this.#compacted = revision;
  }

  /** Keeps the latest events, at most `limit` of them and of `size` together, but always the last. */
  trim(limit: number, size: number): void {
    let surplus = Math.max(0, this.#events.length - limit);
    let left = this.#eventSize;
    for (let i = 0; i < surplus; i++) left -= (this.#events[i] as StoreEvent).size;
    for (; left > size && surplus < this.#events.length - 1; surplus++)
      left -= (this.#events[surplus] as StoreEvent).size;
    if (surplus > 0) this.compact((this.#events[surplus - 1] as StoreEvent).revision);
  }

  get eventCount(): number {
    return this.#events.length;
  }

  /** The sizes of all events together. */
  get eventSize(): number {
    return this.#eventSize;
  }

  #bounds(prefix: string): { keys: readonly string[]; start: number; end: number } {
    const keys = this.#keys.all();
    if (prefix === "") return { keys, start: 0, end: keys.length };
    // The prefix ends in a slash; the next character bounds it from above.
    const above = prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
    return { keys, start: position(keys, prefix), end: position(keys, above) };
  }
}
