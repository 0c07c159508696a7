/** A standby goes on following a primary through epochs that its agent does not read of, because it does not reach the API server. */
import { expect, test } from "vitest";
import { World } from "./simulation/world.ts";

/** db-2 has not read the Lease since db-0 was primary for the first time, and follows it as it is for the second time. */
async function followsUnread(): Promise<World> {
  const world = new World({ seed: 3, instances: 3, durability: "quorum" });
  for (const pod of world.pods) pod.start();
  await world.advance(20_000);
  expect(world.record.holder).toBe("db-0");
  world.cut("db-2", "api");
  world.cut("api", "db-2");
  for (const to of ["db-1", "db-0"]) {
    world.policy({ switchover: { id: `to ${to}`, to } });
    await world.advance(20_000);
    expect(world.record.holder).toBe(to);
  }
  const { server } = world.pod("db-2");
  expect(server.isReceiving).toBe(true);
  expect(server.data?.timeline).toBe(world.pod("db-0").server.data?.timeline);
  return world;
}

test("it has no vote, because nobody told it whose timeline it is on", async () => {
  const world = await followsUnread();
  expect(world.pod("db-2").agent?.status().vote).toBeUndefined();
});

test("when it reads of them it takes the data again, and follows", async () => {
  const world = await followsUnread();
  world.heal();
  await world.advance(30_000);
  expect(world.pod("db-2").agent?.status().vote).toMatchObject({
    timelineEpoch: world.record.published.timelineEpoch,
  });
  world.check();
  expect(world.violations).toEqual([]);
});

test("what only it and the primary have is not lost when the primary ends and comes back", async () => {
  const world = await followsUnread();
  for (const name of ["db-0", "db-2", "api"]) {
    world.cut("db-1", name);
    world.cut(name, "db-1");
  }
  await world.advance(20_000);
  const before = world.acknowledgements.length;
  await world.advance(10_000);
  expect(world.acknowledgements.length).toBeGreaterThan(before);
  world.pod("db-0").kill();
  world.heal();
  // Whoever is there now lacks commits, or cannot tell that it has them.
  await world.advance(30_000);
  expect(world.pods.filter(({ server }) => server.isPrimary)).toEqual([]);
  world.pod("db-0").start();
  await world.advance(60_000);
  world.check();
  expect(world.violations).toEqual([]);
});
