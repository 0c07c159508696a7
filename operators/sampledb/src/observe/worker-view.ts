/** What a pod of ours says of its work. */

import type { ObjectOf } from "keelson";
import { parseJson } from "keelson";
import type { Pod } from "keelson/kinds";
import type { RedisManifest } from "../agent/manifest.ts";
import type { AgentReport } from "../agent/task.ts";

type PodObject = ObjectOf<typeof Pod>;
type ContainerStatus = NonNullable<NonNullable<PodObject["status"]>["containerStatuses"]>[number];

export type WorkerView =
  /** `begun`: something of it has run. */
  | { readonly state: "working"; readonly message: string; readonly begun?: boolean }
  | { readonly state: "done"; readonly manifest: RedisManifest | undefined }
  | { readonly state: "failed"; readonly reason: string; readonly message: string };

export function workerView(pod: PodObject): WorkerView {
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const last = pod.status?.containerStatuses?.[0];
  if (last?.state?.terminated?.exitCode === 0) {
    const report = reportOf(last);
    if (report?.ok) return { state: "done", manifest: report.manifest };
    return { state: "failed", reason: "NoReport", message: `${last.name} ended without a report` };
  }
  const failed = statuses.find(({ state }) => state?.terminated && state.terminated.exitCode !== 0);
  if (failed) return failure(failed);
  if (pod.status?.phase === "Failed") {
    const { reason = "PodFailed", message = "the pod failed" } = pod.status;
    return { state: "failed", reason, message };
  }
  const unscheduled = pod.status?.conditions?.find(
    ({ type, status }) => type === "PodScheduled" && status === "False",
  );
  if (unscheduled)
    return { state: "working", message: `the pod is not scheduled: ${unscheduled.message ?? ""}` };
  const stuck = statuses.find(({ state }) => {
    const reason = state?.waiting?.reason;
    return reason !== undefined && reason !== "PodInitializing" && reason !== "ContainerCreating";
  });
  const running = statuses.find(({ state, name }) => state?.running && name !== "scratch" && name !== "cold");
  const words = stuck
    ? `${stuck.name} does not start: ${stuck.state?.waiting?.message ?? stuck.state?.waiting?.reason}`
    : running
      ? `${running.name} runs`
      : "the pod is starting";
  const begun = statuses.some(({ state }) => state?.running || state?.terminated);
  return { state: "working", message: words, begun };
}

function failure(status: ContainerStatus): WorkerView {
  const report = reportOf(status);
  if (report && !report.ok) return { state: "failed", reason: report.code, message: report.message };
  const { exitCode, message = "", reason = "" } = status.state?.terminated ?? {};
  const words = message.trim().split("\n").slice(-3).join(" ") || reason;
  const code = status.name === "scratch" ? "RestoreFailed" : "Failed";
  return { state: "failed", reason: code, message: `${status.name} ended with ${exitCode}: ${words}` };
}

function reportOf(status: ContainerStatus): AgentReport | undefined {
  try {
    return parseJson(status.state?.terminated?.message ?? "") as AgentReport;
  } catch {
    return undefined;
  }
}
