/** EtcdBackup and EtcdBackupSchedule in virtual time, with the operator killed before and after every write. */
import { type Cluster, cluster, everyCrash } from "@keelson/testing";
import { Pod } from "keelson/kinds";
import { describe, expect, it } from "vitest";
import { EtcdBackup, type EtcdBackupObject, EtcdBackupSchedule } from "../../src/api/backup.ts";
import { EtcdCluster } from "../../src/api/cluster.ts";
import { annotations } from "../../src/api/names.ts";
import { etcdBackup } from "../../src/reconcile-backup.ts";
import { etcdBackupSchedule } from "../../src/reconcile-schedule.ts";
import { PodRunner } from "./pod-runner.ts";

const store = { s3: { endpoint: "http://s3", bucket: "b", credentialsSecret: "s3" } };
const options = {
  controllers: [etcdBackup({ agentImage: "operator:1" }), etcdBackupSchedule()],
  resources: [EtcdCluster],
};
const ref = { namespace: "default", name: "nightly" };

async function withCluster(c: Cluster): Promise<void> {
  const made = await c.client.kind(EtcdCluster).create({
    metadata: { namespace: "default", name: "prod" },
    spec: { version: "3.6.16" },
  });
  const members = ["prod-0", "prod-1", "prod-2"].map((name) => ({ name, phase: "Voter" as const }));
  await c.client
    .kind(EtcdCluster)
    .subresource("status")
    .update({ ...made, status: { clusterId: "ff", members } } as never);
}

async function request(c: Cluster, spec: Partial<EtcdBackupObject["spec"]> = {}): Promise<void> {
  await c.client
    .kind(EtcdBackup)
    .create({ metadata: ref, spec: { cluster: "prod", store, ...spec } } as never);
}

const get = async (c: Cluster) => (await c.client.kind(EtcdBackup).find(ref)) as EtcdBackupObject | undefined;
const phase = async (c: Cluster) => (await get(c))?.status?.phase;
const pods = async (c: Cluster) => (await c.client.kind(Pod).list()).items.length;

async function play(c: Cluster, story: (runner: PodRunner) => Promise<void>): Promise<void> {
  const runner = new PodRunner();
  await using _ = await runner.start(c.client, c.clock, c.random);
  await withCluster(c);
  await story(runner);
}

