/** The etcd operator as the explorer plays it. */
import { X509Certificate } from "node:crypto";
import { clientName, type Subject, type World } from "@keelson/testing";
import { PersistentVolumeClaim, Secret, StorageClass } from "keelson/kinds";
import { EtcdCluster, type EtcdClusterObject } from "../../src/api/cluster.ts";
import { annotations } from "../../src/api/names.ts";
import { EtcdMetrics } from "../../src/metrics.ts";
import { type EtcdOptions, etcdCluster } from "../../src/reconcile.ts";
import { etcdBackup } from "../../src/reconcile-backup.ts";
import { etcdBackupSchedule } from "../../src/reconcile-schedule.ts";
import { imageVariable } from "../../src/resources/agent-image.ts";
import { authorityName, type TlsUse } from "../../src/resources/certificate-names.ts";
import { peerPort } from "../../src/resources/names.ts";
import { SimClient } from "../simulation/client.ts";
import { SimEtcd, type SimProcess } from "../simulation/etcd.ts";
import { keptData, lastOf } from "./data-oracles.ts";
import { change, edits } from "./edits.ts";
import { faults } from "./faults.ts";
import { oracles } from "./oracles.ts";
import { feasible, followAdvice, missingInStatus, unknownMember, version, whenItStays } from "./scene.ts";

/** Its agent fetches backups that are restored. */
process.env[imageVariable] ??= "operator";

export const ref = { namespace: "default", name: "example" };

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
        const open = serving.filter(({ name }) => simulation.network.connected(clientName, name, patienceMs));
        // What keeps only clients from a member that serves is not the operator's doing.
        if (serving.length > 0 && open.length === 0) return undefined;
        return open.some(({ data }) => application.write(data.group, key, value));
      },
      read: (world) => (world.application.groups.size === 0 ? undefined : world.application.group.keys()),
      readKept: keptData,
    },
    mayHaveLost: (world) => world.notes.get("mayHaveLost") === true,
    followAdvice: async (world) => removeUnknown(world) ?? (await followAdvice(world)),
    remedies: /etcdctl member remove/,
    oracles,
    keeps: (world) => (lastOf(world)?.spec.deletion.volumes === "Remove" ? [] : ["persistentvolumeclaims"]),
  };
}

/** A client gives up a write after this long. */
const patienceMs = 5_000;

/** Where backups are kept. */
const vault = {
  metadata: { ...ref, name: "vault" },
  spec: { accessModes: ["ReadWriteOnce" as const], resources: { requests: { storage: "1Gi" } } },
};

/** A store that was deleted is made again, as soon as the pods that used it let it go. */
async function makeVault(world: EtcdWorld): Promise<void> {
  const found = world.stored.get("persistentvolumeclaims", vault.metadata.name, ref.namespace);
  if (!found) await world.client.kind(PersistentVolumeClaim).create(vault);
  else if (found.metadata.deletionTimestamp !== undefined)
    world.clock.timer(1_000, () => void makeVault(world));
}

type Spec = Partial<EtcdClusterObject["spec"]>;

function begin(spec: Spec): (world: EtcdWorld) => Promise<void> {
  return async (world) => {
    await world.client.kind(StorageClass).create({
      metadata: { name: "growing" },
      provisioner: "simulated",
      allowVolumeExpansion: true,
    });
    await world.client.kind(PersistentVolumeClaim).create(vault);
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
  world.application.brokenVersions.clear();
  world.simulation.kubelet.missingImages.clear();
  world.application.tasks.storeDown = false;
  await makeVault(world);
  // One that is being deleted needs nodes as well: its members run until the final backup is taken.
  await labelNodes(world);
  await whenItStays(world, async (primary) => {
    await labelNodes(world);
    await change(world, feasible(primary));
  });
}

/** The nodes get the labels that the spec asks for. */
async function labelNodes(world: EtcdWorld): Promise<void> {
  const { pod } = (world.primary?.spec ?? {}) as Partial<EtcdClusterObject["spec"]>;
  const pool = pod?.nodeSelector?.["pool"] ?? "default";
  for (const node of world.simulation.nodes.all.keys()) await world.simulation.nodes.relabel(node, { pool });
}

/** A request is an annotation: until the operator has read it, nothing in the status tells of it. */
function rotationAhead({ primary, stored }: EtcdWorld): string | undefined {
  const asked = primary?.metadata.annotations?.[annotations.rotateAuthorities];
  const { tls = {} } = (primary?.status ?? {}) as NonNullable<EtcdClusterObject["status"]>;
  const behind = Object.keys(tls).find((use) => {
    const authority = stored.get("secrets", authorityName(ref.name, use as TlsUse), ref.namespace);
    return authority && authority.metadata.annotations?.[annotations.rotateAuthorities] !== asked;
  });
  return asked === undefined || behind === undefined
    ? undefined
    : `the authority of ${behind} is still to be rotated`;
}

/** What keeps the cluster from being what its spec asks for. */
export function missing(world: EtcdWorld): string | undefined {
  const told = missingInStatus(world);
  const { primary, application } = world;
  if (told !== undefined || !primary) return told;
  const spec = primary.spec as unknown as EtcdClusterObject["spec"];
  const status = primary.status as EtcdClusterObject["status"];
  const members = [...application.group.members().values()];
  const names = (status?.members ?? []).map(({ name }) => name).sort();
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
  const rotated = rotationAhead(world);
  if (rotated !== undefined) return rotated;
  const waiting = world.stored
    .list("etcd.keelson.dev/etcdbackups", ref.namespace)
    .find(({ status }) => !/^(Done|Failed|Removed)$/.test((status as { phase?: string })?.phase ?? ""));
  return waiting ? `EtcdBackup ${waiting.metadata.name} is not done` : undefined;
}

/** Removes a member that the operator did not add, as the status advises. */
function removeUnknown(world: EtcdWorld): string | undefined {
  const advised = unknownMember(world);
  if (advised === undefined || world.application.groups.size === 0) return undefined;
  const { group } = world.application;
  const id = [...group.members().keys()].find((each) => BigInt(each).toString(16) === advised);
  if (id === undefined || !group.propose({ type: "remove", id })) return undefined;
  world.application.stir();
  return `removes ${advised} with etcdctl`;
}
