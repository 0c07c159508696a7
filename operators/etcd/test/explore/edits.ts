/** What users of an EtcdCluster do. */
import { type Disturbance, pick } from "@keelson/testing";
import { EtcdBackup } from "../../src/api/backup.ts";
import { EtcdCluster } from "../../src/api/cluster.ts";
import type { SimEtcd } from "../simulation/etcd.ts";

const ref = { namespace: "default", name: "example" };
type Edit = Disturbance<SimEtcd>;
type EtcdWorld = Parameters<Edit["begin"]>[0];

async function change(world: EtcdWorld, spec: object): Promise<void> {
  if (!world.primary || world.primary.metadata.deletionTimestamp !== undefined) return;
  try {
    await world.client.kind(EtcdCluster).patch(ref, { type: "merge", body: { spec } as never });
  } catch (error) {
    // The server refuses what the schema does not allow: the user sees it and nothing happens.
    if ((error as { code?: unknown }).code !== 422) throw error;
    world.note(`refused: ${(error as Error).message.slice(0, 120)}`);
  }
}

const resize: Edit = {
  name: "edit: size",
  weight: 5,
  choose: (random) => ({ size: pick([1, 2, 3, 3, 4, 5], random) }),
  begin: (world, { size }) => change(world, { size }),
};

const upgrade: Edit = {
  name: "edit: version",
  weight: 2,
  choose: (random) => ({ version: pick(["3.5.35", "3.6.16", "3.6.17", "3.7.3", "3.6.99", "4.0.0"], random) }),
  begin: async (world, { version }) => {
    if (version === "3.6.99") {
      // Sometimes an image that does not exist, sometimes one that does not come up.
      if (world.atMs % 200 < 100) world.application.brokenVersions.add("3.6.99");
      else world.simulation.kubelet.missingImages.add("gcr.io/etcd-development/etcd:v3.6.99");
    }
    await change(world, { version });
  },
};

const settings: Edit = {
  name: "edit: settings",
  weight: 2,
  choose: (random) => ({ snapshotCount: pick([5_000, 10_000, 20_000], random) }),
  begin: (world, { snapshotCount }) => change(world, { settings: { snapshotCount } }),
};

const oversized: Edit = {
  name: "edit: resources that no node has",
  lastsMs: 120_000,
  begin: async (world) => {
    await change(world, { resources: { requests: { cpu: "4096" } } });
    return () => change(world, { resources: null });
  },
};

/** The nodes are relabelled with the spec, or the spec names nodes that do not exist, and is corrected. */
const nowhere: Edit = {
  name: "edit: a node pool that does not exist",
  lastsMs: 300_000,
  begin: async (world) => {
    await change(world, { pod: { nodeSelector: { pool: "gone" } } });
    return () => change(world, { pod: { nodeSelector: null } });
  },
};

const poolRelabelled: Edit = {
  name: "node: the pool is relabelled",
  begin: async (world) => {
    await change(world, { pod: { nodeSelector: { pool: "default" } } });
    await world.advance(20_000);
    for (const node of world.simulation.nodes.all.keys())
      await world.simulation.nodes.relabel(node, { pool: "new" });
    await change(world, { pod: { nodeSelector: { pool: "new" } } });
  },
};

const storage: Edit = {
  name: "edit: storage",
  choose: (random) => ({ size: pick(["1Gi", "2Gi", "3Gi"], random) }),
  begin: (world, { size }) => change(world, { storage: { size } }),
};

const quota: Edit = {
  name: "edit: quota",
  choose: (random) => ({ quotaBytes: pick([0, 2_000_000, 8_000_000], random) }),
  begin: (world, { quotaBytes }) => change(world, { storage: { quotaBytes } }),
};

const paused: Edit = {
  name: "edit: paused",
  lastsMs: 180_000,
  begin: async (world) => {
    await change(world, { paused: true });
    return () => change(world, { paused: false });
  },
};

const hibernated: Edit = {
  name: "edit: hibernated",
  lastsMs: 180_000,
  begin: async (world) => {
    await change(world, { hibernate: true });
    return () => change(world, { hibernate: false });
  },
};

/** Changed and taken back at once, or nearly. */
const flip: Edit = {
  name: "edit: changed and taken back",
  weight: 2,
  choose: (random) => ({ size: pick([1, 2, 4, 5], random), afterMs: pick([0, 300, 5_000, 40_000], random) }),
  begin: async (world, { size, afterMs }) => {
    const before = (world.primary?.spec as { size?: number } | undefined)?.size ?? 3;
    await change(world, { size });
    world.clock.timer(Number(afterMs), () => void change(world, { size: before }));
  },
};

const automatic: Edit = {
  name: "edit: automatic recovery",
  weight: 0.5,
  begin: (world) => change(world, { recovery: { quorumLoss: "Automatic" } }),
};

const rotate: Edit = {
  name: "edit: authorities are rotated",
  weight: 0.5,
  choose: (random) => ({ value: String(random.next()) }),
  begin: async (world, { value }) => {
    if (!world.primary) return;
    const body = { metadata: { annotations: { "etcd.keelson.dev/rotate-authorities": String(value) } } };
    await world.client.kind(EtcdCluster).patch(ref, { type: "merge", body });
  },
};

const recreated: Edit = {
  name: "edit: deleted and made again",
  choose: (random) => ({
    propagation: pick(["Background", "Foreground", "Orphan"], random),
    finalBackup: random.next() < 0.3,
  }),
  begin: async (world, { propagation, finalBackup }) => {
    const { primary } = world;
    if (!primary || primary.metadata.deletionTimestamp !== undefined) return;
    world.notes.set("deleted", true);
    if (finalBackup) await change(world, { deletion: { finalBackup: { claim: { name: "vault" } } } });
    const { spec } = world.primary ?? primary;
    await world.client.kind(EtcdCluster).delete(ref, { propagation: propagation as "Background" });
    const again = async () => {
      if (world.primary) return void world.clock.timer(1_000, () => void again());
      await world.client.kind(EtcdCluster).create({ metadata: ref, spec: spec as never });
    };
    await again();
  },
};

const deletedForGood: Edit = {
  name: "edit: deleted",
  weight: 0.5,
  choose: (random) => ({
    propagation: pick(["Background", "Foreground"], random),
    finalBackup: random.next() < 0.5,
  }),
  begin: async (world, { propagation, finalBackup }) => {
    if (!world.primary || world.primary.metadata.deletionTimestamp !== undefined) return;
    world.notes.set("deleted", true);
    if (finalBackup) await change(world, { deletion: { finalBackup: { claim: { name: "vault" } } } });
    await world.client.kind(EtcdCluster).delete(ref, { propagation: propagation as "Background" });
  },
};

const backups: Edit = {
  name: "edit: backups are asked for",
  choose: (random) => ({ count: pick([1, 3, 12], random) }),
  begin: async (world, { count }) => {
    const stamp = Math.round(world.atMs);
    for (let i = 0; i < Number(count); i++)
      await world.client.kind(EtcdBackup).create({
        metadata: { ...ref, name: `manual-${stamp}-${i}` },
        spec: { cluster: ref.name, store: { claim: { name: "vault" } } },
      } as never);
  },
};

export const edits: readonly Edit[] = [
  resize,
  upgrade,
  settings,
  oversized,
  nowhere,
  poolRelabelled,
  storage,
  quota,
  paused,
  hibernated,
  flip,
  automatic,
  rotate,
  recreated,
  deletedForGood,
  backups,
];
