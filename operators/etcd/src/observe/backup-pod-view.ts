/** What a backup's pod reports about its work. */
import { type ObjectOf, parseJson } from "keelson";
import type { Pod } from "keelson/kinds";
import type { AgentReport } from "../agent/task.ts";
import type { Manifest } from "../engine/snapshot-archive.ts";

type PodObject = ObjectOf<typeof Pod>;
type ContainerStatus = NonNullable<NonNullable<PodObject["status"]>["containerStatuses"]>[number];

export type WorkerView =
  | { readonly state: "working"; readonly copied: boolean; readonly message: string }
  | { readonly state: "done"; readonly manifest: Manifest | undefined }
  | { readonly state: "failed"; readonly reason: string; readonly message: string };

/** `last` is the container whose report completes the work. */
export function workerView(pod: PodObject, last: "verify" | "copy" | "remove"): WorkerView {
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const final = statuses.find(({ name }) => name === last);
  if (final?.state?.terminated?.exitCode === 0) return reported(final);
  const failed = statuses.find(({ state }) => state?.terminated && state.terminated.exitCode !== 0);
  if (failed) return failure(failed);
  if (pod.status?.phase === "Failed") {
    const { reason = "PodFailed", message = "the pod failed" } = pod.status;
    return { state: "failed", reason, message };
  }
  const copied = statuses.some(({ name, state }) => name === "copy" && state?.terminated?.exitCode === 0);
  return { state: "working", copied, message: obstacle(pod, statuses) ?? stage(statuses) };
}

function reported(status: ContainerStatus): WorkerView {
  const report = reportOf(status);
  if (report?.ok) return { state: "done", manifest: report.manifest };
  return {
    state: "failed",
    reason: "NoReport",
    message: `${status.name} ended without a report`,
  };
}

function failure(status: ContainerStatus): WorkerView {
  const report = reportOf(status);
  if (report && !report.ok) return { state: "failed", reason: report.code, message: report.message };
  const { exitCode, message = "", reason = "" } = status.state?.terminated ?? {};
  const words = message.trim().split("\n").slice(-3).join(" ") || reason;
  const code = status.name === "restore" || status.name === "etcd" ? "RestoreFailed" : "Failed";
  return { state: "failed", reason: code, message: `${status.name} ended with ${exitCode}: ${words}` };
}

function reportOf(status: ContainerStatus): AgentReport | undefined {
  try {
    return parseJson(status.state?.terminated?.message ?? "") as AgentReport;
  } catch {
    return undefined;
  }
}

/** Why the pod does not progress, in the kubelet's or the scheduler's words. */
function obstacle(pod: PodObject, statuses: readonly ContainerStatus[]): string | undefined {
  const unscheduled = pod.status?.conditions?.find(
    ({ type, status }) => type === "PodScheduled" && status === "False",
  );
  if (unscheduled) return `the pod is not scheduled: ${unscheduled.message ?? unscheduled.reason}`;
  const stuck = statuses.find(({ state }) => {
    const reason = state?.waiting?.reason;
    return reason !== undefined && reason !== "PodInitializing" && reason !== "ContainerCreating";
  });
  return (
    stuck && `${stuck.name} does not start: ${stuck.state?.waiting?.message ?? stuck.state?.waiting?.reason}`
  );
}

const stages: Readonly<Record<string, string>> = {
  copy: "the snapshot is being copied",
  fetch: "the copy is being fetched back from the store",
  restore: "the copy is being restored",
  verify: "the restored member is being compared with the cluster",
  remove: "the data is being removed from the store",
};

function stage(statuses: readonly ContainerStatus[]): string {
  const running = statuses.find(({ name, state }) => state?.running && stages[name] !== undefined);
  return (running && stages[running.name]) ?? "the pod is starting";
}
