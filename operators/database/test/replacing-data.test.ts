/** What becomes of a database whose primary is replaced while it replaces its data, under virtual time. */
import { expect, test } from "vitest";
import type { Claim, LeaseStore } from "../src/agent/ports.ts";
import { World } from "./simulation/world.ts";

/** A database whose primary is about to replace its data. */
async function replacing(
  instances: number,
  upgrade: object,
  isLost: (claim: Claim) => boolean = () => false,
): Promise<World> {
  const world = new World({ seed: 11, instances, durability: "quorum" });
  const leaseFor = world.leaseFor.bind(world);
  let losses = 0;
  world.leaseFor = (pod) => {
    const lease = leaseFor(pod);
    const write: LeaseStore["write"] = async (claim, version) => {
      const stored = await lease.write(claim, version);
      if (isLost(claim) && losses++ === 0) throw new Error("the answer is lost");
      return stored;
    };
    return { ...lease, write };
  };
  for (const pod of world.pods) {
    pod.start();
    pod.major = "15";
    Object.assign(pod, { backupLog: () => [] });
  }
  await world.advance(20_000);
  world.policy({ upgrade: { to: "15", instance: world.record.holder, ...upgrade } as never });
  return world;
}

test.each([
  ["one instance restores", 1, { id: "restore-1", restore: { backup: "first", since: 1 } }],
  ["three restore", 3, { id: "restore-1", restore: { backup: "first", since: 1 } }],
  ["one is upgraded", 1, { id: "14-15" }],
])(
  "data that was replaced is told of when the answer of the API server is lost: %s",
  async (_, instances, upgrade) => {
    const world = await replacing(instances, upgrade, (claim) => claim.published.upgrade !== undefined);
    await world.advance(40_000);
    expect(world.record.published.upgrade).toMatchObject({ id: upgrade.id, outcome: "Done" });
    world.check();
    expect(world.violations.filter((each) => !each.includes("lacks"))).toEqual([]);
  },
);

test("a restore of before is not carried out again when the policy goes back to it", async () => {
  const restore = (id: string) => ({ id, restore: { backup: "first", since: 1 } });
  const world = await replacing(1, restore("restore-1"));
  await world.advance(20_000);
  world.policy({ upgrade: { to: "15", instance: "db-0", ...restore("restore-2") } });
  await world.advance(20_000);
  expect(world.record.published.upgrade).toMatchObject({ id: "restore-2", outcome: "Done" });
  expect(world.record.published.restores).toEqual(["restore-1", "restore-2"]);
  const log = world.pod("db-0").server.data?.log.length ?? 0;
  world.policy({ upgrade: { to: "15", instance: "db-0", ...restore("restore-1") } });
  await world.advance(20_000);
  expect(world.record.published.upgrade?.id).toBe("restore-2");
  expect(world.pod("db-0").server.data?.log.length).toBeGreaterThan(log);
});

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
