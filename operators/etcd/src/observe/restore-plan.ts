/** What a new cluster is restored from. */

import { isNewerMinor, minorOf } from "@keelson/kit";
import type { EtcdBackupObject } from "../api/backup.ts";
import type { Spec } from "../api/cluster.ts";
import type { RestoreSource } from "../resources/restore-containers.ts";

export type RestorePlan =
  | { readonly state: "ready"; readonly source: RestoreSource }
  | { readonly state: "waiting"; readonly message: string }
  | { readonly state: "refused"; readonly message: string };

/** What `restoreFrom` means; undefined for a cluster that starts empty. `backup` is the one it names, if it exists. */
export function restorePlan(
  { restoreFrom, version }: Pick<Spec, "restoreFrom" | "version">,
  backup: EtcdBackupObject | undefined,
  agentImage: string | undefined,
): RestorePlan | undefined {
  if (!restoreFrom) return undefined;
  if (agentImage === undefined) {
    return {
      state: "refused",
      message:
        "the operator does not know its own image, whose agent fetches backups; set OPERATOR_IMAGE in its Deployment",
    };
  }
  const { bumpRevisions, allowUnverified } = restoreFrom;
  if (restoreFrom.backup !== undefined) {
    const problem = backupProblem(restoreFrom.backup, backup, { version, allowUnverified });
    if (problem) return problem;
    const { store } = backup?.spec ?? {};
    const { name } = backup?.status ?? {};
    if (store && name !== undefined)
      return { state: "ready", source: { store, name, bumpRevisions, allowUnverified, agentImage } };
  }
  const { store, name } = restoreFrom;
  if (store && name !== undefined)
    return { state: "ready", source: { store, name, bumpRevisions, allowUnverified, agentImage } };
  return { state: "refused", message: "restoreFrom needs a backup, or a store and the backup's name in it" };
}

function backupProblem(
  name: string,
  backup: EtcdBackupObject | undefined,
  { version, allowUnverified }: { readonly version: string; readonly allowUnverified: boolean },
): RestorePlan | undefined {
  if (!backup) return { state: "waiting", message: `there is no EtcdBackup ${name} in this namespace yet` };
  const { phase, etcdVersion, failure, verifiedAt } = backup.status ?? {};
  if (phase === "Failed")
    return { state: "refused", message: `EtcdBackup ${name} failed: ${failure?.message}` };
  if (phase === "Removed") return { state: "refused", message: `the data of EtcdBackup ${name} was removed` };
  if (phase !== "Done") return { state: "waiting", message: `EtcdBackup ${name} is not done yet` };
  if (verifiedAt === undefined && !allowUnverified) {
    return {
      state: "refused",
      message: `EtcdBackup ${name} was never verified by restoring it; set restoreFrom.allowUnverified to use it anyway`,
    };
  }
  if (etcdVersion !== undefined && isNewerMinor(etcdVersion, version)) {
    return {
      state: "refused",
      message: `EtcdBackup ${name} was taken from etcd ${etcdVersion}, which ${version} cannot read; choose ${minorOf(etcdVersion)} or later`,
    };
  }
  return undefined;
}
