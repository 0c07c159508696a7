/** How a row of compound faults is measured. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Bench, over, type Run, type Scenario } from "../bench.ts";

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

const healedMs = 120_000;
/** How long the status may lag behind the world. */
const lagMs = 15_000;

/** A row in which everything must be well again within two minutes, without a lost write and without an untrue Ready. */
export function compound({ happen, from = 3, size = 3, ...row }: Compound): Scenario {
  const run = async (bench: Bench): Promise<Run> => {
    const { ledger } = bench.load;
    const since = ledger.now;
    const watch = watchReady(bench);
    await happen(bench);
    const last = ledger.now;
    await bench.time("the cluster has healed", 2 * healedMs, async () => await bench.isReady(size));
    const healed = ledger.now - last;
    await sleep(1_500);
    const untrue = await watch.stop();
    const felt = ledger.summary(since);
    const figures = { healed, "longest without a write": felt.longestGapMs };
    const missed = over(figures, { healed: healedMs });
    if (untrue > 0)
      missed.push(`Ready=True ${untrue} times while no write had succeeded for ${lagMs / 1_000} s`);
    await bench.settle();
    return { figures, missed };
  };
  const goal = "healed in ≤ 2 min after the last fault, 0 lost, Ready=True only while writes succeed";
  return { ...row, goal, runs: 2, size: from, fresh: true, run };
}

/** Counts how often the status says Ready while clients get nothing written. */
function watchReady(bench: Bench): { stop(): Promise<number> } {
  let [untrue, stopped] = [0, false];
  const watching = (async () => {
    while (!stopped) {
      await sleep(1_000);
      const object = await bench.world.get(bench.name).catch(() => undefined);
      const ready = object?.status?.conditions?.find(({ type }) => type === "Ready")?.status === "True";
      const { ledger } = bench.load;
      if (ready && ledger.now > lagMs && ledger.summary(ledger.now - lagMs).acknowledged === 0) untrue++;
    }
  })();
  return {
    stop: async () => {
      stopped = true;
      await watching;
      return untrue;
    },
  };
}
