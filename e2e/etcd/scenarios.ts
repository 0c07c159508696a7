/** What goes wrong, and what must come of it. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Bench, Scenario } from "./bench.ts";
import { over, type Run } from "./measure.ts";

/** What a member's end costs: how long until it is back, and what clients felt meanwhile. */
async function heal(
  bench: Bench,
  options: {
    readonly disturb: () => Promise<void>;
    readonly healed: () => Promise<boolean>;
    readonly limits: Readonly<Record<string, number>>;
    readonly unchangedIds?: boolean;
  },
): Promise<Run> {
  const before = await bench.ids();
  const since = bench.load.now;
  await options.disturb();
  const healed = await bench.time("the cluster has healed", 180_000, options.healed);
  await sleep(1_500);
  const felt = bench.load.felt(since);
  const figures = { healed, "longest without a write": felt.longestGapMs, "slowest write": felt.slowestMs };
  const after = await bench.ids();
  const changed = options.unchangedIds !== false && JSON.stringify(before) !== JSON.stringify(after);
  const missed = [
    ...over(figures, options.limits),
    ...(changed ? ["a member was replaced"] : []),
    ...(felt.failed > 0 ? [`${felt.failed} writes failed in spite of retries`] : []),
  ];
  // Back to a settled cluster before the next run.
  await sleep(5_000);
  return { figures, missed };
}

/** The pod under this name is another one, and everyone serves. */
function replacedPod(bench: Bench, name: string, uid: string | undefined): () => Promise<boolean> {
  return async () => {
    const pod = await bench.world.pod(name);
    return pod !== undefined && pod.metadata.uid !== uid && (await bench.isReady());
  };
}

const followerDeleted: Scenario = {
  id: "follower",
  fault: "follower's pod deleted",
  goal: "3/3 members in ≤ 15 s, no write stalls > 1 s",
  runs: 10,
  size: 3,
  run: async (bench) => {
    const name = await bench.member("Follower");
    const uid = (await bench.world.pod(name))?.metadata.uid;
    return await heal(bench, {
      disturb: async () => await bench.world.deletePod(name),
      healed: replacedPod(bench, name, uid),
      limits: { healed: 15_000, "slowest write": 1_000 },
    });
  },
};

const leaderDeleted: Scenario = {
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
    });
  },
};

const leaderFrozen: Scenario = {
  id: "frozen",
  fault: "leader stopped in its tracks (SIGSTOP)",
  goal: "writes resume in ≤ 3 s, healed in ≤ 30 s",
  runs: 10,
  size: 3,
  run: async (bench) => {
    const name = await bench.member("Leader");
    const restarts = await restartsOf(bench, name);
    return await heal(bench, {
      disturb: async () => await bench.world.inject({ kind: "freeze", pod: bench.pod(name), frozen: true }),
      healed: async () => (await restartsOf(bench, name)) > restarts && (await bench.isReady()),
      limits: { healed: 30_000, "longest without a write": 3_000 },
    });
  },
};

async function restartsOf(bench: Bench, name: string): Promise<number> {
  return (await bench.world.pod(name))?.status?.containerStatuses?.[0]?.restartCount ?? 0;
}

/** A member loses its data, is replaced by another, and nobody ever sees an empty cluster. */
function dataLost(damage: "wipe" | "corrupt"): Scenario["run"] {
  return async (bench, nth) => {
    const name = await bench.member(nth % 2 === 0 ? "Follower" : "Leader");
    const guard = bench.world.guard(bench.name);
    const run = await heal(bench, {
      disturb: async () => await bench.world.damage(name, damage),
      healed: async () => !(await bench.members()).includes(name) && (await bench.isReady()),
      limits: { healed: 60_000 },
      unchangedIds: false,
    });
    const empty = await guard.stop();
    return {
      ...run,
      missed: [...run.missed, ...(empty > 0 ? [`${empty} reads saw an empty keyspace`] : [])],
    };
  };
}

const volumeWiped: Scenario = {
  id: "wiped",
  fault: "volume of a member wiped",
  goal: "≤ 60 s, never serves an empty keyspace",
  runs: 10,
  size: 3,
  run: dataLost("wipe"),
};

