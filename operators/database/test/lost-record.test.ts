/** The Lease is deleted, or goes back to an earlier time with the API server: volumes know more than it. */
import { expect, test } from "vitest";
import { World } from "./simulation/world.ts";

/** db-0 was primary and is behind: the others have acknowledged more among themselves. */
async function behind(seed: number): Promise<{ world: World; earlier: World["record"] }> {
  const world = new World({ seed, instances: 3, durability: "quorum" });
  for (const pod of world.pods) pod.start();
  await world.advance(20_000);
  const earlier = world.record;
  world.policy({ switchover: { id: "1", to: "db-1" } });
  await world.advance(20_000);
  expect(world.record.holder).toBe("db-1");
  world.cut("db-0", "db-1");
  world.cut("db-1", "db-0");
  await world.advance(30_000);
  world.heal();
  return { world, earlier };
}

const seeds = [1, 2];

test.each(seeds)("a Lease that is made again rolls nothing back (%i)", async (seed) => {
  const { world } = await behind(seed);
  world.forgetRecord();
  await world.advance(90_000);
  world.check();
  expect(world.violations).toEqual([]);
});

test.each(seeds)("a Lease of an hour ago makes nobody primary (%i)", async (seed) => {
  const { world, earlier } = await behind(seed);
  world.forgetRecord(earlier);
  await world.advance(90_000);
  world.check();
  expect(world.violations).toEqual([]);
});

test.each(seeds)(
  "the first instance makes no database in the place of that of the others (%i)",
  async (seed) => {
    const { world } = await behind(seed);
    world.pod("db-0").loseVolume();
    world.forgetRecord();
    world.pod("db-0").start();
    await world.advance(90_000);
    world.check();
    expect(world.violations).toEqual([]);
  },
);

test("an instance that ended when it had handed over does not believe a Lease of before", async () => {
  const world = new World({ seed: 1, instances: 3, durability: "quorum" });
  for (const pod of world.pods) pod.start();
  await world.advance(20_000);
  const earlier = world.record;
  const first = world.pod("db-0");
  // As when the kubelet ends a container that it finds unwell: the pod stays the same.
  void first.agent?.drain().then(() => first.kill());
  await world.advance(20_000);
  expect(world.record.holder).not.toBe("db-0");
  world.forgetRecord(earlier);
  first.start();
  await world.advance(90_000);
  world.check();
  expect(world.violations).toEqual([]);
});

test("one that was cut off puts back no Lease that names it among those who have every commit", async () => {
  const world = new World({ seed: 1, instances: 3, durability: "quorum" });
  for (const pod of world.pods) pod.start();
  await world.advance(20_000);
  const cutOff = async (one: string) => {
    world.heal();
    for (const name of ["db-0", "db-1", "db-2", "api"].filter((each) => each !== one)) {
      world.cut(one, name);
      world.cut(name, one);
    }
    await world.advance(20_000);
    return world.record.published.quorums;
  };
  expect(await cutOff("db-2")).toEqual([{ members: ["db-0", "db-1"], acks: 2 }]);
  // The primary goes on with the other one, and says so where the one that is cut off does not see it.
  expect(await cutOff("db-1")).toEqual([{ members: ["db-0", "db-2"], acks: 2 }]);
  world.forgetRecord();
  // It is the first that hears of it: the others are ended meanwhile.
  for (const name of ["db-0", "db-2"]) world.pod(name).kill();
  world.heal();
  await world.advance(12_000);
  for (const name of ["db-0", "db-2"]) world.pod(name).start();
  await world.advance(90_000);
  world.check();
  expect(world.violations).toEqual([]);
});
