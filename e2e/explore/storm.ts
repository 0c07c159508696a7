/** A random fault or edit every few seconds, for as long as one likes, on real processes under load. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "@keelson/core";
import type { Operation } from "@keelson/kit/testing";
import { type Disturbance, disturbancesOf, SeededRandom, type Step } from "@keelson/testing";
import { converge, playStep, watchReady } from "./play.ts";
import type { RealScene } from "./real-scene.ts";
import type { LoadAmount, RealSubject } from "./real-subject.ts";

/** What may happen in a storm, by the name of the disturbance. */
export interface Gust {
  /** How often, compared with the others. Default: as in a simulation. */
  readonly weight?: number;
  /** Lasts for at most so long. Default: 10 s, if it lasts. */
  readonly lastsMs?: number;
  /**
   * Destroys data or a member: happens only while everything is well and nothing else is under way, since what destroys
   * two copies at once would rightly lose writes. Default: false.
   */
  readonly destroys?: boolean;
  /** Arguments that make no sense here. Default: all do. */
  readonly can?: (step: Step) => boolean;
}

export interface StormOptions {
  readonly minutes: number;
  readonly everyMs: number;
  readonly seed: number;
  readonly gusts: Readonly<Record<string, Gust>>;
  readonly amount: LoadAmount;
  readonly say: (sentence: string) => void;
}

/** A time without any acknowledged write, and what was going on. */
export interface Outage {
  readonly atMs: number;
  readonly ms: number;
  readonly during: readonly string[];
  /** What Ready said of it. */
  readonly told: readonly string[];
}

interface Told {
  readonly atMs: number;
  readonly text: string;
}

export interface StormReport {
  readonly minutes: number;
  readonly disturbances: number;
  readonly kinds: number;
  readonly acknowledged: number;
  readonly perSecond: number;
  readonly failed: number;
  readonly lost: number;
  /** Longest first. */
  readonly outages: readonly Outage[];
  /** From the last disturbance until the spec was reached. */
  readonly convergedMs: number | undefined;
  readonly problems: readonly string[];
}

interface Past {
  readonly kind: string;
  readonly name: string;
  readonly fromMs: number;
  untilMs: number;
}

const defaultLastsMs = 10_000;
/** What ended so long before an outage may have caused it. */
const echoMs = 15_000;
const shortestOutageMs = 1_000;
const mostOutages = 8;
const convergeMs = 240_000;
const sampleMs = 500;
/** How often a person looks at the status. */
const ticksToLook = 12;

export async function storm(
  real: RealSubject,
  scene: RealScene,
  { minutes, everyMs, seed, gusts, amount, say }: StormOptions,
): Promise<StormReport> {
  const random = new SeededRandom(seed, `storm/${real.subject.name}`);
  const load = real.load(scene, amount);
  const { ledger } = load;
  await sleep(1_500);
  scene.begin();
  const [beganMs, watch] = [ledger.now, watchReady(scene, load)];
  const past: Past[] = [];
  const told: Told[] = [];
  const sampling = setInterval(() => {
    const { status, reason, message } = scene.condition("Ready") ?? {};
    const text = status === undefined ? "no condition Ready" : `Ready=${status} ${reason}: ${message}`;
    if (told.at(-1)?.text !== text) told.push({ atMs: ledger.now, text });
  }, sampleMs);
  const underWay = new Set<Promise<void>>();
  for (let tick = 1; scene.atMs < minutes * 60_000; tick++) {
    const isWell = underWay.size === 0 && (await isReached(real, scene));
    const step = choose(real, gusts, random, isWell);
    const one: Past = {
      kind: step.do,
      name: describe(step),
      fromMs: ledger.now,
      untilMs: Number.POSITIVE_INFINITY,
    };
    past.push(one);
    const playing = playStep(real, scene, step).then(() => {
      one.untilMs = ledger.now;
      underWay.delete(playing);
    });
    underWay.add(playing);
    if (tick % ticksToLook === 0) {
      say(`${past.length} disturbances; ${scene.condition("Ready")?.message ?? ""}`);
      const followed = await real.tidy?.(scene);
      if (followed !== undefined) scene.note(`a person looks at the status: ${followed}`);
    }
    await sleep(Math.max(0, tick * everyMs - scene.atMs));
  }
  await Promise.all(underWay);
  await scene.cluster.inject({ kind: "mend" });
  const endedMs = ledger.now;
  await scene.look();
  await real.makeFeasible(scene);
  const calmMs = scene.atMs;
  await scene.cluster.operator.leads();
  const missing = await converge(real, scene, convergeMs);
  const convergedMs = missing === undefined ? scene.atMs - calmMs : undefined;
  const problems = missing === undefined ? [] : [`not converged: ${missing}`];
  problems.push(...(await watch.stop()));
  const felt = ledger.summary(beganMs, endedMs);
  clearInterval(sampling);
  const outages = outagesOf(ledger.history, { past, told }, beganMs, ledger.now);
  const { lost, violations } = await load.finish();
  return {
    minutes,
    disturbances: past.length,
    kinds: new Set(past.map(({ kind }) => kind)).size,
    acknowledged: felt.acknowledged,
    perSecond: Math.round(felt.acknowledged / ((endedMs - beganMs) / 1_000)),
    failed: felt.failed,
    lost,
    outages,
    convergedMs,
    problems: [...problems, ...violations.slice(0, 5)],
  };
}

