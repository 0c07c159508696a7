/** A container's record as the API shows it. */
import { formatTime } from "@keelson/core";
import type { ContainerState, ContainerStateTerminated, ContainerStatus } from "@keelson/core/kinds";
import type { ContainerRecord, Termination } from "./container-record.ts";

export interface StatusContext {
  /** Decides what a container that has not begun is said to wait for. */
  readonly hasInitContainers: boolean;
  /** Containers that ended may be started again. */
  readonly isLiving: boolean;
}

export function containerStatus(record: ContainerRecord, context: StatusContext): ContainerStatus {
  const running = record.state === "running" || isBeingReplaced(record, context);
  const ended = !running && record.state === "exited" ? record.termination : undefined;
  const waitsAfterEnd = ended !== undefined && record.waiting !== undefined;
  const state: ContainerState = running
    ? { running: { startedAt: formatTime(record.startedAt ?? 0) } }
    : stateOf(record, context);
  const last = waitsAfterEnd ? ended : record.previous;
  const isInit = record.kind === "init";
  return {
    name: record.name,
    state,
    lastState: last === undefined ? {} : { terminated: terminated(last) },
    ready: isInit ? ended?.exitCode === 0 : running && record.ready,
    restartCount: Math.max(0, record.attempts - 1),
    image: record.image ?? record.spec.image ?? "",
    imageID: record.imageId ?? "",
    ...(record.containerId === undefined ? {} : { containerID: record.containerId }),
    started: isInit ? false : running && record.started,
    ...resourceFields(record),
    ...volumeMounts(record),
    ...(record.user === undefined || record.containerId === undefined
      ? {}
      : {
          user: {
            linux: {
              uid: record.user.uid,
              gid: record.user.gid,
              supplementalGroups: [...new Set([record.user.gid, ...record.user.groups])],
            },
          },
        }),
  };
}

/**
 * A container whose definition changed is stopped and started in one go, as the kubelet does in one sync: it is shown as it
 * was until the next one runs, or cannot be started.
 */
function isBeingReplaced(record: ContainerRecord, { isLiving }: StatusContext): boolean {
  return isLiving && record.redefined === true && record.state === "exited" && record.waiting === undefined;
}

function stateOf(record: ContainerRecord, { hasInitContainers }: StatusContext): ContainerState {
  if (record.waiting !== undefined) return { waiting: { ...record.waiting } };
  if (record.state === "exited" && record.termination !== undefined) {
    return { terminated: terminated(record.termination) };
  }
  return { waiting: { reason: hasInitContainers ? "PodInitializing" : "ContainerCreating" } };
}

function terminated(end: Termination): ContainerStateTerminated {
  return {
    exitCode: end.exitCode,
    reason: end.reason,
    ...(end.message === undefined || end.message === "" ? {} : { message: end.message }),
    ...(end.startedAt === undefined ? {} : { startedAt: formatTime(end.startedAt) }),
    ...(end.finishedAt === undefined ? {} : { finishedAt: formatTime(end.finishedAt) }),
    containerID: end.containerId,
  };
}

/** Reported once a container exists, as since in-place resizing. */
function resourceFields(record: ContainerRecord): Partial<ContainerStatus> {
  if (record.containerId === undefined || record.kind === "ephemeral") return {};
  const { resources } = record.spec;
  const { requests, limits } = resources ?? {};
  if (requests === undefined && limits === undefined) return { resources: {} };
  return {
    ...(requests === undefined ? {} : { allocatedResources: requests }),
    resources: {
      ...(limits === undefined ? {} : { limits }),
      ...(requests === undefined ? {} : { requests }),
    },
  };
}

function volumeMounts(record: ContainerRecord): Partial<ContainerStatus> {
  const mounts = record.spec.volumeMounts ?? [];
  if (mounts.length === 0) return {};
  return {
    volumeMounts: mounts.map(({ name, mountPath, readOnly }) => ({
      name,
      mountPath,
      ...(readOnly ? { readOnly: true, recursiveReadOnly: "Disabled" } : {}),
    })),
  };
}
