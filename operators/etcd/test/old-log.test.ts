import { expect, test } from "vitest";
import { World } from "./simulation/world.ts";

test("a cluster that was 3.4 once is upgraded to 3.6 only when a snapshot covers the log of 3.4", {
  timeout: 120_000,
}, async () => {
  await using world = await World.start();
  await world.create({ size: 3, version: "3.4.45", settings: { snapshotCount: 100 } });
  await world.settles(3);
  await world.change({ version: "3.6.16" });
  const runs = async () => (await world.get()).status?.template?.recipe.version;
  await world.cluster.until(async () => (await runs()) === "3.5.35");
  await world.cluster.advance(600_000);
  expect(await runs()).toBe("3.5.35");
  const { status } = await world.get();
  expect(status?.rollout).toBeUndefined();
  const said = status?.conditions?.find(({ type }) => type === "Ready")?.message;
  expect(said).toMatch(/^etcd 3\.6\.16 cannot read what 3\.4 left in the log; .* after 5\d\d\d more changes/);
  for (let n = 0; n < 5_200; n++) world.etcd.put("key", String(n));
  await world.cluster.until(async () => (await runs()) === "3.6.16");
  expect(world.etcd.group.log.length).toBeGreaterThan(5_100);
  expect((await world.get()).status?.oldLog).toBeUndefined();
  world.verify();
});

test("a cluster that passes 3.5 on the way from 3.4 writes snapshots as often as 3.6 does", {
  timeout: 120_000,
}, async () => {
  await using world = await World.start();
  await world.create({ size: 1, version: "3.4.45" });
  await world.settles(1);
  await world.change({ version: "3.6.16" });
  const recipe = async () => (await world.get()).status?.template?.recipe;
  await world.cluster.until(async () => (await recipe())?.version === "3.5.35");
  expect((await recipe())?.settings).toEqual({ snapshotCount: 10_000 });
  await world.change({ version: "3.5.35" });
  await world.settles(1);
  expect((await recipe())?.settings).toBeUndefined();
});
