/** The etcd operator as the explorer plays it. */
import { X509Certificate } from "node:crypto";
import { clientName, type Subject, type World } from "@keelson/testing";
import { PersistentVolumeClaim, Secret, StorageClass } from "keelson/kinds";
import { EtcdBackup } from "../../src/api/backup.ts";
import { EtcdCluster, type EtcdClusterObject } from "../../src/api/cluster.ts";
import { reasons } from "../../src/api/conditions.ts";
import { EtcdMetrics } from "../../src/metrics.ts";
import { type EtcdOptions, etcdCluster } from "../../src/reconcile.ts";
import { etcdBackup } from "../../src/reconcile-backup.ts";
import { etcdBackupSchedule } from "../../src/reconcile-schedule.ts";
import { peerPort } from "../../src/resources/names.ts";
import { SimClient } from "../simulation/client.ts";
import { SimEtcd, type SimProcess } from "../simulation/etcd.ts";
import { edits } from "./edits.ts";
import { faults } from "./faults.ts";
import { oracles } from "./oracles.ts";

export const ref = { namespace: "default", name: "example" };
export const version = "3.6.16";

export type EtcdWorld = World<SimEtcd>;

export interface SubjectOptions {
  /** Another decision, for operators that are wrong on purpose. */
  readonly decide?: EtcdOptions["decide"];
}

export function etcdSubject(options: SubjectOptions = {}): Subject<SimEtcd> {
  return {
    name: "etcd",
    kind: EtcdCluster,
    resource: "etcd.keelson.dev/etcdclusters",
    ref,
    application: (parts) => new SimEtcd(parts),
    controllers: (simulation) => [
      etcdCluster({
        dial: (address) => new SimClient(simulation(), address),
        inspect: async ({ host, port }) => {
          const process = simulation().kubelet.process(simulation().caller(host).to) as
            | SimProcess
            | undefined;
          const files = process?.request.tls[port === peerPort ? "peer" : "client"];
          return files && new X509Certificate(files.leaf());
        },
        metrics: new EtcdMetrics(),
        ...(options.decide && { decide: options.decide }),
      }),
      etcdBackup({ agentImage: "operator" }),
      etcdBackupSchedule(),
    ],
    collected: [
      "etcd.keelson.dev/etcdclusters",
      "etcd.keelson.dev/etcdbackups",
      "etcd.keelson.dev/etcdbackupschedules",
    ],
    beginnings: {
      "one member": begin({ size: 1 }),
      "two members": begin({ size: 2 }),
      "three members": begin({ size: 3 }),
      "three members on a node pool": begin({ size: 3, pod: { nodeSelector: { pool: "default" } } }),
      "three members of 3.5": begin({ size: 3, version: "3.5.35" }),
      "three members with TLS and a password": secured,
      "three members with a small quota": begin({ size: 3, storage: { size: "1Gi", quotaBytes: 1_000_000 } }),
      "three members on volumes that grow": begin({
        size: 3,
        storage: { size: "1Gi", className: "growing" },
      }),
    },
    edits,
    faults,
    makeFeasible,
    missing,
    client: {
      write: (world, key, value) => {
        const { primary } = world;
        const spec = primary?.spec as EtcdClusterObject["spec"] | undefined;
        if (!spec || primary?.metadata.deletionTimestamp !== undefined || spec.hibernate) return undefined;
        const { simulation, application } = world;
        const serving = simulation
          .endpoints(ref.namespace, `${ref.name}-client`)
          .flatMap(
            ({ metadata }) => (simulation.kubelet.process(metadata.name) as SimProcess | undefined) ?? [],
          )
          .filter((process) => process.running() && process.data.group.served(process));
        const open = serving.filter(({ name }) => simulation.network.connected(clientName, name));
        // What keeps only clients from a member that serves is not the operator's doing.
        if (serving.length > 0 && open.length === 0) return undefined;
        return open.some(({ data }) => application.write(data.group, key, value));
      },
      read: (world) => (world.application.groups.size === 0 ? undefined : world.application.group.keys()),
    },
    mayHaveLost: (world) => world.notes.get("mayHaveLost") === true,
    followAdvice,
    remedies: /etcdctl member remove/,
    oracles,
    keeps: () => ["persistentvolumeclaims"],
  };
}

type Spec = Partial<EtcdClusterObject["spec"]>;

