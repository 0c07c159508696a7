/** Runs scenarios as often as they ask for, on clusters that live as long as they can. */

import { setTimeout as sleep } from "node:timers/promises";
import { errorText } from "@keelson/core/internal";
import { Bench, type Run, type Scenario } from "./bench.ts";
import type { LoadResult } from "./results.ts";
import type { World } from "./world.ts";

/** Old revisions are dropped now and then, as in any cluster that is meant to last. */
const settings = { autoCompactionMode: "revision", autoCompactionRetention: "20000" } as const;

export interface Measured {
  readonly runs: readonly Run[];
  readonly loads: readonly LoadResult[];
}

export interface MeasureOptions {
  readonly runs: number;
  /** Runs that were measured before: the next one is not the first. */
  readonly before: number;
  readonly version: string;
  readonly say: (sentence: string) => void;
}

/** Keeps a cluster from one row to the next while it is as good as new. */
export class Clusters {
  readonly #world: World;
  #living: { readonly name: string; readonly like: string } | undefined;
  #made = 0;

  constructor(world: World) {
    this.#world = world;
  }

  async measure(scenario: Scenario, options: MeasureOptions): Promise<Measured> {
    const rounds = scenario.fresh ? options.runs : 1;
    const perRound = scenario.fresh ? 1 : options.runs;
    const measured: { runs: Run[]; loads: LoadResult[] } = { runs: [], loads: [] };
    for (let round = 0; round < rounds; round++) {
      const name = await this.#provide(scenario, options.version);
      const bench = new Bench(this.#world, { name, version: options.version });
      const since = bench.load.ledger.now;
      await sleep(2_000);
      await scenario.prepare?.(bench);
      for (let nth = 0; nth < perRound; nth++) {
        const run = await scenario.run(bench, options.before + round + nth).catch(failedRun);
        measured.runs.push(run);
        options.say(`${scenario.id} ${measured.runs.length}/${options.runs}: ${told(run)}`);
        if (run.missed.length > 0) await bench.ready(scenario.size, 120_000).catch(() => {});
      }
      await scenario.conclude?.(bench);
      const { acknowledged, failed, perSecond } = bench.load.ledger.summary(since);
      const { violations } = await bench.load.finish();
      measured.loads.push({ acknowledged, failed, perSecond: Math.round(perSecond), violations });
      const spoilt = violations.length > 0 || !(await this.#world.isReady(name, scenario.size));
      if (scenario.fresh || spoilt) await this.release();
    }
    return measured;
  }

  async #provide({ fresh, size, spec, before }: Scenario, version: string): Promise<string> {
    const like = JSON.stringify({ size, version, spec });
    if (this.#living?.like === like && !fresh) return this.#living.name;
    await this.release();
    const name = `etcd-${this.#made++}`;
    this.#living = { name, like };
    await before?.(this.#world);
    await this.#world.create(name, { size, version, settings, ...spec });
    await this.#world.whenReady(name, size, 180_000);
    // etcd counts a peer as connected after five seconds.
    await sleep(5_000);
    return name;
  }

  async release(): Promise<void> {
    const living = this.#living;
    this.#living = undefined;
    if (living) await this.#world.remove(living.name);
  }
}

/** A run that broke off. */
export function failedRun(error: unknown): Run {
  return { figures: {}, missed: [errorText(error)] };
}

function told({ figures, counts = {}, missed }: Run): string {
  const values = Object.entries(figures).map(([name, ms]) => `${name} ${(ms / 1_000).toFixed(2)} s`);
  const numbers = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
  return [...values, ...numbers, ...missed.map((sentence) => `MISSED ${sentence}`)].join(", ");
}
