/** Pods that go, or stand still, while their data is safe. */
import { setTimeout as sleep } from "node:timers/promises";
import { type Bench, over, type Scenario } from "../bench.ts";
import { heal } from "./heal.ts";

/** The pod under this name is another one, and everyone serves. */
function replacedPod(bench: Bench, name: string, uid: string | undefined): () => Promise<boolean> {
  return async () => {
    const pod = await bench.world.pod(name);
    return pod !== undefined && pod.metadata.uid !== uid && (await bench.isReady());
  };
}

export const followerDeleted: Scenario = {
  id: "follower",
  fault: "follower's pod deleted",
  goal: "3/3 members in ≤ 15 s, no write stalls > 1 s",
  runs: 10,
  size: 3,
  run: async (bench, nth) => {
    const name = await bench.member("Follower", nth);
    const uid = (await bench.world.pod(name))?.metadata.uid;
    return await heal(bench, {
      disturb: async () => await bench.world.deletePod(name),
      healed: replacedPod(bench, name, uid),
      limits: { healed: 15_000, "longest without a write": 1_000, "slowest write": 1_000 },
      nobodyReplaced: true,
    });
  },
};

export const leaderDeleted: Scenario = {
  id: "leader",
  fault: "leader's pod deleted",
  goal: "writes resume in ≤ 3 s, healed in ≤ 30 s",
  runs: 10,
  size: 3,
  run: async (bench) => {
    const name = await bench.member("Leader");
    const uid = (await bench.world.pod(name))?.metadata.uid;
    return await heal(bench, {
      disturb: async () => await bench.world.deletePod(name),
      healed: replacedPod(bench, name, uid),
      limits: { healed: 30_000, "longest without a write": 3_000 },
      nobodyReplaced: true,
    });
  },
};

export const leaderKilled: Scenario = {
  id: "killedleader",
  fault: "leader's process killed (SIGKILL)",
  goal: "writes resume in ≤ 3 s, healed in ≤ 30 s",
  runs: 10,
  size: 3,
  run: async (bench) => {
    const name = await bench.unhurt("Leader");
    const restarts = await restartsOf(bench, name);
    return await heal(bench, {
      disturb: async () => await bench.world.inject({ kind: "kill", pod: bench.pod(name) }),
      healed: async () => (await restartsOf(bench, name)) > restarts && (await bench.isReady()),
      limits: { healed: 30_000, "longest without a write": 3_000 },
      nobodyReplaced: true,
    });
  },
};

export const leaderFrozen: Scenario = {
  id: "frozen",
  fault: "leader stopped in its tracks (SIGSTOP)",
  goal: "writes resume in ≤ 3 s, healed in ≤ 30 s",
  runs: 10,
  size: 3,
  run: async (bench) => {
    const name = await bench.unhurt("Leader");
    const restarts = await restartsOf(bench, name);
    return await heal(bench, {
      disturb: async () => await bench.world.inject({ kind: "freeze", pod: bench.pod(name), frozen: true }),
      healed: async () => (await restartsOf(bench, name)) > restarts && (await bench.isReady()),
      limits: { healed: 30_000, "longest without a write": 3_000 },
      nobodyReplaced: true,
    });
  },
};

async function restartsOf(bench: Bench, name: string): Promise<number> {
  return (await bench.world.pod(name))?.status?.containerStatuses?.[0]?.restartCount ?? 0;
}

export const allPodsDeleted: Scenario = {
  id: "everyone",
  fault: "all pods deleted at once, volumes kept",
  goal: "≤ 45 s, same cluster id",
  runs: 3,
  size: 3,
  run: async (bench) => {
    const { status } = await bench.world.get(bench.name);
    const [names, ids, before] = [await bench.members(), await bench.ids(), await bench.incarnations()];
    const since = bench.load.now;
    await Promise.all(names.map(async (name) => await bench.world.deletePod(name)));
    const healed = await bench.time("everyone is back", 120_000, async () => {
      const now = await bench.incarnations();
      return now.every((each) => !before.includes(each)) && (await bench.isReady());
    });
    await sleep(1_500);
    const figures = { healed, "longest without a write": bench.load.felt(since).longestGapMs };
    const after = (await bench.world.get(bench.name)).status;
    const missed = over(figures, { healed: 45_000 });
    if (after?.clusterId !== status?.clusterId) missed.push("the cluster id changed");
    if ((await bench.ids()) !== ids) missed.push("a member was replaced");
    await bench.settle();
    return { figures, missed };
  },
};
