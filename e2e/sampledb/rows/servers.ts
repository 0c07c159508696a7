/** Servers that go, freeze or cannot be reached. */
import type { Bench, Scenario } from "../scenario.ts";
import { cappedStorage } from "../world.ts";

const resume = { "longest without a write": 3_000 };
const lostNode = { "longest without a write": 10_000 };

async function changed(bench: Bench, before: string): Promise<() => Promise<boolean>> {
  const uid = (await bench.world.pod(before))?.metadata.uid;
  return async () => (await bench.world.pod(before))?.metadata.uid !== uid;
}

export const primaryDeleted: Scenario = {
  id: "deleted",
  fault: "primary's pod deleted",
  goal: "writes resume in ≤ 3 s",
  runs: 10,
  run: async (bench) => {
    const primary = await bench.primary();
    const healed = await changed(bench, primary);
    return await bench.disturbed({
      disturb: async () => await bench.world.deletePod(primary),
      healed,
      limits: resume,
    });
  },
};

export const primaryKilled: Scenario = {
  id: "killed",
  fault: "primary's process killed (SIGKILL)",
  goal: "writes resume in ≤ 3 s",
  runs: 10,
  mayLosePlain: true,
  run: async (bench) => {
    await bench.replaceRestarted();
    const primary = await bench.primary();
    return await bench.disturbed({
      disturb: async () => await bench.world.inject({ kind: "kill", pod: bench.ref(primary) }),
      healed: async () => (await bench.primary()) !== primary,
      limits: resume,
    });
  },
};

export const primaryFrozen: Scenario = {
  id: "frozen",
  fault: "primary stopped in its tracks (SIGSTOP)",
  goal: "writes resume in ≤ 10 s",
  runs: 10,
  mayLosePlain: true,
  run: async (bench) => {
    const primary = await bench.primary();
    return await bench.disturbed({
      disturb: async () =>
        await bench.world.inject({ kind: "freeze", pod: bench.ref(primary), frozen: true }),
      healed: async () => (await bench.primary()) !== primary,
      limits: lostNode,
    });
  },
};

export const primaryCut: Scenario = {
  id: "cut",
  fault: "primary cut off from everyone, both ways",
  goal: "writes resume in ≤ 10 s",
  runs: 10,
  mayLosePlain: true,
  run: async (bench) => {
    const primary = await bench.primary();
    try {
      return await bench.disturbed({
        disturb: async () =>
          await bench.world.inject({ kind: "cut", pod: bench.ref(primary), direction: "both" }),
        healed: async () => (await bench.primary()) !== primary,
        limits: lostNode,
      });
    } finally {
      await bench.world.inject({ kind: "mend" });
    }
  },
};

export const nodeLost: Scenario = {
  id: "node",
  fault: "primary's node loses power for 30 s, and nobody is told",
  goal: "writes resume in ≤ 10 s",
  runs: 3,
  mayLosePlain: true,
  run: async (bench) => {
    const primary = await bench.primary();
    const node = (await bench.world.pod(primary))?.spec?.nodeName ?? "";
    if ((await bench.world.operatorNode()) === node) await bench.world.deleteOperatorFrom(node);
    return await bench.disturbed({
      disturb: async () => {
        await bench.world.inject({ kind: "nodeDown", node });
        setTimeout(() => void bench.world.inject({ kind: "nodeUp", node }).catch(() => undefined), 30_000);
      },
      healed: async () => (await bench.primary()) !== primary,
      withinMs: 240_000,
      limits: lostNode,
    });
  },
};

export const everyone: Scenario = {
  id: "everyone",
  fault: "all pods deleted at once",
  goal: "no acknowledged write lost",
  runs: 3,
  run: async (bench) => {
    const pods = (await bench.world.pods(bench.name)).map(({ metadata }) => metadata.name);
    const healed = await changed(bench, pods[0] ?? "");
    return await bench.disturbed({
      disturb: async () => {
        await Promise.all(pods.map(async (name) => await bench.world.deletePod(name)));
      },
      healed,
      limits: {},
    });
  },
};

