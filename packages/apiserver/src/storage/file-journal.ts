/**
 * A durable journal in a directory: `log-N` holds commits, `state-N` all that came before `log-N`.
 *
 * Commits that wait for the disk are written together, as one record. When a log has grown long, the next one begins
 * and the state is written beside it; older files go when that is complete.
 */
import { closeSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ApiObject } from "../contracts/object.ts";
import { failure } from "../contracts/status-error.ts";
import { type DirectoryLock, lockDirectory } from "./directory-lock.ts";
import { type Disk, realDisk } from "./disk.ts";
import { storedJson } from "./encoded-json.ts";
import { StorageError } from "./errors.ts";
import type { Commit, Journal } from "./journal.ts";
import { readDirectory, removeOlder, type State, writeState } from "./journal-files.ts";
import { encodeRecord } from "./records.ts";
import type { Table } from "./table.ts";

/** Room is reserved ahead, so that a flush need not change the file's size on disk. */
const reserveBytes = 4 * 1024 * 1024;
const defaultMaxLogBytes = 64 * 1024 * 1024;
/** More than this waits for the next record. */
const maxBatchBytes = 16 * 1024 * 1024;

/** Commits that become durable together. */
class Batch {
  readonly commits: Commit[] = [];
  readonly pieces: Uint8Array[] = [];
  bytes = 0;
  readonly done: PromiseWithResolvers<void> = Promise.withResolvers();

  constructor() {
    // Callers that wait hear of it; a batch that nobody waits for may fail unheard.
    this.done.promise.catch(() => undefined);
  }

  add(commit: Commit): void {
    const { table, event } = commit;
    const comma = this.commits.length > 0 ? "\n" : "";
    const head = `${comma}{"r":${event.revision},"t":${JSON.stringify(table.name)},"k":${JSON.stringify(event.key)}`;
    const pieces =
      event.type === "DELETED"
        ? [Buffer.from(`${head}}`)]
        : [Buffer.from(`${head},"o":`), ...storedJson(event.object), closing];
    for (const piece of pieces) {
      this.pieces.push(piece);
      this.bytes += piece.length;
    }
    this.commits.push(commit);
  }
}

const closing = Buffer.from("}");

export interface FileJournalOptions {
  readonly directory: string;
  /** A longer log is replaced by a state file. Default 64 MiB. */
  readonly maxLogBytes?: number;
  /** Default: the real one. */
  readonly disk?: Disk;
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
  readonly #disk: Disk;
  readonly #lock: DirectoryLock;
  readonly #loaded: { revision: number; state: State };
  #sequence: number;
  #file: number;
  /** Where the next record goes. */
  #end: number;
  /** Zeroes lie ready up to here. */
  #reserved: number;
  #reserving: Promise<void> | undefined;
  /** Revision up to which commits are on disk. */
  #revision: number;
  #writing: Batch | undefined;
  #waiting: Batch[] = [];
  /** From the moment a flush is due until nothing waits: two at once would write to the same place. */
  #flushing = false;
  #failure: Error | undefined;
  /** What the disk said when it had no room for so many bytes, until it has. */
  #full: { readonly error: Error; readonly bytes: number } | undefined;
  #compacting: Promise<void> | undefined;
  #tables: (() => Iterable<Table>) | undefined;

