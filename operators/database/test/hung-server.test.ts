/** What becomes of an instance whose PostgreSQL hangs while its agent is well, under virtual time. */
import { expect, test } from "vitest";
import type { Policy } from "../src/ha/state.ts";
import { World } from "./simulation/world.ts";

async function running(instances: number, durability: Policy["durability"]): Promise<World> {
  const world = new World({ seed: 3, instances, durability });
  for (const pod of world.pods) pod.start();
  await world.advance(20_000);
  return world;
}

function expectCommits(world: World): void {
  expect(world.acknowledgements.at(-1)?.atMs).toBeGreaterThan(world.nowMs - 2_000);
  world.check();
  expect(world.violations).toEqual([]);
}

test("others take over from a primary, and it follows them", async () => {
  const world = await running(3, "quorum");
  const hung = world.pod(world.record.holder);
  hung.server.isHung = true;
  await world.advance(15_000);
  expect(world.record.holder).not.toBe(hung.name);
  await world.advance(45_000);
  expect(hung.server.isReceiving).toBe(true);
  expectCommits(world);
});

test.each([
  [1, "quorum"],
  [3, "async"],
] as const)(
  "where nobody is sure to have its commits it is started again (%i, %s)",
  async (instances, durability) => {
    const world = await running(instances, durability);
    const { holder, epoch } = world.record;
    world.pod(holder).server.isHung = true;
    await world.advance(15_000);
    expect([world.record.holder, world.record.epoch]).toEqual([holder, epoch]);
    expectCommits(world);
  },
);

test("a standby is started again", async () => {
  const world = await running(3, "quorum");
  const hung = world.pods.find(({ name }) => name !== world.record.holder);
  if (hung) hung.server.isHung = true;
  await world.advance(15_000);
  expect(hung?.server.isReceiving).toBe(true);
  expectCommits(world);
});
