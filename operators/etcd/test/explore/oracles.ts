/** What must hold for an EtcdCluster, beside what must hold for anything. */
import { type Oracle, operatorName, type World } from "@keelson/testing";
import type { EtcdClusterObject } from "../../src/api/cluster.ts";
import { majority } from "../../src/engine/quorum.ts";
import type { SimEtcd, SimProcess } from "../simulation/etcd.ts";
import type { Group } from "../simulation/raft.ts";
import { dataOracles, intactVolumes } from "./data-oracles.ts";

type EtcdOracle = Oracle<SimEtcd>;
type EtcdWorld = World<SimEtcd>;

/** What has been so for less than this the operator need not know yet. */
const sightMs = 20_000;

/** What the simulated etcd itself has to complain of. */
const engine: EtcdOracle = {
  name: "etcd is treated as it must be",
  always: ({ application }) => application.violations[0],
};

/** A pod that the operator ends is not one that the others need. */
const oneDisruption: EtcdOracle = {
  name: "one disruption at a time",
  attach: (world) => {
    watchServing(world);
    world.simulation.kubelet.onEnding = ({ metadata: { name } }) => {
      const { cluster, clock } = world.simulation;
      const nowMs = clock.monotonic();
      const ours = cluster.writes.some(
        ({ method, path, atMs }) => method === "DELETE" && path.endsWith(`/pods/${name}`) && nowMs - atMs < 1,
      );
      const process = world.simulation.kubelet.process(name) as SimProcess | undefined;
      if (ours && process) checkLastCopy(world, process);
      if (!ours || !process || isStoppedOnPurpose(world)) return;
      const { group, memberId } = process.data;
      const voters = group.voters();
      if (!voters.some(({ id }) => id === memberId) || voters.length === 1 || !serves(group, memberId))
        return;
      const down = voters.filter(
        ({ id }) => id !== memberId && !serves(group, id) && nowMs - downSince(world, id) > sightMs,
      );
      if (down.length > 0)
        world.violate(
          "one disruption at a time",
          `${name} is ended while ${down.map((each) => each.name || each.id)} does not serve`,
        );
    };
  },
};

const lastCopy = "what a majority needs does not go with its pod";

/** A claim that is being deleted goes with its pod. The volumes that stay must be a majority without it. */
function checkLastCopy(world: EtcdWorld, { name, data: { group, memberId } }: SimProcess): void {
  const { primary, stored, subject } = world;
  const { recovery } = (primary?.status ?? {}) as { recovery?: { phase?: string } };
  const isApproved = recovery !== undefined && recovery.phase !== "Proposed";
  if (!primary || primary.metadata.deletionTimestamp !== undefined || isApproved) return;
  const claim = stored.get("persistentvolumeclaims", name, subject.ref.namespace);
  const voters = group.voters();
  if (claim?.metadata.deletionTimestamp === undefined || !voters.some(({ id }) => id === memberId)) return;
  const intact = new Set(intactVolumes(world));
  const kept = voters.filter((voter) => intact.has(voter.name)).length;
  if (kept < majority(voters.length))
    world.violate(lastCopy, `${name} is ended, its claim is being deleted, and ${kept} voters have theirs`);
}

/** Everyone stops: the cluster is deleted, hibernates, or is recovered from one survivor. */
function isStoppedOnPurpose({ primary }: EtcdWorld): boolean {
  if (!primary || primary.metadata.deletionTimestamp !== undefined) return true;
  const { hibernate } = (primary.spec ?? {}) as { hibernate?: boolean };
  const { recovery } = (primary.status ?? {}) as { recovery?: { phase?: string } };
  return hibernate === true || (recovery !== undefined && recovery.phase !== "Proposed");
}

function serves(group: Group, id: string): boolean {
  const node = group.nodes.get(id);
  return node?.running() === true && group.served(node);
}

/** Notes since when each voter has served, or not. */
function watchServing(world: EtcdWorld): void {
  const known = new Map<string, { serves: boolean; sinceMs: number }>();
  world.notes.set("serving", known);
  const look = () => {
    for (const group of world.application.groups.values())
      for (const { id } of group.voters()) {
        const now = serves(group, id);
        if (known.get(id)?.serves !== now) known.set(id, { serves: now, sinceMs: world.clock.monotonic() });
      }
    world.clock.timer(2_000, look);
  };
  look();
}

/** For one that does not serve. Now, when it did at the last look. */
function downSince(world: EtcdWorld, id: string): number {
  const known = world.notes.get("serving") as
    | Map<string, { readonly serves: boolean; readonly sinceMs: number }>
    | undefined;
  const last = known?.get(id);
  return last && !last.serves ? last.sinceMs : world.clock.monotonic();
}

/** Members that the operator did not make are told of. */
const strangersAreTold: EtcdOracle = {
  name: "members that the operator did not make are reported",
  eventually: {
    withinMs: 60_000,
    check: ({ application, primary, simulation: { network } }) => {
      if (application.groups.size === 0 || !primary) return undefined;
      const { group } = application;
      if (!group.leader) return undefined;
      // Who reaches no member cannot know.
      const serving = [...application.processes].filter((each) => each.running() && group.served(each));
      const isOpen = ({ name }: SimProcess) => !network.between(operatorName, name);
      if (!serving.some(isOpen)) return undefined;
      const status = primary.status as EtcdClusterObject["status"];
      const known = new Set((status?.members ?? []).map(({ id }) => id));
      const stranger = [...group.members().values()].find(
        ({ id, peerUrl }) => !known.has(BigInt(id).toString(16)) && !/example-\d+\.example\./.test(peerUrl),
      );
      if (!stranger) return undefined;
      const told = status?.conditions?.some(({ message }) =>
        message.includes(BigInt(stranger.id).toString(16)),
      );
      return told ? undefined : `etcd counts ${stranger.peerUrl}, and no condition says so`;
    },
  },
};

/** No more backups at once than the cluster can bear. */
const fewBackups: EtcdOracle = {
  name: "backups are taken a few at a time",
  always: ({ application }) =>
    application.tasks.mostAtOnce > 3 ? `${application.tasks.mostAtOnce} copies at once` : undefined,
};

/** A drain may not take what a quorum needs. */
const budget: EtcdOracle = {
  name: "the disruption budget protects the quorum",
  atRest: (world) => {
    const { primary, stored, subject, application } = world;
    if (!primary || primary.metadata.deletionTimestamp !== undefined || application.groups.size === 0)
      return undefined;
    const found = stored.get("policy/poddisruptionbudgets", subject.ref.name, subject.ref.namespace) as
      | { spec?: { minAvailable?: number } }
      | undefined;
    const least = majority(application.group.voters().length);
    return (found?.spec?.minAvailable ?? 0) >= least
      ? undefined
      : `minAvailable is ${found?.spec?.minAvailable}, not ${least}`;
  },
};

/** Available=True is a promise as well. */
const availableIsTrue: EtcdOracle = {
  name: "Available says whether a quorum answers",
  eventually: {
    withinMs: 45_000,
    check: (world) => {
      const available = world.condition("Available");
      if (!available || application_(world) === undefined) return undefined;
      const leader = application_(world)?.leader !== undefined;
      if (available.status === "True" && !leader) return "Available=True, and there is no leader";
      return undefined;
    },
  },
};

function application_({ application }: EtcdWorld): Group | undefined {
  return application.groups.size === 0 ? undefined : application.group;
}

export const oracles: readonly EtcdOracle[] = [
  engine,
  oneDisruption,
  ...dataOracles,
  strangersAreTold,
  fewBackups,
  budget,
  availableIsTrue,
];
