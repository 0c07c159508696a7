/** The Lease goes back to before an election that somebody has won: the primary of before must not go on in its epoch. */
import { expect, test } from "vitest";
import { World } from "./simulation/world.ts";

async function until(world: World, isSo: () => boolean): Promise<void> {
  for (let count = 0; count < 10_000 && !isSo(); count++) await world.advance(2);
  expect(isSo()).toBe(true);
}

function cutBothWays(world: World, a: string, b: string): void {
  world.cut(a, b);
  world.cut(b, a);
}

interface Story {
  readonly seed: number;
  readonly durability?: "quorum" | "async";
  /** What makes the others believe that db-0 is gone. */
  readonly begin: (world: World) => void;
  /** When the Lease goes back. Default: when somebody has won. */
  readonly when?: (world: World) => boolean;
  /** When the Lease has forgotten the election. */
  readonly afterwards: (world: World) => void;
}

const isWon = (world: World) => world.record.epoch === 2;

async function play(story: Story): Promise<World> {
  const { seed, durability = "quorum", begin, when = isWon, afterwards } = story;
  const world = new World({ seed, instances: 3, durability });
  for (const pod of world.pods) pod.start();
  await world.advance(20_000);
  const earlier = world.record;
  expect(earlier.holder).toBe("db-0");
  begin(world);
  await until(world, () => when(world));
  world.forgetRecord(earlier);
  await until(world, () => world.promotions === 1);
  afterwards(world);
  await world.advance(90_000);
  world.check();
  return world;
}

const kill = (world: World) => world.pod("db-0").kill();
const start = (world: World) => world.pod("db-0").start();
const seeds = [1, 2, 3];

test.each(seeds)("a primary that starts again asks the others first (80273, %i)", async (seed) => {
  const { violations } = await play({ seed, begin: kill, afterwards: start });
  expect(violations).toEqual([]);
});

test.each(seeds)("so does one whose commits wait for nobody (%i)", async (seed) => {
  const isServed = ({ acknowledgements }: World) => acknowledgements.some(({ epoch }) => epoch === 2);
  const { violations } = await play({
    seed,
    durability: "async",
    begin: kill,
    when: isServed,
    afterwards: start,
  });
  expect(violations).toEqual([]);
});

test.each(seeds)(
  "nobody who voted follows a primary that reaches only those who voted (%i)",
  async (seed) => {
    const { violations } = await play({
      seed,
      begin: kill,
      afterwards: (world) => {
        const winner = world.pods.find(({ server }) => server.data?.timelineEpoch === 2)?.name ?? "";
        cutBothWays(world, "db-0", winner);
        world.later(20_000, () => world.heal());
        start(world);
      },
    });
    expect(violations).toEqual([]);
  },
);

test.each(seeds)("nobody who voted follows a primary that was only believed dead (%i)", async (seed) => {
  const { violations } = await play({
    seed,
    begin: (world) => {
      world.pod("db-0").isRefusing = true;
      cutBothWays(world, "db-0", "api");
      for (const name of ["db-1", "db-2"]) world.cut("db-0", name);
    },
    afterwards: (world) => {
      world.pod("db-0").isRefusing = false;
      world.heal();
    },
  });
  expect(violations).toEqual([]);
});
