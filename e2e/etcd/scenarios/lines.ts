/** Network failures that end; no member may be removed or restarted for them. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Bench, failures, over, type Run, type Scenario } from "../bench.ts";

interface Break {
  readonly forMs: number;
  readonly begin: () => Promise<void>;
  readonly end: () => Promise<void>;
  /** How long clients may be without any acknowledged write: an election, or nothing at all. */
  readonly gapLimitMs: number;
}

async function lineBroken(bench: Bench, { forMs, begin, end, gapLimitMs }: Break): Promise<Run> {
  const [ids, before] = [await bench.ids(), await bench.incarnations()];
  const since = bench.load.ledger.now;
  await begin();
  await sleep(forMs);
  await end();
  const restoredAt = bench.load.ledger.now;
  // Until this is observed, all that the status says may be old.
  await bench.touch();
  await bench.time("all is as before", 120_000, async () => await bench.isReady());
  const healed = bench.load.ledger.now - restoredAt;
  await sleep(1_500);
  const felt = bench.load.ledger.summary(since);
  const figures = { healed, "longest without a write": felt.longestGapMs, "slowest write": felt.slowestMs };
  const missed = over(figures, { healed: 30_000, "longest without a write": gapLimitMs });
  if ((await bench.ids()) !== ids) missed.push("a member was removed");
  if (JSON.stringify(await bench.incarnations()) !== JSON.stringify(before))
    missed.push("a member was restarted");
  missed.push(...failures(felt));
  await bench.settle();
  return { figures, missed };
}

const goal = "writes continue, healed in ≤ 30 s after, no member removed";

function cut(
  id: string,
  fault: string,
  direction: "in" | "out" | "both",
  role: "Leader" | "Follower",
): Scenario {
  return {
    id,
    fault,
    goal,
    runs: 3,
    size: 3,
    run: async (bench, nth) => {
      const pod = bench.pod(await bench.member(role, nth));
      return await lineBroken(bench, {
        forMs: 15_000,
        begin: async () => await bench.world.inject({ kind: "cut", pod, direction }),
        end: async () => await bench.world.inject({ kind: "mend", pod }),
        gapLimitMs: 5_000,
      });
    },
  };
}

export const cuts: readonly Scenario[] = [
  cut("cut", "leader cut off from everyone, both ways, for 15 s", "both", "Leader"),
  cut("cutfollower", "follower cut off from everyone, both ways, for 15 s", "both", "Follower"),
  cut("deaf", "leader cut off one way for 15 s: it receives nothing", "in", "Leader"),
  cut("mute", "leader cut off one way for 15 s: nothing it sends arrives", "out", "Leader"),
];

export const operatorBlind: Scenario = {
  id: "blind",
  fault: "the operator cut off from the members for 30 s",
  goal,
  runs: 3,
  size: 3,
  run: async (bench) => {
    const { world } = bench;
    const pod = await world.operator.pod();
    const members = await bench.members();
    return await lineBroken(bench, {
      forMs: 30_000,
      begin: async () => {
        for (const name of members)
          await world.inject({ kind: "cut", pod, direction: "both", peer: bench.pod(name) });
      },
      end: async () => await world.inject({ kind: "mend", pod }),
      gapLimitMs: 1_000,
    });
  },
};

export const apiServerGone: Scenario = {
  id: "apiserver",
  fault: "the API server gone for a minute",
  goal,
  runs: 3,
  size: 3,
  run: async (bench) =>
    await lineBroken(bench, {
      forMs: 60_000,
      begin: async () => bench.world.stopApiServer(),
      end: async () => bench.world.continueApiServer(),
      gapLimitMs: 1_000,
    }),
};