function begin(spec: Spec): (world: EtcdWorld) => Promise<void> {
  return async (world) => {
    await world.client.kind(StorageClass).create({
      metadata: { name: "growing" },
      provisioner: "simulated",
      allowVolumeExpansion: true,
    });
    await world.client.kind(PersistentVolumeClaim).create({
      metadata: { ...ref, name: "vault" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    });
    await world.client.kind(EtcdCluster).create({ metadata: ref, spec: { version, ...spec } as never });
    await rests(world);
  };
}

async function secured(world: EtcdWorld): Promise<void> {
  const password = Buffer.from("correct horse battery").toString("base64");
  await world.client.kind(Secret).create({ metadata: { ...ref, name: "root" }, data: { password } });
  await begin({
    size: 3,
    tls: { peer: {}, client: { overlapHours: 0 } } as never,
    auth: { rootSecret: "root" },
  })(world);
}

async function rests(world: EtcdWorld): Promise<void> {
  for (let seconds = 0; seconds < 600; seconds += 5) {
    await world.advance(5_000);
    if (missing(world) === undefined) break;
  }
  const left = missing(world);
  if (left !== undefined) throw new Error(`the beginning was not reached: ${left}`);
  await world.advance(61_000);
}

/** What was asked for and cannot be reached is taken back. */
async function makeFeasible(world: EtcdWorld): Promise<void> {
  const { primary } = world;
  if (!primary || primary.metadata.deletionTimestamp !== undefined) return;
  const spec = primary.spec as unknown as EtcdClusterObject["spec"];
  const runs = (primary.status as EtcdClusterObject["status"])?.template?.recipe.version;
  const feasible = /^3\.[5-7]\.(?!99)/.test(spec.version);
  const body = {
    spec: {
      paused: false,
      hibernate: false,
      ...(feasible ? {} : { version: runs ?? version }),
      resources: null,
      storage: { className: spec.storage.className ?? null },
    },
  };
  // The nodes get the labels that the spec asks for; where it names none that could exist, it is corrected.
  const pool = spec.pod?.nodeSelector?.["pool"];
  for (const node of world.simulation.nodes.all.keys())
    await world.simulation.nodes.relabel(node, { pool: pool ?? "default" });
  world.application.brokenVersions.clear();
  world.simulation.kubelet.missingImages.clear();
  world.application.tasks.storeDown = false;
  await world.client.kind(EtcdCluster).patch(ref, { type: "merge", body: body as never });
}

/** What keeps the cluster from being what its spec asks for. */
export function missing(world: EtcdWorld): string | undefined {
  const { primary } = world;
  if (!primary) {
    const pods = world.pods.filter(({ metadata }) => /^example-\d+$/.test(metadata.name));
    return pods.length > 0 ? `pods are left: ${pods.map(({ metadata }) => metadata.name)}` : undefined;
  }
  if (primary.metadata.deletionTimestamp !== undefined) return "the cluster is still being deleted";
  const spec = primary.spec as unknown as EtcdClusterObject["spec"];
  const status = primary.status as EtcdClusterObject["status"];
  if (!world.isReady) return "it is not Ready";
  if (status?.readyMembers !== spec.size) return `${status?.readyMembers} of ${spec.size} members serve`;
  const rotating = Object.entries(status.tls ?? {}).find(([, { phase }]) => !/^(Current|Given)$/.test(phase));
  if (rotating) return `the authority of ${rotating[0]} is ${rotating[1].phase}`;
  const { application } = world;
  const members = [...application.group.members().values()];
  const names = (status.members ?? []).map(({ name }) => name).sort();
  if (members.some(({ learner }) => learner)) return "a learner is left";
  if (
    JSON.stringify(
      members
        .map(({ name }) => name)
        .filter((name) => /^example-\d+$/.test(name))
        .sort(),
    ) !== JSON.stringify(names)
  )
    return `etcd counts ${members.map(({ name }) => name)}, the status ${names}`;
  const wrong = [...application.processes].find(
    (process) => process.request.version !== spec.version && names.includes(process.name),
  );
  if (wrong) return `${wrong.name} runs etcd ${wrong.request.version}`;
  const waiting = world.stored
    .list("etcd.keelson.dev/etcdbackups", ref.namespace)
    .find(({ status }) => !/^(Done|Failed|Removed)$/.test((status as { phase?: string })?.phase ?? ""));
  return waiting ? `EtcdBackup ${waiting.metadata.name} is not done` : undefined;
}

/** Does what the status tells a person to do. */
async function followAdvice(world: EtcdWorld): Promise<string | undefined> {
  const { primary } = world;
  const ready = world.condition("Ready");
  const kind = world.client.kind(EtcdCluster);
  const approval = /annotate the cluster with (\S+)=(\S+)/.exec(ready?.message ?? "");
  if (approval) {
    world.notes.set("mayHaveLost", true);
    const body = { metadata: { annotations: { [approval[1] as string]: approval[2] as string } } };
    await kind.patch(ref, { type: "merge", body });
    return `annotates the cluster with ${approval[0]}`;
  }
  const failedBackup = /final backup (\S+) failed/.exec(ready?.message ?? "");
  if (failedBackup) {
    await world.client.kind(EtcdBackup).delete({ ...ref, name: failedBackup[1] as string });
    return `deletes EtcdBackup ${failedBackup[1]}`;
  }
  if (ready?.reason === reasons.versionRefused) {
    const { version: runs } = (primary?.status ?? {}) as { version?: string };
    await kind.patch(ref, { type: "merge", body: { spec: { version: runs } } as never });
    return `sets spec.version back to ${runs}`;
  }
  if (ready?.message.includes("take spec.storage.size back")) {
    const claims = world.stored.list("persistentvolumeclaims", ref.namespace) as unknown as {
      metadata: { name: string };
      spec: { resources: { requests: { storage: string } } };
    }[];
    const [size = "1Gi"] = claims
      .filter(({ metadata }) => metadata.name !== "vault")
      .map(({ spec }) => spec.resources.requests.storage)
      .sort();
    await kind.patch(ref, { type: "merge", body: { spec: { storage: { size } } } as never });
    return `takes spec.storage.size back to ${size}`;
  }
  if (ready?.reason === reasons.allDataLost) {
    // Make a new cluster: without a backup it begins empty.
    world.notes.set("mayHaveLost", true);
    const spec = { ...primary?.spec };
    await kind.patch(ref, { type: "merge", body: { spec: { deletion: { volumes: "Remove" } } } as never });
    await kind.delete(ref);
    for (let seconds = 0; seconds < 120 && world.primary; seconds += 5) await world.advance(5_000);
    await kind.create({ metadata: ref, spec: spec as never });
    return "makes a new cluster";
  }
  return undefined;
}
