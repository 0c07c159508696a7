/** The controller of SampleDBBackup: one pod at a time takes and proves the copy; the status remembers. */
import { type BackupStore, carryOutRemoval, databaseBackoff, decideRemoval } from "@keelson/kit";
import {
  all,
  type Context,
  type Controller,
  controller,
  done,
  fail,
  many,
  type Outcome,
  own,
  ref,
  waiting,
} from "keelson";
import { Pod } from "keelson/kinds";
import { SampleDBBackup, type SampleDBBackupObject } from "../api/backup.ts";
import { annotations } from "../api/names.ts";
import { SampleDB } from "../api/sampledb.ts";
import { workerView } from "../observe/worker-view.ts";
import { operatorImage } from "../resources/agent-pod.ts";
import { backupPod, removerPod, storeOf } from "../resources/backup-pod.ts";
import { databaseName } from "../resources/names.ts";
import { type BackupDecision, decideBackup, ownStatus } from "./decide-backup.ts";

const owns = { workers: many(Pod, { absent: "keep" }), remover: own(Pod, { absent: "keep" }) };
const reads = {
  db: ref(SampleDB, (backup: SampleDBBackupObject) => ({
    name: backup.spec.database,
    namespace: backup.metadata.namespace ?? "default",
  })),
  others: all(SampleDBBackup),
};
type BackupContext = Context<typeof SampleDBBackup, typeof owns, typeof reads>;

/** How many backups run at once over all databases: each costs a fork, a copy and a scratch server. */
const limit = 4;

/**
 * What a pod reports is written to the status first; only the next run deletes the pod. So at every moment at least one
 * of the two knows the result, and nothing is done twice: attempts have numbers, and their pods names.
 */
export function sampleDBBackup(options: { readonly image?: string } = {}): Controller {
  return controller(SampleDBBackup, {
    backoff: databaseBackoff,
    owns,
    reads,

    async reconcile(backup, ctx) {
      const image = options.image ?? operatorImage();
      const { db } = ctx.read;
      const store = backup.status?.store ?? backup.spec.store ?? (db && storeOf(databaseName(db), db.spec));
      const isAsked = backup.metadata.annotations?.[annotations.removeData] === "true";
      // Once a pod has started to remove the data, taking the annotation back does not bring it back.
      if (isAsked || ctx.own.remover.get() || backup.status?.removal)
        return await remove(backup, ctx, store, image);
      const attempt = String(backup.status?.attempt ?? 1);
      const worker = ctx.own.workers.get(attempt);
      const leftovers = [...ctx.own.workers.entries().keys()].filter((key) => key !== attempt);
      const decision = decideBackup({
        backup,
        db,
        store,
        worker: worker && workerView(worker),
        leftovers: leftovers.length,
        before: whoComesFirst(backup, ctx.read.others),
        image,
        nowMs: ctx.clock.now(),
      });
      for (const key of leftovers) await ctx.own.workers.delete(key);
      return await act(backup, ctx, decision, { store, image });
    },
  });
}

/** One backup of a database at a time, because its volume of backups may be mounted once; and few over all. */
function whoComesFirst(
  backup: SampleDBBackupObject,
  others: readonly SampleDBBackupObject[],
): string | undefined {
  const running = others.filter(
    ({ metadata, status }) => metadata.uid !== backup.metadata.uid && status?.phase === "Copying",
  );
  const same = running.find(
    ({ metadata, spec }) =>
      metadata.namespace === backup.metadata.namespace && spec.database === backup.spec.database,
  );
  if (same) return same.metadata.name;
  return running.length >= limit ? `one of ${running.length} backups that run` : undefined;
}

async function act(
  backup: SampleDBBackupObject,
  ctx: BackupContext,
  decision: BackupDecision,
  { store, image }: { readonly store: BackupStore | undefined; readonly image: string | undefined },
): Promise<Outcome> {
  switch (decision.do) {
    case "rest":
      for (const key of ctx.own.workers.entries().keys()) await ctx.own.workers.delete(key);
      return ended(backup);
    case "start": {
      const { db } = ctx.read;
      if (db && store && image !== undefined) {
        const { attempt } = decision;
        await ctx.own.workers.apply(String(attempt), backupPod({ backup, db, store, attempt, image }));
        ctx.event("Normal", "Copying", `attempt ${attempt} begins`);
      }
      ctx.setStatus(decision.status);
      return waiting("Copying", "the pod is starting");
    }
    case "wait":
      ctx.setStatus(decision.status);
      return waiting(decision.reason, decision.message, { recheckMs: decision.recheckMs });
    case "record":
      ctx.setStatus(decision.status);
      ctx.event(decision.event.type, decision.event.reason, decision.event.message);
      return waiting("Recorded", decision.event.message, { recheckMs: 1 });
  }
}

function ended({ status }: SampleDBBackupObject): Outcome {
  if (status?.phase !== "Failed") return done();
  const { reason = "Failed", message = "the backup failed" } = status.failure ?? {};
  return fail(reason, message);
}

/** Ends what is being written first: the one that removes must be the last to touch the store. */
async function remove(
  backup: SampleDBBackupObject,
  ctx: BackupContext,
  store: BackupStore | undefined,
  image: string | undefined,
): Promise<Outcome> {
  const { remover, workers } = ctx.own;
  if (backup.status?.phase === "Removed" || store === undefined) {
    await remover.delete();
    if (backup.status?.phase !== "Removed") ctx.setStatus({ ...ownStatus(backup), phase: "Removed" });
    return done({ message: "its data was removed from the store" });
  }
  if (image === undefined)
    return fail("OperatorImageUnknown", "set OPERATOR_IMAGE in the operator's Deployment");
  for (const key of workers.entries().keys()) await workers.delete(key);
  if (workers.entries().size > 0) return waiting("Removing", "the pod that takes the backup is stopping");
  const pod = remover.get();
  const view = pod && { ...workerView(pod), uid: pod.metadata.uid };
  const { removal, ...status } = ownStatus(backup);
  return await carryOutRemoval(decideRemoval(removal, view, { nowMs: ctx.clock.now() }), {
    pod: pod?.metadata.name,
    start: () => remover.apply(removerPod(backup, store, image)),
    deletePod: () => remover.delete(),
    record: (change) => ctx.setStatus({ ...status, ...change }),
    event: (type, reason, message) => ctx.event(type, reason, message),
  });
}
