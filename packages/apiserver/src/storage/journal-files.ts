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

/** The revision that the record leads to. */
function replay(content: Buffer, state: State): number {
  let revision = 0;
  for (const line of content.toString("utf8").split("\n")) {
    const entry = parseJson(line) as unknown as Entry;
    let table = state.get(entry.t);
    if (!table) {
      table = new Map();
      state.set(entry.t, table);
    }
    if (entry.o) table.set(entry.k, deepFreeze(entry.o));
    else table.delete(entry.k);
    revision = entry.r;
  }
  return revision;
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
  for (const content of contents) replay(content, state);
  return seal.revision ?? 1;
}

export function removeOlder(directory: string, sequence: number): void {
  for (const file of readdirSync(directory)) {
    const number = /^(?:log|state)-(\d+)$/.exec(file)?.[1];
    if (number !== undefined && Number(number) < sequence) rmSync(join(directory, file), { force: true });
  }
}
