/** Plays one scenario: disturbances that overlap, then quiet, then rest. */
import type { Application } from "../simulation/process.ts";
import { type Checkpoint, type Simulation, simulation } from "../simulation/simulation.ts";
import type { Disturbance, End } from "./disturbance.ts";
import { generalDisturbances, handOver } from "./disturbances/index.ts";
import { addBystanders, generalOracles } from "./general-oracles.ts";
import { Load } from "./load.ts";
import { LogCapture } from "./log-capture.ts";
import type { Oracle } from "./oracle.ts";
import type { Plan, Step } from "./plan.ts";
import type { TraceLine, Violation } from "./scene.ts";
import type { Subject } from "./subject.ts";
import { World } from "./world.ts";

/** How a scenario is played. */
export interface PlayOptions {
  /** How long the quiet may take until the spec is reached. Default: 20 virtual minutes. */
  readonly convergeMs?: number;
  /** How often a client writes, which is how finely outages are measured. Default: 1000. */
  readonly writeEveryMs?: number;
  /** Called when the scenario is over, before its world is taken down: for a look at what is left. */
  readonly onEnd?: (world: World) => void;
}

/** What came of a scenario. */
export interface Played {
  readonly plan: Plan;
  readonly violations: readonly Violation[];
  readonly trace: readonly TraceLine[];
  readonly virtualMs: number;
  readonly writes: number;
  /** Most disturbances that were under way at once. */
  readonly overlap: number;
  /** Reasons that Ready gave, each alone and with each disturbance that was under way. */
  readonly states: ReadonlySet<string>;
  readonly oracles: readonly string[];
  /** Time from the last disturbance until the spec was reached; undefined when it was not. */
  readonly convergedMs: number | undefined;
  readonly longestOutageMs: number;
}

const lookMs = 5_000;
const defaultConvergeMs = 20 * 60_000;
/** Nothing moved for so long: a person looks at the status. */
const stuckMs = 180_000;
const mostAdvice = 6;
/** The status may note a last fact after this long. */
const restMs = 121_000;
const idleMs = 30_000;
/** How long a client may wait for one answer. */
const requestMs = 30_000;
/** How long it may take until another manager leads: a lease has to run out. */
const leaseMs = 30_000;
/** What was held back needs a moment to be seen. */
const sightMs = 15_000;
/** Oracles that are part of how a scenario ends. */
const reached = "the spec is reached";
const idle = "nothing is written when idle";

/** All that can happen to a subject. */
export function disturbancesOf<A extends Application>(subject: Subject<A>): readonly Disturbance<A>[] {
  const without = new Set(subject.without);
  return [
    ...(generalDisturbances as readonly Disturbance<A>[]).filter(({ name }) => !without.has(name)),
    ...(subject.faults ?? []),
    ...subject.edits,
  ];
}

/** Brings a subject to one of its beginnings, once; scenarios go on from there. */
export async function prepare<A extends Application>(
  subject: Subject<A>,
  beginning: string,
): Promise<Checkpoint> {
  const begin = subject.beginnings[beginning];
  if (!begin) throw new Error(`${subject.name} has no beginning "${beginning}"`);
  await using started = await startSimulation(subject, { seed: 1 });
  const world = new World(started, subject);
  await addBystanders(world as unknown as World);
  await begin(world);
  return started.checkpoint();
}

async function startSimulation<A extends Application>(
  subject: Subject<A>,
  options: {
    readonly seed: number;
    readonly managers?: number;
    readonly lease?: boolean;
    readonly from?: Checkpoint;
    readonly logs?: LogCapture;
  },
): Promise<Simulation<A>> {
  const { seed, managers, lease, from, logs } = options;
  return await simulation<A>({
    seed,
    application: subject.application,
    controllers: subject.controllers,
    collected: subject.collected,
    ...(subject.rules && { rules: subject.rules }),
    ...(managers === undefined ? {} : { managers }),
    ...(lease === undefined ? {} : { leaderElection: lease }),
    ...(from && { from }),
    ...(logs && { log: logs.logger }),
  });
}

export async function play<A extends Application>(
  subject: Subject<A>,
  plan: Plan,
  from: Checkpoint,
  options: PlayOptions = {},
): Promise<Played> {
  const logs = new LogCapture();
  await using started = await startSimulation(subject, {
    seed: plan.seed,
    from,
    logs,
    ...(plan.managers === undefined ? {} : { managers: plan.managers }),
    ...(plan.lease === undefined ? {} : { lease: plan.lease }),
  });
  const run = new Run(subject, new World(started, subject, logs), plan, options);
  return await run.play();
}

