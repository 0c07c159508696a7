/**
 * A durable journal in a directory: `log-N` holds commits, `state-N` all that came before `log-N`.
 *
 * Commits that wait for the disk are written and flushed together. When a log has grown long, the next
 * one begins and the state is written beside it; older files go when that is complete.
 */
import { createHash } from "node:crypto";
import {
  closeSync,
  fdatasync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
  writev,
} from "node:fs";
import { join } from "node:path";
import { deepFreeze, parseJson } from "@keelson/core";
import { failure } from "../errors.ts";
import type { ApiObject } from "../hooks.ts";
import { type DirectoryLock, lockDirectory } from "./directory-lock.ts";
import { StorageError } from "./errors.ts";
import type { Journal } from "./journal.ts";
import { encodeRecord, readRecords } from "./records.ts";
import type { StoreEvent, Table } from "./table.ts";

/** Room is reserved ahead, so that a flush need not change the file's size on disk. */
const reserveBytes = 4 * 1024 * 1024;
const defaultMaxLogBytes = 64 * 1024 * 1024;

interface Entry {
  /** Revision. */
  readonly r: number;
  /** Table. */
  readonly t: string;
  readonly k: string;
  /** The object; absent when it was deleted. */
  readonly o?: ApiObject;
}

interface Pending {
  readonly record: Uint8Array;
  readonly durable: () => void;
}

type State = Map<string, Map<string, ApiObject>>;

export interface FileJournalOptions {
  readonly directory: string;
  /** A longer log is replaced by a state file. Default 64 MiB. */
  readonly maxLogBytes?: number;
}

