/** The Lease is lost at any moment while a primary's server is being started again. */
import { expect, test } from "vitest";
import { World } from "./simulation/world.ts";

test.each([0, 50, 100, 200, 250])(
  "a server that is started does not serve without the lease (%i ms)",
  async (afterMs) => {
    const world = new World({ seed: 5, instances: 3, durability: "quorum" });
    for (const pod of world.pods) pod.start();
    await world.advance(20_000);
    const { agent, server } = world.pod("db-0");
    if (!agent) throw new Error("db-0 is not there");
    server.die();
    const seen = world.trace.length;
    const isStarting = () => world.trace.slice(seen).some((line) => line.includes("db-0 startPrimary"));
    for (let ms = 0; ms < 3_000 && !isStarting(); ms += 5) await world.advance(5);
    await world.advance(afterMs);
    expect(server.isRunning).toBe(false);
    world.forgetRecord();
    void agent.keeper.round();
    let withoutMs = 0;
    for (let ms = 0; ms < 3_000; ms += 5) {
      await world.advance(5);
      if (server.isPrimary && !agent.keeper.isHolding) withoutMs += 5;
    }
    expect(withoutMs).toBeLessThanOrEqual(5);
  },
);