const volumeCorrupted: Scenario = {
  id: "corrupted",
  fault: "volume of a member corrupted",
  goal: "≤ 60 s, never serves an empty keyspace",
  runs: 10,
  size: 3,
  run: dataLost("corrupt"),
};

const allPodsDeleted: Scenario = {
  id: "everyone",
  fault: "all pods deleted at once, volumes kept",
  goal: "≤ 45 s, same cluster id",
  runs: 3,
  size: 3,
  run: async (bench) => {
    const { status } = await bench.world.get(bench.name);
    const names = await bench.members();
    const uids = await bench.podUids();
    const since = bench.load.now;
    await Promise.all(names.map(async (name) => await bench.world.deletePod(name)));
    const healed = await bench.time("everyone is back", 120_000, async () => {
      const now = await bench.podUids();
      return now.every((uid) => !uids.includes(uid)) && (await bench.isReady());
    });
    await sleep(1_500);
    const figures = { healed, "longest without a write": bench.load.felt(since).longestGapMs };
    const after = (await bench.world.get(bench.name)).status;
    const missed = over(figures, { healed: 45_000 });
    if (after?.clusterId !== status?.clusterId) missed.push("the cluster id changed");
    await sleep(5_000);
    return { figures, missed };
  },
};

const majorityLost: Scenario = {
  id: "majority",
  fault: "majority of volumes lost",
  goal: "refused to guess; after approval ≤ 2 min, loss reported",
  runs: 3,
  size: 3,
  fresh: true,
  run: async (bench) => {
    const { world, name } = bench;
    const victims = (await bench.members()).slice(0, 2);
    for (const victim of victims) await world.damage(victim, "wipe");
    const proposed = await bench.time("a survivor is proposed", 180_000, async () => {
      const { status } = await world.get(name);
      return status?.recovery?.phase === "Proposed";
    });
    const { status } = await world.get(name);
    const survivor = status?.recovery?.survivor ?? "";
    const missed: string[] = [];
    if (victims.includes(survivor)) missed.push(`${survivor} was proposed, whose data is gone`);
    if (!status?.recovery?.lost.includes("revision")) missed.push("the loss was not reported");
    await sleep(10_000);
    const waited = (await world.get(name)).status;
    if (waited?.recovery?.phase !== "Proposed") missed.push("it did not wait for approval");
    const since = bench.load.now;
    await world.annotate(name, { "etcd.keelson.dev/approve-recovery": survivor });
    await bench.load.acknowledgedSince(since);
    const serving = bench.load.now - since;
    const recovered = await bench.time("three members serve", 180_000, async () => await bench.isReady());
    const figures = { proposed, "serving after approval": serving, "3/3 after approval": recovered };
    return { figures, missed: [...missed, ...over(figures, { "3/3 after approval": 120_000 })] };
  },
};

const scaled: Scenario = {
  id: "scale",
  fault: "scale 1 → 3 → 5 → 3 → 1 under load",
  goal: "0 lost, 0 failed after 5 s of client retry",
  runs: 3,
  size: 1,
  run: async (bench) => {
    const since = bench.load.now;
    const figures: Record<string, number> = {};
    for (const [step, size] of [3, 5, 3, 1].entries()) {
      await bench.world.change(bench.name, { size });
      const label = ["1 → 3", "3 → 5", "5 → 3", "3 → 1"][step] ?? "";
      figures[label] = await bench.time(`${size} members`, 180_000, async () => await bench.isReady(size));
    }
    await sleep(6_000);
    const felt = bench.load.felt(since);
    figures["slowest write"] = felt.slowestMs;
    return { figures, missed: felt.failed > 0 ? [`${felt.failed} writes failed in spite of retries`] : [] };
  },
};

