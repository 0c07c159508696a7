/** The controller of DatabaseBackup: asks one instance to take it, and remembers what came of it. */
import { databaseBackoff } from "@keelson/kit";
import { type Controller, controller, done, fail, type Outcome, ref, select, waiting } from "keelson";
import { Pod, Secret } from "keelson/kinds";
import type { BackupJob } from "./agent/backups.ts";
import type { BackupRequest } from "./agent/handlers.ts";
import { agentPort, call as callAgent } from "./agent/wire.ts";
import { DatabaseBackup, type DatabaseBackupObject } from "./api/backup.ts";
import { Database } from "./api/database.ts";
import type { DatabaseOptions } from "./reconcile.ts";
import { agentSecret, databaseName } from "./resources/names.ts";
import { hasStore } from "./resources/pod.ts";
import { nameInStore, storeOf } from "./resources/store.ts";

const attemptsAllowed = 3;
const lookAgainMs = 1_000;
/** What is told of what an agent says. One that has failed is tried again. */
const phases = {
  Waiting: "Pending",
  Running: "Running",
  Verifying: "Verifying",
  Done: "Done",
  Failed: "Running",
} as const satisfies Record<BackupJob["phase"], string>;

export function backupController({ call = callAgent }: Pick<DatabaseOptions, "call"> = {}): Controller {
  return controller(DatabaseBackup, {
    backoff: databaseBackoff,
    owns: {},
    reads: {
      database: ref(Database, ({ spec, metadata }: DatabaseBackupObject) => ({
        name: spec.database,
        namespace: metadata.namespace ?? "default",
      })),
      secret: ref(Secret, ({ spec, metadata }: DatabaseBackupObject) => ({
        name: agentSecret({ name: spec.database, namespace: "", uid: "" }),
        namespace: metadata.namespace ?? "default",
      })),
      pods: select(Pod, ({ spec }: DatabaseBackupObject) => ({
        labels: { "app.kubernetes.io/name": "postgresql", "app.kubernetes.io/instance": spec.database },
      })),
    },

    async reconcile(backup, ctx): Promise<Outcome> {
      const { status = {}, metadata, spec } = backup;
      if (status.phase === "Done") return done();
      if (status.phase === "Failed") return fail("BackupFailed", status.message ?? "the backup failed");
      const { database, secret } = ctx.read;
      const uid = database?.status?.dataUid;
      const place = database && storeOf(database, uid ?? "");
      if (!database || !place) {
        ctx.setStatus({
          ...status,
          phase: "Pending",
          message: `Database ${spec.database} has no store for backups`,
        });
        return waiting("StoreMissing", `Database ${spec.database} does not exist or has no spec.backup`);
      }
      const storing = new Map(
        ctx.read.pods.filter((pod) => hasStore(pod, place)).map(({ metadata: { name, uid } }) => [name, uid]),
      );
      const fit = (database.status?.members ?? []).filter(
        ({ name, role, ready }) =>
          ready && (spec.source === "any" || role === "Primary") && storing.has(name),
      );
      // A replica that streams spares the primary the work.
      const chosen = fit.find(({ role }) => role === "Replica") ?? fit[0];
      const source =
        status.instance !== undefined && storing.has(status.instance) ? status.instance : chosen?.name;
      const key = secret?.data?.["key"];
      if (uid === undefined || source === undefined || key === undefined) {
        const message = `no instance of ${spec.database} is ready and has the store of spec.backup`;
        const { instance: _, ...rest } = status;
        ctx.setStatus({ ...rest, phase: "Pending", message });
        return waiting("NoInstance", message, { recheckMs: 5_000 });
      }
      const attempts = status.attempts ?? 0;
      const location = { ...place, name: nameInStore(backup) };
      try {
        const { namespace } = databaseName(database);
        await using link = await ctx.connect({ pod: { namespace, name: source } }, agentPort);
        const ask = async <T>(path: string) =>
          await call<T>({
            host: link.host,
            port: link.port,
            path,
            body: {
              name: location.name,
              uid: metadata.uid,
              pod: storing.get(source),
            } satisfies BackupRequest,
            key: Buffer.from(Buffer.from(key, "base64").toString(), "base64"),
            timeoutMs: 5_000,
          });
        const known = await ask<BackupJob | null>("/backup/look");
        const isOver = known?.phase === "Failed" && attempts > 0;
        if (isOver && attempts >= attemptsAllowed) {
          ctx.setStatus({ ...status, phase: "Failed", instance: source, location, message: known.message });
          ctx.event("Warning", "BackupFailed", known.message);
          return fail("BackupFailed", known.message);
        }
        const isNew = known === null || isOver;
        if (isNew && !fit.some(({ name }) => name === source))
          throw new Error(`${source} is not ready to be copied`);
        const job = isNew ? await ask<BackupJob>("/backup") : known;
        const { manifest } = job;
        ctx.setStatus({
          ...status,
          phase: phases[job.phase],
          instance: source,
          location,
          message: job.message,
          attempts: attempts + (isNew && job.phase !== "Waiting" ? 1 : 0),
          startedAt: manifest?.startedAt ?? status.startedAt ?? new Date(ctx.clock.now()).toISOString(),
          ...(manifest && {
            sizeBytes: manifest.sizeBytes,
            timeline: manifest.timeline,
            version: manifest.version,
          }),
          ...(job.phase === "Done" && manifest && { finishedAt: manifest.finishedAt }),
        });
        if (job.phase === "Done") {
          ctx.event("Normal", "BackupDone", job.message);
          return done();
        }
        return waiting(job.phase, job.message, { recheckMs: lookAgainMs });
      } catch (error) {
        // Its agent is gone, and with it the attempt: another instance may do it.
        const { instance: _, ...rest } = status;
        ctx.setStatus({ ...rest, phase: "Pending", message: (error as Error).message });
        return waiting("InstanceLost", (error as Error).message, { recheckMs: 2_000 });
      }
    },
  });
}
