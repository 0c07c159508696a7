/** Does what was decided about a backup, and removes one from its store. */
import { carryOutRemoval, decideRemoval, ownStatus } from "@keelson/kit";
import { done, fail, type Outcome, waiting } from "keelson";
import type { EtcdBackupObject } from "../api/backup.ts";
import type { BackupDecision } from "../decide/backup.ts";
import { workerView } from "../observe/backup-pod-view.ts";
import type { BackupContext } from "../resources/backup-declaration.ts";
import { removerPod, workerPod } from "../resources/backup-pod.ts";

export async function actOnBackup(
  backup: EtcdBackupObject,
  ctx: BackupContext,
  decision: BackupDecision,
  agentImage: string | undefined,
): Promise<Outcome> {
  switch (decision.do) {
    case "rest":
      for (const key of ctx.own.workers.entries().keys()) await ctx.own.workers.delete(key);
      return ended(backup);
    case "start": {
      const { cluster } = ctx.read;
      if (cluster && agentImage !== undefined) {
        const { attempt } = decision;
        await ctx.own.workers.apply(String(attempt), workerPod({ backup, cluster, attempt, agentImage }));
        ctx.event("Normal", "Copying", `attempt ${attempt} starts`);
      }
      ctx.setStatus(decision.status);
      return waiting("Copying", "the pod is starting");
    }
    case "wait": {
      ctx.setStatus(decision.status);
      const { reason, message, recheckMs } = decision;
      return waiting(reason, message, recheckMs === undefined ? {} : { recheckMs });
    }
    case "record":
      ctx.setStatus(decision.status);
      ctx.event(decision.event.type, decision.event.reason, decision.event.message);
      return waiting("Recorded", decision.event.message, { recheckMs: 1 });
    case "refuse":
      return fail(decision.reason, decision.message);
  }
}

function ended({ status }: EtcdBackupObject): Outcome {
  if (status?.phase !== "Failed") return done();
  const { reason = "Failed", message = "the backup failed" } = status.failure ?? {};
  return fail(reason, message);
}

/** Stops the writers first: the removal must be the last to touch the store. */
export async function removeBackup(
  backup: EtcdBackupObject,
  ctx: BackupContext,
  agentImage: string | undefined,
): Promise<Outcome> {
  const { remover, workers } = ctx.own;
  if (backup.status?.phase === "Removed") {
    await remover.delete();
    return done({ message: "its data was removed from the store" });
  }
  if (agentImage === undefined)
    return fail("OperatorImageUnknown", "set OPERATOR_IMAGE in the operator's Deployment");
  for (const key of workers.entries().keys()) await workers.delete(key);
  if (workers.entries().size > 0) return waiting("Removing", "the pod that takes the backup is stopping");
  const pod = remover.get();
  const view = pod && { ...workerView(pod, "remove"), uid: pod.metadata.uid };
  const { removal, ...status } = ownStatus(backup);
  return await carryOutRemoval(decideRemoval(removal, view, { nowMs: ctx.clock.now() }), {
    pod: pod?.metadata.name,
    start: () => remover.apply(removerPod(backup, agentImage)),
    deletePod: () => remover.delete(),
    record: (change) => ctx.setStatus({ ...status, ...change }),
    event: (type, reason, message) => ctx.event(type, reason, message),
  });
}
