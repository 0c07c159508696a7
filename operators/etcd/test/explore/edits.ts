/** What users of an EtcdCluster do. */
import { anywhere, type Disturbance, pick, type Scene } from "@keelson/testing";
import { PersistentVolumeClaim } from "keelson/kinds";
import { EtcdBackup } from "../../src/api/backup.ts";
import { EtcdCluster } from "../../src/api/cluster.ts";
import { reasons } from "../../src/api/conditions.ts";
import type { SimEtcd } from "../simulation/etcd.ts";
import { makeAgain } from "./scene.ts";

type Edit = Disturbance<SimEtcd>;

/** Changes the spec as a user does. What the schema does not allow is refused, and nothing happens. */
export async function change(scene: Scene, spec: object): Promise<void> {
  const { primary, subject } = scene;
  if (!primary || primary.metadata.deletionTimestamp !== undefined) return;
  try {
    await scene.client.kind(EtcdCluster).patch(subject.ref, { type: "merge", body: { spec } as never });
  } catch (error) {
    if ((error as { code?: unknown }).code !== 422) throw error;
    scene.note(`refused: ${(error as Error).message.slice(0, 120)}`);
  }
}

const resize = anywhere({
  name: "edit: size",
  weight: 5,
  choose: (random) => ({ size: pick([1, 2, 3, 3, 4, 5], random) }),
  begin: (scene, { size }) => change(scene, { size }),
});

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

const settings = anywhere({
  name: "edit: settings",
  weight: 2,
  choose: (random) => ({ snapshotCount: pick([5_000, 10_000, 20_000], random) }),
  begin: (scene, { snapshotCount }) => change(scene, { settings: { snapshotCount } }),
});

const oversized = anywhere({
  name: "edit: resources that no node has",
  lastsMs: 120_000,
  begin: async (scene) => {
    await change(scene, { resources: { requests: { cpu: "4096" } } });
    return () => change(scene, { resources: null });
  },
});

/** The nodes are relabelled with the spec, or the spec names nodes that do not exist, and is corrected. */
const nowhere = anywhere({
  name: "edit: a node pool that does not exist",
  lastsMs: 300_000,
  begin: async (scene) => {
    await change(scene, { pod: { nodeSelector: { pool: "gone" } } });
    return () => change(scene, { pod: { nodeSelector: null } });
  },
});

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

const storage = anywhere({
  name: "edit: storage",
  choose: (random) => ({ size: pick(["1Gi", "2Gi", "3Gi"], random) }),
  begin: (scene, { size }) => change(scene, { storage: { size } }),
});

const quota = anywhere({
  name: "edit: quota",
  choose: (random) => ({ quotaBytes: pick([0, 2_000_000, 8_000_000], random) }),
  begin: (scene, { quotaBytes }) => change(scene, { storage: { quotaBytes } }),
});

const paused = anywhere({
  name: "edit: paused",
  lastsMs: 180_000,
  begin: async (scene) => {
    await change(scene, { paused: true });
    return () => change(scene, { paused: false });
  },
});

const hibernated = anywhere({
  name: "edit: hibernated",
  lastsMs: 180_000,
  begin: async (scene) => {
    await change(scene, { hibernate: true });
    return () => change(scene, { hibernate: false });
  },
});

/** Changed and taken back at once, or nearly. */
const flip = anywhere({
  name: "edit: changed and taken back",
  weight: 2,
  choose: (random) => ({ size: pick([1, 2, 4, 5], random), afterMs: pick([0, 300, 5_000, 40_000], random) }),
  begin: async (scene, { size, afterMs }) => {
    const before = (scene.primary?.spec as { size?: number } | undefined)?.size ?? 3;
    await change(scene, { size });
    const takeBack = () =>
      change(scene, { size: before }).catch((error: unknown) => scene.note(`not taken back: ${error}`));
    scene.clock.timer(Number(afterMs), () => void takeBack());
  },
});

const automatic = anywhere({
  name: "edit: automatic recovery",
  weight: 0.5,
  begin: (scene) => change(scene, { recovery: { quorumLoss: "Automatic" } }),
});

const rotate = anywhere({
  name: "edit: authorities are rotated",
  weight: 0.5,
  choose: (random) => ({ value: String(random.next()) }),
  begin: async (scene, { value }) => {
    if (!scene.primary) return;
    const body = { metadata: { annotations: { "etcd.keelson.dev/rotate-authorities": String(value) } } };
    await scene.client.kind(EtcdCluster).patch(scene.subject.ref, { type: "merge", body });
  },
});

async function everyClaimGoes(scene: Scene): Promise<boolean> {
  const { namespace } = scene.subject.ref;
  const claims = await Promise.all(
    scene.pods.map(({ metadata: { name } }) =>
      scene.client.kind(PersistentVolumeClaim).find({ namespace, name }),
    ),
  );
  return claims.length > 0 && claims.every((claim) => claim?.metadata.deletionTimestamp !== undefined);
}

const recreated = anywhere({
  name: "edit: deleted and made again",
  choose: (random) => ({
    propagation: pick(["Background", "Foreground", "Orphan"], random),
    finalBackup: random.next() < 0.3,
  }),
  begin: async (scene, { propagation, finalBackup }) => {
    const { primary } = scene;
    if (!primary || primary.metadata.deletionTimestamp !== undefined) return;
    scene.notes.set("deleted", true);
    // A person who was told that no data is left begins again, empty. So does one whose claims all go with their pods: when
    // those are deleted before the new cluster knows of them, nothing is left that it could know of.
    const isTold = scene.condition("Ready")?.reason === reasons.allDataLost;
    if (isTold || (await everyClaimGoes(scene))) scene.notes.set("mayHaveLost", true);
    if (finalBackup) await change(scene, { deletion: { finalBackup: { claim: { name: "vault" } } } });
    const { spec } = scene.primary ?? primary;
    await scene.client
      .kind(EtcdCluster)
      .delete(scene.subject.ref, { propagation: propagation as "Background" });
    await makeAgain(scene, spec ?? {}, String(propagation));
  },
});

const deletedForGood = anywhere({
  name: "edit: deleted",
  weight: 0.5,
  choose: (random) => ({
    propagation: pick(["Background", "Foreground"], random),
    finalBackup: random.next() < 0.5,
    volumes: pick(["Keep", "Remove"], random),
  }),
  begin: async (scene, { propagation, finalBackup, volumes }) => {
    if (!scene.primary || scene.primary.metadata.deletionTimestamp !== undefined) return;
    scene.notes.set("deleted", true);
    if (volumes === "Remove") await change(scene, { deletion: { volumes } });
    if (finalBackup) await change(scene, { deletion: { finalBackup: { claim: { name: "vault" } } } });
    await scene.client
      .kind(EtcdCluster)
      .delete(scene.subject.ref, { propagation: propagation as "Background" });
  },
});

const backups = anywhere({
  name: "edit: backups are asked for",
  choose: (random) => ({ count: pick([1, 3, 12], random) }),
  begin: async (scene, { count }) => {
    const before = Number(scene.notes.get("backups") ?? 0);
    scene.notes.set("backups", before + Number(count));
    for (let i = before; i < before + Number(count); i++)
      await scene.client.kind(EtcdBackup).create({
        metadata: { ...scene.subject.ref, name: `manual-${i}` },
        spec: { cluster: scene.subject.ref.name, store: { claim: { name: "vault" } } },
      } as never);
  },
});

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