const upgraded: Scenario = {
  id: "upgrade",
  fault: "upgrade 3.5 → 3.6 → 3.7 under load, and a bad image midway",
  goal: "0 lost; rolled back in ≤ 2 min",
  runs: 3,
  size: 3,
  version: "3.5.35",
  fresh: true,
  run: async (bench) => {
    const { world, name } = bench;
    const since = bench.load.now;
    await world.change(name, { version: "3.6.16" });
    const first = await bench.time("3.6.16 runs", 240_000, async () => await runs(bench, "3.6.16"));
    await world.change(name, { version: "3.7.99" });
    const rolledBack = await bench.time("the bad image is rolled back", 240_000, async () => {
      const { status } = await world.get(name);
      const back = status?.members?.every((member) => member.version === "3.6.16" && member.ready);
      return status?.failedRollout !== undefined && status.rollout === undefined && back === true;
    });
    await world.change(name, { version: "3.7.3" });
    const second = await bench.time("3.7.3 runs", 240_000, async () => await runs(bench, "3.7.3"));
    await sleep(6_000);
    const felt = bench.load.felt(since);
    const figures = {
      "to 3.6": first,
      "rolled back": rolledBack,
      "to 3.7": second,
      "slowest write": felt.slowestMs,
    };
    const missed = over(figures, { "rolled back": 120_000 });
    if (felt.failed > 0) missed.push(`${felt.failed} writes failed in spite of retries`);
    return { figures, missed };
  },
};

async function runs(bench: Bench, version: string): Promise<boolean> {
  const { status } = await bench.world.get(bench.name);
  const everywhere = status?.members?.every((member) => member.version === version);
  return everywhere === true && status?.template?.recipe.version === version && (await bench.isReady());
}

/** A broken line, for a while; nobody may be removed or restarted for it. */
async function lineBroken(
  bench: Bench,
  options: {
    readonly forMs: number;
    readonly begin: () => Promise<void>;
    readonly end: () => Promise<void>;
    readonly gapLimitMs: number;
  },
): Promise<Run> {
  const [ids, uids] = [await bench.ids(), await bench.podUids()];
  const since = bench.load.now;
  await options.begin();
  await sleep(options.forMs);
  await options.end();
  const healed = await bench.time("all is as before", 120_000, async () => await bench.isReady());
  await sleep(1_500);
  const felt = bench.load.felt(since);
  const figures = { healed, "longest without a write": felt.longestGapMs, "slowest write": felt.slowestMs };
  const missed = over(figures, { healed: 30_000, "longest without a write": options.gapLimitMs });
  if (JSON.stringify(await bench.ids()) !== JSON.stringify(ids)) missed.push("a member was removed");
  if (JSON.stringify(await bench.podUids()) !== JSON.stringify(uids)) missed.push("a member was restarted");
  if (felt.failed > 0) missed.push(`${felt.failed} writes failed in spite of retries`);
  await sleep(5_000);
  return { figures, missed };
}

function cutOff(direction: "in" | "out" | "both", role: "Leader" | "Follower"): Scenario["run"] {
  return async (bench) => {
    const pod = bench.pod(await bench.member(role));
    return await lineBroken(bench, {
      forMs: 20_000,
      begin: async () => await bench.world.inject({ kind: "cut", pod, direction }),
      end: async () => await bench.world.inject({ kind: "mend", pod }),
      gapLimitMs: 5_000,
    });
  };
}

const cut = (
  id: string,
  direction: "in" | "out" | "both",
  role: "Leader" | "Follower",
  fault: string,
): Scenario => ({
  id,
  fault,
  goal: "writes go on, healed in ≤ 30 s after, nobody removed",
  runs: 3,
  size: 3,
  run: cutOff(direction, role),
});

const operatorBlind: Scenario = {
  id: "blind",
  fault: "the operator cut off from the members for half a minute",
  goal: "writes go on, healed in ≤ 30 s after, nobody removed",
  runs: 3,
  size: 3,
  run: async (bench) => {
    await bench.world.stopOperator();
    const sight = await bench.world.startBlindableOperator();
    await bench.ready(3, 30_000);
    return await lineBroken(bench, {
      forMs: 30_000,
      begin: async () => {
        sight.blind = true;
      },
      end: async () => {
        sight.blind = false;
      },
      gapLimitMs: 1_000,
    });
  },
};

