/** All objects of one resource: the present by key, and enough of the past to watch and to page. */
import type { ApiObject } from "../hooks.ts";

export type EventType = "ADDED" | "MODIFIED" | "DELETED";

/** One commit. A deleted object is shown as it last was, under the revision of its deletion. */
export interface StoreEvent {
  readonly type: EventType;
  readonly revision: number;
  readonly key: string;
  readonly object: ApiObject;
  readonly previous: ApiObject | undefined;
}

export type EventListener = (event: StoreEvent) => void;

/**
 * Keys are `namespace/name`, or `name` for cluster-scoped objects, in byte order as etcd has them.
 * Events lie in revision order; `compacted` is the newest revision whose past is gone.
 */
export class Table {
  readonly name: string;
  readonly #objects = new Map<string, ApiObject>();
  #keys: string[] = [];
  #events: StoreEvent[] = [];
  #compacted: number;
  readonly #listeners = new Set<EventListener>();

  constructor(name: string, compacted: number) {
    this.name = name;
    this.#compacted = compacted;
  }

  get size(): number {
    return this.#keys.length;
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
    const { start, end } = this.#bounds(prefix);
    const out = new Array<ApiObject>(end - start);
    for (let i = start; i < end; i++)
      out[i - start] = this.#objects.get(this.#keys[i] as string) as ApiObject;
    return out;
  }

  rangeEntries(prefix: string): [string, ApiObject][] {
    const { start, end } = this.#bounds(prefix);
    const out = new Array<[string, ApiObject]>(end - start);
    for (let i = start; i < end; i++) {
      const key = this.#keys[i] as string;
      out[i - start] = [key, this.#objects.get(key) as ApiObject];
    }
    return out;
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
    const { start, end } = this.#bounds(prefix);
    const keys = this.#keys.slice(start, end);
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
      this.#keys.splice(this.#position(event.key), 1);
    } else {
      if (event.type === "ADDED") this.#keys.splice(this.#position(event.key), 0, event.key);
      this.#objects.set(event.key, event.object);
    }
    this.#events.push(event);
  }

  /** Takes the latest event back. */
  revert(event: StoreEvent): void {
    this.#events.pop();
    if (event.type === "ADDED") {
      this.#objects.delete(event.key);
      this.#keys.splice(this.#position(event.key), 1);
    } else {
      if (event.type === "DELETED") this.#keys.splice(this.#position(event.key), 0, event.key);
      this.#objects.set(event.key, event.previous as ApiObject);
    }
  }

  /** Fills an empty table when a data directory is opened: no history, no events. */
  load(entries: [string, ApiObject][]): void {
    for (const [key, object] of entries) this.#objects.set(key, object);
    this.#keys = [...this.#objects.keys()].sort();
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
    if (kept && kept.length < this.#events.length) this.#events = kept;
    this.#compacted = revision;
  }

  /** Keeps at most `limit` events. */
  trim(limit: number): void {
    const surplus = this.#events.length - limit;
    if (surplus > 0) this.compact((this.#events[surplus - 1] as StoreEvent).revision);
  }

  get eventCount(): number {
    return this.#events.length;
  }

  entries(): IterableIterator<[string, ApiObject]> {
    return this.#objects.entries();
  }

  #position(key: string): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#keys[middle] as string) < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #bounds(prefix: string): { start: number; end: number } {
    if (prefix === "") return { start: 0, end: this.#keys.length };
    // The prefix ends in a slash; the next character bounds it from above.
    const above = prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
    return { start: this.#position(prefix), end: this.#position(above) };
  }
}
