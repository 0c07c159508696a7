/** Draws scenarios from seeds and plays them, until the runs or the time are used up. */
import { SeededRandom } from "../seeded-random.ts";
import type { Application } from "../simulation/process.ts";
import type { Checkpoint } from "../simulation/simulation.ts";
import { generatePlan, type Plan } from "./plan.ts";
import { disturbancesOf, type Played, type PlayOptions, play, prepare } from "./play.ts";
import { asTest, timeline } from "./print.ts";
import type { ExploreReport, Failure } from "./report.ts";
import type { Violation } from "./scene.ts";
import { shrink } from "./shrink.ts";
import type { Subject } from "./subject.ts";

/** How much to play: `runs` or `cpuMs` must be present. */
export interface ExploreOptions extends PlayOptions {
  /** Scenarios to play. Default: until the time is over. */
  readonly runs?: number;
  /** Processor time to use. Default: no limit. */
  readonly cpuMs?: number;
  /** The first scenario's seed; the others follow. Default: 1. */
  readonly seed?: number;
  /** Failures after which it ends. Default: 1. */
  readonly failures?: number;
  /** Shrinks what fails. Default: true. */
  readonly shrinks?: boolean;
  /** Most disturbances of one scenario. Default: 8. */
  readonly mostSteps?: number;
  readonly onRun?: (played: Played, report: ExploreReport) => void;
}

/** The plan of a seed. */
export function planOf<A extends Application>(subject: Subject<A>, seed: number, mostSteps?: number): Plan {
  return generatePlan(
    {
      seed,
      beginnings: Object.keys(subject.beginnings),
      disturbances: disturbancesOf(subject),
      ...(mostSteps === undefined ? {} : { mostSteps }),
    },
    new SeededRandom(seed, `explore/${subject.name}`),
  );
}

/** Beginnings that were reached, kept for all scenarios that go on from them. */
export class Beginnings<A extends Application> {
  readonly #subject: Subject<A>;
  readonly #reached = new Map<string, Promise<Checkpoint>>();

  constructor(subject: Subject<A>) {
    this.#subject = subject;
  }

  async at(name: string): Promise<Checkpoint> {
    let reached = this.#reached.get(name);
    if (!reached) {
      reached = prepare(this.#subject, name);
      this.#reached.set(name, reached);
    }
    return await reached;
  }
}

/**
 * Plays generated scenarios and checks all oracles: the general ones and the subject's own.
 *
 * The same seed gives the same scenario and the same run, but for what cryptography draws: keys and certificates, and
 * names with a hash of them. A scenario that fails is shrunk, as long as the same oracle
 * finds it, and printed as a test that calls {@link replay}.
 */
export async function explore<A extends Application>(
  subject: Subject<A>,
  options: ExploreOptions = {},
): Promise<ExploreReport> {
  const {
    runs = Number.POSITIVE_INFINITY,
    cpuMs = Number.POSITIVE_INFINITY,
    seed = 1,
    failures = 1,
  } = options;
  if (runs === Number.POSITIVE_INFINITY && cpuMs === Number.POSITIVE_INFINITY)
    throw new Error("say how many runs, or how much processor time");
  const beginnings = new Beginnings(subject);
  const started = process.cpuUsage();
  const report: ExploreReport = {
    runs: 0,
    cpuMs: 0,
    virtualMs: 0,
    writes: 0,
    overlaps: new Map(),
    states: new Set(),
    oracles: new Set(),
    failures: [],
    slowestConvergenceMs: 0,
    longestOutageMs: 0,
  };
  for (let i = 0; i < runs && report.failures.length < failures; i++) {
    const plan = planOf(subject, seed + i, options.mostSteps);
    const played = await play(subject, plan, await beginnings.at(plan.beginning), options);
    const { user, system } = process.cpuUsage(started);
    add(report, played, (user + system) / 1_000);
    const [violation] = played.violations;
    if (violation) report.failures.push(await examine(subject, beginnings, played, violation, options));
    options.onRun?.(played, report);
    if (report.cpuMs >= cpuMs) break;
  }
  return report;
}

function add(report: ExploreReport, played: Played, cpuMs: number): void {
  report.runs++;
  report.cpuMs = cpuMs;
  report.virtualMs += played.virtualMs;
  report.writes += played.writes;
  report.overlaps.set(played.overlap, (report.overlaps.get(played.overlap) ?? 0) + 1);
  for (const state of played.states) report.states.add(state);
  for (const oracle of played.oracles) report.oracles.add(oracle);
  report.slowestConvergenceMs = Math.max(report.slowestConvergenceMs, played.convergedMs ?? 0);
  report.longestOutageMs = Math.max(report.longestOutageMs, played.longestOutageMs);
}

async function examine<A extends Application>(
  subject: Subject<A>,
  beginnings: Beginnings<A>,
  played: Played,
  violation: Violation,
  options: ExploreOptions,
): Promise<Failure> {
  let { plan } = played;
  if (options.shrinks !== false) {
    const fails = async (candidate: Plan) => {
      const again = await play(subject, candidate, await beginnings.at(candidate.beginning), options);
      return again.violations[0]?.oracle === violation.oracle;
    };
    ({ plan } = await shrink(plan, fails));
  }
  const again = await play(subject, plan, await beginnings.at(plan.beginning), options);
  const [found = violation] = again.violations;
  return {
    violation: found,
    generated: played.plan,
    plan,
    test: asTest(subject.name, plan, found),
    timeline: timeline(again),
  };
}

/** Plays one scenario, and throws with what happened when it fails. For tests. */
export async function replay<A extends Application>(
  subject: Subject<A>,
  plan: Plan,
  options: PlayOptions & { readonly beginnings?: Beginnings<A> } = {},
): Promise<Played> {
  const beginnings = options.beginnings ?? new Beginnings(subject);
  const played = await play(subject, plan, await beginnings.at(plan.beginning), options);
  const [violation] = played.violations;
  if (violation) throw new Error(`${violation.oracle}: ${violation.message}\n${timeline(played)}`);
  return played;
}
