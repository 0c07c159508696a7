/** One database under load, on which a row of the table is measured. */
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../operator/eventually.ts";
import { replaceRestarted } from "../operator/replace-restarted.ts";
import type { Load } from "./load.ts";
import type { Spec, World } from "./world.ts";

/** What one run showed. */
export interface Run {
  /** Durations in milliseconds, by what they are of. */
  readonly figures: Readonly<Record<string, number>>;
  /** What the goal demands and this run did not do, as sentences. */
  readonly missed: readonly string[];
}

export interface Scenario {
  /** For `--only`. */
  readonly id: string;
  readonly fault: string;
  readonly goal: string;
  readonly runs: number;
  readonly spec?: Spec;
  /** A database of its own for every run. */
  readonly fresh?: boolean;
  /** In a namespace of its own. */
  readonly ownNamespace?: boolean;
  /**
   * The primary's process, volume or network is taken away without a warning: what the primary alone acknowledged may be
   * lost. Otherwise every acknowledged write must be there. Default: false.
   */
  readonly mayLosePlain?: boolean;
  /** Several runs can go on at the same time: what it does touches its own database only, and no time is its goal. */
  readonly mayShare?: boolean;
  /** Before the first run on a database, and after the last. */
  readonly prepare?: (bench: Bench) => Promise<void>;
  readonly conclude?: (bench: Bench) => Promise<void>;
  readonly run: (bench: Bench, nth: number) => Promise<Run>;
}

export class Bench {
  readonly world: World;
  readonly name: string;
  readonly load: Load;

  constructor(world: World, name: string, load: Load) {
    this.world = world;
    this.name = name;
    this.load = load;
  }

  async primary(): Promise<string> {
    const { status } = await this.world.get(this.name);
    if (!status?.primary) throw new Error(`${this.name} has no primary`);
    return status.primary;
  }

  async replica(): Promise<string> {
    const { status } = await this.world.get(this.name);
    const found = status?.servers?.find(({ role }) => role === "Replica");
    if (!found) throw new Error(`${this.name} has no replica`);
    return found.name;
  }

  /** Before a run that ends a process. The primary has not restarted: it was a replica before, and that had a new pod. */
  async replaceRestarted(): Promise<void> {
    const { world, name } = this;
    const primary = await this.primary();
    const pods = (await world.pods(name)).map(({ metadata }) => metadata.name);
    const replicas = pods.filter((pod) => pod !== primary);
    await replaceRestarted(
      world.client,
      replicas.map((pod) => this.ref(pod)),
    );
    // The status may be of the time before: only the servers know whether the new ones have the data.
    await this.time("every replica has the data", 60_000, async () => {
      await using redis = await world.logIn(await world.binding(name));
      await redis.call(["SET", "replaced", "1"]);
      return (await redis.call(["WAIT", replicas.length, 1_000])) === replicas.length;
    });
    await world.whenReady(name, 120_000);
  }

  ref(name: string): { namespace: string; name: string } {
    return { namespace: this.world.namespace, name };
  }

  async time(what: string, withinMs: number, condition: () => Promise<boolean>): Promise<number> {
    const since = performance.now();
    await eventually(what, withinMs, condition, async () => await this.world.told(this.name));
    return performance.now() - since;
  }

  /**
   * Disturbs, waits until all is well again and clients have written for a while, and says how long that took and how
   * long they could not write.
   */
  async disturbed(options: {
    readonly disturb: () => Promise<void>;
    /** After which it counts as healed, beside being ready. */
    readonly healed?: () => Promise<boolean>;
    readonly withinMs?: number;
    readonly limits: Readonly<Record<string, number>>;
    /** Whether it is measured, too, for how long WAIT could not be answered. */
    readonly waits?: boolean;
  }): Promise<Run> {
    const { load, world, name } = this;
    await load.steady(60_000);
    const since = load.now;
    await options.disturb();
    await this.time("healed", options.withinMs ?? 120_000, async () => {
      return (await (options.healed?.() ?? Promise.resolve(true))) && (await world.isReady(name));
    });
    const healed = load.now - since;
    await load.steady(60_000);
    await sleep(500);
    const { longestGapMs, longestWaitMs, story } = load.felt(since);
    const figures = {
      "longest without a write": longestGapMs,
      ...(options.waits ? { "longest without one that WAIT reported": longestWaitMs } : {}),
      healed,
    };
    const missed = over(figures, options.limits);
    return { figures, missed: missed.map((sentence) => `${sentence} (${story})`) };
  }
}

/** Compares figures with their limits. */
export function over(
  figures: Readonly<Record<string, number>>,
  limits: Readonly<Record<string, number>>,
): string[] {
  return Object.entries(limits).flatMap(([name, limit]) => {
    const value = figures[name];
    return value !== undefined && value > limit
      ? [`${name} ${(value / 1_000).toFixed(2)} s, more than ${limit / 1_000} s`]
      : [];
  });
}
