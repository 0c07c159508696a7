/** A new cluster from a backup: where it comes from, and the containers that bring it into the first member's volume. */
import { type BackupStore, type MountedVolume, mountStore } from "@keelson/kit";
import type { EtcdBackupObject } from "../api/backup.ts";
import type { Spec } from "../api/cluster.ts";
import { isNewerMinor, minorOf } from "../engine/version.ts";
import { dataVolumePath } from "../resources/flags.ts";
import { type ClusterName, peerUrl } from "../resources/names.ts";
import { agentContainer, etcdContainer, type PodSpec } from "./agent-container.ts";
import { restoreCommand } from "./restore-command.ts";

export interface RestoreSource {
  readonly store: BackupStore;
  readonly name: string;
  readonly bumpRevisions: number;
  readonly allowUnverified: boolean;
  /** The image that fetches it. */
  readonly agentImage: string;
}

export type RestorePlan =
  | { readonly state: "ready"; readonly source: RestoreSource }
  | { readonly state: "waiting"; readonly message: string }
  | { readonly state: "refused"; readonly message: string };

/** What `restoreFrom` comes to; undefined for a cluster that begins empty. `backup` is the one it names, if it exists. */
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
      message: `EtcdBackup ${name} was never proven by restoring it; set restoreFrom.allowUnverified to use it all the same`,
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

const snapshotPath = "/var/lib/keelson/restore";

/**
 * Init containers of the first member's pod, with their volumes: fetch and check, restore beside the data, move into
 * place. A pod that starts over goes through them again, and data that is already in place wins.
 */
export function restoreContainers(
  cluster: ClusterName,
  member: string,
  options: { readonly source: RestoreSource; readonly version: string; readonly image: string },
): Required<Pick<PodSpec, "initContainers" | "volumes">> {
  const { source, version, image } = options;
  const { location, volumes: mounts } = mountStore(source.store);
  const data: MountedVolume = {
    volume: { name: "data", persistentVolumeClaim: { claimName: member } },
    mount: { name: "data", mountPath: dataVolumePath },
  };
  const scratch: MountedVolume = {
    volume: { name: "restore", emptyDir: {} },
    mount: { name: "restore", mountPath: snapshotPath },
  };
  const file = `${snapshotPath}/snapshot.db`;
  const restoring = `${dataVolumePath}/restoring`;
  const command = restoreCommand({
    version,
    file,
    dataDirectory: restoring,
    member,
    peerUrl: peerUrl(cluster, member),
    token: `${cluster.namespace}-${cluster.name}-${cluster.uid}`,
    bumpRevisions: source.bumpRevisions,
  });
  const { agentImage, name } = source;
  const demand = { version, verified: !source.allowUnverified };
  const fetch = { do: "fetch", store: location, name, file, clear: [restoring], demand } as const;
  return {
    initContainers: [
      agentContainer("fetch", agentImage, fetch, [...mounts, scratch, data]),
      etcdContainer("restore", image, command, [scratch, data]),
      agentContainer(
        "adopt",
        agentImage,
        { do: "adopt", from: restoring, to: `${dataVolumePath}/data`, file },
        [scratch, data],
      ),
    ],
    volumes: [...mounts, scratch].map(({ volume }) => volume),
  };
}
