/** What was measured, kept in files, and the page that it becomes. */
import { spawnSync } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ControlPlaneName } from "../operator/control-plane.ts";
import type { Scenario } from "./scenarios.ts";

export interface Run {
  readonly at: string;
  /** The machine's load average when the run began. */
  readonly load: number;
  readonly gapMs: number;
  readonly healMs: number;
  readonly commits: number;
  readonly lost: number;
  readonly overlapMs: number;
  readonly missed: readonly string[];
  /** What was measured, as `git describe` names it. */
  readonly commit?: string;
}

export interface Results {
  readonly machine?: string;
  readonly rows: { [id: string]: readonly Run[] };
}

const directory = join(import.meta.dirname, "results");
const page = join(import.meta.dirname, "../../docs/database-results.md");

export async function readResults(plane: ControlPlaneName): Promise<Results> {
  const text = await readFile(join(directory, `${plane}.recorded.json`), "utf8").catch(() => undefined);
  return text === undefined ? { rows: {} } : (JSON.parse(text) as Results);
}

/** Replaces one row. Others may have been measured meanwhile: they are read again. */
export async function recordRuns(
  plane: ControlPlaneName,
  { row, runs, machine }: { readonly row: string; readonly runs: readonly Run[]; readonly machine: string },
): Promise<void> {
  const { rows } = await readResults(plane);
  const results: Results = { machine, rows: { ...rows, [row]: runs } };
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, `${plane}.recorded.json`), `${JSON.stringify(results, undefined, 1)}\n`);
}

/** Writes docs/database-results.md from all that was measured so far. */
export async function writeReport(scenarios: readonly Scenario[]): Promise<void> {
  const names = (await readdir(directory).catch(() => []))
    .filter((name) => name.endsWith(".recorded.json"))
    .sort();
  const parts = await Promise.all(
    names.map(async (name) => {
      const results = JSON.parse(await readFile(join(directory, name), "utf8")) as Results;
      return [
        `## ${name.split(".")[0]} control plane`,
        "",
        `Measured on ${results.machine}. A row marked † holds runs of an earlier operator; the recorded runs name their commits.`,
        "",
        table(scenarios, results),
        "",
        ...unmeasured(scenarios, results),
      ].join("\n");
    }),
  );
  const head = [
    "# The database operator under faults",
    "",
    "Written by `npm run e2e:database`. Six writers commit through the Service while something breaks, and a probe tries to",
    "write on every instance directly, ten times a second. Each acknowledged commit is looked for afterwards. The gap is the",
    "longest time without an acknowledged commit; a client gives up after 1.5 s, or 5 s where a pooler holds it back. The",
    "load is that of the machine when a run began, which also did other work. CloudNativePG documents 10 s for a failover,",
    "20 s for a switchover, and its users measured 40 to 80 s for a lost node.",
    "",
  ];
  await writeFile(page, [...head, ...parts].join("\n"));
}

function unmeasured(scenarios: readonly Scenario[], { rows }: Results): string[] {
  const names = scenarios.filter(({ id }) => rows[id] === undefined).map(({ fault }) => fault);
  return names.length === 0 ? [] : [`Not measured here yet: ${names.join("; ")}.`, ""];
}

function table(scenarios: readonly Scenario[], { rows }: Results): string {
  const lines = scenarios.flatMap((scenario) => {
    const runs = rows[scenario.id];
    return runs ? [line(scenario, runs)] : [];
  });
  const head = [
    ...["fault", "goal", "gap: median (worst)", "ready again: median (worst)", "commits", "lost"],
    ...["two primaries", "load", "runs that held"],
  ];
  const widths = head.map((title, at) =>
    Math.max(title.length, ...lines.map((cells) => cells[at]?.length ?? 0)),
  );
  const row = (cells: readonly string[], pad = " ") =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0, pad)).join(" | ")} |`;
  return [
    row(head),
    row(
      head.map(() => ""),
      "-",
    ),
    ...lines.map((cells) => row(cells)),
  ].join("\n");
}

function line({ fault, goal }: Scenario, runs: readonly Run[]): string[] {
  const spread = (values: readonly number[]) => {
    const sorted = [...values].sort((a, b) => a - b);
    const seconds = (ms = 0) => (ms / 1_000).toFixed(1);
    return `${seconds(sorted[Math.floor((sorted.length - 1) / 2)])} s (${seconds(sorted.at(-1))} s)`;
  };
  const sum = (pick: (run: Run) => number) => runs.reduce((total, run) => total + pick(run), 0);
  const held = runs.filter(({ missed }) => missed.length === 0).length;
  const load = `${Math.min(...runs.map((run) => run.load))} to ${Math.max(...runs.map((run) => run.load))}`;
  return [
    runs.every(({ commit }) => isCurrent(commit)) ? fault : `${fault} †`,
    goal,
    spread(runs.map(({ gapMs }) => gapMs)),
    spread(runs.map(({ healMs }) => healMs)),
    String(sum(({ commits }) => commits)),
    String(sum(({ lost }) => lost)),
    `${Math.max(...runs.map(({ overlapMs }) => overlapMs))} ms`,
    load,
    `${held} of ${runs.length}`,
  ];
}

const known = new Map<string, boolean>();

/** Whether the operator is what it was at that commit. */
export function isCurrent(commit = ""): boolean {
  const found = known.get(commit);
  if (found !== undefined) return found;
  const args = ["diff", "--quiet", commit, "--", "operators/database/src", ":!*.test.ts"];
  const isSo = commit !== "" && spawnSync("git", args, { stdio: "ignore" }).status === 0;
  known.set(commit, isSo);
  return isSo;
}