export const everyoneKilled: Scenario = {
  id: "allkilled",
  fault: "all processes killed at once (SIGKILL)",
  goal: "no acknowledged write lost",
  runs: 3,
  // A container that ends again and again starts 10 s later, then 20 s: that would be measured.
  fresh: true,
  run: async (bench) => {
    const pods = (await bench.world.pods(bench.name)).map(({ metadata }) => metadata.name);
    const before = (await bench.world.get(bench.name)).status?.epoch ?? 0;
    return await bench.disturbed({
      disturb: async () => {
        await Promise.all(
          pods.map(async (name) => await bench.world.inject({ kind: "kill", pod: bench.ref(name) })),
        );
      },
      healed: async () => ((await bench.world.get(bench.name)).status?.epoch ?? 0) > before,
      limits: {},
    });
  },
};

export const volumeLost: Scenario = {
  id: "volume",
  fault: "primary's volume lost, and its process killed",
  goal: "writes resume in ≤ 3 s, no acknowledged write lost",
  runs: 3,
  mayLosePlain: true,
  run: async (bench) => {
    await bench.replaceRestarted();
    const primary = await bench.primary();
    const claim = (await bench.world.claims(bench.name)).find(
      ({ metadata }) => metadata.name === `data-${primary}`,
    );
    return await bench.disturbed({
      disturb: async () => {
        await bench.world.inject({ kind: "loseVolume", volume: claim?.spec?.volumeName ?? "" });
        await bench.world.inject({ kind: "kill", pod: bench.ref(primary) });
      },
      healed: async () => (await bench.primary()) !== primary,
      limits: resume,
    });
  },
};

export const diskFull: Scenario = {
  id: "diskfull",
  fault: "primary's volume full, and freed when another leads",
  goal: "writes resume in ≤ 10 s, no acknowledged write lost",
  runs: 3,
  spec: { storage: cappedStorage },
  run: async (bench) => {
    const primary = await bench.primary();
    const pod = bench.ref(primary);
    return await bench.disturbed({
      disturb: async () => {
        await bench.world.inject({ kind: "fillDisk", pod, volume: "data" });
        await bench.time("another leads", 60_000, async () => (await bench.primary()) !== primary);
        await bench.world.inject({ kind: "freeDisk", pod, volume: "data" });
      },
      limits: lostNode,
    });
  },
};

export const handedOver: Scenario = {
  id: "handover",
  fault: "primary's node cordoned: planned handover",
  goal: "handover in ≤ 500 ms",
  runs: 3,
  run: async (bench) => {
    const primary = await bench.primary();
    const node = (await bench.world.pod(primary))?.spec?.nodeName ?? "";
    try {
      return await bench.disturbed({
        disturb: async () => await bench.world.cordon(node, true),
        healed: async () => (await bench.primary()) !== primary,
        limits: { "longest without a write": 500 },
      });
    } finally {
      await bench.world.cordon(node, false);
    }
  },
};

/** The operator moves too, where it runs on that node. */
export const drained: Scenario = {
  id: "drain",
  fault: "primary's node drained by `kubectl drain`, which evicts every pod as the disruption budgets allow",
  goal: "the node is empty, the handover was planned, no writes for ≤ 500 ms",
  runs: 3,
  run: async (bench) => {
    const { world, name, load } = bench;
    const primary = await bench.primary();
    const node = (await world.pod(primary))?.spec?.nodeName ?? "";
    const failover = async () => (await world.get(name)).status?.lastFailover?.at;
    const before = await failover();
    const missed: string[] = [];
    let drained = 0;
    try {
      const run = await bench.disturbed({
        disturb: async () => {
          const since = load.now;
          await world.drain(node);
          drained = load.now - since;
          const left = (await world.pods(name)).filter(({ spec }) => spec?.nodeName === node);
          missed.push(...left.map(({ metadata }) => `${metadata.name} is still on ${node}`));
          // A server whose volume is on that node waits for it.
          await world.cordon(node, false);
        },
        healed: async () => (await bench.primary()) !== primary,
        limits: { "longest without a write": 500 },
      });
      if ((await failover()) !== before) missed.push("the primary was lost before it could hand over");
      return { figures: { ...run.figures, drained }, missed: [...run.missed, ...missed] };
    } finally {
      await world.cordon(node, false);
    }
  },
};
