/** Plays a scenario on real processes: disturbances that overlap, then quiet, then rest. */
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@keelson/core";
import { disturbancesOf, type End, type Plan, type Primary, type Step } from "@keelson/testing";
import type { RealScene } from "./real-scene.ts";
import type { RealLoad, RealSubject } from "./real-subject.ts";

/** What came of it. */
export interface RealPlayed {
  /** Absent when the object was deleted. */
  readonly outcome: JsonObject;
  /** What must not have happened, as sentences. */
  readonly problems: readonly string[];
  /** From the last disturbance until the spec was reached. */
  readonly convergedMs: number | undefined;
  readonly acknowledged: number;
  readonly longestGapMs: number;
}

const lookMs = 1_000;
/** Nothing moved for so long: a person looks at the status. */
const stuckMs = 60_000;
/** How long the status may say Ready while no write succeeds. */
const statusLagMs = 45_000;
const restMs = 2_500;

export async function playReal(
  real: RealSubject,
  scene: RealScene,
  plan: Plan,
  { convergeMs }: { readonly convergeMs: number },
): Promise<RealPlayed> {
  const load = real.load(scene);
  const since = load.ledger.now;
  await sleep(1_500);
  scene.begin();
  const watch = watchReady(scene, load);
  await Promise.all(plan.steps.map(async (step) => await playStep(real, scene, step)));
  scene.note("quiet");
  await scene.look();
  await real.makeFeasible(scene);
  const calmMs = scene.atMs;
  // Until an operator leads again, all that the status says may be old.
  await scene.cluster.operator.leads();
  const missing = await converge(real, scene, convergeMs);
  const convergedMs = missing === undefined ? scene.atMs - calmMs : undefined;
  const problems = missing === undefined ? [] : [`not converged after ${convergeMs / 1_000} s: ${missing}`];
  if (missing === undefined) problems.push(...(await idle(scene)));
  problems.push(...(await watch.stop()));
  const { acknowledged, longestGapMs } = load.ledger.summary(since);
  if (!scene.primary || missing !== undefined) await load.stop();
  else {
    const { violations } = await load.finish();
    if (scene.notes.get("mayHaveLost") !== true) problems.push(...violations.slice(0, 3));
  }
  await scene.look();
  const outcome = outcomeOf(real, scene.primary);
  return { outcome, problems, convergedMs, acknowledged, longestGapMs };
}

/** What is compared: the conditions, and what the subject adds. */
export function outcomeOf(real: RealSubject, primary: Primary | undefined): JsonObject {
  if (!primary) return { exists: false };
  const conditions = Object.fromEntries(
    (primary.status?.conditions ?? [])
      .map(({ type, status, reason }) => [type, `${status} ${reason}`] as const)
      .sort(([a], [b]) => a.localeCompare(b)),
  );
  return { exists: true, conditions, ...real.outcome(primary) };
}

/** One disturbance, from its beginning to its end. What has gone meanwhile cannot be disturbed, and that is told. */
export async function playStep(real: RealSubject, scene: RealScene, step: Step): Promise<void> {
  await sleep(step.atMs);
  const { do: name, forMs } = step;
  const lasting = forMs === undefined ? "" : ` for ${forMs / 1_000} s`;
  scene.note(`${name}${step.with ? ` ${JSON.stringify(step.with)}` : ""}${lasting}`);
  try {
    await disturb(real, scene, step);
  } catch (error) {
    scene.note(`${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function disturb(real: RealSubject, scene: RealScene, step: Step): Promise<void> {
  const { do: name, with: args = {}, forMs } = step;
  await scene.look();
  const mechanism = real.mechanisms[name];
  const anywhere = disturbancesOf(real.subject).find((each) => each.name === name);
  const end: End | undefined = mechanism?.begin
    ? await mechanism.begin(scene, args)
    : ((await anywhere?.begin(scene as never, args)) ?? undefined);
  if (forMs === undefined) return;
  await sleep(forMs);
  scene.note(`over: ${name}`);
  await end?.();
}

/** What is missing when the time is over; undefined when the spec was reached. */
export async function converge(
  real: RealSubject,
  scene: RealScene,
  convergeMs: number,
): Promise<string | undefined> {
  let untilMs = scene.atMs + convergeMs;
  let movedMs = scene.atMs;
  let seen = "";
  let missing: string | undefined = "nothing was looked at";
  for (let reached = 0; scene.atMs < untilMs; await sleep(lookMs)) {
    await scene.look();
    missing = await real.missing(scene).catch((error: unknown) => String(error));
    reached = missing === undefined ? reached + 1 : 0;
    if (reached >= 2) return undefined;
    const now = JSON.stringify([scene.primary?.metadata.generation, scene.condition("Ready")]);
    if (now !== seen) movedMs = scene.atMs;
    seen = now;
    if (scene.atMs - movedMs < stuckMs) continue;
    movedMs = scene.atMs;
    const followed = await real.followAdvice?.(scene);
    if (followed === undefined) continue;
    scene.note(`a person follows the advice: ${followed}`);
    untilMs = scene.atMs + convergeMs;
  }
  return missing;
}

/** Nothing that the operator made changes any more. */
async function idle(scene: RealScene): Promise<string[]> {
  await sleep(restMs);
  const versions = async () => {
    await scene.look();
    const made = ["services", "secrets", "policy/poddisruptionbudgets", "persistentvolumeclaims"];
    return made
      .flatMap((resource) => scene.owned(resource))
      .map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.resourceVersion}`);
  };
  const before = await versions();
  await sleep(restMs);
  const after = new Set(await versions());
  const changed = before.filter((each) => !after.has(each));
  return changed.length === 0 ? [] : [`written at rest: ${changed.join(", ")}`];
}

/** Looks whether Ready=True is true: a write has succeeded lately. */
export function watchReady(scene: RealScene, { ledger }: RealLoad): { stop(): Promise<string[]> } {
  const began = ledger.now;
  let [untrue, stopped] = [0, false];
  const watching = (async () => {
    while (!stopped) {
      await sleep(1_000);
      if (scene.isReady && ledger.now - (ledger.latestMs ?? began) > statusLagMs) untrue++;
    }
  })();
  return {
    stop: async () => {
      stopped = true;
      await watching;
      return untrue === 0
        ? []
        : [`Ready=True ${untrue} times while no write had succeeded for ${statusLagMs / 1_000} s`];
    },
  };
}
