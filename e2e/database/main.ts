/**
 * `npm run e2e:database`: breaks a real Database in every way that the operator promises to repair, under load, and prints
 * what was measured. Results go to `e2e/database/results`, row by row, and to docs/database-results.md.
 */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { commandLine, refuse } from "../../scripts/command-line.ts";
import { rowOptions } from "../operator/row-options.ts";
import { narrator } from "../promises/promises.ts";
import { ways } from "./deletions.ts";
import { operations } from "./operations.ts";
import { rejoining } from "./rejoining.ts";
import { isCurrent, type Run, readResults, recordRuns, writeReport } from "./results.ts";
import { type Bench, scenarios as faults, type Scenario } from "./scenarios.ts";
import { upgrades } from "./upgrades.ts";
import { World } from "./world.ts";

const values = commandLine({
  command: "npm run e2e:database",
  does: "Breaks a real Database in every way that the operator promises to repair, under load, and prints what was measured.",
  options: {
    ...rowOptions,
    report: { help: "write docs/database-results.md again, and run nothing" },
  },
});
const scenarios = [...faults, ...rejoining, ...operations, ...upgrades, ...ways];
if (values.list) {
  for (const { id, fault } of scenarios) console.log(`${id.padEnd(20)} ${fault}`);
  process.exit(0);
}
if (values.report) {
  await writeReport(scenarios);
  process.exit(0);
}
const say = narrator();
const controlPlane = values["control-plane"];
const only = values.only?.split(",");
const unknown = only?.find((id) => !scenarios.some((scenario) => scenario.id === id));
if (unknown !== undefined) refuse(`there is no row ${unknown}; --list names them`);
const chosen = scenarios.filter(({ id }) => only?.includes(id) ?? true);
const commit = await describeCode();
const machine = `${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB`;
const results = await readResults(controlPlane);
let [missed, made] = [0, 0];
/** How long a fault may take until clients notice it. */
const strikesMs = 1_500;

await using world = await World.start(controlPlane, say);
/** The Database of scenarios that need none of their own. */
const shared = "orders";
if (chosen.some(({ spec }) => spec === undefined)) {
  const created = performance.now();
  await world.create(shared, { version: "15", instances: 3, storage: { size: "2Gi" } });
  await world.whenReady(shared, 240_000);
  say(`three instances are ready after ${((performance.now() - created) / 1_000).toFixed(1)} s`);
}
for (const scenario of chosen) {
  const recorded = values.resume ? (results.rows[scenario.id] ?? []) : [];
  const wanted = values.runs ?? scenario.runs;
  const runs = recorded.filter(({ commit: of }) => isCurrent(of));
  // Each run takes the place of one of an earlier operator.
  const older = recorded.filter(({ commit: of }) => !isCurrent(of));
  while (runs.length < wanted) {
    const run = await measure(scenario).catch((error: unknown) => {
      say(`${scenario.id} did not begin: ${(error as Error).message}`);
      missed++;
    });
    if (!run) break;
    runs.push(run);
    const left = older.slice(Math.max(0, older.length + runs.length - wanted));
    await recordRuns(controlPlane, { row: scenario.id, runs: [...left, ...runs], machine });
    await writeReport(scenarios);
    missed += run.missed.length;
    say(
      `${scenario.id} ${runs.length}/${wanted}: gap ${run.gapMs} ms, ready ${run.healMs} ms, ${run.commits} commits ${run.missed.join("; ")}`,
    );
  }
}
await writeReport(scenarios);
process.exitCode = missed === 0 ? 0 : 1;

/** The commit; dirty when code differs from it. What runs before have recorded is no code. */
async function describeCode(): Promise<string> {
  const git = async (...args: readonly string[]) => (await promisify(execFile)("git", args)).stdout.trim();
  const code = ["operators", "packages", "e2e", ":!e2e/*/results/*"];
  const changed = await git("status", "--porcelain", "--", ...code);
  return `${await git("rev-parse", "--short", "HEAD")}${changed === "" ? "" : "-dirty"}`;
}

/** What the instances said, to explain why a run took as long as it did. */
async function saveLogs(id: string, name: string): Promise<void> {
  for (const instance of world.instances(name)) {
    const text = await world.logOf(instance.name).catch((error: unknown) => String(error));
    writeFileSync(join(process.env["KEELSON_E2E_LOGS"] ?? "", `${id}-${instance.name}.log`), text);
  }
}

async function measure(scenario: Scenario): Promise<Run> {
  const at = new Date().toISOString();
  const [load = 0] = loadavg();
  const name = scenario.spec ? `${scenario.id}-${++made}` : shared;
  await world.operator.leads();
  if (scenario.spec) await world.create(name, scenario.spec);
  await world.whenReady(name, 240_000);
  say(`${name} is ready`);
  await scenario.prepare?.({ world, name });
  const { status } = await world.get(name);
  const ledger = await world.ledger(name, scenario.through);
  const bench: Bench = { world, name, ledger };
  const before = { primary: status?.primary ?? "", epoch: status?.epoch ?? 0 };
  const problems: string[] = [];
  await sleep(1_500);
  const since = ledger.now;
  let [gap, heal] = [0, 0];
  try {
    const repair = await scenario.run(bench);
    if (!scenario.isDeleting) {
      // A fault takes a moment to strike: what is acknowledged before that says nothing.
      await ledger.acknowledgedSince(ledger.now + strikesMs, 60_000);
      await sleep(2_000);
      gap = ledger.gapSince(since);
      await repair?.();
      const healing = ledger.now;
      await world.whenReady(name, scenario.healMs * 3);
      heal = ledger.now - healing;
      await ledger.acknowledgedSince(ledger.now, 60_000);
      gap = ledger.gapSince(since);
    }
    problems.push(...((await scenario.check?.(bench, before)) ?? []));
  } catch (error) {
    problems.push((error as Error).message.slice(0, 500));
    say(`${scenario.id}: ${(error as Error).message}`);
    await world.inject({ kind: "mend" }).catch(() => undefined);
    await world.operator.scale(1).catch(() => undefined);
  }
  await sleep(1_000);
  await ledger.stop();
  if (process.env["KEELSON_E2E_LOGS"]) await saveLogs(scenario.id, name);
  // Of a Database that is deleted the scenario itself looks for them, in what is left.
  const lost =
    scenario.isDeleting || scenario.isRewinding
      ? []
      : await ledger.lost().catch((error: unknown) => {
          problems.push(`commits cannot be looked for: ${(error as Error).message}`);
          return [];
        });
  const overlap = scenario.isRewinding ? 0 : ledger.overlapMs();
  if (scenario.spec && !scenario.isDeleting) await world.remove(name);
  if (lost.length > 0)
    problems.push(`${lost.length} acknowledged commits lost, the first ${JSON.stringify(lost[0])}`);
  if (overlap > 0) problems.push(`two primaries acknowledged for ${overlap.toFixed(0)} ms`);
  if (gap > scenario.gapMs) problems.push(`gap of ${(gap / 1_000).toFixed(1)} s`);
  if (heal > scenario.healMs) problems.push(`ready after ${(heal / 1_000).toFixed(1)} s`);
  return {
    at,
    load: Math.round(load * 10) / 10,
    gapMs: Math.round(gap),
    healMs: Math.round(heal),
    commits: ledger.commits.length,
    lost: lost.length,
    overlapMs: Math.round(overlap),
    missed: problems,
    commit,
  };
}
