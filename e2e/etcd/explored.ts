/** The etcd operator as `npm run explore -- --operator etcd --real` plays it: on real etcd processes. */
import { setTimeout as sleep } from "node:timers/promises";
import { EtcdCluster, type EtcdClusterObject } from "@keelson/etcd-operator";
import type { Primary, Scene } from "@keelson/testing";
import { Node, PersistentVolumeClaim, Pod, Secret } from "keelson/kinds";
import { change } from "../../operators/etcd/test/explore/edits.ts";
import {
  feasible,
  followAdvice,
  missingInStatus,
  version,
  whenItStays,
} from "../../operators/etcd/test/explore/scene.ts";
import { etcdSubject } from "../../operators/etcd/test/explore/subject.ts";
import { generalMechanisms } from "../explore/general-mechanisms.ts";
import { makeGrowingClass } from "../explore/growing-class.ts";
import type { RealScene } from "../explore/real-scene.ts";
import type { RealSubject } from "../explore/real-subject.ts";
import { eventually } from "../operator/eventually.ts";
import { isServing } from "./cluster-access.ts";
import { corrupt } from "./damage.ts";
import { etcdMechanisms, membersOf, removeUnknown } from "./etcd-mechanisms.ts";
import { World } from "./world.ts";

type Spec = EtcdClusterObject["spec"];
type Status = EtcdClusterObject["status"];

const password = "correct horse battery";

const little = { writers: 4, readers: 1, writesPerSecond: 40 };

const specs: Readonly<Record<string, object>> = {
  "one member": { size: 1 },
  "two members": { size: 2 },
  "three members": { size: 3 },
  "three members on a node pool": { size: 3, pod: { nodeSelector: { pool: "default" } } },
  "three members of 3.5": { size: 3, version: "3.5.35" },
  "three members that compact their history": {
    size: 3,
    settings: { autoCompactionMode: "revision", autoCompactionRetention: "20000" },
  },
  "three members with TLS and a password": {
    size: 3,
    tls: { peer: {}, client: { overlapHours: 0 } },
    auth: { rootSecret: "root" },
  },
  // Larger than in the simulation: real history would fill one megabyte by itself.
  "three members with a small quota": { size: 3, storage: { size: "1Gi", quotaBytes: 16 << 20 } },
  "three members on volumes that grow": { size: 3, storage: { size: "1Gi", className: "growing" } },
};

/** Nodes: one for each of three members, and one for whatever has to go elsewhere. */
const nodes = 4;

function worldOf(scene: RealScene): World {
  return scene.cluster as World;
}

async function labelNodes(scene: Scene, labels: Record<string, string>): Promise<void> {
  const kind = scene.client.kind(Node);
  for (const { metadata } of (await kind.list()).items)
    await kind.patch({ name: metadata.name }, { type: "merge", body: { metadata: { labels } } });
}

export const real: RealSubject = {
  subject: etcdSubject(),
  beginnings: Object.keys(specs),
  mechanisms: {
    ...generalMechanisms({ corrupt }),
    ...etcdMechanisms,
    "node: the pool is relabelled": {
      begin: async (scene) => {
        await change(scene, { pod: { nodeSelector: { pool: "default" } } });
        await scene.advance(5_000);
        await labelNodes(scene, { pool: "new" });
        await change(scene, { pod: { nodeSelector: { pool: "new" } } });
        return undefined;
      },
    },
    "edit: version": {
      // What there is an image of, what there is none of, and what is refused.
      can: ({ version: wanted }) => ["3.5.35", "3.6.16", "3.7.3", "3.6.99", "4.0.0"].includes(String(wanted)),
      begin: async (scene, { version: wanted }) => void (await change(scene, { version: wanted })),
    },
    // It has to be taken back before the scenario is over.
    "edit: changed and taken back": {
      can: ({ afterMs }) => Number(afterMs) <= 5_000,
      begin: async (scene, { size, afterMs }) => {
        const before = (scene.primary?.spec as Partial<Spec> | undefined)?.size ?? 3;
        await change(scene, { size });
        await sleep(Number(afterMs));
        await change(scene, { size: before });
        return undefined;
      },
    },
    // Volumes of the other beginnings cannot grow in the simulation, and can in the cluster.
    "edit: storage": { can: (_, beginning) => beginning.endsWith("that grow") },
    // Real history would fill a quota of 2 MB by itself.
    "edit: quota": { can: ({ quotaBytes }) => quotaBytes !== 2_000_000 },
    "edit: backups are asked for": { can: ({ count }) => Number(count) <= 3 },
  },
  start: async (say) => {
    const world = await World.start("embedded", say, { nodes });
    await makeGrowingClass(world.client);
    return world;
  },
  begin: async (scene, beginning) => {
    const { ref } = scene.subject;
    await labelNodes(scene, { pool: "default" });
    if (beginning.endsWith("a password")) {
      const data = { password: Buffer.from(password).toString("base64") };
      await scene.client.kind(Secret).create({ metadata: { ...ref, name: "root" }, data });
      worldOf(scene).secure(ref.namespace, ref.name, password);
    }
    await scene.client.kind(PersistentVolumeClaim).create({
      metadata: { ...ref, name: "vault" },
      spec: { accessModes: ["ReadWriteMany"], resources: { requests: { storage: "1Gi" } } },
    });
    const spec = { version, ...specs[beginning] };
    await scene.client.kind(EtcdCluster).create({ metadata: ref, spec: spec as never });
    await eventually("the beginning is reached", 180_000, async () => {
      await scene.look();
      return missingInStatus(scene) === undefined;
    });
  },
  load: (scene, amount = little) =>
    worldOf(scene).load(scene.subject.ref.name, { namespace: scene.namespace, amount }),
  makeFeasible: (scene) =>
    whenItStays(scene, async (primary) => {
      const pool = (primary.spec as unknown as Spec).pod?.nodeSelector?.["pool"];
      await labelNodes(scene, { pool: pool ?? "default" });
      await change(scene, feasible(primary));
    }),
  missing: async (scene) => {
    const told = missingInStatus(scene);
    if (told !== undefined || !scene.primary) return told;
    const status = scene.primary.status as Status;
    const names = (status?.members ?? []).map(({ name }) => name).sort();
    const members = await membersOf(scene);
    if (members.some(({ learner }) => learner)) return "a learner is left";
    const counted = members.map(({ name }) => name).sort();
    if (JSON.stringify(counted) !== JSON.stringify(names))
      return `etcd counts ${counted}, the status ${names}`;
    const { items } = await scene.client.kind(Pod).list({ namespace: scene.namespace });
    const serving = items.filter(isServing).map(({ metadata }) => metadata.name);
    const starting = names.find((name) => !serving.includes(name));
    return starting === undefined ? undefined : `${starting} is not ready`;
  },
  followAdvice: async (scene) => (await removeUnknown(scene)) ?? (await followAdvice(scene)),
  tidy: removeUnknown,
  isAlone: ({ steps }) => steps.some((step) => step.do === "node: the pool is relabelled"),
  outcome,
};

/** Which members there are depends on when each fault came; how many, of which version and in which state, does not. */
function outcome({ spec, status }: Primary): ReturnType<RealSubject["outcome"]> {
  const { size, version: wanted } = spec as unknown as Spec;
  const { readyMembers = 0, members = [] } = (status as Status) ?? {};
  return {
    spec: { size, version: wanted },
    readyMembers,
    members: members.map(({ phase }) => String(phase ?? "")).sort(),
    leaders: members.filter(({ role }) => role === "Leader").length,
  };
}
