/** What was measured, kept in files row by row, and the table that it becomes in docs/sampledb-results.md. */
import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ControlPlaneName } from "../operator/control-plane.ts";
import { type LoadReport, load } from "./load.ts";
import type { Run, Scenario } from "./scenario.ts";

export interface RowResult {
  /** Each with the commit that it ran; a plus sign stands for changes that were not committed. */
  readonly runs: readonly (Run & { readonly at: string; readonly commit?: string })[];
  readonly loads: readonly LoadReport[];
}

export interface Results {
  readonly controlPlane: ControlPlaneName;
  readonly machine: string;
  /** The least and the greatest load average met after a row: what else the machine had to do. */
  readonly busy?: readonly [number, number];
  readonly rows: Readonly<Record<string, RowResult>>;
}

const directory = join(import.meta.dirname, "results");
const page = join(import.meta.dirname, "../../docs/sampledb-results.md");

export async function readResults(of: Pick<Results, "controlPlane" | "machine">): Promise<Results> {
  const text = await readFile(join(directory, `${of.controlPlane}.recorded.json`), "utf8").catch(
    () => undefined,
  );
  return text === undefined ? { ...of, rows: {} } : { ...(JSON.parse(text) as Results), ...of };
}

export async function writeResults(results: Results, scenarios: readonly Scenario[]): Promise<void> {
  await mkdir(directory, { recursive: true });
  const file = join(directory, `${results.controlPlane}.recorded.json`);
  await writeFile(file, `${JSON.stringify(results, undefined, 1)}\n`);
  const other = results.controlPlane === "embedded" ? "reference" : "embedded";
  const beside = await readResults({ controlPlane: other, machine: results.machine });
  const all = [results, beside].filter(({ rows }) => Object.keys(rows).length > 0);
  await writeFile(page, text(scenarios, all));
  execFileSync("biome", ["format", "--write", page], { stdio: "ignore" });
}

export function withRow(results: Results, id: string, row: RowResult, loadAverage: number): Results {
  const [least, greatest] = results.busy ?? [loadAverage, loadAverage];
  const busy = [Math.min(least, loadAverage), Math.max(greatest, loadAverage)] as const;
  return { ...results, busy, rows: { ...results.rows, [id]: row } };
}

/** What a row did not hold, as sentences, each once. */
export function shortcomings({ mayLosePlain = false }: Scenario, { runs, loads }: RowResult): string[] {
  const sentences = [
    ...runs.flatMap(({ missed }) => missed),
    ...loads.flatMap(({ lostByWait }) => lostByWait),
    ...loads.flatMap(({ lostPlain }) =>
      lostPlain > 0 && !mayLosePlain ? [`${lostPlain} acknowledged writes are gone`] : [],
    ),
    ...loads.flatMap(({ read = true, unreadable = "nothing is left to read" }) =>
      read ? [] : [`what was written was not read: ${unreadable}`],
    ),
    ...(runs.length === 0 ? ["it was not run"] : []),
  ];
  return [...new Set(sentences)];
}

const how = `\`npm run e2e:sampledb\` breaks real Redis processes while ${load.waiting} clients write with WAIT and ${load.plain} without, each to a key of its own, ${load.writesPerSecond} writes a second in all if they can, through the Service and with the binding Secret. A client waits 800 ms for an answer and connects again 20 ms after an error. Every key is read afterwards: a write that WAIT acknowledged must be there. What the primary alone acknowledged, without WAIT or without replicas, must be there too, but for the rows that say "may be": there the primary's process, volume or network is taken away without a warning. A database that was deleted is restored from its last snapshot for that, which is no part of a time. "Longest without a write" is the longest time in which no client at all got an acknowledgement, from the fault until all was well. The operator runs as people install it: a Deployment with its exact role. Where rows are about deleting, up to three databases were deleted at the same time.`;

