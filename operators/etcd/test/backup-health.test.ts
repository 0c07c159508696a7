/** The BackupHealthy condition of a cluster follows its schedules. */
import { expect, it } from "vitest";
import { EtcdBackupSchedule } from "../src/api/backup.ts";
import { reasonOf } from "./simulation/oracle.ts";
import { ref, World } from "./simulation/world.ts";

it("BackupHealthy is unknown, then true, then overdue when backups stop", { timeout: 120_000 }, async () => {
  await using world = await World.start();
  await world.create({ size: 1, version: "3.6.16" });
  await world.settles(1);
  const reason = async () => reasonOf((await world.get()).status, "BackupHealthy");
  expect(await reason()).toBe("NoSchedule");
  const schedules = world.cluster.client.kind(EtcdBackupSchedule);
  const store = { claim: { name: "vault" } };
  await schedules.create({
    metadata: { ...ref, name: "often" },
    spec: { cluster: "example", schedule: "*/10 * * * *", store },
  });
  await world.cluster.until(async () => (await reason()) === "NoBackupYet");
  const lastSuccessful = new Date(world.cluster.clock.now()).toISOString();
  await schedules
    .subresource("status")
    .patch({ ...ref, name: "often" }, { type: "merge", body: { status: { lastSuccessful } } });
  await world.cluster.until(async () => (await reason()) === "Verified");
  await world.cluster.advance(11 * 60_000);
  expect(await reason()).toBe("Verified");
  await world.cluster.advance(10 * 60_000);
  expect(await reason()).toBe("Overdue");
});
