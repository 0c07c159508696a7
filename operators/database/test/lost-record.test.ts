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

/** Nobody reaches these, and they reach nobody; all others reach each other again. */
function cutOff(world: World, ...ones: string[]): void {
  world.heal();
  for (const one of ones) {
    for (const name of ["db-0", "db-1", "db-2", "api"].filter((each) => each !== one)) {
      world.cut(one, name);
      world.cut(name, one);
    }
  }
}

/** The primary goes on with one of its standbys, and then with the other one; each is cut off meanwhile. */
async function goesOver(world: World): Promise<void> {
  for (const pod of world.pods) pod.start();
  await world.advance(20_000);
  cutOff(world, "db-2");
  await world.advance(20_000);
  expect(world.record.published.quorums).toEqual([{ members: ["db-0", "db-1"], acks: 2 }]);
  cutOff(world, "db-1", "db-2");
  await world.advance(6_000);
  cutOff(world, "db-1");
}

async function until(world: World, isSo: () => boolean): Promise<void> {
  for (let count = 0; count < 10_000 && !isSo(); count++) await world.advance(5);
  expect(isSo()).toBe(true);
}

/** All that was promised, oldest first. */
const promised = (world: World) => world.record.published.quorums.map(({ members }) => members.join());

test("one that was cut off puts back no Lease that names it among those who have every commit", async () => {
  const world = new World({ seed: 1, instances: 3, durability: "quorum" });
  await goesOver(world);
  await world.advance(20_000);
  expect(promised(world)).toEqual(["db-0,db-2"]);
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

test.each(["lives on", "ends"])(
  "a promise that only the Lease and the primary have seen is not lost with the Lease, if it %s (50336)",
  async (how) => {
    const world = new World({ seed: 1, instances: 3, durability: "quorum" });
    await goesOver(world);
    const before = () => world.acknowledgements.filter(({ atMs }) => atMs > sinceMs).length;
    await until(world, () => promised(world).includes("db-0,db-2"));
    const sinceMs = world.nowMs;
    world.setApi(false);
    await until(world, () => before() > 0);
    if (how === "ends") world.pod("db-0").kill();
    world.forgetRecord();
    world.heal();
    world.setApi(true);
    world.pod("db-0").start();
    await until(world, () => world.record.epoch > 0);
    // The one that lacks commits is alone when somebody is elected.
    world.pod("db-0").kill();
    cutOff(world, "db-2");
    await world.advance(30_000);
    world.heal();
    world.pod("db-0").start();
    await world.advance(90_000);
    world.check();
    expect(world.violations).toEqual([]);
  },
);

test("with the Lease and the primary's volume lost, nobody is elected before all that have data are asked", async () => {
  const world = new World({ seed: 1, instances: 3, durability: "quorum" });
  await goesOver(world);
  // It follows the primary, and does not see that it is counted on.
  for (const [from, to] of [
    ["db-2", "api"],
    ["api", "db-2"],
  ] as const)
    world.cut(from, to);
  await world.advance(20_000);
  expect(promised(world)).toEqual(["db-0,db-2"]);
  world.pod("db-0").loseVolume();
  world.forgetRecord();
  world.heal();
  world.pod("db-0").start();
  await until(world, () => world.record.epoch > 0);
  cutOff(world, "db-2");
  await world.advance(30_000);
  expect(world.pods.filter(({ server }) => server.isPrimary)).toEqual([]);
  await until(
    world,
    () => world.pod("db-1").agent?.status().reason.includes("without db-2 there are 1 of 2 votes") ?? false,
  );
  world.heal();
  await world.advance(90_000);
  world.check();
  expect(world.violations).toEqual([]);
});

test("a Lease of earlier in the same epoch is put right", async () => {
  const world = new World({ seed: 1, instances: 3, durability: "quorum" });
  await goesOver(world);
  const earlier = world.record;
  await world.advance(20_000);
  expect(world.record.epoch).toBe(earlier.epoch);
  expect(promised(world)).toEqual(["db-0,db-2"]);
  world.forgetRecord(earlier);
  // By the primary itself, if it is there, as soon as it renews.
  await until(world, () => world.record.renewTime !== earlier.renewTime);
  expect(promised(world)).toEqual(["db-0,db-2"]);
  world.pod("db-0").kill();
  world.forgetRecord(earlier);
  world.heal();
  // The one that knows it only as it is here is not elected by its own vote.
  world.pod("db-2").server.die();
  await world.advance(30_000);
  world.pod("db-0").start();
  await world.advance(90_000);
  world.check();
  expect(world.violations).toEqual([]);
});
