/** Promises and the runs that show them: chosen on the command line, told while they run, a table at the end. */
import { errorText } from "@keelson/core/internal";
import { refuse } from "../../scripts/command-line.ts";

export interface Promised<World> {
  readonly id: string;
  readonly promise: string;
  /** What was measured. Throws when the promise is broken. */
  run(world: World, say: Say): Promise<string>;
}

/** Tells what happens, with the seconds since the start. */
export type Say = (sentence: string) => void;

export interface Shown {
  readonly id: string;
  readonly promise: string;
  /** What was measured, or why the promise is broken. */
  readonly measured: string;
  readonly isKept: boolean;
}

/** For `commandLine`. */
export const promiseOptions = {
  only: { text: "ID,…", help: "these alone" },
  list: { help: "name them, and run nothing" },
} as const;

interface Choice {
  /** Ids, with commas between them. Default: all. */
  readonly only?: string | undefined;
  /** Names them and ends. */
  readonly list: boolean;
  /** Runs in any case: the others look at what it made. */
  readonly first?: string;
}

/** Those that were chosen, in their own order. */
export function choose<World>(
  all: readonly Promised<World>[],
  { first, list, only }: Choice,
): readonly Promised<World>[] {
  if (list) {
    const width = Math.max(...all.map(({ id }) => id.length));
    for (const { id, promise } of all) console.log(`${id.padEnd(width)} ${promise}`);
    process.exit(0);
  }
  if (only === undefined) return all;
  const ids = only.split(",");
  const unknown = ids.find((id) => !all.some((each) => each.id === id));
  if (unknown !== undefined) refuse(`there is no promise ${unknown}; --list names them`);
  return all.filter(({ id }) => id === first || ids.includes(id));
}

/** Writes to stderr. */
export function narrator(): Say {
  const startedAt = performance.now();
  return (sentence) =>
    console.error(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(7)} ${sentence}`);
}

/** Runs each. One that is broken does not end the others. */
export async function show<World>(
  promises: readonly Promised<World>[],
  world: World,
  say: Say,
): Promise<Shown[]> {
  const shown: Shown[] = [];
  for (const { id, promise, run } of promises) {
    say(`${id}: ${promise}`);
    try {
      const measured = await run(world, say);
      say(measured);
      shown.push({ id, promise, measured, isKept: true });
    } catch (error) {
      const text = errorText(error);
      say(`BROKEN ${text}`);
      shown.push({ id, promise, measured: text.split("\n")[0] ?? "", isKept: false });
    }
  }
  return shown;
}

/** Prints the table and ends the process: with 0 when there were promises and all were kept. */
export function conclude(shown: readonly Shown[], title: string, say: Say): never {
  const rows = shown.map(
    ({ isKept, measured, promise }) => `| ${promise} | ${measured} | ${isKept ? "yes" : "**no**"} |`,
  );
  console.log([`| ${title} | measured | kept |`, "| --- | --- | --- |", ...rows].join("\n"));
  const kept = shown.filter(({ isKept }) => isKept).length;
  say(`${kept} of ${shown.length} promises kept`);
  process.exit(kept === shown.length && kept > 0 ? 0 : 1);
}

/** How long something takes, in milliseconds. */
export async function timed(what: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await what();
  return performance.now() - startedAt;
}

export const seconds = (ms: number) => `${(ms / 1_000).toFixed(2)} s`;