class Run<A extends Application> {
  readonly #subject: Subject<A>;
  readonly #world: World<A>;
  readonly #plan: Plan;
  readonly #options: PlayOptions;
  readonly #load: Load<A>;
  readonly #oracles: readonly Oracle<A>[];
  readonly #disturbances: ReadonlyMap<string, Disturbance<A>>;
  readonly #states = new Set<string>();
  readonly #wrongSince = new Map<string, number>();
  #overlap = 0;
  /** Since when no manager leads. */
  #leaderlessSinceMs: number | undefined;
  #convergedMs: number | undefined;

  constructor(subject: Subject<A>, world: World<A>, plan: Plan, options: PlayOptions) {
    this.#subject = subject;
    this.#world = world;
    this.#plan = plan;
    this.#options = options;
    this.#load = new Load(world, subject.client, options.writeEveryMs);
    this.#oracles = [...generalOracles(subject, this.#load), ...subject.oracles];
    this.#disturbances = new Map(disturbancesOf(subject).map((each) => [each.name, each]));
  }

  async play(): Promise<Played> {
    const world = this.#world;
    for (const oracle of this.#oracles) oracle.attach?.(world);
    this.#listen();
    this.#load.start();
    await this.#disturb();
    if (world.violations.length === 0) await this.#rest();
    this.#load.stop();
    this.#options.onEnd?.(world as unknown as World);
    const { writes } = world.simulation.cluster;
    return {
      plan: this.#plan,
      violations: world.violations,
      trace: world.trace,
      virtualMs: world.atMs,
      writes: writes.length,
      overlap: this.#overlap,
      states: this.#states,
      oracles: [reached, idle, ...this.#oracles.map(({ name }) => name)],
      convergedMs: this.#convergedMs,
      longestOutageMs: this.#load.longestOutageMs,
    };
  }

  /** Every change of what Ready says is a line of the trace, and a state that was reached. */
  #listen(): void {
    const world = this.#world;
    let before = "";
    world.stored.subscribe(world.subject.resource, ({ object }) => {
      if (object.metadata.name !== world.subject.ref.name) return;
      const ready = world.condition("Ready");
      if (!ready) return;
      const text = `Ready=${ready.status} ${ready.reason}: ${ready.message}`;
      if (text !== before) world.note(text);
      before = text;
      this.#states.add(ready.reason);
      for (const step of world.active) this.#states.add(`${ready.reason} / ${step.do}`);
    });
  }

  // -------------------------------------------------------------------------------------- disturbances

  async #disturb(): Promise<void> {
    const world = this.#world;
    const due: { readonly atMs: number; readonly run: () => Promise<void> }[] = this.#plan.steps.map(
      (step) => ({
        atMs: step.atMs,
        run: async () => {
          const end = await this.#begin(step);
          const over = async () => {
            if (!world.active.delete(step)) return;
            world.note(`over: ${step.do}`);
            if (this.#disturbances.get(step.do)?.blinds) world.blindUntilMs = world.atMs + sightMs;
            await end?.();
          };
          if (step.forMs === undefined) return;
          due.push({ atMs: world.atMs + step.forMs, run: over });
        },
      }),
    );
    while (due.length > 0 && world.violations.length === 0) {
      due.sort((a, b) => a.atMs - b.atMs);
      const next = due.shift() as (typeof due)[number];
      await this.#until(next.atMs);
      await next.run();
    }
    const { cluster, network } = world.simulation;
    cluster.faults.clear();
    network.intercept = () => "proceed";
  }