/** Throws a StorageError when the directory is taken or damaged. */
export async function openFileJournal(options: FileJournalOptions): Promise<FileJournal> {
  const lock = await lockDirectory(options.directory);
  try {
    return new FileJournal(options, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

export class FileJournal implements Journal {
  readonly #directory: string;
  readonly #maxLogBytes: number;
  readonly #lock: DirectoryLock;
  readonly #loaded: { revision: number; state: State };
  #sequence: number;
  #file: number;
  #end: number;
  #reserved: number;
  #pending: Pending[] = [];
  #flushing: Promise<void> | undefined;
  #failure: Error | undefined;
  #compacting: Promise<void> | undefined;
  #tables: (() => Iterable<Table>) | undefined;

  constructor(options: FileJournalOptions, lock: DirectoryLock) {
    this.#directory = options.directory;
    this.#maxLogBytes = options.maxLogBytes ?? defaultMaxLogBytes;
    this.#lock = lock;
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    const opened = readDirectory(this.#directory);
    this.#loaded = { revision: opened.revision, state: opened.state };
    this.#sequence = opened.sequence;
    this.#file = openSync(
      join(this.#directory, `log-${this.#sequence}`),
      opened.exists ? "r+" : "wx+",
      0o600,
    );
    this.#end = opened.end;
    this.#reserved = opened.end;
    // What a crash left behind the last whole record must never be read as part of a later one.
    ftruncateSync(this.#file, this.#end);
    fsyncSync(this.#file);
    syncDirectory(this.#directory);
  }

  load() {
    const { revision, state } = this.#loaded;
    return {
      revision,
      tables: [...state].map(([name, objects]): [string, [string, ApiObject][]] => [name, [...objects]]),
    };
  }

  /** Where the state is read from when a log has grown too long. */
  attach(tables: () => Iterable<Table>): void {
    this.#tables = tables;
  }

  append(table: Table, event: StoreEvent, durable: () => void): void {
    if (this.#failure) throw this.#refusal();
    const entry: Entry = {
      r: event.revision,
      t: table.name,
      k: event.key,
      ...(event.type !== "DELETED" && { o: event.object }),
    };
    this.#pending.push({ record: encodeRecord(Buffer.from(JSON.stringify(entry))), durable });
    // In the next microtask, so that what is committed together is flushed together.
    this.#flushing ??= Promise.resolve().then(() => this.#flush());
  }

  /** Throws when the disk has failed: nothing may be committed that cannot be kept. */
  assertWritable(): void {
    if (this.#failure) throw this.#refusal();
  }

  settled(): Promise<void> | undefined {
    if (this.#failure) return Promise.reject(this.#refusal());
    if (this.#pending.length === 0) return this.#flushing;
    return this.#flushing?.then(() => this.settled());
  }

  async close(): Promise<void> {
    await this.#flushing?.catch(() => undefined);
    await this.#compacting?.catch(() => undefined);
    ftruncateSync(this.#file, this.#end);
    closeSync(this.#file);
    this.#lock.release();
  }

  async #flush(): Promise<void> {
    try {
      while (this.#pending.length > 0) {
        const batch = this.#pending;
        this.#pending = [];
        await this.#write(batch.map(({ record }) => record));
        for (const { durable } of batch) durable();
      }
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      throw this.#refusal();
    } finally {
      this.#flushing = undefined;
    }
    if (this.#end > this.#maxLogBytes && !this.#compacting)
      this.#compacting = this.#compact().finally(() => {
        this.#compacting = undefined;
      });
  }

  async #write(records: readonly Uint8Array[]): Promise<void> {
    const size = records.reduce((sum, record) => sum + record.length, 0);
    if (this.#end + size > this.#reserved) {
      const room = Math.max(reserveBytes, size);
      writeSync(this.#file, Buffer.alloc(room), 0, room, this.#end);
      this.#reserved = this.#end + room;
    }
    await writeAll(this.#file, records, this.#end);
    await sync(this.#file);
    this.#end += size;
  }

  /** Begins the next log and writes what came before it as one state. */
  async #compact(): Promise<void> {
    if (!this.#tables) return;
    const next = this.#sequence + 1;
    const entries: [string, [string, ApiObject][]][] = [];
    let revision = 0;
    // Nothing is pending here and nothing awaits: the state is exactly what the logs so far amount to.
    for (const table of this.#tables()) {
      entries.push([table.name, table.rangeEntries("")]);
      revision = Math.max(revision, table.lastRevision);
    }
    const old = this.#file;
    const file = openSync(join(this.#directory, `log-${next}`), "wx+", 0o600);
    syncDirectory(this.#directory);
    this.#file = file;
    this.#sequence = next;
    this.#end = 0;
    this.#reserved = 0;
    closeSync(old);
    await writeState(this.#directory, next, revision, entries);
    removeOlder(this.#directory, next);
  }

  #refusal() {
    return failure({
      code: 500,
      reason: "InternalError",
      message: `storage failed and takes no more writes: ${this.#failure?.message}`,
      cause: this.#failure,
    });
  }
}

function writeAll(file: number, buffers: readonly Uint8Array[], position: number): Promise<void> {
  return new Promise((resolve, reject) => {
    writev(file, buffers as Uint8Array[], position, (error, written) => {
      if (error) reject(error);
      else if (written < buffers.reduce((sum, buffer) => sum + buffer.length, 0))
        reject(new StorageError("Failed", "the disk took only a part of a record"));
      else resolve();
    });
  });
}

function sync(file: number): Promise<void> {
  return new Promise((resolve, reject) => fdatasync(file, (error) => (error ? reject(error) : resolve())));
}

function syncDirectory(directory: string): void {
  const handle = openSync(directory, "r");
  fsyncSync(handle);
  closeSync(handle);
}

interface Opened {
  readonly revision: number;
  readonly state: State;
  readonly sequence: number;
  readonly end: number;
  readonly exists: boolean;
}

function readDirectory(directory: string): Opened {
  const files = readdirSync(directory);
  const numbers = (kind: string) =>
    files
      .map((file) => new RegExp(`^${kind}-(\\d+)$`).exec(file)?.[1])
      .filter((text) => text !== undefined)
      .map(Number)
      .sort((a, b) => a - b);
  for (const file of files) if (file.endsWith(".tmp")) rmSync(join(directory, file), { force: true });
  const base = numbers("state").at(-1) ?? 0;
  const state: State = new Map();
  let revision = 1;
  if (base > 0) revision = readState(directory, base, state);
  const logs = numbers("log").filter((sequence) => sequence >= base);
  let end = 0;
  for (const sequence of logs) {
    const path = join(directory, `log-${sequence}`);
    const read = readRecords(readFileSync(path));
    if (read.damaged)
      throw new StorageError(
        "Corrupt",
        `${path} is damaged at byte ${read.end} and whole records follow; restore it from a copy, or cut it there to lose what follows`,
      );
    for (const content of read.contents) revision = Math.max(revision, replay(content, state));
    end = read.end;
  }
  const sequence = logs.at(-1) ?? Math.max(base, 1);
  return { revision, state, sequence, end: logs.length > 0 ? end : 0, exists: logs.length > 0 };
}

function replay(content: Buffer, state: State): number {
  const entry = parseJson(content.toString("utf8")) as unknown as Entry;
  let table = state.get(entry.t);
  if (!table) {
    table = new Map();
    state.set(entry.t, table);
  }
  if (entry.o) table.set(entry.k, deepFreeze(entry.o));
  else table.delete(entry.k);
  return entry.r;
}

async function writeState(
  directory: string,
  sequence: number,
  revision: number,
  tables: readonly [string, [string, ApiObject][]][],
): Promise<void> {
  const temporary = join(directory, `state-${sequence}.tmp`);
  const file = openSync(temporary, "w", 0o600);
  const hash = createHash("sha256");
  let position = 0;
  let batch: Uint8Array[] = [];
  let size = 0;
  const drain = async () => {
    if (batch.length > 0) await writeAll(file, batch, position);
    position += size;
    batch = [];
    size = 0;
  };
  const add = (record: Uint8Array) => {
    hash.update(record);
    batch.push(record);
    size += record.length;
  };
  for (const [name, entries] of tables)
    for (const [key, object] of entries) {
      const entry: Entry = { r: Number(object.metadata.resourceVersion), t: name, k: key, o: object };
      add(encodeRecord(Buffer.from(JSON.stringify(entry))));
      // In pieces, so that requests are served in between.
      if (size > 1024 * 1024) await drain();
    }
  await drain();
  const digest = hash.digest("hex");
  batch = [encodeRecord(Buffer.from(JSON.stringify({ revision, digest })))];
  size = (batch[0] as Uint8Array).length;
  await drain();
  await sync(file);
  closeSync(file);
  renameSync(temporary, join(directory, `state-${sequence}`));
  syncDirectory(directory);
}

function readState(directory: string, sequence: number, state: State): number {
  const path = join(directory, `state-${sequence}`);
  const { contents } = readRecords(readFileSync(path));
  const last = contents.pop();
  const hash = createHash("sha256");
  for (const content of contents) hash.update(encodeRecord(content));
  const seal = last && (JSON.parse(last.toString()) as { revision?: number; digest?: string });
  if (!seal?.digest || seal.digest !== hash.digest("hex"))
    throw new StorageError("Corrupt", `${path} is not what was written; restore it from a copy`);
  for (const content of contents) replay(content, state);
  return seal.revision ?? 1;
}

function removeOlder(directory: string, sequence: number): void {
  for (const file of readdirSync(directory)) {
    const number = /^(?:log|state)-(\d+)$/.exec(file)?.[1];
    if (number !== undefined && Number(number) < sequence) rmSync(join(directory, file), { force: true });
  }
}
