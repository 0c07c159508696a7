/**
 * `npm run explore -- --operator etcd --real --runs N --seed S`: plays generated scenarios in a simulation and on real
 * processes, and compares what came of them. Results are kept in `e2e/explore/results`, one for each seed.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type JsonObject, parseJson } from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import { Beginnings, type Plan, planOf, replay, type TraceLine, type World } from "@keelson/testing";
import { outcomeOf, playReal, type RealPlayed } from "./play.ts";
import { realPlan } from "./real-plan.ts";
import { type RealCluster, RealScene } from "./real-scene.ts";
import type { AnySubject, RealSubject } from "./real-subject.ts";

/** One scenario in both worlds. */
export interface Compared {
  readonly seed: number;
  readonly commit: string;
  readonly beginning: string;
  readonly steps: readonly string[];
  /** Time from the last disturbance until the spec was reached. */
  readonly simulatedMs: number;
  readonly realMs: number | undefined;
  readonly longestGapMs: number;
  readonly acknowledged: number;
  /** What was different, or wrong; empty when the results are the same. */
  readonly problems: readonly string[];
}

export interface CompareOptions {
  readonly runs: number;
  readonly seed: number;
  /** Ends before a scenario that would begin after so many minutes. Default: no limit. */
  readonly minutes?: number;
  /**
   * Scenarios that are played at the same time in one cluster. What one does to the API server, the nodes or the operator
   * itself reaches the others, which must come to the same end all the same. Default: 1.
   */
  readonly parallel?: number;
  readonly say: (sentence: string) => void;
}

/** Scenarios that take longer than this in virtual time are not waited for. */
const longestMs = 90_000;
/** Real processes may take this much longer. */
const patienceMs = 120_000;

interface Simulated {
  readonly plan: Plan;
  readonly outcome: JsonObject;
  readonly convergedMs: number;
  /** Why it failed in virtual time already. */
  readonly problem?: string;
}

export async function compareWorlds(
  name: string,
  real: RealSubject,
  options: CompareOptions,
): Promise<readonly Compared[]> {
  const { minutes = Number.POSITIVE_INFINITY, parallel = 1, say } = options;
  const commit = execFileSync("git", ["rev-parse", "--short=8", "HEAD"], { encoding: "utf8" }).trim();
  const untilMs = performance.now() + minutes * 60_000;
  const compared: Compared[] = [];
  await using cluster = await real.start(say);
  // Before any clients write: they share the processor with it, and their times are measured.
  const simulated = await simulateSome(real, options);
  const play = async (each: Simulated) => {
    const { result, trace } = await compareOne(real, cluster, each, commit);
    compared.push(result);
    keep(name, result);
    tell(result, trace, say);
  };
  const isAlone = ({ plan }: Simulated) => real.isAlone?.(plan) === true;
  const playing = new Set<Promise<void>>();
  for (const each of [...simulated.filter((one) => !isAlone(one)), ...simulated.filter(isAlone)]) {
    while (playing.size >= (isAlone(each) ? 1 : parallel)) await Promise.race(playing);
    if (performance.now() > untilMs) break;
    const played = play(each).finally(() => playing.delete(played));
    playing.add(played);
  }
  await Promise.all(playing);
  return compared;
}

const beginningsOf = (subject: AnySubject) => new Beginnings(subject);
type AnyBeginnings = ReturnType<typeof beginningsOf>;

/** Scenarios from one seed on, as they go in virtual time. */
async function simulateSome(
  real: RealSubject,
  { runs, seed: first, say }: CompareOptions,
): Promise<readonly Simulated[]> {
  const beginnings = beginningsOf(real.subject);
  const found: Simulated[] = [];
  for (let seed = first; found.length < runs; seed++) {
    const simulated = await simulate(real, beginnings, seed);
    if (typeof simulated !== "string") found.push(simulated);
    else say(`seed ${seed} is left out: ${simulated}`);
  }
  return found;
}

async function compareOne(
  real: RealSubject,
  cluster: RealCluster,
  simulated: Simulated,
  commit: string,
): Promise<{ readonly result: Compared; readonly trace: readonly TraceLine[] }> {
  const { plan, convergedMs: simulatedMs } = simulated;
  const { seed, beginning } = plan;
  const steps = plan.steps.map((step) => step.do);
  const ref = { ...real.subject.ref, namespace: `seed-${seed}` };
  await using scene = new RealScene(cluster, { ...real.subject, ref });
  const played = await onReal(real, scene, simulated);
  const { convergedMs, acknowledged } = played;
  const realMs = convergedMs && Math.round(convergedMs);
  const longestGapMs = Math.round(played.longestGapMs);
  const problems = [...played.problems, ...differences(simulated.outcome, played.outcome)];
  const result: Compared = {
    ...{ seed, commit, beginning, steps, simulatedMs, realMs, longestGapMs, acknowledged, problems },
  };
  return { result, trace: scene.trace };
}

