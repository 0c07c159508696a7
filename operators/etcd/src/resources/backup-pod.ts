/** The pods of a backup: one that takes and verifies it, one that removes it. */
import { backupName, type MountedVolume, mountStore, restrictedPod } from "@keelson/kit";
import type { Desired } from "keelson";
import type { Pod } from "keelson/kinds";
import type { EtcdBackupObject } from "../api/backup.ts";
import type { EtcdClusterObject } from "../api/cluster.ts";
import { labels } from "../api/names.ts";
import { restoreCommand } from "../engine/restore-command.ts";
import {
  agentContainer,
  type Container,
  etcdContainer,
  memberAccess,
  type PodSpec,
  rootPassword,
} from "./agent-container.ts";
import { nonRoot } from "./names.ts";

/** Backups compete with members for their nodes: the scheduler must know of them. */
const leastResources = { requests: { cpu: "50m", memory: "64Mi" } };
const scratchPath = "/scratch";
const scratchPort = 2379;
const scratchPeerUrl = "http://127.0.0.1:2380";

export interface WorkerOptions {
  readonly backup: EtcdBackupObject;
  readonly cluster: EtcdClusterObject;
  readonly attempt: number;
  readonly agentImage: string;
}

/** What the cluster runs now: the snapshot is restored by the version that would restore it after a disaster. */
export function runningImage({ spec, status }: EtcdClusterObject): { version: string; image: string } {
  const { version, image } = status?.template?.recipe ?? spec;
  return { version, image: `${image}:v${version}` };
}

export function nameInStore(backup: EtcdBackupObject): string {
  const { name, namespace = "default", uid } = backup.metadata;
  return backupName({ namespace, database: backup.spec.cluster, name, uid });
}

/**
 * Copies, brings the copy back from the store, restores it, starts etcd on it and compares. The last container's report
 * is the backup's; the scratch member beside it ends with the pod.
 */
export function workerPod(options: WorkerOptions): Desired<typeof Pod> {
  const { backup, attempt } = options;
  const { containers, initContainers, mounts } = backup.spec.verify
    ? verifyingParts(options)
    : copyingParts(options);
  return pod(backup, podName(backup, String(attempt)), { containers, initContainers }, mounts);
}

export function removerPod(backup: EtcdBackupObject, agentImage: string): Desired<typeof Pod> {
  const { location, volumes: mounts } = mountStore(backup.spec.store);
  const task = {
    do: "remove",
    store: location,
    name: nameInStore(backup),
    backupUid: backup.metadata.uid,
  } as const;
  const containers = [agentContainer("remove", agentImage, task, mounts)];
  return pod(backup, podName(backup, "remove"), { containers }, mounts);
}

/** Never the name of a member's pod, nor that of an earlier backup of the same name. */
function podName({ metadata }: EtcdBackupObject, suffix: string): string {
  return `${metadata.name.slice(0, 45).replace(/[^a-z0-9]+$/, "")}-${metadata.uid.slice(0, 8)}-${suffix}`;
}

interface Parts {
  readonly initContainers?: Container[];
  readonly containers: Container[];
  readonly mounts: readonly MountedVolume[];
}

function copyingParts(options: WorkerOptions): Parts {
  const { container, mounts } = copier(options);
  return { containers: [container], mounts };
}

function verifyingParts(options: WorkerOptions): Parts {
  const { backup, cluster, agentImage } = options;
  const { container: copy, mounts: copyMounts } = copier(options);
  const { location, volumes: storeMounts } = mountStore(backup.spec.store);
  const { access, mounts: memberMounts } = memberAccess(cluster);
  const { version, image } = runningImage(cluster);
  const name = nameInStore(backup);
  const scratch: MountedVolume = {
    volume: { name: "scratch", emptyDir: {} },
    mount: { name: "scratch", mountPath: scratchPath },
  };
  const file = `${scratchPath}/snapshot.db`;
  const dataDirectory = `${scratchPath}/data`;
  const token = `scratch-${backup.metadata.uid}`;
  const restore = restoreCommand({
    version,
    file,
    dataDirectory,
    member: "scratch",
    peerUrl: scratchPeerUrl,
    token,
    bumpRevisions: 0,
  });
  const scratchAccess = { hosts: ["127.0.0.1"], port: scratchPort, ...rootPassword(cluster.spec) };
  return {
    initContainers: [
      copy,
      agentContainer("fetch", agentImage, { do: "fetch", store: location, name, file }, [
        ...storeMounts,
        scratch,
      ]),
      etcdContainer("restore", image, restore, [scratch]),
    ],
    containers: [
      agentContainer(
        "verify",
        agentImage,
        { do: "verify", store: location, name, scratch: scratchAccess, members: access },
        [...storeMounts, ...memberMounts],
      ),
      etcdContainer("etcd", image, scratchCommand(dataDirectory, token), [scratch]),
    ],
    mounts: [...copyMounts, scratch],
  };
}

function copier({ backup, cluster, agentImage }: WorkerOptions): {
  container: Container;
  mounts: MountedVolume[];
} {
  const { location, volumes: storeMounts } = mountStore(backup.spec.store);
  const { access, mounts: memberMounts } = memberAccess(cluster);
  const mounts = [...storeMounts, ...memberMounts];
  const task = {
    do: "copy",
    store: location,
    name: nameInStore(backup),
    backupUid: backup.metadata.uid,
    cluster: backup.spec.cluster,
    members: access,
  } as const;
  return { container: agentContainer("copy", agentImage, task, mounts), mounts };
}

/** It listens on loopback only: only the container beside it may use it. */
function scratchCommand(dataDirectory: string, token: string): string[] {
  const clientUrl = `http://127.0.0.1:${scratchPort}`;
  return [
    "/usr/local/bin/etcd",
    "--name=scratch",
    `--data-dir=${dataDirectory}`,
    `--listen-client-urls=${clientUrl}`,
    `--advertise-client-urls=${clientUrl}`,
    `--listen-peer-urls=${scratchPeerUrl}`,
    `--initial-advertise-peer-urls=${scratchPeerUrl}`,
    `--initial-cluster=scratch=${scratchPeerUrl}`,
    `--initial-cluster-token=${token}`,
  ];
}

function pod(
  backup: EtcdBackupObject,
  name: string,
  { containers, initContainers = [] }: Pick<PodSpec, "containers" | "initContainers">,
  mounts: readonly MountedVolume[],
): Desired<typeof Pod> {
  const resources = (backup.spec.resources ?? leastResources) as NonNullable<Container["resources"]>;
  const limited = (each: Container): Container => ({ ...each, resources });
  return {
    metadata: { name, labels: { [labels.name]: "etcd-backup", [labels.instance]: backup.spec.cluster } },
    spec: {
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 5,
      activeDeadlineSeconds: backup.spec.timeoutSeconds,
      securityContext: restrictedPod(nonRoot),
      containers: containers.map(limited),
      ...(initContainers.length === 0 ? {} : { initContainers: initContainers.map(limited) }),
      volumes: mounts.map(({ volume }) => volume),
    },
  };
}
