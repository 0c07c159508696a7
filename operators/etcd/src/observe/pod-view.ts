/** The part of a Pod that decisions depend on. */

import { type ObjectOf, parseJson } from "keelson";
import type { Pod } from "keelson/kinds";
import { annotations, labels } from "../api/names.ts";
import type { PodView, TrialView } from "./observed.ts";
import { parseTime } from "./time.ts";

/** Reasons for which a container waits and that do not go away by waiting. */
const obstacles = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "InvalidImageName",
  "ErrImageNeverPull",
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
  "CrashLoopBackOff",
]);

/** What a pod must carry: labels by which Services and the budget find it, and the UIDs of its owners. */
export interface PodMarks {
  readonly labels: Readonly<Record<string, string>>;
  readonly owners: readonly string[];
}

export function podView(pod: ObjectOf<typeof Pod>, marks: PodMarks): PodView {
  const { metadata, spec, status } = pod;
  const found = metadata.annotations ?? {};
  const container = status?.containerStatuses?.find(({ name }) => name === "etcd");
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const created = parseTime(metadata.creationTimestamp) ?? 0;
  const running = container?.state?.running;
  const ended = container?.state?.terminated ?? container?.lastState?.terminated;
  return {
    uid: metadata.uid,
    template: found[annotations.template] ?? "",
    role: metadata.labels?.[labels.role] ?? "",
    initialCluster: found[annotations.initialCluster] ?? "",
    initialClusterState: found[annotations.initialClusterState] ?? "",
    forceNewCluster: found[annotations.forceNewCluster] === "true",
    createdMs: created,
    deleting: metadata.deletionTimestamp !== undefined,
    ended: status?.phase === "Failed" || status?.phase === "Succeeded",
    ready: ready?.status === "True",
    readyChangedMs: parseTime(ready?.lastTransitionTime) ?? created,
    node: spec?.nodeName,
    obstacle: obstacleOf(pod),
    runningSinceMs: running && (parseTime(running.startedAt) ?? created),
    terminationMessage: ended?.reason === "OOMKilled" ? "" : (ended?.message ?? ""),
    restarts: container?.restartCount ?? 0,
    drifted: isDrifted(pod, marks),
  };
}

function isDrifted({ metadata }: ObjectOf<typeof Pod>, { labels: wanted, owners }: PodMarks): boolean {
  const found = metadata.labels ?? {};
  const uids = (metadata.ownerReferences ?? []).map(({ uid }) => uid);
  return (
    Object.entries(wanted).some(([label, value]) => found[label] !== value) ||
    uids.length !== owners.length ||
    owners.some((uid) => !uids.includes(uid))
  );
}

export function trialView(pod: ObjectOf<typeof Pod>): TrialView {
  const { metadata, status } = pod;
  const outcomes = { Succeeded: "succeeded", Failed: "failed" } as const;
  return {
    template: metadata.annotations?.[annotations.template] ?? "",
    createdMs: parseTime(metadata.creationTimestamp) ?? 0,
    deleting: metadata.deletionTimestamp !== undefined,
    outcome: outcomes[status?.phase as keyof typeof outcomes] ?? "running",
    obstacle: obstacleOf(pod),
  };
}

/** Why an init container failed, in its own words if it left any. */
function failedInit({ status }: ObjectOf<typeof Pod>): string | undefined {
  for (const { name, state, lastState } of status?.initContainerStatuses ?? []) {
    const end = state?.terminated ?? (state?.running ? undefined : lastState?.terminated);
    if (!end || end.exitCode === 0) continue;
    return `${name} failed: ${reported(end.message ?? "") ?? `it ended with ${end.exitCode}`}`;
  }
  return undefined;
}

function reported(text: string): string | undefined {
  try {
    return (parseJson(text) as { message?: string }).message;
  } catch {
    return text.trim().split("\n").slice(-1)[0] || undefined;
  }
}

export function obstacleOf(pod: ObjectOf<typeof Pod>): string | undefined {
  const { status } = pod;
  const init = failedInit(pod);
  if (init !== undefined) return init;
  const container = status?.containerStatuses?.find(({ name }) => name === "etcd");
  const waiting = container?.state?.waiting;
  if (waiting?.reason && obstacles.has(waiting.reason)) {
    return [waiting.reason, waiting.message].filter(Boolean).join(": ");
  }
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status === "False")
    return `${scheduled.reason ?? "Unschedulable"}: ${scheduled.message ?? ""}`;
  return undefined;
}
