/** How a row of compound faults is measured. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Bench, over, type Run, type Scenario } from "../bench.ts";
import { watchStatements } from "../watch.ts";

export interface Compound extends Pick<Scenario, "id" | "fault"> {
  readonly spec?: Scenario["spec"];
  /** Everything that goes wrong; resolves with the last fault. */
  readonly happen: (bench: Bench) => Promise<void>;
  readonly before?: Scenario["before"];
  /** Members at the beginning. Default: 3. */
  readonly from?: number;
  /** Members at the end. Default: 3. */
  readonly size?: number;
}

/** What is asked of the status in every row of compound faults. */
export const trueStatus = "Ready, Available and Degraded true, no loss told";

const healedMs = 120_000;

/** A row in which everything must be well again within two minutes, without a lost write and without an untrue status. */
export function compound({ happen, from = 3, size = 3, ...row }: Compound): Scenario {
  const run = async (bench: Bench): Promise<Run> => {
    const { ledger } = bench.load;
    const since = ledger.now;
    await using watch = watchStatements(bench);
    await happen(bench);
    const last = ledger.now;
    await bench.time("the cluster has healed", 2 * healedMs, async () => await bench.isReady(size));
    const healed = ledger.now - last;
    await sleep(1_500);
    const felt = ledger.summary(since);
    const figures = { healed, "longest without a write": felt.longestGapMs };
    const missed = over(figures, { healed: healedMs });
    await bench.settle();
    missed.push(...(await watch.stop()), ...(await degradedStill(bench)));
    return { figures, missed };
  };
  const goal = `healed in ≤ 2 min after the last fault, 0 lost, ${trueStatus}`;
  return { ...row, goal, runs: 2, size: from, fresh: true, run };
}

/** Of a cluster that is as its spec says. */
async function degradedStill({ world, name }: Bench): Promise<string[]> {
  const { status } = await world.get(name);
  const found = status?.conditions?.find(({ type }) => type === "Degraded");
  return found?.status === "False" ? [] : [`Degraded=${found?.status} at the end: ${found?.message}`];
}
