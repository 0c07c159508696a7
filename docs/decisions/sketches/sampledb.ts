/** SampleDB on paper: Redis with replicas, scheduled backups and a final snapshot that survives every way of deleting. */
import type { ObjectOf } from "@keelson/core";
import { controller, done, fail, many, own, ref, waiting } from "@keelson/runtime";
import { immutable, quantity, resource } from "@keelson/schema";
import { z } from "zod";
import { ConfigMap, Job, PersistentVolumeClaim, Secret, Service, StatefulSet } from "./kinds.ts";

export const SampleDB = resource({
  group: "sampledb.keelson.dev",
  kind: "SampleDB",
  version: "v1",
  spec: z.object({
    version: z.string(),
    replicas: z.int().min(0).max(5).default(1),
    storage: z.object({ size: quantity(), className: z.string().check(immutable()).optional() }),
    passwordSecret: z.string(),
    initialConfiguration: z.record(z.string(), z.string()).default({}),
    backup: z
      .object({ schedule: z.string(), timeZone: z.string().default("UTC"), keep: z.int().default(7) })
      .optional(),
    deletionPolicy: z.enum(["Snapshot", "Retain", "Delete"]).default("Snapshot"),
  }),
  status: z.object({
    initialised: z.boolean().optional(),
    version: z.string().optional(),
    lastBackup: z.object({ name: z.string(), time: z.string() }).optional(),
    finalSnapshot: z.string().optional(),
  }),
});

type SampleDBObject = ObjectOf<typeof SampleDB>;
declare const desired: {
  config(db: SampleDBObject): object;
  statefulSet(db: SampleDBObject, version: string): object;
  service(db: SampleDBObject): object;
  initJob(db: SampleDBObject): object;
  backupJob(db: SampleDBObject, name: string): object;
  coldCopyJob(db: SampleDBObject, name: string): object;
  snapshotClaim(db: SampleDBObject): object;
};
declare const redis: {
  ping(
    at: { host: string; port: number },
    password: string,
  ): Promise<{ role: "master" | "slave"; version: string }>;
};

export const sampledb = controller(SampleDB, {
  owns: {
    config: ConfigMap,
    service: Service,
    server: own(StatefulSet, { after: "config", outlives: true }), // foreground deletion must not take it before the snapshot
    init: own(Job, { after: "server" }),
    backups: many(Job, { absent: "keep" }),
    snapshots: own(PersistentVolumeClaim, { outlives: true }),
  },
  reads: { password: ref(Secret, (db) => ({ name: db.spec.passwordSecret })) },

  async reconcile(db, ctx) {
    const password = ctx.read.password?.data?.["password"];
    if (!password) return waiting("SecretMissing", `Secret ${db.spec.passwordSecret} has no key "password"`);

    await ctx.own.config.apply(desired.config(db));
    await ctx.own.service.apply(desired.service(db));
    await ctx.own.snapshots.apply(desired.snapshotClaim(db));

    const running = db.status?.version ?? db.spec.version;
    if (running !== db.spec.version) {
      if (!isUpgrade(running, db.spec.version)) {
        return fail(
          "DowngradeRefused",
          `Redis ${running} cannot go back to ${db.spec.version}; restore a backup instead`,
        );
      }
      const backup = await takeBackup(`before-${db.spec.version}`);
      if (backup !== "succeeded") return backup;
    }
    const server = await ctx.own.server.apply(desired.statefulSet(db, db.spec.version));
    if ((server.status?.readyReplicas ?? 0) <= db.spec.replicas)
      return waiting("Starting", "Redis is starting");

    if (!db.status?.initialised) {
      const init = await ctx.own.init.apply(desired.initJob(db));
      if (!init.status?.succeeded)
        return waiting("Initialising", "the initial configuration is being applied");
    }
    await using link = await ctx.connect({ service: { name: db.metadata.name } }, 6379);
    const answer = await redis.ping(link, password);

    let lastBackup = db.status?.lastBackup;
    if (db.spec.backup) {
      const { schedule, timeZone } = db.spec.backup;
      const since = new Date(lastBackup?.time ?? db.metadata.creationTimestamp);
      const { due } = ctx.cron(schedule, { since, timeZone });
      if (due) {
        const name = `${db.metadata.name}-${due.getTime() / 1000}`;
        const backup = await takeBackup(name);
        if (backup !== "succeeded") return backup;
        lastBackup = { name, time: due.toISOString() };
      }
    }
    ctx.setStatus({ initialised: true, version: answer.version, ...(lastBackup ? { lastBackup } : {}) });
    return done();

    async function takeBackup(key: string) {
      const job = await ctx.own.backups.apply(key, desired.backupJob(db, key));
      if (job.status?.succeeded) return "succeeded" as const;
      if (job.status?.failed)
        return fail("BackupFailed", `backup ${key} failed: see the logs of Job ${job.metadata.name}`);
      return waiting("BackingUp", `backup ${key} is being taken`);
    }
  },

  async finalize(db, ctx) {
    const name = `final-${db.metadata.uid}`;
    if (db.spec.deletionPolicy === "Snapshot" && db.status?.initialised) {
      const alive = (ctx.own.server.get()?.status?.readyReplicas ?? 0) > 0;
      const job = await ctx.own.backups.apply(
        name,
        alive ? desired.backupJob(db, name) : desired.coldCopyJob(db, name),
      );
      if (!job.status?.succeeded)
        return waiting("FinalSnapshot", "the final snapshot is being taken and verified");
    }
    await ctx.own.server.delete();
    if (ctx.own.server.get()) return waiting("Stopping", "waiting for Redis to stop");
    if (db.spec.deletionPolicy === "Delete") await ctx.own.snapshots.delete();
    return done();
  },
});

declare function isUpgrade(from: string, to: string): boolean;
