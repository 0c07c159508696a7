/**
 * `npm run explore -- --operator etcd --real --runs N --seed S`: plays generated scenarios in a simulation and on real
 * processes, and compares what came of them. `--again` plays those that are recorded.
 */
import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import { Beginnings, type Plan, planOf, replay, type TraceLine, type World } from "@keelson/testing";
import { measuredCode } from "../operator/measured-code.ts";
import { outcomeOf, playReal, type RealPlayed } from "./play.ts";
import { realPlan } from "./real-plan.ts";
import { type RealCluster, RealScene } from "./real-scene.ts";
import type { AnySubject, RealSubject } from "./real-subject.ts";
import { type Compared, comparedBefore, keep } from "./records.ts";

export interface CompareOptions {
  readonly runs: number;
  readonly seed: number;
  /** Plays the recorded scenarios from that seed on, whatever the seeds give today. Default: those that they give. */
  readonly again?: boolean;
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
  const commit = measuredCode();
  const untilMs = performance.now() + minutes * 60_000;
  const compared: Compared[] = [];
  await using cluster = await real.start(say);
  // Before any clients write: they share the processor with it, and their times are measured.
  const simulated = options.again
    ? await simulateRecorded(real, comparedBefore(name), options)
    : await simulateSome(real, options);
  const play = async (each: Simulated) => {
    // Several recorded scenarios may be of one seed.
    const nth = simulated.indexOf(each) + 1;
    const namespace = `seed-${each.plan.seed}-${nth}`;
    const { result, trace } = await compareOne(real, cluster, each, { commit, namespace });
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

/** What was played before, as it goes in virtual time today. */
async function simulateRecorded(
  real: RealSubject,
  recorded: readonly Compared[],
  { runs, seed: first }: CompareOptions,
): Promise<readonly Simulated[]> {
  const beginnings = beginningsOf(real.subject);
  const found: Simulated[] = [];
  for (const { plan } of recorded)
    if (plan.seed >= first && found.length < runs) found.push(await simulatePlan(real, beginnings, plan));
  return found;
}

async function compareOne(
  real: RealSubject,
  cluster: RealCluster,
  simulated: Simulated,
  { commit, namespace }: { readonly commit: string; readonly namespace: string },
): Promise<{ readonly result: Compared; readonly trace: readonly TraceLine[] }> {
  const { plan, convergedMs: simulatedMs } = simulated;
  const ref = { ...real.subject.ref, namespace };
  await using scene = new RealScene(cluster, { ...real.subject, ref });
  const played = await onReal(real, scene, simulated);
  const { convergedMs, acknowledged } = played;
  const realMs = convergedMs && Math.round(convergedMs);
  const longestGapMs = Math.round(played.longestGapMs);
  const problems = [...played.problems, ...differences(simulated.outcome, played.outcome)];
  const result: Compared = {
    ...{ commit, plan, simulatedMs, realMs, longestGapMs, acknowledged, problems },
  };
  return { result, trace: scene.trace };
}

function tell(result: Compared, trace: readonly TraceLine[], say: CompareOptions["say"]): void {
  const { plan, realMs, simulatedMs, acknowledged, longestGapMs, problems } = result;
  const { seed, beginning } = plan;
  const steps = plan.steps.map((step) => step.do);
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
  const simulated = await simulatePlan(real, beginnings, plan);
  const { convergedMs } = simulated;
  return convergedMs > longestMs ? `it takes ${seconds(convergedMs)} to converge` : simulated;
}

async function simulatePlan(real: RealSubject, beginnings: AnyBeginnings, plan: Plan): Promise<Simulated> {
  let outcome: JsonObject = {};
  const onEnd = (world: World) => {
    outcome = outcomeOf(real, world.primary);
  };
  const played = await replay(real.subject, plan, { beginnings, onEnd }).catch(errorText);
  if (typeof played === "string") return { plan, outcome, convergedMs: 0, problem: played };
  return { plan, outcome, convergedMs: played.convergedMs ?? 0 };
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
