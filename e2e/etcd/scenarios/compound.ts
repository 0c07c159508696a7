/** Faults that come together, and edits that people regret: each once led to an outage without end. */
import { setTimeout as sleep } from "node:timers/promises";
import { EtcdCluster } from "@keelson/etcd-operator";
import { Node, PersistentVolumeClaim, Pod } from "keelson/kinds";
import type { Bench, Scenario } from "../bench.ts";
import { namespace } from "../cluster-access.ts";
import { compound } from "./compound-row.ts";

async function labelPods({ world, name }: Bench, labels: Record<string, string | null>): Promise<void> {
  for (const { metadata } of await world.pods(name))
    await world.client
      .kind(Pod)
      .patch({ namespace, name: metadata.name }, { type: "merge", body: { metadata: { labels } } as never });
}

async function deletePods({ world, name }: Bench): Promise<void> {
  for (const { metadata } of await world.pods(name)) await world.deletePod(metadata.name);
}

const orphaned = compound({
  id: "orphan",
  fault: "deleted with --cascade=orphan, made again",
  happen: async (bench) => {
    const { world, name } = bench;
    const { spec } = await world.get(name);
    await world.client.kind(EtcdCluster).delete({ namespace, name }, { propagation: "Orphan" });
    await bench.time("it is gone", 60_000, async () => await world.isGone(name));
    await world.create(name, spec as never);
  },
});

const resized = compound({
  id: "flips",
  fault: "size 3 → 1 → 5 → 3 → 2 → 5 → 3 while pods are deleted",
  happen: async (bench) => {
    for (const size of [1, 5, 3, 2, 5, 3]) {
      await bench.world.change(bench.name, { size });
      await sleep(3_000);
      const [first] = await bench.world.pods(bench.name);
      if (first) await bench.world.deletePod(first.metadata.name);
      await sleep(2_000);
    }
  },
});

const relabelled = compound({
  id: "labels",
  fault: "the selector label of all pods changed by hand",
  happen: async (bench) => await labelPods(bench, { "etcd.keelson.dev/role": "none" }),
});

const unclaimed = compound({
  id: "claims",
  fault: "the owner's label removed from all claims, all pods deleted",
  happen: async (bench) => {
    const { world, name } = bench;
    const body = { metadata: { labels: { "keelson.dev/owner": null } } } as never;
    for (const { metadata } of await world.claims(name))
      await world.client
        .kind(PersistentVolumeClaim)
        .patch({ namespace, name: metadata.name }, { type: "merge", body });
    await deletePods(bench);
  },
});

const threeAtOnce = compound({
  id: "threefold",
  fault: "one pod swallows packets for 60 s, one is deleted, one is killed",
  happen: async (bench) => {
    const { world } = bench;
    const [first = "", second = "", third = ""] = await bench.members();
    const pod = bench.pod(first);
    await world.inject({ kind: "cut", pod, direction: "both" });
    await world.deletePod(second);
    await bench.kill(third);
    await sleep(60_000);
    await world.inject({ kind: "mend", pod });
  },
});

const poolRelabelled = compound({
  id: "pool",
  fault: "the node pool relabelled, all pods deleted, the spec corrected 30 s later",
  happen: async (bench) => {
    const { world, name } = bench;
    const label = async (pool: string) => {
      for (const { metadata } of (await world.client.kind(Node).list()).items)
        await world.client
          .kind(Node)
          .patch({ name: metadata.name }, { type: "merge", body: { metadata: { labels: { pool } } } });
    };
    await label("old");
    await world.change(name, { pod: { nodeSelector: { pool: "old" } } });
    await bench.ready(3, 180_000);
    await label("new");
    await deletePods(bench);
    await sleep(30_000);
    await world.change(name, { pod: { nodeSelector: { pool: "new" } } });
  },
});

/** In the order of the table. */
export const compounds: readonly Scenario[] = [
  orphaned,
  resized,
  relabelled,
  unclaimed,
  threeAtOnce,
  poolRelabelled,
];
