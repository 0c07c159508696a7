/** The lives of a cluster that every crash of the operator is tried on. */
import { Pod } from "keelson/kinds";
import { expect } from "vitest";
import type { Scenario } from "./simulation/explore.ts";
import { condition, reasonOf, restsAt } from "./simulation/oracle.ts";
import { ref, type World } from "./simulation/world.ts";

const version = "3.6.16";

function created(spec: { size: number; version?: string }): (world: World) => Promise<void> {
  return async (world) => {
    await world.create({ version, ...spec });
    world.load();
    await restsUnderLoad(world, { version, ...spec });
  };
}

/** Lets clients write until it is done, and then demands rest. */
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
      const volume = world.kubelet.volumeOf(who);
      if (damage === "empty") delete volume.data;
      else volume.corrupt = true;
      world.kubelet.crash(who);
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
    await world.cluster.converges({ withinMs: 900_000, quietMs: 12_000, ready: false });
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
  play: badVersion((world) => void world.kubelet.brokenTags.add("v3.6.99")),
};

/** An image that nobody has: no member is touched at all. */
export const missingImage: Scenario = {
  prepare: created({ size: 3, version: "3.5.35" }),
  play: async (world) => {
    const before = await world.podUids();
    await badVersion(() => void world.kubelet.missingTags.add("v3.6.99"))(world);
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
