/** The files of a journal: what a directory amounts to, and the states that replace old logs. */
import { createHash, type Hash } from "node:crypto";
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  write,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { deepFreeze, parseJson } from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";
import { flush, syncDirectory } from "./disk.ts";
import { storedJson } from "./encoded-json.ts";
import { StorageError } from "./errors.ts";
import { encodeRecord, readRecords } from "./records.ts";

/** Objects by key, by table. */
export type State = Map<string, Map<string, ApiObject>>;

/** One commit as it is written; a record holds one or more, a line each. */
interface Entry {
  /** Revision. */
  readonly r: number;
  /** Table. */
  readonly t: string;
  readonly k: string;
  /** The object; absent when it was deleted. */
  readonly o?: ApiObject;
}

export interface Opened {
  readonly revision: number;
  readonly state: State;
  /** Number of the log to go on with. */
  readonly sequence: number;
  /** Where its last whole record ends. */
  readonly end: number;
  readonly exists: boolean;
}

/** Throws `Corrupt` when something is damaged that a crash cannot have damaged. */
export function readDirectory(directory: string): Opened {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  checkFormat(directory);
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
  // The log is begun before its state is written.
  if (base > 0 && logs[0] !== base)
    throw new StorageError(
      "Corrupt",
      `${join(directory, `log-${base}`)} is missing; restore it from a copy, or make it as an empty file to lose what it held`,
    );
  let end = 0;
  for (const sequence of logs) {
    const path = join(directory, `log-${sequence}`);
    const read = readRecords(readFileSync(path));
    if (read.damaged)
      throw new StorageError(
        "Corrupt",
        `${path} is damaged at byte ${read.end} and whole records follow; restore it from a copy, or cut it there to lose what follows`,
      );
    for (const entry of entriesIn(read.contents)) {
      // Each write has the next revision: a gap is a record, or a file, that went missing.
      if (entry.r !== revision + 1)
        throw new StorageError(
          "Corrupt",
          `${path} goes on at write ${entry.r}, and the last one before it is ${revision}; restore ${directory} from a copy`,
        );
      replay(entry, state);
      revision = entry.r;
    }
    end = read.end;
  }
  const sequence = logs.at(-1) ?? Math.max(base, 1);
  return { revision, state, sequence, end: logs.length > 0 ? end : 0, exists: logs.length > 0 };
}

/** The format of the files here. Directories from before it was written down have the first. */
const format = "1";

/** Throws `TooNew` before anything is touched that a later release wrote in another way. */
function checkFormat(directory: string): void {
  const path = join(directory, "format");
  let found: string;
  try {
    found = readFileSync(path, "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    writeFileSync(`${path}.tmp`, `${format}\n`, { mode: 0o600, flush: true });
    renameSync(`${path}.tmp`, path);
    return;
  }
  if (found !== format)
    throw new StorageError(
      "TooNew",
      `${directory} has format ${found}, and this release of Keelson knows ${format}; use the release that wrote it`,
    );
}

function* entriesIn(contents: readonly Buffer[]): Iterable<Entry> {
  for (const content of contents)
    for (const line of content.toString("utf8").split("\n")) yield parseJson(line) as unknown as Entry;
}

function replay(entry: Entry, state: State): void {
  let table = state.get(entry.t);
  if (!table) {
    table = new Map();
    state.set(entry.t, table);
  }
  if (entry.o) table.set(entry.k, deepFreeze(entry.o));
  else table.delete(entry.k);
}

/** Writes the state under a name of its own, and gives it its true name when it is complete and on disk. */
export async function writeState(
  directory: string,
  sequence: number,
  revision: number,
  tables: readonly [string, [string, ApiObject][]][],
): Promise<void> {
  const temporary = join(directory, `state-${sequence}.tmp`);
  const file = openSync(temporary, "w", 0o600);
  try {
    const writer = new StateWriter(file);
    for (const [name, entries] of tables)
      for (const [key, object] of entries) {
        const head = `{"r":${object.metadata.resourceVersion},"t":${JSON.stringify(name)},"k":${JSON.stringify(key)},"o":`;
        // In pieces, so that requests are served in between.
        if (writer.add(encodeRecord(Buffer.from(head), ...storedJson(object), Buffer.from("}"))))
          await writer.drain();
      }
    await writer.seal(revision);
    await flush(file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
  renameSync(temporary, join(directory, `state-${sequence}`));
  syncDirectory(directory);
}

class StateWriter {
  readonly #file: number;
  readonly #hash: Hash = createHash("sha256");
  #position = 0;
  #records: Uint8Array[] = [];
  #bytes = 0;

  constructor(file: number) {
    this.#file = file;
  }

  /** Whether it is time to drain. */
  add(record: Uint8Array): boolean {
    this.#hash.update(record);
    this.#records.push(record);
    this.#bytes += record.length;
    return this.#bytes > 1024 * 1024;
  }

  async drain(): Promise<void> {
    const bytes = Buffer.concat(this.#records);
    this.#records = [];
    this.#bytes = 0;
    for (let done = 0; done < bytes.length; ) {
      const count = await new Promise<number>((resolve, reject) =>
        write(this.#file, bytes, done, bytes.length - done, this.#position, (error, written) =>
          error ? reject(error) : resolve(written),
        ),
      );
      done += count;
      this.#position += count;
    }
  }

  /** A digest ends the file, without which it is not believed. */
  async seal(revision: number): Promise<void> {
    const digest = this.#hash.digest("hex");
    this.#records.push(encodeRecord(Buffer.from(JSON.stringify({ revision, digest }))));
    await this.drain();
  }
}

function readState(directory: string, sequence: number, state: State): number {
  const path = join(directory, `state-${sequence}`);
  const { contents } = readRecords(readFileSync(path));
  const last = contents.pop();
  const hash = createHash("sha256");
  for (const content of contents) hash.update(encodeRecord(content));
  const seal = last && (parseJson(last.toString()) as { revision?: number; digest?: string });
  if (!seal?.digest || seal.digest !== hash.digest("hex"))
    throw new StorageError("Corrupt", `${path} is not what was written; restore it from a copy`);
  for (const entry of entriesIn(contents)) replay(entry, state);
  return seal.revision ?? 1;
}

export function removeOlder(directory: string, sequence: number): void {
  for (const file of readdirSync(directory)) {
    const number = /^(?:log|state)-(\d+)$/.exec(file)?.[1];
    if (number !== undefined && Number(number) < sequence) rmSync(join(directory, file), { force: true });
  }
}
