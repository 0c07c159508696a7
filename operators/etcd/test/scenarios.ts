/** The lives of a cluster that every crash of the operator is tried on. */
import {
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  Secret,
  Service,
  StorageClass,
} from "keelson/kinds";
import { expect } from "vitest";
import { EtcdBackup } from "../src/api/backup.ts";
import { EtcdCluster } from "../src/api/cluster.ts";
import { annotations } from "../src/api/names.ts";
import type { Scenario } from "./simulation/explore.ts";
import { condition, reasonOf, rests, restsAt } from "./simulation/oracle.ts";
import { ref, type World } from "./simulation/world.ts";

const version = "3.6.16";

function image(tag: string): string {
  return `gcr.io/etcd-development/etcd:v${tag}`;
}

function created(spec: { size: number; version?: string }): (world: World) => Promise<void> {
  return async (world) => {
    await world.create({ version, ...spec });
    world.load();
    await restsUnderLoad(world, { version, ...spec });
  };
}

/** Lets clients write until it is done, and then expects the cluster to settle. */
async function restsUnderLoad(world: World, rest: { size: number; version: string }): Promise<void> {
  world.load();
  await world.settles(rest.size);
  world.rest();
  await restsAt(world, rest);
}

export const create: Scenario = { play: created({ size: 3 }) };

export const scale: Scenario = {
  prepare: created({ size: 1 }),
  play: async (world) => {
    for (const size of [3, 5, 3, 1]) {
      await world.change({ size });
      await restsUnderLoad(world, { size, version });
    }
  },
};

export const podDeleted: Scenario = {
  prepare: created({ size: 3 }),
  play: async (world) => {
    const before = (await world.get()).status?.members?.map(({ id }) => id);
    for (const who of [await world.follower(), await world.leader()]) {
      world.load();
      await world.cluster.client.kind(Pod).delete({ ...ref, name: who });
      await world.cluster.advance(2_000);
      await restsUnderLoad(world, { size: 3, version });
    }
    expect((await world.get()).status?.members?.map(({ id }) => id)).toEqual(before);
  },
};

export const volumeWiped: Scenario = {
  prepare: created({ size: 3 }),
  play: async (world) => {
    for (const damage of ["empty", "corrupt"] as const) {
      world.load();
      const who = await world.follower();
      const volume = world.volumeOf(who);
      if (damage === "empty") delete volume.data;
      else volume.corrupt = true;
      world.simulation.kubelet.crash(who);
      await world.cluster.advance(2_000);
      await restsUnderLoad(world, { size: 3, version });
      expect((await world.get()).status?.members?.map(({ name }) => name)).not.toContain(who);
    }
  },
};

export const upgrade: Scenario = {
  prepare: created({ size: 3, version: "3.5.35" }),
  play: async (world) => {
    await world.change({ version: "3.7.3" });
    await restsUnderLoad(world, { size: 3, version: "3.7.3" });
  },
};

/** A version that cannot work is asked for, and then taken back. */
function badVersion(prepare: (world: World) => void): Scenario["play"] {
  return async (world) => {
    prepare(world);
    world.load();
    await world.change({ version: "3.6.99" });
    await world.cluster.until(async () => (await world.get()).status?.failedRollout !== undefined);
    world.rest();
    await rests(world, { ready: false });
    const { status } = await world.get();
    expect(reasonOf(status, "Ready")).toBe("RolloutFailed");
    expect(condition(status, "Available")).toBe("True");
    expect(status?.readyMembers).toBe(3);
    expect(status?.members?.every((member) => member.version === "3.5.35")).toBe(true);
    await world.change({ version: "3.5.35" });
    await restsUnderLoad(world, { size: 3, version: "3.5.35" });
  };
}

/** etcd that does not start: the first member that takes it returns to what it was. */
export const rollback: Scenario = {
  prepare: created({ size: 3, version: "3.5.35" }),
  play: badVersion((world) => void world.etcd.brokenVersions.add("3.6.99")),
};

