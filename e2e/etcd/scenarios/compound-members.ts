/** Members, quotas and volumes that got stuck: each of these once was an outage without end. */
import { setTimeout as sleep } from "node:timers/promises";
import { Node, StorageClass } from "keelson/kinds";
import type { Bench, Scenario } from "../bench.ts";
import { call } from "../client.ts";
import { compound } from "./compound-row.ts";

/** A call to any member that answers. */
async function etcdctl({ world, name }: Bench, path: string, body: Record<string, unknown>) {
  const connections = world.connections();
  try {
    for (;;) {
      const [to] = world.serving(name);
      if (to) return await call(connections, to, path, body, 5_000);
      await sleep(200);
    }
  } finally {
    connections.close();
  }
}

const leaverDeleted = compound({
  id: "leaver",
  fault: "size 2 → 1, and the pod of the member that leaves deleted at once",
  from: 2,
  size: 1,
  happen: async (bench) => {
    await bench.world.change(bench.name, { size: 1 });
    const { metadata } = (await bench.world.pods(bench.name)).at(-1) ?? {};
    if (metadata) await bench.world.deletePod(metadata.name);
  },
});

const strangerAdded = compound({
  id: "stranger",
  fault:
    "a voter added by hand that never starts, a pod deleted, the voter removed 30 s later as the status advises",
  happen: async (bench) => {
    const { world, name } = bench;
    await etcdctl(bench, "/v3/cluster/member/add", { peerURLs: ["http://10.9.9.9:2380"] });
    let advised = "";
    await bench.time("the status tells of it", 60_000, async () => {
      const { status } = await world.get(name);
      const told = status?.conditions?.map(({ message }) => message).join(" ") ?? "";
      advised = /etcdctl member remove (\w+)/.exec(told)?.[1] ?? "";
      return advised !== "";
    });
    const [first] = await world.pods(name);
    if (first) await world.deletePod(first.metadata.name);
    await sleep(30_000);
    await bench.time("a quorum answers", 60_000, async () => {
      await etcdctl(bench, "/v3/cluster/member/remove", { ID: BigInt(`0x${advised}`).toString() });
      return true;
    });
  },
});

const outOfSpace = compound({
  id: "nospace",
  fault: "a quota of 16 MB used up, and raised when the status asks for it",
  spec: { storage: { size: "1Gi", quotaBytes: 16 << 20 } as never },
  happen: async (bench) => {
    const { world, name } = bench;
    let written = 0;
    await bench.time("the status asks for a larger quota", 120_000, async () => {
      // What old revisions took is given back: only data that stays fills a quota for good.
      // Small pieces: a large one is refused long before the quota is full.
      await world.fill(name, 2, `ballast/${written++}`, 128 << 10).catch(() => {});
      const { status } = await world.get(name);
      const advice = "raise spec.storage.quotaBytes";
      return status?.conditions?.some(({ message }) => message.includes(advice)) ?? false;
    });
    await world.change(name, { storage: { quotaBytes: 256 << 20 } });
  },
});

const volumesFull = compound({
  id: "full",
  fault: "two of three volumes full, the storage raised",
  spec: { storage: { size: "256Mi", className: "capped" } as never },
  before: async ({ client }) => {
    if (await client.kind(StorageClass).find({ name: "capped" })) return;
    await client.kind(StorageClass).create({
      metadata: { name: "capped" },
      provisioner: "keelson.dev/local",
      reclaimPolicy: "Delete",
      volumeBindingMode: "Immediate",
      allowVolumeExpansion: true,
      parameters: { capped: "true" },
    });
  },
  happen: async (bench) => {
    const { world, name } = bench;
    for (const member of (await bench.members()).slice(0, 2))
      await world.inject({ kind: "fillDisk", pod: bench.pod(member), volume: "data" });
    await sleep(20_000);
    await world.change(name, { storage: { size: "512Mi" } });
  },
});

const learnerNowhere = compound({
  id: "learner",
  fault: "a fourth member that no node takes, and the size taken back 20 s later",
  happen: async (bench) => {
    const { world, name } = bench;
    const nodes = world.client.kind(Node);
    const cordon = async (unschedulable: boolean) => {
      for (const { metadata } of (await nodes.list()).items)
        await nodes.patch({ name: metadata.name }, { type: "merge", body: { spec: { unschedulable } } });
    };
    await cordon(true);
    try {
      await world.change(name, { size: 4 });
      await sleep(20_000);
      await world.change(name, { size: 3 });
      await bench.time("the size is back", 120_000, async () => await bench.isReady(3));
    } finally {
      await cordon(false);
    }
  },
});

/** In the order of the table. */
export const stuckMembers: readonly Scenario[] = [
  leaverDeleted,
  strangerAdded,
  outOfSpace,
  volumesFull,
  learnerNowhere,
];
