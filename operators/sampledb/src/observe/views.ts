/** From Kubernetes' objects to what decisions care about. */
import type { ObjectOf } from "keelson";
import type { Job, Node, PersistentVolumeClaim, Pod } from "keelson/kinds";
import { annotations, labels } from "../api/names.ts";
import { type DatabaseName, selectorLabels } from "../resources/names.ts";
import type { ClaimView, JobView, PodView } from "./observed.ts";

const obstacles: ReadonlySet<string> = new Set([
  ...["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CrashLoopBackOff"],
  ...["CreateContainerConfigError", "CreateContainerError", "RunContainerError"],
]);

export function podView(pod: ObjectOf<typeof Pod>, database: DatabaseName): PodView {
  const { metadata, spec, status } = pod;
  const container = status?.containerStatuses?.find(({ name }) => name === "redis");
  const worn = metadata.labels ?? {};
  return {
    uid: metadata.uid,
    ip: status?.podIP || undefined,
    node: spec?.nodeName,
    createdMs: Date.parse(metadata.creationTimestamp),
    ready: status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false,
    deleting: metadata.deletionTimestamp !== undefined,
    tls: tlsSecretOf(pod.spec),
    stopped: container !== undefined && container.state?.running === undefined,
    ended: status?.phase === "Failed" || status?.phase === "Succeeded",
    template: metadata.annotations?.[annotations.template] ?? "",
    role: worn[labels.role] ?? "",
    read: worn[labels.read] === "true",
    mislabelled: Object.entries(selectorLabels(database)).some(([key, value]) => worn[key] !== value),
    obstacle: obstacleOf(pod),
  };
}

/** As a pod was made, whatever the spec of the database says by now. */
export function tlsSecretOf(pod: Pick<NonNullable<ObjectOf<typeof Pod>["spec"]>, "volumes"> | undefined) {
  return pod?.volumes?.find(({ name }) => name === "tls")?.secret?.secretName;
}

function obstacleOf({ status }: ObjectOf<typeof Pod>): string | undefined {
  const container = status?.containerStatuses?.find(({ name }) => name === "redis");
  const waiting = container?.state?.waiting;
  if (waiting?.reason && obstacles.has(waiting.reason)) {
    const words = container?.lastState?.terminated?.message?.trim().split("\n").slice(-1)[0];
    return [waiting.reason, words ?? waiting.message].filter(Boolean).join(": ");
  }
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  return scheduled?.status === "False"
    ? `${scheduled.reason ?? "Unschedulable"}: ${scheduled.message ?? ""}`
    : undefined;
}

export function claimView({ metadata, spec, status }: ObjectOf<typeof PersistentVolumeClaim>): ClaimView {
  const notes = metadata.annotations ?? {};
  const number = (text: string | undefined) => (text === undefined ? undefined : Number(text));
  return {
    uid: metadata.uid,
    deleting: metadata.deletionTimestamp !== undefined,
    bound: status?.phase === "Bound",
    lost: status?.phase === "Lost",
    volume: spec?.volumeName || undefined,
    requested: String(spec?.resources?.requests?.["storage"] ?? "0"),
    epoch: number(notes[annotations.epoch]) ?? epochWithoutNote(notes),
    primaryEpoch: number(notes[annotations.primaryEpoch]),
    identity: notes[annotations.volume],
    databases: number(notes[annotations.databases]),
    restored: notes[annotations.restored],
    version: notes[annotations.version],
    database: notes[annotations.database],
    needsRestart: status?.conditions?.some(({ type }) => type === "FileSystemResizePending") ?? false,
  };
}

/** Someone may have removed it. What is written on a claim beside it says that there is data, of some time. */
function epochWithoutNote(notes: Readonly<Record<string, string>>): number | undefined {
  const primaryEpoch = notes[annotations.primaryEpoch];
  if (primaryEpoch !== undefined) return Number(primaryEpoch);
  return notes[annotations.version] === undefined ? undefined : 1;
}

export function jobView(key: string, { metadata, status }: ObjectOf<typeof Job>): JobView {
  const is = (type: string) =>
    status?.conditions?.find((condition) => condition.type === type && condition.status === "True");
  const failed = is("Failed");
  const state = is("Complete") ? "succeeded" : failed ? "failed" : "running";
  const failedMs = failed && Date.parse(failed.lastTransitionTime ?? "");
  return {
    ...{ key, state, message: failed?.message ?? `Job ${metadata.name} runs` },
    ...(failedMs ? { failedMs } : {}),
  };
}

/** Whether a node has stopped reporting, or is about to be drained. */
export function nodeView(node: ObjectOf<typeof Node> | undefined): { lost: boolean; cordoned: boolean } {
  if (!node) return { lost: true, cordoned: false };
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
  return {
    lost: ready !== undefined && ready.status !== "True",
    cordoned: node.spec?.unschedulable === true,
  };
}