/** An image that does not exist: no member is touched at all. */
export const missingImage: Scenario = {
  prepare: created({ size: 3, version: "3.5.35" }),
  play: async (world) => {
    const before = await world.podUids();
    await badVersion(() => void world.simulation.kubelet.missingImages.add(image("3.6.99")))(world);
    expect(await world.podUids()).toEqual(before);
  },
};

export const allPodsDeleted: Scenario = {
  prepare: created({ size: 3 }),
  play: async (world) => {
    const before = await world.get();
    world.load();
    for (const { name } of before.status?.members ?? []) {
      await world.cluster.client.kind(Pod).delete({ ...ref, name });
    }
    await world.cluster.advance(2_000);
    await restsUnderLoad(world, { size: 3, version });
    const after = await world.get();
    expect(after.status?.clusterId).toBe(before.status?.clusterId);
    expect(after.status?.members?.map(({ id }) => id)).toEqual(before.status?.members?.map(({ id }) => id));
  },
};

/** The same members as before: none was replaced, nothing was lost. */
async function unchanged(world: World, play: () => Promise<void>): Promise<void> {
  const before = (await world.get()).status;
  await play();
  const after = (await world.get()).status;
  expect(after?.clusterId).toBe(before?.clusterId);
  expect(after?.members?.map(({ id }) => id)).toEqual(before?.members?.map(({ id }) => id));
}

export const settingsChanged: Scenario = {
  prepare: created({ size: 3 }),
  play: async (world) =>
    await unchanged(world, async () => {
      const before = await world.podUids();
      await world.change({ settings: { snapshotCount: 5_000 } });
      await restsUnderLoad(world, { size: 3, version });
      expect((await world.podUids()).filter((uid) => before.includes(uid))).toEqual([]);
    }),
};

export const hibernated: Scenario = {
  prepare: created({ size: 3 }),
  play: async (world) =>
    await unchanged(world, async () => {
      world.allowStops();
      await world.change({ hibernate: true });
      await rests(world);
      expect(await world.podUids()).toEqual([]);
      expect((await world.get()).status?.phase).toBe("Hibernated");
      await world.change({ hibernate: false });
      await restsUnderLoad(world, { size: 3, version });
    }),
};

/** The operator cannot reach a member, or two members cannot reach each other: no member leaves for that. */
export const linesBroken: Scenario = {
  prepare: created({ size: 3 }),
  play: async (world) =>
    await unchanged(world, async () => {
      const [leader, follower] = [await world.leader(), await world.follower()];
      world.load();
      const hidden = [world.hide(leader)];
      await world.cluster.advance(60_000);
      for (const { name } of (await world.get()).status?.members ?? []) hidden.push(world.hide(name));
      await world.cluster.advance(60_000);
      for (const show of hidden) show();
      await restsUnderLoad(world, { size: 3, version });
      world.load();
      const cuts = [world.cut(leader, follower)];
      for (const { name } of (await world.get()).status?.members ?? []) cuts.push(world.cut(leader, name));
      await world.cluster.advance(60_000);
      for (const repair of cuts) repair();
      await world.cluster.advance(2_000);
      await restsUnderLoad(world, { size: 3, version });
    }),
};

export const nodeLost: Scenario = {
  prepare: created({ size: 3 }),
  play: async (world) => {
    const who = await world.follower();
    world.load();
    await world.simulation.nodes.lose(world.nodeOf(who));
    await world.cluster.advance(120_000);
    expect((await world.get()).status?.members?.map(({ name }) => name)).toContain(who);
    await world.cluster.advance(200_000);
    await restsUnderLoad(world, { size: 3, version });
    expect((await world.get()).status?.members?.map(({ name }) => name)).not.toContain(who);
  },
};

export const claimDeleted: Scenario = {
  prepare: created({ size: 3 }),
  play: async (world) => {
    for (const who of [await world.follower(), await world.leader()]) {
      world.load();
      await world.cluster.client.kind(PersistentVolumeClaim).delete({ ...ref, name: who });
      await world.cluster.advance(2_000);
      await restsUnderLoad(world, { size: 3, version });
      expect((await world.get()).status?.members?.map(({ name }) => name)).not.toContain(who);
    }
  },
};

