/** One cluster of etcd under load, on which a row of the table is measured. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Load } from "./load.ts";
import type { Row, Run } from "./measure.ts";
import { eventually, namespace, type World } from "./world.ts";

export interface Scenario {
  /** For `--only`. */
  readonly id: string;
  readonly fault: string;
  readonly goal: string;
  readonly runs: number;
  readonly size: number;
  readonly version?: string;
  /** A cluster of its own for every run: the runs leave it in another state than they found it. */
  readonly fresh?: boolean;
  /** Starts and stops the operator itself. */
  readonly ownOperator?: boolean;
  readonly run: (bench: Bench, nth: number) => Promise<Run>;
}

export class Bench {
  readonly world: World;
  readonly name: string;
  readonly load: Load;

  constructor(world: World, name: string) {
    this.world = world;
    this.name = name;
    this.load = world.load(name);
  }

  async member(role: "Leader" | "Follower"): Promise<string> {
    const { status } = await this.world.get(this.name);
    const found = status?.members?.filter((member) => member.role === role) ?? [];
    const [first] = found;
    if (!first) throw new Error(`${this.name} has no ${role.toLowerCase()}`);
    return first.name;
  }

  async members(): Promise<readonly string[]> {
    const { status } = await this.world.get(this.name);
    return (status?.members ?? []).map(({ name }) => name);
  }

  async ids(): Promise<readonly (string | undefined)[]> {
    const { status } = await this.world.get(this.name);
    return (status?.members ?? []).map(({ id }) => id);
  }

  async podUids(): Promise<readonly string[]> {
    const found = await Promise.all((await this.members()).map(async (name) => await this.world.pod(name)));
    return found.map((pod) => `${pod?.metadata.uid}/${pod?.status?.containerStatuses?.[0]?.restartCount}`);
  }

  async isReady(size = 3): Promise<boolean> {
    return await this.world.isReady(this.name, size);
  }

  async ready(size: number, withinMs: number): Promise<void> {
    await this.world.whenReady(this.name, size, withinMs);
  }

  /** Waits until something holds, and says how long that took. */
  async time(what: string, withinMs: number, condition: () => Promise<boolean>): Promise<number> {
    const since = performance.now();
    await eventually(what, withinMs, condition, async () => {
      const { status } = await this.world.get(this.name);
      const conditions = status?.conditions?.map(
        ({ type, status: is, message }) => `${type}=${is} ${message}`,
      );
      return JSON.stringify({ phase: status?.phase, members: status?.members, conditions });
    });
    return performance.now() - since;
  }

  pod(name: string): { namespace: string; name: string } {
    return { namespace, name };
  }
}

/** Runs a scenario as often as it asks for. */
export async function measure(
  world: World,
  scenario: Scenario,
  options: { readonly runs: number; readonly version: string; readonly say: (sentence: string) => void },
): Promise<Row> {
  const totals = { acknowledged: 0, failed: 0, ms: 0 };
  const violations: string[] = [];
  const runs: Run[] = [];
  const rounds = scenario.fresh ? options.runs : 1;
  for (let round = 0; round < rounds; round++) {
    const name = `${scenario.id}-${round}`;
    if (!scenario.ownOperator || round === 0) await world.startOperator();
    await world.create(name, { size: scenario.size, version: scenario.version ?? options.version });
    await world.whenReady(name, scenario.size, 120_000);
    const bench = new Bench(world, name);
    const since = bench.load.now;
    await sleep(2_000);
    for (let nth = 0; nth < (scenario.fresh ? 1 : options.runs); nth++) {
      const run = await scenario
        .run(bench, scenario.fresh ? round : nth)
        .catch((error: unknown) => failedRun(error));
      runs.push(run);
      options.say(`${scenario.id} ${runs.length}/${options.runs}: ${told(run)}`);
      if (run.missed.length > 0) await bench.ready(scenario.size, 120_000).catch(() => {});
    }
    const felt = bench.load.felt(since);
    const verdict = await bench.load.finish();
    totals.acknowledged += verdict.acknowledged;
    totals.failed += felt.failed;
    totals.ms += bench.load.now - since;
    violations.push(...verdict.violations);
    await world.remove(name);
    await world.stopOperator();
  }
  const { fault, goal } = scenario;
  const perSecond = totals.acknowledged / (totals.ms / 1_000);
  return {
    fault,
    goal,
    runs,
    acknowledged: totals.acknowledged,
    failed: totals.failed,
    perSecond,
    violations,
  };
}

function failedRun(error: unknown): Run {
  return { figures: {}, missed: [error instanceof Error ? error.message : String(error)] };
}

function told({ figures, missed }: Run): string {
  const values = Object.entries(figures).map(([name, ms]) => `${name} ${(ms / 1_000).toFixed(2)} s`);
  return [...values, ...missed.map((sentence) => `MISSED ${sentence}`)].join(", ");
}
