/** The data that came of a major upgrade is lost before it is anywhere else, and the other instances still have that of before. */
import { expect, test } from "vitest";
import { ofBefore } from "../src/ha/step.ts";
import { World } from "./simulation/world.ts";

async function until(world: World, isSo: () => boolean): Promise<void> {
  for (let count = 0; count < 10_000 && !isSo(); count++) await world.advance(5);
  expect(isSo()).toBe(true);
}

/** db-0 serves what it was upgraded to. Those of `late` do not reach it, and have what was before. */
async function upgraded(late: readonly string[]): Promise<World> {
  const world = new World({ seed: 11, instances: 3, durability: "quorum" });
  for (const pod of world.pods) {
    pod.start();
    pod.major = "15";
  }
  await world.advance(20_000);
  world.policy({ version: "15.1", upgrade: { id: "15-17", to: "17", instance: "db-0" } });
  await until(world, () => world.record.published.stoppedFor !== undefined);
  for (const name of late) {
    world.cut(name, "db-0");
    world.cut("db-0", name);
  }
  for (const pod of world.pods) pod.major = "17";
  await until(world, () => world.record.published.upgrade?.outcome === "Done");
  await until(world, () => world.pod("db-0").server.isPrimary);
  await world.advance(10_000);
  return world;
}

const reasonOf = (world: World, name: string) => world.pod(name).agent?.status().reason;

test("what was before is served again when a person approves it, with all that was acknowledged until then", async () => {
  const world = await upgraded(["db-1", "db-2"]);
  const { systemId, upgrade, before } = world.record.published;
  const { epoch } = world.record;
  const first = world.pod("db-0");
  first.loseVolume();
  world.heal();
  first.start();
  await world.advance(30_000);
  expect(world.pods.filter(({ server }) => server.isPrimary)).toEqual([]);
  for (const name of ["db-1", "db-2"]) expect(reasonOf(world, name)).toContain(ofBefore);
  // That of another epoch is not meant.
  world.policy({ approvedReturn: epoch - 1 });
  await world.advance(10_000);
  expect(world.record.published.systemId).toBe(systemId);
  world.policy({ approvedReturn: epoch });
  await until(world, () => world.record.published.systemId === before?.systemId);
  expect(world.record).toMatchObject({ holder: "", epoch: epoch + 1 });
  expect(world.record.published).toMatchObject({
    upgrade: { id: upgrade?.id, outcome: "Failed" },
    returnedTo: "15.1",
    quorums: before?.quorums,
  });
  // As the operator does.
  for (const pod of world.pods) pod.major = "15";
  await world.advance(60_000);
  const { lastFailover } = world.record.published;
  expect(lastFailover).toMatchObject({ mayHaveLost: true, reason: "approved" });
  const log = new Set(world.pod(world.record.holder).server.data?.log);
  const lost = world.acknowledgements.filter(({ entry }) => !log.has(entry));
  expect(lost.filter((each) => each.epoch !== epoch)).toEqual([]);
  world.check();
  expect(world.violations.filter((each) => !each.includes("lacks"))).toEqual([]);
});

test("nobody goes back while an instance has what came after", async () => {
  const world = await upgraded(["db-1"]);
  const { systemId } = world.record.published;
  await until(world, () => world.pod("db-2").server.data?.systemId === systemId);
  // It does not start any more; its data is there.
  world.pod("db-2").major = "18";
  world.pod("db-2").server.die();
  world.pod("db-0").loseVolume();
  world.heal();
  await world.advance(20_000);
  expect(reasonOf(world, "db-1")).toContain(ofBefore);
  world.policy({ approvedReturn: world.record.epoch });
  await world.advance(20_000);
  expect(reasonOf(world, "db-1")).toBe("db-2 has newer data");
  expect(world.record.published.systemId).toBe(systemId);
  world.pod("db-0").start();
  for (const pod of world.pods) pod.major = "17";
  world.policy({ approval: { epoch: world.record.epoch } });
  await world.advance(60_000);
  world.check();
  expect(world.violations).toEqual([]);
});
