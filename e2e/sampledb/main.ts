/**
 * `npm run e2e:sampledb`: breaks real Redis databases in every way that the operator promises to repair, under load, and
 * writes what was measured to docs/sampledb-results.md. Results are kept run by run: a row that is measured again replaces
 * what was there.
 */
import { execFileSync } from "node:child_process";
import { arch, cpus, loadavg, release, totalmem } from "node:os";
import { commandLine, refuse } from "../../scripts/command-line.ts";
import { rowOptions } from "../operator/row-options.ts";
import { narrator } from "../promises/promises.ts";
import { markdown, type RowResult, readResults, shortcomings, withRow, writeResults } from "./results.ts";
import { scenarios } from "./rows/index.ts";
import { Bench, type Run, type Scenario } from "./scenario.ts";
import { World } from "./world.ts";

const values = commandLine({
  command: "npm run e2e:sampledb",
  does: "Breaks real Redis databases in every way that the operator promises to repair, under load, and writes what was measured to docs/sampledb-results.md.",
  options: {
    ...rowOptions,
    only: { text: "ID[:RUNS],…", help: "these rows alone" },
    within: { number: "SECONDS", help: "begin no run after that time; --resume goes on with them later" },
    "at-once": {
      number: "N",
      default: 1,
      help: "databases deleted at the same time, where a row is about deleting",
    },
  },
});
if (values.list) {
  for (const { id, fault } of scenarios) console.log(`${id.padEnd(12)} ${fault}`);
  process.exit(0);
}
const controlPlane = values["control-plane"];
/** Rows by id, with the number of their runs where that is given. */
const only = values.only?.split(",").map((row) => row.split(":", 2));
const unknown = only?.find(([id]) => !scenarios.some((scenario) => scenario.id === id));
if (unknown !== undefined) refuse(`there is no row ${unknown[0]}; --list names them`);
const say = narrator();
const machine = `${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB, Linux ${release()} ${arch()}`;

const git = (...args: string[]) => execFileSync("git", args, { encoding: "utf8" }).trim();
/** What was measured before is no part of the code. */
const code = ["--", "packages", "operators", "e2e", ":!e2e/sampledb/results"];
const changes = git("status", "--porcelain", ...code);
const commit = `${git("log", "-1", "--format=%h", ...code)}${changes === "" ? "" : "+"}`;
const startedAt = performance.now();
const isOver = () => performance.now() - startedAt > (values.within ?? Number.POSITIVE_INFINITY) * 1_000;

const empty: RowResult = { runs: [], loads: [] };
let results = await readResults({ controlPlane, machine });
const chosen = only ? only.flatMap(([id]) => scenarios.filter((scenario) => scenario.id === id)) : scenarios;
const wanted = chosen
  .map((scenario) => {
    const found = values.resume ? (results.rows[scenario.id] ?? empty) : empty;
    // Runs of a code that nobody can name any more are not completed.
    const before = found.runs.every((run) => run.commit !== undefined) ? found : empty;
    const all = Number(only?.find(([id]) => id === scenario.id)?.[1] ?? values.runs ?? scenario.runs);
    return { scenario, before, runs: Math.max(0, all - before.runs.length) };
  })
  .filter(({ runs }) => runs > 0);

await using world = await World.start(controlPlane, say);
let made = 0;
for (const { scenario, before, runs } of wanted) {
  if (isOver()) break;
  say(`${scenario.id}: ${scenario.fault}`);
  const row = await measure(scenario, before, runs);
  for (const sentence of shortcomings(scenario, row)) say(`MISSED ${sentence}`);
}
console.log(markdown(scenarios, results));
const missed = wanted.filter(
  ({ scenario }) => shortcomings(scenario, results.rows[scenario.id] ?? empty).length > 0,
);
for (const { scenario } of missed) console.error(`goal missed: ${scenario.fault}`);
await world[Symbol.asyncDispose]();
process.exit(missed.length === 0 ? 0 : 1);

async function measure(scenario: Scenario, before: RowResult, count: number): Promise<RowResult> {
  let row = before;
  let written = Promise.resolve();
  const keep = async (change: (row: RowResult) => RowResult) => {
    row = change(row);
    results = withRow(results, scenario.id, row, loadavg()[0] ?? 0);
    const now = results;
    written = written.then(async () => await writeResults(now, scenarios));
    await written;
  };
  const round = async () => {
    const name = `db-${made++}`;
    const place = scenario.ownNamespace ? await world.inNamespace(`of-${name}`) : world;
    const spec = { replicas: 1, ...scenario.spec };
    await place.create(name, spec);
    await place.whenReady(name, 180_000);
    const load = place.load(name, Math.min(1, spec.replicas));
    const bench = new Bench(place, name, load);
    await scenario.prepare?.(bench);
    for (let nth = 0; nth < (scenario.fresh ? 1 : count) && (nth === 0 || !isOver()); nth++) {
      const { figures, missed } = await scenario.run(bench, row.runs.length).catch(failedRun);
      const run = { figures, missed: [...new Set([...missed, ...(await unread(scenario, bench))])] };
      await keep((so) => ({ ...so, runs: [...so.runs, { at: new Date().toISOString(), commit, ...run }] }));
      say(`${scenario.id} ${row.runs.length}: ${told(run)}`);
    }
    await scenario.conclude?.(bench);
    const report = await load.finish({ check: (await place.find(name)) !== undefined });
    await keep((so) => ({ ...so, loads: [...so.loads, report] }));
    await place.remove(name).catch((error: unknown) => say(String(error)));
  };
  const rounds = scenario.fresh ? count : 1;
  const atOnce = scenario.mayShare ? Number(values["at-once"]) : 1;
  for (let done = 0; done < rounds && !isOver(); done += atOnce)
    await Promise.all(Array.from({ length: Math.min(atOnce, rounds - done) }, round));
  return row;
}

/** What is missing of the acknowledged writes after a run, and whether that can be told at all. */
async function unread(scenario: Scenario, { world: place, name, load }: Bench): Promise<readonly string[]> {
  try {
    // Where the database is gone for good, the run itself has read what it left.
    if ((await place.find(name)) === undefined) return [];
    const { byWait, plain } = await load.check();
    return scenario.mayLosePlain ? byWait : [...byWait, ...plain];
  } catch (error) {
    return [`what was written cannot be read: ${error instanceof Error ? error.message : String(error)}`];
  }
}

function failedRun(error: unknown): Run {
  return { figures: {}, missed: [error instanceof Error ? error.message : String(error)] };
}

function told({ figures, missed }: Run): string {
  const values = Object.entries(figures).map(([name, ms]) => `${name} ${(ms / 1_000).toFixed(2)} s`);
  return [...values, ...missed.map((sentence) => `MISSED ${sentence}`)].join(", ");
}
