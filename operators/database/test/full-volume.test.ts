/** What becomes of a primary whose volume is full, under virtual time. */
import { expect, test } from "vitest";
import { World } from "./simulation/world.ts";

async function running(seed: number): Promise<World> {
  const world = new World({ seed, instances: 3, durability: "quorum" });
  for (const pod of world.pods) pod.start();
  await world.advance(20_000);
  return world;
}

test.each([1, 2, 3, 4])("an instance that has room takes over (%i)", async (seed) => {
  const world = await running(seed);
  const full = world.pod(world.record.holder);
  full.disk.isFull = true;
  await world.advance(30_000);
  expect(world.record.holder).not.toBe(full.name);
  expect(world.acknowledgements.at(-1)?.atMs).toBeGreaterThan(world.nowMs - 2_000);
  full.disk.isFull = false;
  await world.advance(60_000);
  world.check();
  expect(world.violations).toEqual([]);
});

test("primaryship does not go round where nobody has room", async () => {
  const world = await running(2);
  const { epoch } = world.record;
  for (const pod of world.pods) pod.disk.isFull = true;
  await world.advance(60_000);
  expect(world.record.epoch).toBeLessThanOrEqual(epoch + 1);
  for (const pod of world.pods) pod.disk.isFull = false;
  await world.advance(60_000);
  world.check();
  expect(world.violations).toEqual([]);
});
