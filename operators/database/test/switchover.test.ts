/** Switchovers under virtual time, with the agents' own code. */
import { expect, test } from "vitest";
import { World } from "./simulation/world.ts";

async function running(): Promise<World> {
  const world = new World({ seed: 7, instances: 3, durability: "async" });
  for (const pod of world.pods) pod.start();
  await world.advance(20_000);
  expect(world.record.holder).toBe("db-0");
  return world;
}

test("a switchover that finds no standby fit is done when one is back", async () => {
  const world = await running();
  for (const name of ["db-1", "db-2"]) world.pod(name).kill();
  await world.advance(3_000);
  world.policy({ switchover: { id: "any" } });
  await world.advance(10_000);
  expect(world.record.published.switchover).toBeUndefined();
  for (const name of ["db-1", "db-2"]) world.pod(name).start();
  await world.advance(15_000);
  expect(world.record.published.switchover).toMatchObject({ id: "any", outcome: "Done" });
  expect(world.record.holder).not.toBe("db-0");
});

test("a switchover that nobody can take is refused after a while, and the primary goes on", async () => {
  const world = await running();
  for (const name of ["db-1", "db-2"]) world.pod(name).kill();
  await world.advance(3_000);
  world.policy({ switchover: { id: "any" } });
  await world.advance(40_000);
  expect(world.record.published.switchover).toMatchObject({
    outcome: "Refused",
    message: "no standby streams",
  });
  expect(world.record.holder).toBe("db-0");
  expect(world.pod("db-0").server.isPrimary).toBe(true);
});