/** What the figures do not say by themselves: kept by hand, and true of the rows above. */
const remarks = `## Remarks

- **Upgrades**: an upgrade adds a server where one is needed, so that writes end for as long as a handover takes. Before that,
  7b69b93 measured 12.1 s without replicas, whose server was stopped and started with the new version, and 3.46 s with one, whose
  primary turned clients away while it was replaced.
- **Upgrades that took 30 s longer**: the server that an upgrade adds was replaced while Redis, which wrote its first append-only
  file, refused to stop. Since f4127548 sixteen upgrades took 11.0 to 26.1 s, and three ways back 9.1 to 12.8 s to heal, on a busy
  machine.
- **Not measured enough**: each row on the real control plane ran once.`;

function text(scenarios: readonly Scenario[], all: readonly Results[]): string {
  const tables = all.map((results) => {
    const where =
      results.controlPlane === "embedded"
        ? "The embedded cluster"
        : "The real kube-apiserver, controller manager and scheduler, with our nodes joined to them";
    const [least = 0, greatest = 0] = results.busy ?? [];
    const busy = `a machine with ${results.machine}, shared with other work: load average ${least.toFixed(0)} to ${greatest.toFixed(0)}`;
    const which =
      "Each row names the commits that its runs are of, or † where they are older than that was recorded.";
    return `## ${where}\n\nOn ${busy}. ${which}\n\n${markdown(scenarios, results)}`;
  });
  return `# SampleDB: what was measured\n\n${how}\n\n${tables.join("\n\n")}\n\n${remarks}\n`;
}

/** A table in Markdown: the median of each figure, and its least and greatest. */
export function markdown(scenarios: readonly Scenario[], { rows }: Results): string {
  const lines = scenarios.flatMap((scenario) => {
    const row = rows[scenario.id];
    return row ? [line(scenario, row)] : [];
  });
  return [
    "| what happens | goal | measured: median (least to greatest) | clients | runs that held | commit |",
    "| --- | --- | --- | --- | --- | --- |",
    ...lines,
  ].join("\n");
}

function line(scenario: Scenario, row: RowResult): string {
  const { fault, goal } = scenario;
  const { runs, loads } = row;
  const names = [...new Set(runs.flatMap(({ figures }) => Object.keys(figures)))];
  const spreads = names.map((name) => {
    const sorted = runs.flatMap(({ figures }) => figures[name] ?? []).sort((a, b) => a - b);
    const [least, greatest] = [sorted[0] ?? 0, sorted.at(-1) ?? 0];
    const middle = sorted.slice(Math.floor((sorted.length - 1) / 2), Math.floor(sorted.length / 2) + 1);
    const median = middle.reduce((total, value) => total + value, 0) / Math.max(1, middle.length);
    return sorted.length === 1
      ? `${name} ${seconds(median)}`
      : `${name} ${seconds(median)} (${seconds(least)} to ${seconds(greatest)})`;
  });
  const held = runs.filter(({ missed }) => missed.length === 0).length;
  const kept =
    shortcomings(scenario, row).length === 0 ? `${held} of ${runs.length}` : `**${held} of ${runs.length}**`;
  const commits = [...new Set(runs.map(({ commit }) => commit ?? "†"))].join(" ");
  return `| ${fault} | ${goal} | ${spreads.join("<br>")} | ${clients(scenario, loads)} | ${kept} | ${commits} |`;
}

/** What clients wrote and lost. Of what nobody read no loss is told. */
function clients({ spec, mayLosePlain = false }: Scenario, loads: readonly LoadReport[]): string {
  if (loads.length === 0) return "";
  const sum = (of: (load: LoadReport) => number) => loads.reduce((total, each) => total + of(each), 0);
  const acknowledged = `${sum((each) => each.acknowledged)} acknowledged`;
  const unread = loads.filter(({ read = true }) => !read).length;
  if (unread > 0) return `${acknowledged}; not read after ${unread} of ${loads.length}`;
  const byWait = sum(({ lostByWait }) => lostByWait.length);
  const plain = `${sum(({ lostPlain }) => lostPlain)} plain${mayLosePlain ? ", which may be" : ""}`;
  return `${acknowledged}; lost: ${spec?.replicas === 0 ? "" : `${byWait} by WAIT, `}${plain}`;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}
