/** A primary that goes on without the API server, because everybody it knows agrees. */
import { expect, test } from "vitest";
import { World } from "./simulation/world.ts";

/** Those who can talk to the API server are not those who agree. */
async function cutOff(instances: readonly string[]): Promise<World> {
  const world = new World({ seed: 3, instances: 3, durability: "async" });
  for (const pod of world.pods) pod.start();
  await world.advance(20_000);
  expect(world.record.holder).toBe("db-0");
  world.policy({ instances });
  return world;
}

test.each([
  ["leaves", ["db-0", "db-1"], 5_000],
  ["came a moment ago", ["db-0", "db-1", "db-2"], 0],
])("with async one that %s is not elected while the primary goes on without it", async (_, after, waitMs) => {
  const world = await cutOff(["db-0", "db-1"]);
  await world.advance(5_000);
  for (const name of ["db-0", "db-1"]) {
    world.cut(name, "api");
    world.cut("api", name);
  }
  world.policy({ instances: after });
  await world.advance(30_000 + waitMs);
  expect(world.record.holder).toBe("db-0");
  expect(world.violations).toEqual([]);
  expect(world.pods.filter(({ server }) => server.isPrimary).map(({ name }) => name)).toEqual(["db-0"]);
});

test("with async one that the primary did not know takes over with approval", async () => {
  const world = await cutOff(["db-0"]);
  await world.advance(5_000);
  world.pod("db-0").kill();
  world.pod("db-1").kill();
  await world.advance(30_000);
  expect(world.record.holder).toBe("db-0");
  expect(world.pod("db-2").agent?.status().reason).toMatch(/approval is needed/);
  world.policy({ approval: { epoch: world.record.epoch } });
  await world.advance(10_000);
  expect(world.record.holder).toBe("db-2");
});

test("with async the best of those whom the primary knew takes over", async () => {
  const world = await cutOff(["db-0", "db-1"]);
  await world.advance(5_000);
  world.pod("db-0").kill();
  await world.advance(30_000);
  expect(world.record.holder).toBe("db-1");
  expect(world.violations).toEqual([]);
});