/** Two of three volumes are gone: nothing happens before the user approves, and then the survivor continues. */
export const quorumLost: Scenario = {
  prepare: created({ size: 3 }),
  play: async (world) => {
    const { status } = await world.get();
    const victims = (status?.members ?? []).slice(0, 2).map(({ name }) => name);
    for (const leaver of victims) {
      delete world.volumeOf(leaver).data;
      world.simulation.kubelet.crash(leaver);
    }
    await world.cluster.advance(120_000);
    const waiting = (await world.get()).status;
    expect(condition(waiting, "Available")).toBe("False");
    expect(reasonOf(waiting, "Degraded")).toBe("QuorumLost");
    expect(waiting?.recovery?.phase).toBe("Proposed");
    expect(victims).not.toContain(waiting?.recovery?.survivor);
    world.allowStops();
    const { survivor, revision } = waiting?.recovery ?? {};
    await world.annotate({ [annotations.approveRecovery]: `${survivor}@${revision}` });
    await restsUnderLoad(world, { size: 3, version });
    expect((await world.get()).status?.clusterId).toBe(status?.clusterId);
  },
};

/** Three of five volumes are gone, and the survivors restart: they serve nobody, and still the better one is proposed. */
export const survivorsRestarted: Scenario = {
  prepare: created({ size: 5 }),
  play: async (world) => {
    const { status } = await world.get();
    const names = (status?.members ?? []).map(({ name }) => name);
    const victims = names.slice(0, 3);
    for (const leaver of victims) delete world.volumeOf(leaver).data;
    for (const name of names) world.simulation.kubelet.crash(name);
    await world.cluster.advance(120_000);
    const waiting = (await world.get()).status;
    expect(reasonOf(waiting, "Degraded")).toBe("QuorumLost");
    const { phase, survivor = "", revision } = waiting?.recovery ?? {};
    expect({ phase, known: victims.includes(survivor), revision }).toEqual({
      phase: "Proposed",
      known: false,
      revision: expect.stringMatching(/^\d+$/),
    });
    world.allowStops();
    await world.annotate({ [annotations.approveRecovery]: `${survivor}@${revision}` });
    await restsUnderLoad(world, { size: 5, version });
  },
};

/** Someone wipes the status: the volumes and etcd remember. */
export const statusLost: Scenario = {
  prepare: created({ size: 3 }),
  play: async (world) => {
    const pods = await world.podUids();
    await unchanged(world, async () => {
      const { status } = await world.get();
      const nothing = Object.fromEntries(Object.keys(status ?? {}).map((field) => [field, null]));
      await world.cluster.client
        .kind(EtcdCluster)
        .subresource("status")
        .patch(ref, { type: "merge", body: { status: nothing } });
      await world.cluster.advance(2_000);
      await restsUnderLoad(world, { size: 3, version });
    });
    expect(await world.podUids()).toEqual(pods);
  },
};

/** The cluster is deleted with its volumes kept, and made again: it continues where it was. */
export const madeAgain: Scenario = {
  prepare: created({ size: 3 }),
  play: async (world) =>
    await unchanged(world, async () => {
      const { client } = world.cluster;
      world.allowStops();
      await client.kind(EtcdCluster).delete(ref);
      await world.cluster.until(async () => (await client.kind(EtcdCluster).find(ref)) === undefined);
      await world.cluster.advance(5_000);
      expect(await world.podUids()).toEqual([]);
      // What a garbage collector would do.
      for (const name of ["example", "example-client"]) await client.kind(Service).delete({ ...ref, name });
      await client.kind(PodDisruptionBudget).delete(ref);
      await world.create({ size: 3, version });
      await restsUnderLoad(world, { size: 3, version });
    }),
};

