/** What was measured, kept in files, and the tables that it becomes. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ControlPlaneName } from "../operator/control-plane.ts";
import type { Run, Scenario } from "./bench.ts";

/** What the clients of one cluster saw while a row was measured on it. */
export interface LoadResult {
  readonly acknowledged: number;
  readonly failed: number;
  /** Acknowledged writes per second of the time in which there were any. */
  readonly perSecond: number;
  /** What no single etcd that never failed could have answered. */
  readonly violations: readonly string[];
}

export interface RowResult {
  /** Each with the commit that it ran; a plus sign stands for changes that were not committed. */
  readonly runs: readonly (Run & { readonly at: string; readonly commit?: string })[];
  readonly loads: readonly LoadResult[];
}

/** All rows of one table. */
export interface Results {
  readonly controlPlane: ControlPlaneName;
  readonly version: string;
  /** On how much of a machine. */
  readonly machine: string;
  /** The least and the greatest load average met after a row: what else the machine had to do. */
  readonly busy?: readonly [number, number];
  readonly rows: Readonly<Record<string, RowResult>>;
}

/** The least that clients must have got through. */
const leastPerSecond = 200;

const directory = join(import.meta.dirname, "results");

function fileOf({ controlPlane, version }: Pick<Results, "controlPlane" | "version">): string {
  return join(directory, `${controlPlane}-${version}.recorded.json`);
}

export async function readResults(
  of: Pick<Results, "controlPlane" | "version" | "machine">,
): Promise<Results> {
  const text = await readFile(fileOf(of), "utf8").catch(() => undefined);
  return text === undefined ? { ...of, rows: {} } : { ...(JSON.parse(text) as Results), ...of };
}

export async function writeResults(results: Results): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(fileOf(results), `${JSON.stringify(results, undefined, 1)}\n`);
}

/** Everything that was measured so far, the embedded control plane and the newest version first. */
export async function allResults(): Promise<Results[]> {
  const names = await readdir(directory).catch(() => []);
  const found = await Promise.all(
    names
      .filter((name) => name.endsWith(".recorded.json"))
      .map(async (name) => JSON.parse(await readFile(join(directory, name), "utf8")) as Results),
  );
  const rank = ({ controlPlane, version }: Results) => `${controlPlane} ${999 - (minor(version) ?? 0)}`;
  return found.sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

function minor(version: string): number | undefined {
  return Number(version.split(".")[1]);
}

/** With one more row, measured while the machine had this load average. */
export function withRow(results: Results, id: string, row: RowResult, loadAverage: number): Results {
  const [least, greatest] = results.busy ?? [loadAverage, loadAverage];
  const busy = [Math.min(least, loadAverage), Math.max(greatest, loadAverage)] as const;
  return { ...results, busy, rows: { ...results.rows, [id]: row } };
}

/** What a row did not hold, as sentences. */
export function shortcomings({ runs, loads }: RowResult): string[] {
  const slow = loads.filter(({ perSecond }) => perSecond < leastPerSecond);
  return [
    ...runs.flatMap(({ missed }) => missed),
    ...loads.flatMap(({ violations }) => violations),
    ...slow.map(({ perSecond }) => `only ${perSecond} writes per second`),
    ...(runs.length === 0 ? ["it was not run"] : []),
  ];
}

/** A table in Markdown: the median of each figure, and its least and greatest. */
export function markdown(scenarios: readonly Scenario[], { rows }: Results): string {
  const measured = scenarios.flatMap((scenario) => {
    const row = rows[scenario.id];
    return row ? [line(scenario, row)] : [];
  });
  return [
    "| fault | goal | measured: median (least to greatest) | clients | runs that held | commit |",
    "|---|---|---|---|---|---|",
    ...measured,
  ].join("\n");
}

function line({ fault, goal }: Scenario, row: RowResult): string {
  const { runs, loads } = row;
  const figures = spreads(
    runs.map((run) => run.figures),
    seconds,
  );
  const counts = spreads(
    runs.map((run) => run.counts ?? {}),
    String,
  );
  const acknowledged = loads.reduce((sum, load) => sum + load.acknowledged, 0);
  const failed = loads.reduce((sum, load) => sum + load.failed, 0);
  const slowest = Math.min(...loads.map(({ perSecond }) => perSecond));
  const wrong = loads.reduce((sum, { violations }) => sum + violations.length, 0);
  const clients = `${grouped(acknowledged)} acknowledged at ${slowest}/s, ${wrong} lost or out of order, ${failed} given up after 5 s`;
  const held = runs.filter(({ missed }) => missed.length === 0).length;
  const verdict =
    shortcomings(row).length === 0 ? `${held} of ${runs.length}` : `**${held} of ${runs.length}**`;
  const commits = [...new Set(runs.map(({ commit }) => commit ?? "†"))].join(" ");
  return `| ${fault} | ${goal} | ${[...figures, ...counts].join("<br>")} | ${clients} | ${verdict} | ${commits} |`;
}

function spreads(
  runs: readonly Readonly<Record<string, number>>[],
  show: (value: number) => string,
): string[] {
  const names = [...new Set(runs.flatMap((figures) => Object.keys(figures)))];
  return names.map((name) => {
    const sorted = runs.flatMap((figures) => figures[name] ?? []).sort((a, b) => a - b);
    const at = (part: number) => show(sorted[Math.floor((sorted.length - 1) * part)] ?? 0);
    return sorted.length === 1 ? `${name} ${at(0)}` : `${name} ${at(0.5)} (${at(0)} to ${at(1)})`;
  });
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, " ");
}
