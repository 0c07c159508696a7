/** The controller of EtcdBackup: one pod at a time takes and proves the copy; the status remembers. */
import { databaseBackoff } from "@keelson/kit";
import { type Controller, controller } from "keelson";
import { EtcdBackup } from "./api/backup.ts";
import { aheadOf, decideBackup, isRemoved } from "./decide/backup.ts";
import { workerView } from "./observe/backup-pod-view.ts";
import { operatorImage } from "./resources/agent-image.ts";
import { owns, reads } from "./resources/backup-declaration.ts";
import { actOnBackup, removeBackup } from "./steps/backup.ts";

export interface BackupOptions {
  /** The image with the agent. Default: the value of OPERATOR_IMAGE. */
  readonly agentImage?: string;
}

/**
 * What a pod reports is written to the status first; only the next run deletes the pod. So at every moment at least one
 * of the two has the result, and nothing is done twice: attempts are numbered, and their pods are named after them.
 */
export function etcdBackup(options: BackupOptions = {}): Controller {
  return controller(EtcdBackup, {
    owns,
    reads,
    backoff: databaseBackoff,

    async reconcile(backup, ctx) {
      const agentImage = options.agentImage ?? operatorImage();
      // Once a pod has started to remove the data, taking the annotation back does not bring it back.
      if (isRemoved(backup) || ctx.own.remover.get()) return await removeBackup(backup, ctx, agentImage);
      const attempt = String(backup.status?.attempt ?? 1);
      const worker = ctx.own.workers.get(attempt);
      const leftovers = [...ctx.own.workers.entries().keys()].filter((key) => key !== attempt);
      const decision = decideBackup({
        backup,
        cluster: ctx.read.cluster,
        worker: worker && workerView(worker, backup.spec.verify ? "verify" : "copy"),
        leftovers: leftovers.length,
        ahead: aheadOf(backup, ctx.read.backups, ctx.clock.now()),
        agentImage,
        nowMs: ctx.clock.now(),
      });
      for (const key of leftovers) await ctx.own.workers.delete(key);
      return await actOnBackup(backup, ctx, decision, agentImage);
    },
  });
}