export const removed: Scenario = {
  prepare: async (world) => {
    await created({ size: 3 })(world);
    await world.change({ deletion: { volumes: "Remove" } });
    await world.cluster.advance(3_000);
  },
  play: async (world) => {
    const { client } = world.cluster;
    world.allowStops();
    await client.kind(EtcdCluster).delete(ref);
    await world.cluster.until(async () => (await client.kind(EtcdCluster).find(ref)) === undefined);
    await world.cluster.advance(5_000);
    expect(await world.podUids()).toEqual([]);
    expect((await client.kind(PersistentVolumeClaim).list(ref)).items).toEqual([]);
  },
};

const secret = (value: string) => Buffer.from(value).toString("base64");

/** With certificates for everyone and a password, from the first moment on. */
function secured(spec: object = {}): (world: World) => Promise<void> {
  return guarded({ tls: { peer: {}, client: { overlapHours: 0 }, ...spec } });
}

/** Members ask for a password. */
function guarded(spec: object = {}): (world: World) => Promise<void> {
  return async (world) => {
    await world.cluster.client.kind(Secret).create({
      metadata: { ...ref, name: "root" },
      data: { password: secret("one") },
    });
    await world.create({ size: 3, version, ...spec, auth: { rootSecret: "root" } } as never);
    await restsUnderLoad(world, { size: 3, version });
    expect(world.etcd.group.password).toBe("one");
  };
}

export const createSecured: Scenario = { play: secured() };

/** Certificates are renewed in time, and no member is restarted for it. */
export const certificatesRenewed: Scenario = {
  prepare: secured({ peer: { lifetimeHours: 1 }, client: { lifetimeHours: 1 } }),
  play: async (world) => {
    const before = await world.podUids();
    const first = (await world.get()).status?.tls?.["peer"]?.expires ?? "";
    await unchanged(world, async () => {
      await world.cluster.advance(39 * 60_000);
      world.load();
      await restsUnderLoad(world, { size: 3, version });
    });
    expect(await world.podUids()).toEqual(before);
    const expires = (await world.get()).status?.tls?.["peer"]?.expires ?? "";
    expect(Date.parse(expires) - Date.parse(first)).toBeGreaterThan(30 * 60_000);
  },
};

/** A person asks for other authorities: clients write on while everyone comes to trust the new ones. */
export const authoritiesReplaced: Scenario = {
  prepare: secured(),
  play: async (world) =>
    await unchanged(world, async () => {
      const before = await authorities(world);
      await world.annotate({ [annotations.rotateAuthorities]: "now" });
      await replaced(world, before);
    }),
};

/** The Secret of an authority is deleted, its key with it: another replaces it, and no member is cut off. */
export const authorityLost: Scenario = {
  prepare: secured(),
  play: async (world) =>
    await unchanged(world, async () => {
      const before = await authorities(world);
      for (const use of ["peer", "client"])
        await world.cluster.client.kind(Secret).delete({ ...ref, name: `example-${use}-ca` });
      await replaced(world, before);
    }),
};

/** Clients write until both authorities are others than before and trusted alone. */
async function replaced(world: World, before: readonly string[]): Promise<void> {
  world.load();
  for (let seconds = 0; seconds < 1_800; seconds += 20) {
    await world.cluster.advance(20_000);
    const { status } = await world.get();
    expect(condition(status, "Available"), `after ${seconds} s`).toBe("True");
    const settled = ["peer", "client"].every((use) => status?.tls?.[use]?.phase === "Current");
    if (settled && (await authorities(world)).every((each) => !before.includes(each))) break;
  }
  await restsUnderLoad(world, { size: 3, version });
  const after = await authorities(world);
  expect(after.filter((each) => before.includes(each))).toEqual([]);
  for (const bundle of after) expect(bundle.match(/BEGIN CERTIFICATE/g)).toHaveLength(1);
}

/** The authorities that clients and peers trust. */
async function authorities(world: World): Promise<string[]> {
  const found = [];
  for (const use of ["peer", "client"]) {
    const { data } = await world.cluster.client.kind(Secret).get({ ...ref, name: `example-${use}-ca` });
    found.push(Buffer.from(data?.["ca.crt"] ?? "", "base64").toString());
  }
  return found;
}