describe("a backup", () => {
  it("is taken once, verified and cleaned up, whenever the operator crashes", {
    timeout: 120_000,
  }, async () => {
    const { runs } = await everyCrash(options, (c) =>
      play(c, async (runner) => {
        await request(c);
        await c.converges();
        const backup = await get(c);
        expect(backup?.status).toMatchObject({
          phase: "Done",
          revision: "2",
          keys: 1,
          compared: true,
          attempt: 1,
          name: `default/prod/nightly-${backup?.metadata.uid}`,
          clusterId: "ff",
        });
        expect(await pods(c)).toBe(0);
        expect(runner.snapshots).toBe(1);
        expect([...runner.store.objects.keys()].sort()).toEqual([
          `${backup?.status?.name}.db`,
          `${backup?.status?.name}.json`,
        ]);
      }),
    );
    expect(runs).toBeGreaterThan(10);
  });

  it("survives pods that die before or after any part of their work", async () => {
    for (const container of ["copy", "fetch", "restore", "verify"]) {
      for (const when of ["before", "after"] as const) {
        await using c = await cluster(options);
        await play(c, async (runner) => {
          let left = 2;
          runner.sabotage = (_, name) => (name === container && left-- > 0 ? when : undefined);
          await request(c);
          await c.converges();
          const backup = await get(c);
          expect(backup?.status, `${container} ${when}`).toMatchObject({
            phase: "Done",
            attempt: 3,
            keys: 1,
          });
          // What an earlier attempt had stored was used and not taken again.
          expect(runner.snapshots).toBe(1);
          expect(runner.store.objects.size).toBe(2);
          expect(await pods(c)).toBe(0);
        });
      }
    }
  });

  it("fails after three attempts and reports why", async () => {
    await using c = await cluster(options);
    await play(c, async (runner) => {
      for (const member of runner.members) member.down = true;
      await request(c);
      await c.converges({ ready: false });
      const backup = await get(c);
      expect(backup?.status).toMatchObject({ phase: "Failed", attempt: 3, failure: { reason: "NoMember" } });
      expect(backup?.status?.conditions?.find(({ type }) => type === "Stalled")).toMatchObject({
        status: "True",
        message: expect.stringContaining("no answer from 1"),
      });
      expect(runner.store.objects.size).toBe(0);
      expect(await pods(c)).toBe(0);
    });
  });

  it("never publishes a snapshot that was damaged in transit", async () => {
    await using c = await cluster(options);
    await play(c, async (runner) => {
      for (const member of runner.members) member.damage = (bytes) => bytes.subarray(0, -40);
      await request(c);
      await c.converges({ ready: false });
      expect((await get(c))?.status?.failure?.reason).toBe("SnapshotDamaged");
      expect(runner.store.objects.size).toBe(0);
    });
  });

  it("waits for its cluster, and fails at its timeout", async () => {
    await using c = await cluster(options);
    const runner = new PodRunner();
    await using _ = await runner.start(c.client, c.clock, c.random);
    await request(c, { timeoutSeconds: 600 });
    await c.advance(500_000);
    expect((await get(c))?.status?.conditions?.find(({ type }) => type === "Ready")?.reason).toBe(
      "ClusterMissing",
    );
    await withCluster(c);
    await c.until(async () => (await phase(c)) === "Done", 60_000);

    await c.client.kind(EtcdBackup).create({
      metadata: { namespace: "default", name: "late" },
      spec: { cluster: "absent", store, timeoutSeconds: 600 },
    } as never);
    await c.advance(700_000);
    const late = await c.client.kind(EtcdBackup).find({ namespace: "default", name: "late" });
    expect(late?.status).toMatchObject({ phase: "Failed", failure: { reason: "TimedOut" } });
  });

  it("is not verified when verify is false, and reports that", async () => {
    await using c = await cluster(options);
    await play(c, async (runner) => {
      await request(c, { verify: false });
      await c.converges();
      const status = (await get(c))?.status;
      expect(status).toMatchObject({ phase: "Done", revision: "2" });
      expect(status?.verifiedAt).toBeUndefined();
      expect(runner.history.map((each) => each.split("/")[1])).toEqual(["copy"]);
    });
  });

  it("is removed from the store on request, whenever the operator crashes", {
    timeout: 120_000,
  }, async () => {
    await everyCrash(options, (c) =>
      play(c, async (runner) => {
        await request(c);
        await c.until(async () => (await phase(c)) === "Done");
        let left = 1;
        runner.sabotage = (_, name) => (name === "remove" && left-- > 0 ? "before" : undefined);
        await c.client.kind(EtcdBackup).patch(ref, {
          type: "merge",
          body: { metadata: { annotations: { [annotations.removeData]: "true" } } },
        });
        await c.converges();
        expect(await phase(c)).toBe("Removed");
        expect(runner.store.objects.size).toBe(0);
        expect(await pods(c)).toBe(0);
      }),
    );
  });

  it("waits longer and longer to remove its data while the store does not answer, and says so", async () => {
    await using c = await cluster(options);
    await play(c, async (runner) => {
      await request(c);
      await c.until(async () => (await phase(c)) === "Done");
      let fails = true;
      runner.sabotage = (_, name) => (name === "remove" && fails ? "before" : undefined);
      const removeData = async (value: string | null) =>
        await c.client.kind(EtcdBackup).patch(ref, {
          type: "merge",
          body: { metadata: { annotations: { [annotations.removeData]: value } } },
        });
      await removeData("true");
      const before = runner.history.length;
      await c.advance(3_600_000);
      const attempts = runner.history.length - before;
      expect(attempts).toBeGreaterThan(10);
      expect(attempts).toBeLessThan(20);
      const status = (await get(c))?.status;
      expect(status?.removal?.failures).toBe(attempts);
      const ready = status?.conditions?.find(({ type }) => type === "Ready");
      expect(ready?.message).toMatch(/^attempt \d+ to remove the data follows at /);
      // Part of the data may be gone: it is not a backup any more.
      await removeData(null);
      fails = false;
      await c.advance(300_000);
      expect((await get(c))?.status).toMatchObject({ phase: "Removed" });
      expect((await get(c))?.status?.removal).toBeUndefined();
      expect(runner.store.objects.size).toBe(0);
      expect(await pods(c)).toBe(0);
    });
  });

  it("keeps its data in the store when only the object is deleted", async () => {
    await using c = await cluster(options);
    await play(c, async (runner) => {
      await request(c);
      await c.converges();
      await c.client.kind(EtcdBackup).delete(ref);
      await c.advance(60_000);
      expect(runner.store.objects.size).toBe(2);
    });
  });
});

