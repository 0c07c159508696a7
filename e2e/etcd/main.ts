/**
 * `npm run e2e:etcd`: breaks real etcd clusters in every way that the operator promises to heal, under load, and prints what
 * was measured. Results go to `e2e/etcd/results`, row by row: a row that is measured again replaces what was there.
 */
import { arch, cpus, loadavg, release, totalmem } from "node:os";
import { commandLine, refuse } from "../../scripts/command-line.ts";
import { measuredCode } from "../operator/measured-code.ts";
import { rowOptions } from "../operator/row-options.ts";
import { narrator } from "../promises/promises.ts";
import type { Scenario } from "./bench.ts";
import { hour, hourMarkdown } from "./hour.ts";
import { Clusters, failedRun, type Measured } from "./measure.ts";
import { writeReport } from "./report.ts";
import { markdown, type RowResult, readResults, shortcomings, withRow, writeResults } from "./results.ts";
import { scenarios } from "./scenarios/index.ts";
import { World } from "./world.ts";

const values = commandLine({
  command: "npm run e2e:etcd",
  does: "Breaks real etcd clusters in every way that the operator promises to heal, under load, and prints what was measured.",
  options: {
    ...rowOptions,
    only: { text: "ID[:RUNS],…", help: "these rows alone, in this order" },
    version: { text: "V", default: "3.6.16", help: "of etcd" },
    write: { help: "put all tables into docs/etcd-results.md; with --runs 0 nothing is measured before" },
    hour: { help: "a random fault or edit every five seconds instead of rows" },
    minutes: { number: "N", default: 60, help: "with --hour: how long" },
    seed: { number: "S", default: 1, help: "with --hour: of faults and edits" },
  },
});

if (values.list) {
  for (const { id, fault } of scenarios) console.log(`${id.padEnd(12)} ${fault}`);
  process.exit(0);
}

const say = narrator();
const commit = measuredCode();
if (values.hour) process.exit(await weather());
/** Rows by id, with the number of their runs where that is given. */
const only = values.only?.split(",").map((row) => row.split(":", 2));
const unknown = only?.find(([id]) => !scenarios.some((scenario) => scenario.id === id));
if (unknown !== undefined) refuse(`there is no row ${unknown[0]}; --list names them`);
const controlPlane = values["control-plane"];
const { version } = values;
const machine = `${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB, Linux ${release()} ${arch()}`;

let results = await readResults({ controlPlane, version, machine });
const chosen = only
  ? only.flatMap(([id]) => scenarios.filter((scenario) => scenario.id === id))
  : [...scenarios].sort((a, b) => upheaval(a) - upheaval(b));
const wanted = chosen
  .filter(({ versions }) => versions?.includes(version) ?? true)
  .map((scenario) => {
    const found = values.resume ? (results.rows[scenario.id] ?? empty()) : empty();
    const all = Number(only?.find(([id]) => id === scenario.id)?.[1] ?? values.runs ?? scenario.runs);
    const isComplete = found.runs.length >= all;
    // Runs of a code that nobody can name any more are not completed.
    const before = isComplete || found.runs.every((run) => run.commit !== undefined) ? found : empty();
    return { scenario, before, runs: Math.max(0, all - before.runs.length) };
  })
  .filter(({ runs }) => runs > 0);

for (let next = 0; next < wanted.length; ) {
  await using world = await World.start(controlPlane, say);
  const clusters = new Clusters(world);
  for (let usable = true; usable && next < wanted.length; next++) {
    const { scenario, before, runs } = wanted[next] as (typeof wanted)[number];
    say(`${scenario.id}: ${scenario.fault}`);
    const measured = await clusters
      .measure(scenario, { runs, before: before.runs.length, version, say })
      .catch((error: unknown): Measured => {
        // Whatever it was, the rows to come deserve a world without it.
        usable = false;
        return { runs: [failedRun(error)], loads: [] };
      });
    const at = new Date().toISOString();
    const row: RowResult = {
      runs: [...before.runs, ...measured.runs.map((run) => ({ at, commit, ...run }))],
      loads: [...before.loads, ...measured.loads],
    };
    for (const sentence of shortcomings(row)) say(`MISSED ${sentence}`);
    results = withRow(results, scenario.id, row, loadavg()[0] ?? 0);
    await writeResults(results);
  }
  await clusters.release().catch((error: unknown) => say(String(error)));
}
console.log(markdown(scenarios, results));
if (values.write) console.log(`written to ${await writeReport(scenarios)}`);
const missed = wanted.filter(({ scenario }) => shortcomings(results.rows[scenario.id] ?? empty()).length > 0);
for (const { scenario } of missed) console.error(`goal missed: ${scenario.fault}`);
process.exit(missed.length === 0 ? 0 : 1);

function empty(): RowResult {
  return { runs: [], loads: [] };
}

/** Rows that can share a living cluster come first, one after the other. */
function upheaval({ fresh, size }: Scenario): number {
  return fresh ? 2 : size === 3 ? 0 : 1;
}

async function weather(): Promise<number> {
  const busy = () =>
    loadavg()
      .map((each) => each.toFixed(0))
      .join(", ");
  const { minutes, seed } = values;
  const result = await hour({ minutes, seed, commit, load: busy, say });
  console.log(hourMarkdown(result));
  if (values.write) console.log(`written to ${await writeReport(scenarios)}`);
  return result.problems.length === 0 && result.lost === 0 ? 0 : 1;
}