export const passwordChanged: Scenario = {
  prepare: secured(),
  play: async (world) => {
    const { client } = world.cluster;
    const put = async (data: object) =>
      await client.kind(Secret).patch({ ...ref, name: "root" }, { type: "merge", body: { data } as never });
    await put({ password: secret("two") });
    await world.cluster.until(async () => reasonOf((await world.get()).status, "Degraded") === "LockedOut");
    await put({ password: secret("two"), previousPassword: secret("one") });
    await restsUnderLoad(world, { size: 3, version });
    expect(world.etcd.group.password).toBe("two");
  },
};

/** Without TLS a member does not even tell its status to someone who has not the right password. */
export const plainPasswordChanged: Scenario = { ...passwordChanged, prepare: guarded() };

/** Nothing goes before the last backup is done, and then everything does; the backup stays. */
export const finalBackup: Scenario = {
  prepare: async (world) => {
    await created({ size: 3 })(world);
    await world.change({ deletion: { volumes: "Remove", finalBackup: { claim: { name: "vault" } } } });
    await world.cluster.advance(3_000);
  },
  play: async (world) => {
    const { client } = world.cluster;
    const before = await world.podUids();
    world.allowStops();
    await client.kind(EtcdCluster).delete(ref);
    const backups = async () => (await client.kind(EtcdBackup).list(ref)).items;
    await world.cluster.until(async () => (await backups()).length > 0);
    await world.cluster.advance(60_000);
    expect(await world.podUids()).toEqual(before);
    const [backup, ...others] = await backups();
    expect(others).toEqual([]);
    expect(backup?.metadata.ownerReferences).toBeUndefined();
    const report = async (status: object) =>
      await client
        .kind(EtcdBackup)
        .subresource("status")
        .patch({ ...ref, name: backup?.metadata.name ?? "" }, { type: "merge", body: { status } as never });
    await report({ phase: "Failed", failure: { reason: "NoMember", message: "no member answers" } });
    await world.cluster.advance(30_000);
    expect(reasonOf((await world.get()).status, "Stalled")).toBe("FinalBackupFailed");
    expect(await world.podUids()).toEqual(before);
    await report({ phase: "Done", failure: null });
    await world.cluster.until(async () => (await client.kind(EtcdCluster).find(ref)) === undefined);
    await world.cluster.advance(5_000);
    expect(await world.podUids()).toEqual([]);
    expect((await client.kind(PersistentVolumeClaim).list(ref)).items).toEqual([]);
    expect(await backups()).toHaveLength(1);
  },
};

/** Out of space: history is dropped, the space given back, and clients write again; no member is restarted. */
export const noSpace: Scenario = {
  prepare: async (world) => {
    await world.create({ size: 3, version, storage: { size: "1Gi", quotaBytes: 1_000_000 } } as never);
    await restsUnderLoad(world, { size: 3, version });
  },
  play: async (world) => {
    const before = await world.podUids();
    await unchanged(world, async () => {
      world.etcd.group.history = 990_000;
      world.load();
      await world.cluster.until(async () => world.etcd.group.alarms.length > 0);
      await world.cluster.until(async () => world.etcd.group.alarms.length === 0);
      await restsUnderLoad(world, { size: 3, version });
    });
    expect(await world.podUids()).toEqual(before);
    for (const { fileBytes } of world.etcd.processes) expect(fileBytes).toBeLessThan(500_000);
  },
};

/** One member's data is not that of the others: it is replaced, and the alarm lifted. */
export const corruptAlarm: Scenario = {
  prepare: created({ size: 3 }),
  play: async (world) => {
    const who = await world.follower();
    const process = world.processOf(who);
    if (!process) throw new Error(`${who} does not run`);
    process.data.wrong = true;
    world.etcd.group.alarms.push({ memberId: process.data.memberId, type: "CORRUPT" });
    world.load();
    await world.cluster.advance(2_000);
    await restsUnderLoad(world, { size: 3, version });
    expect(world.etcd.group.alarms).toEqual([]);
    expect((await world.get()).status?.members?.map(({ name }) => name)).not.toContain(who);
  },
};

