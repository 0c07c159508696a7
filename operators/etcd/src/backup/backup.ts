/** The controller of EtcdBackup: one pod at a time takes and proves the copy; the status remembers. */

import { isTerminalBackupCode } from "@keelson/kit";
import {
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
import { EtcdBackup, type EtcdBackupObject } from "../api/backup.ts";
import { EtcdCluster } from "../api/cluster.ts";
import { annotations } from "../api/names.ts";
import { operatorImage } from "./agent-image.ts";
import { type BackupDecision, decideBackup, ownStatus } from "./decide-backup.ts";
import { removerPod, workerPod } from "./worker-pod.ts";
import { workerView } from "./worker-view.ts";

export interface BackupOptions {
  /** The image with the agent; what OPERATOR_IMAGE says unless told. */
  readonly agentImage?: string;
}

const owns = { workers: many(Pod, { absent: "keep" }), remover: own(Pod, { absent: "keep" }) };
const reads = {
  cluster: ref(EtcdCluster, (backup: EtcdBackupObject) => ({
    name: backup.spec.cluster,
    namespace: backup.metadata.namespace ?? "default",
  })),
};
type BackupContext = Context<typeof EtcdBackup, typeof owns, typeof reads>;

/** How long a failed removal rests before it is tried again. */
const removalPauseMs = 30_000;

/**
 * What a pod reports is written to the status first; only the next run deletes the pod. So at every moment at least one
 * of the two knows the result, and nothing is done twice: attempts have numbers, and their pods names.
 */
export function etcdBackup(options: BackupOptions = {}): Controller {
  return controller(EtcdBackup, {
    owns,
    reads,

    async reconcile(backup, ctx) {
      const agentImage = options.agentImage ?? operatorImage();
      if (backup.metadata.annotations?.[annotations.removeData] === "true") {
        return await remove(backup, ctx, agentImage);
      }
      const attempt = String(backup.status?.attempt ?? 1);
      const worker = ctx.own.workers.get(attempt);
      const leftovers = [...ctx.own.workers.entries().keys()].filter((key) => key !== attempt);
      const decision = decideBackup({
        backup,
        cluster: ctx.read.cluster,
        worker: worker && workerView(worker, backup.spec.verify ? "verify" : "copy"),
        leftovers: leftovers.length,
        agentImage,
        nowMs: ctx.clock.now(),
      });
      for (const key of leftovers) await ctx.own.workers.delete(key);
      return await act(backup, ctx, decision, agentImage);
    },
  });
}

async function act(
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
        ctx.event("Normal", "Copying", `attempt ${attempt} begins`);
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

/** Ends what is being written first: whoever removes must be the last to touch the store. */
async function remove(
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
  if (!pod) {
    await remover.apply(removerPod(backup, agentImage));
    return waiting("Removing", "the pod that removes the data is starting");
  }
  const view = workerView(pod, "remove");
  if (view.state === "working") return waiting("Removing", view.message);
  if (view.state === "done") {
    ctx.setStatus({ ...ownStatus(backup), phase: "Removed" });
    ctx.event("Normal", "DataRemoved", "the data was removed from the store");
    return waiting("Recorded", "the data was removed from the store", { recheckMs: 1 });
  }
  if (isTerminalBackupCode(view.reason)) return fail(view.reason, view.message);
  const pauseMs = view.atMs + removalPauseMs - ctx.clock.now();
  if (pauseMs > 0) return waiting(view.reason, view.message, { recheckMs: pauseMs });
  await remover.delete();
  return waiting("Removing", `it is tried again: ${view.message}`, { recheckMs: 1_000 });
}
