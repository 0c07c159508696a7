/** Keeps the log for restores: PostgreSQL calls `archive.ts push KEEP %p %f` for each segment, and `fetch PLACE SYSTEM %f %p`. */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { readFile, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isBackupError, openStore, type Store, type StoreLocation } from "@keelson/kit/store";
import { parseKnownJson } from "../ha/json.ts";

/**
 * Segments lie in a folder for the system, which a major upgrade changes, and in that for the epoch of the primary that
 * archived them. Two primaries may give the same name to different log; the later one was elected with everything that
 * was acknowledged, so its files win.
 */
export function archiveFolder(systemId: string, epoch: number): string {
  return `${systemId}/${String(epoch).padStart(8, "0")}`;
}

export interface Segment {
  readonly folder: string;
  readonly source: string;
  readonly name: string;
}

export async function push(store: Store, { folder, source, name }: Segment): Promise<void> {
  const key = `wal/${folder}/${name}`;
  // A restore looks for epochs here: there are few, and many segments.
  if (!(await store.head(`epochs/${folder}`))) await store.put(`epochs/${folder}`, Readable.from([]));
  try {
    await store.put(key, createReadStream(source), { ifAbsent: true });
  } catch (error) {
    // An answer that was lost makes PostgreSQL ask twice; anything else must not be overwritten.
    if (!isBackupError(error, "NotOurs")) throw error;
    const [there, here] = await Promise.all([digest(store.get(key)), digest(createReadStream(source))]);
    if (there !== here) throw new Error(`${key} exists and is different`, { cause: error });
  }
}

export interface Wish {
  readonly systemId: string;
  readonly name: string;
  readonly target: string;
}

/** False when no primary has archived it. Throws when that cannot be said. */
export async function fetch(store: Store, { systemId, name, target }: Wish): Promise<boolean> {
  const epochs = await Array.fromAsync(store.list(`epochs/${systemId}/`), ({ key }) => basename(key));
  for (const epoch of epochs.sort().reverse()) {
    const key = `wal/${systemId}/${epoch}/${name}`;
    if (!(await store.head(key))) continue;
    const draft = `${target}.draft`;
    await pipeline(Readable.from(store.get(key)), createWriteStream(draft));
    await rename(draft, target);
    return true;
  }
  return false;
}

/** Removes segments that begin before a position. Histories of timelines stay: they are small, and every later restore asks for them. */
export async function prune(store: Store, systemId: string, oldest: string): Promise<void> {
  for await (const { key } of store.list(`wal/${systemId}/`)) {
    const name = basename(key);
    if (/^[0-9A-F]{24}/.test(name) && name.slice(8, 24) < oldest) await store.delete(key);
  }
}

async function digest(content: AsyncIterable<Uint8Array>): Promise<string> {
  const sum = createHash("sha256");
  for await (const chunk of content) sum.update(chunk);
  return sum.digest("hex");
}

/** What a place file holds. */
async function storeAt(path: string): Promise<Store> {
  return await openStore(parseKnownJson(await readFile(path, "utf8")) as StoreLocation);
}

/** For a shell: nothing but histories of timelines is looked for. */
const onlyHistories = "case '%f' in *.history) ;; *) exit 1 ;; esac; ";

/** The commands as PostgreSQL runs them. Where the store is stands in a file: it may hold what PostgreSQL would replace. */
export function archiveCommands(options: {
  /** Node with its own arguments. */
  readonly node: readonly string[];
  readonly keep: string;
  readonly place: string;
}) {
  const module = join(import.meta.dirname, basename(import.meta.filename));
  const quoted = (...words: readonly string[]) => words.map((word) => `'${word}'`).join(" ");
  const base = [...options.node, module];
  return {
    push: `${quoted(...base, "push", options.place, options.keep)} '%p' '%f'`,
    fetch: (systemId: string, what?: "histories") =>
      `${what === "histories" ? onlyHistories : ""}${quoted(...base, "fetch", options.place, systemId)} '%f' '%p'`,
  };
}

/** PostgreSQL ends a recovery for good where a segment is absent. Beyond 128 it stops instead, and tries again. */
const unknown = 255;

async function main([command, ...args]: readonly string[]): Promise<void> {
  if (command === "push") {
    const [place = "", keep = "", source = "", name = ""] = args;
    const folder = await readFile(join(keep, "archive-folder"), "utf8");
    await push(await storeAt(place), { folder, source, name });
  } else if (command === "fetch") {
    const [place = "", systemId = "", name = "", target = ""] = args;
    try {
      process.exitCode = (await fetch(await storeAt(place), { systemId, name, target })) ? 0 : 1;
    } catch (error) {
      console.error((error as Error).message);
      await rm(`${target}.draft`, { force: true });
      process.exitCode = unknown;
    }
  }
}

// An error ends the process, and PostgreSQL asks again. Modules that import this one wait for nothing.
if (process.argv[1] === import.meta.filename) void main(process.argv.slice(2));
