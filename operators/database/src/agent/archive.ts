/** Keeps the log for restores: PostgreSQL calls `archive.ts push DIR KEEP %p %f` for each segment, and `fetch DIR %f %p`. */
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
 * Segments lie in a folder for the epoch of the primary that archived them. Two primaries may give the same name to
 * different log; the later one was elected with everything that was acknowledged, so its files win.
 */
export function push(store: string, epoch: number, source: string, name: string): void {
  const target = join(store, "wal", String(epoch).padStart(8, "0"), name);
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

export function fetch(store: string, name: string, target: string): boolean {
  const folders = readdirSync(join(store, "wal")).sort().reverse();
  const folder = folders.find((each) => existsSync(join(store, "wal", each, name)));
  if (folder === undefined) return false;
  copyFileSync(join(store, "wal", folder, name), target);
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
    fetch: `${quoted(...base, "fetch", options.store)} '%f' '%p'`,
  };
}

const [command, ...args] = process.argv[1] === import.meta.filename ? process.argv.slice(2) : [];
if (command === "push") {
  const [store = "", keep = "", source = "", name = ""] = args;
  push(store, Number(readFileSync(join(keep, "epoch"), "utf8")), source, name);
  // When the newest segment was stored, to tell how much a disaster would cost.
  writeFileSync(join(keep, "archived"), `${name} ${new Date().toISOString()}\n`);
} else if (command === "fetch") {
  const [store = "", name = "", target = ""] = args;
  process.exitCode = fetch(store, name, target) ? 0 : 1;
}
