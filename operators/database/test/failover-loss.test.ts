/** What a failover says of commits that may be lost, under virtual time, with the agents' own code. */
import { expect, test } from "vitest";
import { World } from "./simulation/world.ts";

async function failedOver(durability: "async" | "quorum"): Promise<World> {
  const world = new World({ seed: 11, instances: 3, durability });
  for (const pod of world.pods) pod.start();
  await world.advance(20_000);
  expect(world.record.holder).toBe("db-0");
  world.pod("db-0").kill();
  await world.advance(30_000);
  expect(world.record.holder).not.toBe("db-0");
  return world;
}

test("with async nobody can say that nothing was lost: the old primary's last second is unknown", async () => {
  const { lastFailover } = (await failedOver("async")).record.published;
  expect(lastFailover).toMatchObject({ from: "db-0", mayHaveLost: true });
});

test("with a quorum that met, nothing was lost", async () => {
  const { lastFailover } = (await failedOver("quorum")).record.published;
  expect(lastFailover).toMatchObject({ from: "db-0", mayHaveLost: false, lostBytes: 0 });
});
