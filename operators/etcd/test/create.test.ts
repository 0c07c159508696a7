import { describe, expect, test } from "vitest";
import { everyCrash } from "./simulation/explore.ts";
import { restsAt } from "./simulation/oracle.ts";
import { World } from "./simulation/world.ts";

async function createThree(world: World): Promise<void> {
  await world.create({ size: 3, version: "3.6.16" });
  world.load();
  await world.cluster.advance(20_000);
  world.rest();
  await restsAt(world, { size: 3, version: "3.6.16" });
}

describe("a new cluster of three", () => {
  test("grows from one seed, by learners", async () => {
    await using world = await World.start();
    await createThree(world);
    expect(world.calls.filter((call) => call.startsWith("addLearner")).length).toBeGreaterThanOrEqual(2);
    expect(world.acknowledged).toBeGreaterThan(0);
  });

  test("comes to be the same when the operator dies before or after anything it does", {
    timeout: 300_000,
  }, async () => {
    const { writes, calls, runs } = await everyCrash({ play: createThree });
    expect(runs).toBe(1 + 2 * (writes + calls));
  });
});