/**
 * A member's data is wrong and nobody knows. Another one restarts, finds that they differ and does not start: it is not
 * the one to replace, and keeps its volume until a person says whose data is right.
 */
export const silentCorruption: Scenario = {
  prepare: created({ size: 3 }),
  play: async (world) => {
    const { status } = await world.get();
    const leader = world.processOf(status?.leader ?? "");
    if (!leader) throw new Error("nobody leads");
    leader.data.wrong = true;
    const claims = await claimUids(world);
    await world.cluster.client.kind(Pod).delete({ ...ref, name: await world.follower() });
    await world.cluster.advance(120_000);
    const now = (await world.get()).status;
    expect(condition(now, "Available")).toBe("True");
    expect(now?.conditions?.find(({ type }) => type === "Stalled")?.message).toContain("whose data is right");
    expect(await claimUids(world)).toEqual(claims);
    delete leader.data.wrong;
    await restsUnderLoad(world, { size: 3, version });
    expect(await claimUids(world)).toEqual(claims);
  },
};

async function claimUids(world: World): Promise<string[]> {
  const { items } = await world.cluster.client.kind(PersistentVolumeClaim).list(ref);
  return items.map(({ metadata }) => metadata.uid).sort();
}

/** Free space is given back on schedule, one member after the other, the leader last and not as the leader. */
export const defragmented: Scenario = {
  prepare: created({ size: 3 }),
  play: async (world) =>
    await unchanged(world, async () => {
      const free = 300_000_000;
      for (const { data } of world.etcd.processes) data.fileBytes = free;
      world.load();
      await world.change({ defragmentation: { schedule: "*/5 * * * *" } });
      await world.cluster.advance(330_000);
      await restsUnderLoad(world, { size: 3, version });
      for (const { fileBytes } of world.etcd.processes) expect(fileBytes).toBeLessThan(free);
    }),
};

/** Volumes grow, and members restart one by one to use them. */
export const volumesGrow: Scenario = {
  prepare: async (world) => {
    await world.cluster.client.kind(StorageClass).create({
      metadata: { name: "growing" },
      provisioner: "simulated",
      allowVolumeExpansion: true,
    });
    await world.create({ size: 3, version, storage: { size: "1Gi", className: "growing" } });
    await restsUnderLoad(world, { size: 3, version });
  },
  play: async (world) =>
    await unchanged(world, async () => {
      await world.change({ storage: { size: "2Gi" } });
      world.load();
      await restsUnderLoad(world, { size: 3, version });
      const { items } = await world.cluster.client.kind(PersistentVolumeClaim).list(ref);
      expect(items.map(({ status }) => status?.capacity?.["storage"])).toEqual(["2Gi", "2Gi", "2Gi"]);
    }),
};

/** A class that does not let volumes grow: a condition says so, and everything stays as it was. */
export const volumesCannotGrow: Scenario = {
  prepare: created({ size: 3 }),
  play: async (world) =>
    await unchanged(world, async () => {
      await world.change({ storage: { size: "8Gi" } });
      await rests(world, { ready: false });
      const { status } = await world.get();
      expect(status?.conditions?.find(({ type }) => type === "Stalled")?.message).toContain("forbidden");
      expect(condition(status, "Available")).toBe("True");
      await world.change({ storage: { size: "4Gi" } });
      await restsUnderLoad(world, { size: 3, version });
    }),
};

/** Hands off while paused, whatever happens; then everything is made good. */
export const pausedForAWhile: Scenario = {
  prepare: created({ size: 3 }),
  play: async (world) =>
    await unchanged(world, async () => {
      world.load();
      await world.change({ paused: true, size: 5 });
      await world.cluster.advance(5_000);
      await world.cluster.client.kind(Pod).delete({ ...ref, name: await world.follower() });
      await world.cluster.advance(60_000);
      expect(await world.podUids()).toHaveLength(2);
      expect((await world.get()).status?.phase).toBe("Paused");
      await world.change({ paused: false, size: 3 });
      await restsUnderLoad(world, { size: 3, version });
    }),
};
