/** The containers that bring a backup into the first member's volume. */
import { type BackupStore, type MountedVolume, mountStore } from "@keelson/kit";
import type { AgentTask } from "../agent/task.ts";
import { restoreCommand } from "../engine/restore-command.ts";
import { agentContainer, etcdContainer, type PodSpec } from "./agent-container.ts";
import { dataVolumePath } from "./flags.ts";
import { type ClusterName, peerUrl } from "./names.ts";

export interface RestoreSource {
  readonly store: BackupStore;
  readonly name: string;
  readonly bumpRevisions: number;
  readonly allowUnverified: boolean;
  /** The image that fetches it. */
  readonly agentImage: string;
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
  const requirements = { version, verified: !source.allowUnverified };
  const fetch: AgentTask = { do: "fetch", store: location, name, file, clear: [restoring], requirements };
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