  constructor(options: FileJournalOptions, lock: DirectoryLock) {
    this.#directory = options.directory;
    this.#maxLogBytes = options.maxLogBytes ?? defaultMaxLogBytes;
    this.#disk = options.disk ?? realDisk;
    this.#lock = lock;
    const opened = readDirectory(this.#directory);
    this.#loaded = { revision: opened.revision, state: opened.state };
    this.#revision = opened.revision;
    this.#sequence = opened.sequence;
    this.#file = this.#disk.open(this.#log(), !opened.exists);
    this.#end = opened.end;
    this.#reserved = opened.end;
    // What a crash left behind the last whole record must never be read as part of a later one.
    this.#disk.truncate(this.#file, this.#end);
    this.#disk.syncDirectory(this.#directory);
  }

  load() {
    const { revision, state } = this.#loaded;
    const tables = [...state].map(([name, objects]): [string, [string, ApiObject][]] => [name, [...objects]]);
    // The store has it from here on.
    state.clear();
    return { revision, tables };
  }

  /** Where the state is read from when a log has grown too long. */
  attach(tables: () => Iterable<Table>): void {
    this.#tables = tables;
  }

  append(commit: Commit): void {
    let batch = this.#waiting.at(-1);
    if (!batch || batch.bytes > maxBatchBytes) {
      batch = new Batch();
      this.#waiting.push(batch);
    }
    batch.add(commit);
    if (this.#flushing) return;
    this.#flushing = true;
    // When all requests that have arrived are read, so that what they commit shares one write.
    setImmediate(() => void this.#flush());
  }

  /** Throws when the disk has failed: nothing may be committed that cannot be kept. */
  assertWritable(): void {
    if (this.#failure) throw refusal(this.#failure);
  }

  /** What keeps commits from being kept now. A disk that was full is asked again. */
  async problem(): Promise<Error | undefined> {
    if (this.#full && !this.#writing) await this.#reserve(this.#full.bytes);
    return this.#failure ?? this.#full?.error;
  }

  settled(): Promise<void> | undefined {
    return (this.#waiting.at(-1) ?? this.#writing)?.done.promise;
  }

  async close(): Promise<void> {
    // Until nothing is under way: what is committed meanwhile is kept as well.
    while (this.#flushing || this.#reserving || this.#compacting) {
      await this.settled()?.catch(() => undefined);
      await this.#reserving;
      await this.#compacting;
    }
    // The number of a closed file may be another file's by now.
    this.#failure ??= new StorageError("Failed", "the store is closed");
    try {
      this.#disk.truncate(this.#file, this.#end);
    } finally {
      closeSync(this.#file);
      this.#lock.release();
    }
  }

  async #flush(): Promise<void> {
    for (;;) {
      const batch = this.#waiting.shift();
      if (!batch) {
        this.#flushing = false;
        return;
      }
      this.#writing = batch;
      const record = encodeRecord(...batch.pieces);
      try {
        await this.#write(record);
      } catch (error) {
        this.#lose(batch, record.length, error instanceof Error ? error : new Error(String(error)));
        return;
      }
      this.#full = undefined;
      this.#revision = (batch.commits.at(-1) as Commit).event.revision;
      this.#writing = undefined;
      for (const { durable } of batch.commits) durable();
      batch.done.resolve();
      if (this.#end > this.#maxLogBytes && !this.#compacting)
        this.#compacting = this.#compact().finally(() => {
          this.#compacting = undefined;
        });
    }
  }

  async #write(record: Uint8Array): Promise<void> {
    if (this.#end + record.length > this.#reserved && this.#reserving) await this.#reserving;
    await this.#disk.write(this.#file, record, this.#end);
    this.#end += record.length;
    this.#reserved = Math.max(this.#reserved, this.#end);
    if (this.#end + reserveBytes / 2 > this.#reserved) void this.#reserve(reserveBytes);
  }

  /** One at a time, and no record is written beyond what is reserved meanwhile. */
  #reserve(length: number): Promise<void> {
    const from = this.#reserved;
    const log = this.#log();
    this.#reserving ??= this.#disk.reserve(log, from, length).then(
      () => {
        this.#reserving = undefined;
        this.#full = undefined;
        if (log === this.#log()) this.#reserved = Math.max(this.#reserved, from + length);
      },
      // Without room ahead the write itself will show whether there is any. It needs what was filled in vain.
      (error: Error) => {
        this.#reserving = undefined;
        if (log === this.#log()) this.#cut(this.#reserved, error);
      },
    );
    return this.#reserving;
  }

  /** Takes back what could not be kept, the latest first, and tells those who wait for it. */
  #lose(batch: Batch, bytes: number, error: Error): void {
    const batches = [batch, ...this.#waiting];
    this.#waiting = [];
    this.#writing = undefined;
    this.#flushing = false;
    // A full disk may have room again; of any other disk nobody knows what it holds.
    if (isFull(error)) this.#full = { error, bytes };
    else this.#failure = error;
    for (const { commits } of [...batches].reverse()) for (const { lost } of [...commits].reverse()) lost();
    // So that what was refused does not come back with the next start.
    this.#cut(this.#end, error);
    this.#reserved = this.#end;
    for (const { done } of batches) done.reject(refusal(error));
  }

  #cut(length: number, error: Error): void {
    try {
      this.#disk.truncate(this.#file, length);
    } catch (cause) {
      this.#failure ??= cause instanceof Error ? cause : error;
    }
  }

  /** Begins the next log and writes what came before it as one state. */
  async #compact(): Promise<void> {
    if (!this.#tables) return;
    const next = this.#sequence + 1;
    const revision = this.#revision;
    const entries: [string, [string, ApiObject][]][] = [];
    for (const table of this.#tables()) {
      // Without what is committed and not yet on disk.
      const kept = table.lastRevision <= revision ? table.rangeEntries("") : table.rangeAt(revision, "");
      if (!kept) return;
      entries.push([table.name, kept]);
    }
    const old = this.#file;
    const path = join(this.#directory, `log-${next}`);
    try {
      this.#file = this.#disk.open(path, true);
    } catch {
      // A full disk: the old log goes on growing until there is room for a new one.
      return;
    }
    try {
      this.#disk.syncDirectory(this.#directory);
    } catch {
      // Nothing may be acknowledged in a log whose name could be lost.
      closeSync(this.#file);
      this.#file = old;
      rmSync(path, { force: true });
      return;
    }
    this.#sequence = next;
    this.#end = 0;
    this.#reserved = 0;
    closeSync(old);
    try {
      await writeState(this.#directory, next, revision, entries);
      removeOlder(this.#directory, next);
    } catch {
      // The logs so far stay, and are read one after the other at the next start.
    }
  }

  #log(): string {
    return join(this.#directory, `log-${this.#sequence}`);
  }
}

function isFull(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOSPC" || code === "EDQUOT";
}

function refusal(error: Error) {
  return failure({
    code: 500,
    reason: "InternalError",
    message: `storage failed and keeps no more writes: ${error.message}`,
    cause: error,
  });
}
