/** The storage of the API server: tables under one revision counter, in memory, optionally journalled. */
import type { Clock, JsonValue } from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";
import type { Journal } from "./journal.ts";
import { type EventType, type StoreEvent, Table } from "./table.ts";

/** Everything that is stored at one moment. The objects are frozen, and shared with the store they come from. */
export interface Snapshot {
  readonly revision: number;
  readonly tables: readonly (readonly [string, readonly (readonly [string, ApiObject])[]])[];
}

export interface StoreOptions {
  readonly clock: Clock;
  /** What the store begins with, in memory; its history is not part of it. */
  readonly from?: Snapshot | undefined;
  /** How long the past stays readable; compaction forgets what is older. Default five minutes. */
  readonly compactionIntervalMs?: number;
  /** Events kept per resource, however young. Default 10,000. */
  readonly maxEvents?: number;
  /** What the objects of the events kept per resource weigh together, in characters. Default 64 million. */
  readonly maxEventSize?: number;
  /** Makes commits durable; absent in memory. */
  readonly journal?: Journal;
}

/** Thrown by a commit that found another state than it was based on. */
export class RevisionConflict extends Error {
  /** What is stored now; absent when the object is gone. */
  readonly current: ApiObject | undefined;
  constructor(current: ApiObject | undefined) {
    super("the object has changed");
    this.name = "RevisionConflict";
    this.current = current;
  }
}

/**
 * Commits are atomic and totally ordered by revision. With a journal a commit is visible to optimistic
 * checks at once, but events are published, and `settled` resolves, only when it is on disk.
 */
export class Store {
  readonly #options: StoreOptions;
  readonly #tables = new Map<string, Table>();
  #revision = 1;
  #published = 1;
  /** What was there when the store was opened has no history. */
  #base = 0;
  #mark: { atMs: number; revision: number };
  #losses = 0;
  readonly #lossListeners = new Set<() => void>();

  constructor(options: StoreOptions) {
    this.#options = options;
    const opened = options.journal?.load() ?? options.from;
    if (opened) {
      this.#revision = opened.revision;
      this.#published = opened.revision;
      this.#base = opened.revision;
      for (const [name, entries] of opened.tables) {
        const table = new Table(name, opened.revision);
        table.load(entries);
        this.#tables.set(name, table);
      }
    }
    options.journal?.attach(() => this.#tables.values());
    this.#mark = { atMs: options.clock.monotonic(), revision: this.#revision };
  }

  async close(): Promise<void> {
    await this.#options.journal?.close();
  }

  get revision(): number {
    return this.#revision;
  }

  /** Revision up to which events have been published. */
  get published(): number {
    return this.#published;
  }

  /** Resolves when all that was committed so far is durable; `undefined` when it is already. */
  settled(): Promise<void> | undefined {
    return this.#options.journal?.settled();
  }

  /** How many commits could not be kept. Who committed and then waited for anything else than `settled` compares it. */
  get losses(): number {
    return this.#losses;
  }

  /** Tells of each commit that could not be kept. */
  onLoss(listener: () => void): void {
    this.#lossListeners.add(listener);
  }

  /** What keeps commits from being durable now, if anything does. */
  async problem(): Promise<Error | undefined> {
    return await this.#options.journal?.problem();
  }

  table(name: string): Table {
    let table = this.#tables.get(name);
    if (!table) {
      table = new Table(name, this.#base);
      this.#tables.set(name, table);
    }
    return table;
  }

  tables(): IterableIterator<Table> {
    return this.#tables.values();
  }

  /** Stores a draft under a key that must be free; the draft becomes the frozen stored object. */
  create(table: Table, key: string, draft: ApiObject): ApiObject {
    const current = table.get(key);
    if (current) throw new RevisionConflict(current);
    return this.#commit(table, "ADDED", key, draft, undefined);
  }

  /** Replaces `base`, which must still be what is stored. */
  update(table: Table, key: string, draft: ApiObject, base: ApiObject): ApiObject {
    this.#expect(table, key, base);
    return this.#commit(table, "MODIFIED", key, draft, base);
  }

  /** Removes `base`, which must still be what is stored; returns it under the revision of its deletion. */
  delete(table: Table, key: string, base: ApiObject): ApiObject {
    this.#expect(table, key, base);
    return this.#commit(table, "DELETED", key, { ...base, metadata: { ...base.metadata } }, base);
  }

  snapshot(): Snapshot {
    return {
      revision: this.#revision,
      tables: [...this.#tables].map(([name, table]) => [name, table.rangeEntries("")] as const),
    };
  }

  /** Forgets all history: watches and continue tokens from before get 410. */
  compact(revision: number = this.#revision): void {
    for (const table of this.#tables.values()) table.compact(revision);
  }

  #expect(table: Table, key: string, base: ApiObject): void {
    const current = table.get(key);
    if (current !== base) throw new RevisionConflict(current);
  }

  #commit(
    table: Table,
    type: EventType,
    key: string,
    draft: ApiObject,
    previous: ApiObject | undefined,
  ): ApiObject {
    this.#options.journal?.assertWritable();
    const revision = ++this.#revision;
    draft.metadata.resourceVersion = String(revision);
    const size = freeze(draft);
    const object = draft;
    const event: StoreEvent = Object.freeze({ type, revision, key, object, previous, size });
    table.apply(event);
    const { maxEvents = 10_000, maxEventSize = 64_000_000 } = this.#options;
    if (table.eventCount > maxEvents * 1.1 || table.eventSize > maxEventSize * 1.1)
      table.trim(maxEvents, maxEventSize);
    this.#compactByTime();
    const { journal } = this.#options;
    if (journal)
      journal.append({
        table,
        event,
        durable: () => this.#publish(table, event),
        lost: () => this.#revert(table, event),
      });
    else this.#publish(table, event);
    return object;
  }

  #publish(table: Table, event: StoreEvent): void {
    this.#published = event.revision;
    table.publish(event);
  }

  /** Nobody has been told of the event: it, and its revision, have never been. */
  #revert(table: Table, event: StoreEvent): void {
    table.revert(event);
    this.#revision = event.revision - 1;
    if (this.#mark.revision > this.#revision) this.#mark = { ...this.#mark, revision: this.#revision };
    this.#losses++;
    for (const listener of this.#lossListeners) listener();
  }

  /** Lazy, at the next commit, so that an idle server sets no timer. */
  #compactByTime(): void {
    const now = this.#options.clock.monotonic();
    const { atMs, revision } = this.#mark;
    if (now - atMs < (this.#options.compactionIntervalMs ?? 300_000)) return;
    this.compact(revision);
    this.#mark = { atMs: now, revision: this.#revision };
  }
}

/** Freezes a value and all it contains, and says how long it is, roughly as JSON: one walk for both. */
function freeze(value: JsonValue): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 5;
  if (!Object.isFrozen(value)) Object.freeze(value);
  let size = 2;
  if (Array.isArray(value)) for (const item of value) size += freeze(item);
  else for (const key in value) size += key.length + freeze(value[key] as JsonValue);
  return size;
}