  async #begin(step: Step): Promise<End | undefined> {
    const world = this.#world;
    const disturbance = this.#disturbances.get(step.do);
    if (!disturbance) throw new Error(`${world.subject.name} knows no disturbance "${step.do}"`);
    world.note(
      `${step.do}${step.with ? ` ${JSON.stringify(step.with)}` : ""}${step.forMs === undefined ? "" : ` for ${step.forMs / 1_000} s`}`,
    );
    if (step.forMs !== undefined) world.active.add(step);
    this.#overlap = Math.max(this.#overlap, world.active.size);
    return (await disturbance.begin(world, step.with ?? {})) ?? undefined;
  }

  async #until(atMs: number): Promise<void> {
    const world = this.#world;
    while (world.atMs < atMs && world.violations.length === 0) {
      await world.advance(Math.min(lookMs, atMs - world.atMs));
      this.#look();
    }
  }

  // -------------------------------------------------------------------------------------- oracles

  #look(): void {
    const world = this.#world;
    if (this.#isUnanswered() || this.#isLeaderless()) world.blindUntilMs = world.atMs + sightMs;
    const blind =
      world.atMs < world.blindUntilMs ||
      [...world.active].some((step) => this.#disturbances.get(step.do)?.blinds === true);
    for (const { name, always, eventually } of this.#oracles) {
      const wrong = always?.(world);
      if (wrong !== undefined) world.violate(name, wrong);
      if (!eventually) continue;
      const late = eventually.check(world);
      if (late === undefined || blind) {
        this.#wrongSince.delete(name);
        continue;
      }
      const sinceMs = this.#wrongSince.get(name) ?? world.atMs;
      this.#wrongSince.set(name, sinceMs);
      if (world.atMs - sinceMs > eventually.withinMs) world.violate(name, late);
    }
  }

  /** A manager waits for an answer that never comes, as long as a client waits: it cannot report meanwhile. */
  #isUnanswered(): boolean {
    const { cluster, clock } = this.#world.simulation;
    const since = cluster.managers.flatMap(({ port }) => port.silentSinceMs);
    return since.some((sinceMs) => clock.monotonic() - sinceMs <= requestMs);
  }

  /** The manager that led was killed, and its lease has not run out yet: nobody can report meanwhile. */
  #isLeaderless(): boolean {
    const { cluster, clock } = this.#world.simulation;
    const isLed = cluster.managers.some(({ running, paused }) => running?.leading === true && !paused);
    this.#leaderlessSinceMs = isLed ? undefined : (this.#leaderlessSinceMs ?? clock.monotonic());
    return this.#leaderlessSinceMs !== undefined && clock.monotonic() - this.#leaderlessSinceMs <= leaseMs;
  }

  // -------------------------------------------------------------------------------------- rest

  async #rest(): Promise<void> {
    const world = this.#world;
    world.note("quiet");
    await this.#subject.makeFeasible(world);
    const calmMs = world.atMs;
    const missing = await this.#converge();
    if (world.violations.length > 0) return;
    if (missing !== undefined) {
      const ready = world.condition("Ready");
      const said = ready ? `; Ready=${ready.status} ${ready.reason}: ${ready.message}` : "";
      world.violate(reached, `${missing} after ${(world.atMs - calmMs) / 60_000} minutes of quiet${said}`);
      return;
    }
    this.#convergedMs = world.atMs - calmMs;
    this.#load.stop();
    await this.#idle();
    for (const { name, atRest } of this.#oracles) {
      const wrong = await atRest?.(world);
      if (wrong !== undefined) world.violate(name, wrong);
    }
  }

  /** What is missing when the time is over; undefined when the spec was reached. */
  async #converge(): Promise<string | undefined> {
    const world = this.#world;
    const subject = this.#subject;
    let deadlineMs = world.atMs + (this.#options.convergeMs ?? defaultConvergeMs);
    let movedMs = world.atMs;
    let seen = "";
    let advice = 0;
    let missing: string | undefined = "nothing was looked at";
    for (let looks = 0; world.atMs < deadlineMs && world.violations.length === 0; ) {
      await world.advance(lookMs);
      this.#look();
      missing = await subject.missing(world);
      looks = missing === undefined ? looks + 1 : 0;
      if (looks >= 2) return undefined;
      const { primary } = world;
      const ready = world.condition("Ready");
      const now = `${primary?.metadata.uid}/${primary?.metadata.generation}/${ready?.reason}/${ready?.message}`;
      if (now !== seen) movedMs = world.atMs;
      seen = now;
      if (world.atMs - movedMs < stuckMs || advice >= mostAdvice) continue;
      const followed = (await handOver(world)) ?? (await subject.followAdvice?.(world));
      movedMs = world.atMs;
      if (followed === undefined) continue;
      advice++;
      world.note(`a person follows the advice: ${followed}`);
      deadlineMs = world.atMs + (this.#options.convergeMs ?? defaultConvergeMs);
    }
    return missing;
  }

  /** Looking at everything again changes nothing. */
  async #idle(): Promise<void> {
    const world = this.#world;
    const { cluster } = world.simulation;
    await world.advance(restMs);
    const before = cluster.writes.length;
    for (const manager of cluster.managers) manager.resync();
    await world.advance(idleMs);
    const extra = cluster.writes.slice(before);
    const [first] = extra;
    if (first)
      world.violate(
        idle,
        `${extra.length} writes at rest, the first ${first.method} ${first.path} ${first.body?.slice(0, 200) ?? ""}`,
      );
  }
}