/** Judged by the processes, and not by a status that may be old. */
async function isReached(real: RealSubject, scene: RealScene): Promise<boolean> {
  try {
    await scene.look();
    return (await real.missing(scene)) === undefined;
  } catch {
    return false;
  }
}

function describe({ do: name, with: args, forMs }: Step): string {
  const lasting = forMs === undefined ? "" : ` for ${(forMs / 1_000).toFixed(1)} s`;
  return `${name}${args ? ` ${JSON.stringify(args)}` : ""}${lasting}`;
}

/** Something of what may happen now. */
function choose(real: RealSubject, gusts: StormOptions["gusts"], random: Random, allIsWell: boolean): Step {
  const known = disturbancesOf(real.subject).filter(({ name }) => gusts[name] !== undefined);
  const possible = known.filter(({ name }) => allIsWell || gusts[name]?.destroys !== true);
  for (;;) {
    const chosen = weighted(possible, gusts, random);
    const gust = gusts[chosen.name] ?? {};
    const args = chosen.choose?.(random);
    const most = gust.lastsMs ?? (chosen.lastsMs === undefined ? undefined : defaultLastsMs);
    const step: Step = {
      atMs: 0,
      do: chosen.name,
      ...(most === undefined ? {} : { forMs: Math.round(1_000 + random.next() * (most - 1_000)) }),
      ...(args && Object.keys(args).length > 0 ? { with: args } : {}),
    };
    const can = real.mechanisms[chosen.name]?.can?.(args ?? {}, "storm") ?? true;
    if (can && (gust.can?.(step) ?? true)) return step;
  }
}

function weighted(
  possible: readonly Disturbance[],
  gusts: StormOptions["gusts"],
  random: Random,
): Disturbance {
  const weightOf = (each: Disturbance) => gusts[each.name]?.weight ?? each.weight ?? 1;
  let left = random.next() * possible.reduce((sum, each) => sum + weightOf(each), 0);
  for (const each of possible) {
    left -= weightOf(each);
    if (left < 0) return each;
  }
  return possible.at(-1) as Disturbance;
}

/** The longest times without an acknowledged write, and what was under way or had just ended. */
function outagesOf(
  history: readonly Operation[],
  { past, told }: { readonly past: readonly Past[]; readonly told: readonly Told[] },
  beganMs: number,
  untilMs: number,
): Outage[] {
  const ends = history
    .flatMap(({ type, endMs }) => (type === "write" && endMs !== undefined ? [endMs] : []))
    .filter((endMs) => endMs >= beganMs)
    .sort((a, b) => a - b);
  const moments = [beganMs, ...ends, untilMs];
  return moments
    .slice(1)
    .map((moment, index) => ({ fromMs: moments[index] ?? moment, ms: moment - (moments[index] ?? moment) }))
    .filter(({ ms }) => ms >= shortestOutageMs)
    .sort((a, b) => b.ms - a.ms)
    .slice(0, mostOutages)
    .map(({ fromMs, ms }) => ({
      atMs: Math.round(fromMs - beganMs),
      ms: Math.round(ms),
      during: past
        .filter((each) => each.fromMs <= fromMs + ms && each.untilMs >= fromMs - echoMs)
        .map(({ name, fromMs: from }) => `${name} (at ${((from - beganMs) / 1_000).toFixed(0)} s)`),
      told: told
        .filter(({ atMs }, index) => atMs <= fromMs + ms && (told[index + 1]?.atMs ?? untilMs) >= fromMs)
        .map(({ text }) => text),
    }));
}