const apiServerGone: Scenario = {
  id: "apiserver",
  fault: "the API server gone for a minute",
  goal: "writes go on, healed in ≤ 30 s after, nobody removed",
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

const badSpecs: Scenario = {
  id: "badspec",
  fault: "bad spec (impossible version, image, storage class, resources), then corrected",
  goal: "the cluster serves throughout, a condition says why, recovers on correction",
  runs: 3,
  size: 3,
  run: async (bench) => {
    const { world, name } = bench;
    const since = bench.load.now;
    const good = (await world.get(name)).spec;
    const figures: Record<string, number> = {};
    const missed: string[] = [];
    const attempts: [string, object, object, RegExp][] = [
      ["version", { version: "3.9.1" }, { version: good.version }, /not supported/],
      ["image", { image: "registry.invalid/etcd" }, { image: good.image }, /rolled back/],
      ["resources", { resources: { requests: { cpu: "1000" } } }, { resources: null }, /rolled back/],
      [
        "storage class",
        { size: 4, storage: { className: "nowhere" } },
        { size: 3, storage: { className: null } },
        /cannot start|volume/,
      ],
    ];
    for (const [what, bad, corrected, why] of attempts) {
      await world.change(name, bad);
      figures[`${what} refused`] = await bench.time(
        `a condition says what is wrong with the ${what}`,
        120_000,
        async () => {
          const { status } = await world.get(name);
          return (
            status?.conditions?.some(
              ({ type, status: is, message }) => type === "Ready" && is === "False" && why.test(message),
            ) ?? false
          );
        },
      );
      await world.change(name, corrected);
      figures[`${what} corrected`] = await bench.time(
        `the ${what} is corrected`,
        120_000,
        async () => await bench.isReady(),
      );
    }
    await sleep(1_500);
    const felt = bench.load.felt(since);
    figures["longest without a write"] = felt.longestGapMs;
    if (felt.failed > 0) missed.push(`${felt.failed} writes failed in spite of retries`);
    await sleep(5_000);
    return { figures, missed };
  },
};

const operatorReplaced: Scenario = {
  id: "operator",
  fault: "operator removed, installed again",
  goal: "zero member restarts, etcd serves throughout",
  runs: 3,
  size: 3,
  run: async (bench) => {
    const { world } = bench;
    const before = await bench.podUids();
    const since = bench.load.now;
    await world.stopOperator();
    await sleep(10_000);
    await world.startOperator();
    // A change that restarts nobody shows that it works again.
    await world.change(bench.name, { recovery: { nodeLossTimeoutSeconds: 301 + Math.round(since) } });
    const back = await bench.time("the operator is back", 60_000, async () => await bench.isReady());
    await sleep(12_000);
    const felt = bench.load.felt(since);
    const figures = {
      "operator back": back,
      "longest without a write": felt.longestGapMs,
      "slowest write": felt.slowestMs,
    };
    const missed = over(figures, { "longest without a write": 1_000 });
    if (JSON.stringify(await bench.podUids()) !== JSON.stringify(before))
      missed.push("a member was restarted");
    return { figures, missed };
  },
};

/** Kills the operator at a random moment of a change; another takes over. */
const operatorKilled: Scenario = {
  id: "killed",
  fault: "operator killed at a moment drawn by lot, while the cluster grows, heals and shrinks",
  goal: "converges to the same end state",
  runs: 20,
  size: 3,
  run: async (bench, nth) => {
    const { world, name } = bench;
    const since = bench.load.now;
    const size = nth % 2 === 0 ? 5 : 3;
    await world.change(name, { size });
    if (nth % 4 === 0) await world.damage(await bench.member("Follower"), "wipe");
    await sleep(Math.random() * 8_000);
    await world.stopOperator("SIGKILL");
    await sleep(500);
    await world.startOperator();
    const settled = await bench.time(`${size} members`, 180_000, async () => await bench.isReady(size));
    await sleep(1_500);
    const felt = bench.load.felt(since);
    const figures = { settled, "slowest write": felt.slowestMs };
    const missed = felt.failed > 0 ? [`${felt.failed} writes failed in spite of retries`] : [];
    return { figures, missed };
  },
};

export const scenarios: readonly Scenario[] = [
  followerDeleted,
  leaderDeleted,
  leaderFrozen,
  volumeWiped,
  volumeCorrupted,
  allPodsDeleted,
  majorityLost,
  scaled,
  upgraded,
  cut("cut", "both", "Leader", "leader cut off, both ways"),
  cut("cutin", "in", "Follower", "follower cut off, hears nothing"),
  cut("cutout", "out", "Leader", "leader cut off, is not heard"),
  operatorBlind,
  apiServerGone,
  badSpecs,
  operatorReplaced,
  operatorKilled,
];