describe("a schedule", () => {
  const hour = 3_600_000;
  const schedule = async (c: Cluster, spec: object = {}) =>
    await c.client.kind(EtcdBackupSchedule).create({
      metadata: ref,
      spec: { cluster: "prod", schedule: "30 * * * *", store, keep: { count: 2 }, ...spec },
    } as never);
  const all = async (c: Cluster) =>
    (await c.client.kind(EtcdBackup).list()).items as unknown as EtcdBackupObject[];
  const status = async (c: Cluster) => (await c.client.kind(EtcdBackupSchedule).find(ref))?.status;

  it("takes what is due and keeps the newest, whenever the operator crashes", {
    timeout: 300_000,
  }, async () => {
    const report = await everyCrash(options, (c) =>
      play(c, async (runner) => {
        await schedule(c, { keep: { count: 1 } });
        await c.advance(2 * hour);
        const backups = await all(c);
        expect(backups.map(({ metadata }) => metadata.name).sort()).toEqual(["nightly-20260101013000"]);
        for (const { status } of backups) expect(status?.phase).toBe("Done");
        expect([...runner.store.objects.keys()].sort()).toEqual(
          backups.flatMap(({ status }) => [`${status?.name}.db`, `${status?.name}.json`]).sort(),
        );
        expect(runner.snapshots).toBe(2);
        expect(await pods(c)).toBe(0);
        expect(await status(c)).toMatchObject({ backups: 1, lastScheduled: "2026-01-01T01:30:00.000Z" });
      }),
    );
    expect(report.runs).toBeGreaterThan(30);
  });

  it("catches up missed times with one backup", async () => {
    await using c = await cluster(options);
    await play(c, async () => {
      await schedule(c, { keep: { count: 7 } });
      await c.settle();
      const gone = c.outage();
      await c.advance(5 * hour);
      gone.end();
      await c.advance(0.4 * hour);
      expect((await all(c)).map(({ metadata }) => metadata.name)).toEqual(["nightly-20260101043000"]);
    });
  });

  it("does not catch up what fell due while it was suspended", async () => {
    await using c = await cluster(options);
    await play(c, async () => {
      await schedule(c, { suspend: true });
      await c.advance(3.2 * hour);
      await c.client
        .kind(EtcdBackupSchedule)
        .patch(ref, { type: "merge", body: { spec: { suspend: false } } });
      await c.advance(0.2 * hour);
      expect(await all(c)).toEqual([]);
      await c.advance(0.2 * hour);
      expect((await all(c)).map(({ metadata }) => metadata.name)).toEqual(["nightly-20260101033000"]);
    });
  });

  it("follows its time zone", async () => {
    await using c = await cluster(options);
    await play(c, async () => {
      await schedule(c, { schedule: "0 9 * * *", timeZone: "Asia/Kolkata" });
      await c.advance(4 * hour);
      expect((await all(c)).map(({ metadata }) => metadata.name)).toEqual(["nightly-20260101033000"]);
    });
  });

  it("keeps the last good backup while new ones fail, and reports that backups are not healthy", async () => {
    await using c = await cluster(options);
    await play(c, async (runner) => {
      await schedule(c, { keep: { count: 1, maxAgeHours: 1 } });
      await c.advance(hour);
      for (const member of runner.members) member.down = true;
      await c.advance(8 * hour);
      const good = (await all(c)).filter(({ status }) => status?.phase === "Done");
      expect(good.map(({ metadata }) => metadata.name)).toEqual(["nightly-20260101003000"]);
      expect(runner.store.objects.size).toBe(2);
      const condition = (await status(c))?.conditions?.find(({ type }) => type === "BackupHealthy");
      expect(condition).toMatchObject({ status: "False", reason: "BackupFailed" });
      expect((await all(c)).length).toBeLessThanOrEqual(5);
    });
  });

  it("keeps the last backup of an earlier cluster of this name, however many empty ones follow", async () => {
    await using c = await cluster(options);
    await play(c, async (runner) => {
      await schedule(c, { keep: { count: 1, maxAgeHours: 1 } });
      await c.advance(2 * hour);
      for (const { data } of runner.members) data.clusterId = "254";
      await c.advance(4 * hour);
      expect((await all(c)).map(({ metadata, status }) => [metadata.name, status?.clusterId]).sort()).toEqual(
        [
          ["nightly-20260101013000", "ff"],
          ["nightly-20260101053000", "fe"],
        ],
      );
    });
  });

  it("reports an invalid schedule", async () => {
    await using c = await cluster(options);
    await schedule(c, { schedule: "every day" });
    await c.advance(1_000);
    const found = await status(c);
    expect(found?.conditions?.find(({ type }) => type === "Stalled")).toMatchObject({
      reason: "ScheduleInvalid",
    });
  });
});
