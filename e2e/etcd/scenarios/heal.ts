/** What a member's end costs: how long until all is well, and what clients felt meanwhile. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Bench, failures, over, type Run } from "../bench.ts";

export interface Healing {
  readonly disturb: () => Promise<void>;
  readonly healed: () => Promise<boolean>;
  /** By the names of the figures. */
  readonly limits: Readonly<Record<string, number>>;
  /** The members must be the ones that they were. */
  readonly sameMembers: boolean;
  /** Writes may fail meanwhile. */
  readonly outage?: boolean;
}

export async function heal(bench: Bench, options: Healing): Promise<Run> {
  const before = await bench.ids();
  const since = bench.load.ledger.now;
  await options.disturb();
  await bench.time("the cluster has healed", 180_000, options.healed);
  const healed = bench.load.ledger.now - since;
  await sleep(1_500);
  const felt = bench.load.ledger.summary(since);
  const figures = { healed, "longest without a write": felt.longestGapMs, "slowest write": felt.slowestMs };
  const missed = over(figures, options.limits);
  if (options.sameMembers && (await bench.ids()) !== before) missed.push("a member was replaced");
  if (!options.outage) missed.push(...failures(felt));
  await bench.settle();
  return { figures, missed };
}
