/** Keeps the log for restores: PostgreSQL calls `archive.ts push DIR KEEP %p %f` for each segment, and `fetch DIR SYSTEM %f %p`. */
import { hash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

/**
 * Segments lie in a folder for the system, which a major upgrade changes, and in that for the epoch of the primary that
 * archived them. Two primaries may give the same name to different log; the later one was elected with everything that
 * was acknowledged, so its files win.
 */
export function archiveFolder(systemId: string, epoch: number): string {
  return join(systemId, String(epoch).padStart(8, "0"));
}

export interface Segment {
  readonly folder: string;
  readonly source: string;
  readonly name: string;
}

export function push(store: string, { folder, source, name }: Segment): void {
  const target = join(store, "wal", folder, name);
  mkdirSync(dirname(target), { recursive: true });
  if (existsSync(target)) {
    // An answer that was lost makes PostgreSQL ask twice; anything else must not be overwritten.
    if (digest(target) === digest(source)) return;
    throw new Error(`${target} exists and is different`);
  }
  const draft = `${target}.${process.pid}.tmp`;
  copyFileSync(source, draft);
  sync(draft);
  renameSync(draft, target);
  sync(dirname(target));
}

export interface Wish {
  readonly systemId: string;
  readonly name: string;
  readonly target: string;
}

export function fetch(store: string, { systemId, name, target }: Wish): boolean {
  const place = join(store, "wal", systemId);
  const folders = existsSync(place) ? readdirSync(place).sort().reverse() : [];
  const folder = folders.find((each) => existsSync(join(place, each, name)));
  if (folder === undefined) return false;
  copyFileSync(join(place, folder, name), target);
  return true;
}

function digest(path: string): string {
  return hash("sha256", readFileSync(path));
}

function sync(path: string): void {
  fsyncSync(openSync(path, "r"));
}

/** The commands as PostgreSQL runs them. */
export function archiveCommands(options: {
  readonly node: string;
  readonly store: string;
  readonly keep: string;
}) {
  const module = join(import.meta.dirname, basename(import.meta.filename));
  const quoted = (...words: readonly string[]) => words.map((word) => `'${word}'`).join(" ");
  const base = [options.node, module] as const;
  return {
    push: `${quoted(...base, "push", options.store, options.keep)} '%p' '%f'`,
    fetch: (systemId: string) => `${quoted(...base, "fetch", options.store, systemId)} '%f' '%p'`,
  };
}

const [command, ...args] = process.argv[1] === import.meta.filename ? process.argv.slice(2) : [];
if (command === "push") {
  const [store = "", keep = "", source = "", name = ""] = args;
  push(store, { folder: readFileSync(join(keep, "archive-folder"), "utf8"), source, name });
  // When the newest segment was stored, to tell how much a disaster would cost.
  writeFileSync(join(keep, "archived"), `${name} ${new Date().toISOString()}\n`);
} else if (command === "fetch") {
  const [store = "", systemId = "", name = "", target = ""] = args;
  process.exitCode = fetch(store, { systemId, name, target }) ? 0 : 1;
}
