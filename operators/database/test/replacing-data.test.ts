/** What becomes of a database whose primary is replaced while it replaces its data, under virtual time. */
import { expect, test } from "vitest";
import { World } from "./simulation/world.ts";

test("a primary whose pod is lost while it restores ends what it began, and nothing is lost", async () => {
  const world = new World({ seed: 11, instances: 3, durability: "quorum" });
  for (const pod of world.pods) pod.start();
  await world.advance(20_000);
  const primary = world.pod(world.record.holder);
  const restore = { backup: "first", since: world.record.epoch };
  const upgrade = { id: "restore-1", to: "15", instance: primary.name, restore };
  for (const pod of world.pods) pod.major = "15";
  world.policy({ upgrade });
  await world.advance(3_000);
  expect(primary.server.isPrimary).toBe(false);
  expect(world.record.published.upgrade).toBeUndefined();
  primary.kill();
  primary.uid = `${primary.name}-uid-1`;
  primary.start();
  await world.advance(30_000);
  expect(world.record.published.upgrade).toMatchObject({ id: "restore-1", outcome: "Failed" });
  await world.advance(30_000);
  world.policy({ upgrade: { id: "15-17", to: "15", instance: world.record.holder } });
  await world.advance(60_000);
  const { upgrade: last, restored } = world.record.published;
  expect(last?.id).toBe("15-17");
  expect(restored?.id).toBe("restore-1");
  world.check();
  expect(world.violations).toEqual([]);
});
