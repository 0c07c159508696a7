/** The import graph of the repository's TypeScript, read from its text. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";

export interface Import {
  /** The importing file, from the root. */
  readonly file: string;
  /** As written: `./store.ts`, `@keelson/core`. */
  readonly specifier: string;
  /** From the root; `undefined` for what is imported by a package's name. */
  readonly target: string | undefined;
  readonly typeOnly: boolean;
}

const statement =
  /(?:^|\n)(?:import|export)\s+(?:(type)\s+)?[^;'"]*?from\s+"([^"]+)"|import\("([^"]+)"\)|(?:^|\n)import\s+"([^"]+)"/g;

/** Text that a program writes may be a program: what that one imports is not imported here. */
const written = /(?<=return |= |=> |: |\()`(?:[^`\\]|\\.)*`/gs;

/** Imports of all files that match the pattern; tests and types of tests are left out. */
export function importsOf(root: string, pattern: string): Import[] {
  return globSync(pattern, { cwd: root })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => !/\.test(-d)?\.ts$|\/(node_modules|dist)\//.test(path))
    .sort()
    .flatMap((file) => importsIn(file, readFileSync(join(root, file), "utf8")));
}

function importsIn(file: string, source: string): Import[] {
  return [...source.replace(written, "``").matchAll(statement)].map((match) => {
    const specifier = match[2] ?? match[3] ?? match[4] ?? "";
    const target = specifier.startsWith(".") ? posix.join(posix.dirname(file), specifier) : undefined;
    return { file, specifier, target, typeOnly: match[1] !== undefined };
  });
}

/** Groups of nodes that reach each other, largest first. */
export function cyclesOf(edges: Iterable<readonly [string, string]>): string[][] {
  const next = new Map<string, Set<string>>();
  for (const [from, to] of edges) {
    if (from === to) continue;
    if (!next.has(from)) next.set(from, new Set());
    next.get(from)?.add(to);
  }
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const path: string[] = [];
  const onPath = new Set<string>();
  const cycles: string[][] = [];
  const visit = (node: string): void => {
    order.set(node, order.size);
    low.set(node, order.get(node) as number);
    path.push(node);
    onPath.add(node);
    for (const to of next.get(node) ?? []) {
      if (!order.has(to)) visit(to);
      if (onPath.has(to)) low.set(node, Math.min(low.get(node) as number, low.get(to) as number));
    }
    if (low.get(node) !== order.get(node)) return;
    const group: string[] = [];
    let last: string;
    do {
      last = path.pop() as string;
      onPath.delete(last);
      group.push(last);
    } while (last !== node);
    if (group.length > 1) cycles.push(group.sort());
  };
  for (const node of next.keys()) if (!order.has(node)) visit(node);
  return cycles.sort((a, b) => b.length - a.length);
}

/** The folder of a file as the direction of folders sees it. Entry files stand above all folders. */
export function folderOf(file: string): string | undefined {
  return /(^|\/)(index|internal|main)\.ts$/.test(file) ? undefined : dirname(file);
}