function tell(result: Compared, trace: readonly TraceLine[], say: CompareOptions["say"]): void {
  const { seed, beginning, steps, realMs, simulatedMs, acknowledged, longestGapMs, problems } = result;
  const took = realMs === undefined ? "not" : `in ${seconds(realMs)}`;
  say(
    `seed ${seed}: ${beginning}; ${steps.join(", ")}: reached ${took} (simulated ${seconds(simulatedMs)}), ${acknowledged} writes, longest gap ${seconds(longestGapMs)}`,
  );
  for (const problem of problems) say(`DIFFERENT ${problem}`);
  if (problems.length > 0)
    for (const { atMs, text } of trace) say(`  ${(atMs / 1_000).toFixed(1).padStart(6)} ${text}`);
}

/** The scenario in virtual time, or why it is not one for real processes. */
async function simulate(
  real: RealSubject,
  beginnings: AnyBeginnings,
  seed: number,
): Promise<Simulated | string> {
  const generated = planOf(real.subject, seed);
  if (!real.beginnings.includes(generated.beginning)) return `it begins with ${generated.beginning}`;
  const plan = realPlan(real.subject, generated, real.mechanisms);
  if (!plan) return "none of its steps has a real counterpart";
  let outcome: JsonObject = {};
  const onEnd = (world: World) => {
    outcome = outcomeOf(real, world.primary);
  };
  const played = await replay(real.subject, plan, { beginnings, onEnd }).catch(errorText);
  if (typeof played === "string") return { plan, outcome, convergedMs: 0, problem: played };
  const { convergedMs = 0 } = played;
  if (convergedMs > longestMs) return `it takes ${seconds(convergedMs)} to converge`;
  return { plan, outcome, convergedMs };
}

async function onReal(
  real: RealSubject,
  scene: RealScene,
  { plan, convergedMs, problem }: Simulated,
): Promise<RealPlayed> {
  if (problem !== undefined) return failed(`in the simulation: ${problem}`);
  try {
    await scene.makeNamespace();
    await real.begin(scene, plan.beginning);
    return await playReal(real, scene, plan, { convergeMs: convergedMs + patienceMs });
  } catch (error) {
    return failed(errorText(error));
  }
}

function failed(problem: string): RealPlayed {
  return {
    outcome: {},
    problems: [problem],
    convergedMs: undefined,
    acknowledged: 0,
    longestGapMs: 0,
  };
}

function differences(simulated: JsonObject, real: JsonObject): string[] {
  return [...new Set([...Object.keys(simulated), ...Object.keys(real)])].flatMap((key) =>
    isDeepStrictEqual(simulated[key], real[key])
      ? []
      : [`${key}: simulated ${JSON.stringify(simulated[key])}, real ${JSON.stringify(real[key])}`],
  );
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

// -------------------------------------------------------------------------------------- results

function fileOf(name: string): string {
  return join(import.meta.dirname, "results", `${name}.recorded.json`);
}

/** All that was compared so far, by seed. */
export function comparedBefore(name: string): readonly Compared[] {
  try {
    return parseJson(readFileSync(fileOf(name), "utf8")) as unknown as Compared[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

function keep(name: string, result: Compared): void {
  const others = comparedBefore(name).filter(({ seed }) => seed !== result.seed);
  const all = [...others, result].sort((a, b) => a.seed - b.seed);
  writeFileSync(fileOf(name), `${JSON.stringify(all, undefined, 1)}\n`);
}

/** One line for all that was compared. */
export function summary(compared: readonly Compared[]): string {
  const same = compared.filter(({ problems }) => problems.length === 0);
  const steps = compared.reduce((sum, each) => sum + each.steps.length, 0);
  const writes = compared.reduce((sum, each) => sum + each.acknowledged, 0);
  const kinds = new Set(compared.flatMap((each) => each.steps)).size;
  const slowest = Math.max(0, ...compared.map(({ realMs }) => realMs ?? 0));
  return `${same.length} of ${compared.length} scenarios with the same result in both worlds: ${steps} faults and edits of ${kinds} kinds, ${writes} acknowledged writes, slowest ${seconds(slowest)}`;
}
