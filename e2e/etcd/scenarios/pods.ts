/** Pods that end or freeze while their data is safe. */
import type { Bench, Run, Scenario } from "../bench.ts";
import { heal } from "./heal.ts";

interface Disturbance extends Pick<Scenario, "id" | "fault" | "goal" | "runs"> {
  /** Whom it meets. */
  readonly whom: (bench: Bench, nth: number) => Promise<readonly string[]>;
  readonly disturb: (bench: Bench, name: string) => Promise<void>;
  /** By the names of the figures. */
  readonly limits: Readonly<Record<string, number>>;
  /** Nobody serves for a while, so writes may fail. */
  readonly outage?: boolean;
}

/** A member that is hit comes back in another pod or container, and everyone is the member that it was, of the same cluster. */
function disturbance({ whom, disturb, limits, outage = false, ...row }: Disturbance): Scenario {
  const run = async (bench: Bench, nth: number): Promise<Run> => {
    const names = await whom(bench, nth);
    const before = await bench.incarnations();
    const clusterId = async () => (await bench.world.get(bench.name)).status?.clusterId;
    const cluster = await clusterId();
    const { missed, ...healed } = await heal(bench, {
      disturb: async () => {
        await Promise.all(names.map(async (name) => await disturb(bench, name)));
      },
      healed: async () => {
        const now = await bench.incarnations();
        return (
          now.filter((each) => !before.includes(each)).length === names.length && (await bench.isReady())
        );
      },
      limits,
      sameMembers: true,
      outage,
    });
    const same = (await clusterId()) === cluster;
    return { ...healed, missed: same ? missed : [...missed, "the cluster id changed"] };
  };
  return { ...row, size: 3, run };
}

async function deletePod({ world }: Bench, name: string): Promise<void> {
  await world.deletePod(name);
}

const election = { healed: 30_000, "longest without a write": 3_000 };
const electionGoal = "writes resume in ≤ 3 s, healed in ≤ 30 s";

export const followerDeleted = disturbance({
  id: "follower",
  fault: "follower's pod deleted",
  goal: "3/3 members in ≤ 15 s, no write stalls > 1 s",
  runs: 10,
  whom: async (bench, nth) => [await bench.member("Follower", nth)],
  disturb: deletePod,
  limits: { healed: 15_000, "longest without a write": 1_000, "slowest write": 1_000 },
});

export const leaderDeleted = disturbance({
  id: "leader",
  fault: "leader's pod deleted",
  goal: electionGoal,
  runs: 10,
  whom: async (bench) => [await bench.member("Leader")],
  disturb: deletePod,
  limits: election,
});

export const leaderKilled = disturbance({
  id: "killedleader",
  fault: "leader's process killed (SIGKILL)",
  goal: electionGoal,
  runs: 10,
  whom: async (bench) => [await bench.restarted("Leader", 0)],
  disturb: async (bench, name) => await bench.kill(name),
  limits: election,
});

export const leaderFrozen = disturbance({
  id: "frozen",
  fault: "leader frozen (SIGSTOP), every other time soon after its process was killed",
  goal: electionGoal,
  runs: 10,
  whom: async (bench, nth) => [await bench.restarted("Leader", nth % 2)],
  disturb: async (bench, name) =>
    await bench.world.inject({ kind: "freeze", pod: bench.pod(name), frozen: true }),
  limits: election,
});

export const allPodsDeleted = disturbance({
  id: "everyone",
  fault: "all pods deleted at once, volumes kept",
  goal: "≤ 45 s, same cluster id",
  runs: 3,
  whom: async (bench) => await bench.members(),
  disturb: deletePod,
  limits: { healed: 45_000 },
  outage: true,
});
