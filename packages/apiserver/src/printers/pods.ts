/** Pods: how many containers are ready, and one word for the state of the whole. */
import { parseTime } from "@keelson/core";
import type { ContainerStatus, Pod, PodCondition } from "@keelson/core/kinds";
import { ageCell, nameOf, none, type Row, since } from "./cells.ts";

const succeeded = [
  { type: "Completed", status: "True", reason: "Succeeded", message: "The pod has completed successfully." },
];
const failed = [{ type: "Completed", status: "True", reason: "Failed", message: "The pod failed." }];

interface Summary {
  ready: number;
  restarts: number;
  lastRestart: string | undefined;
  reason: string;
}

function isTrue(conditions: readonly PodCondition[], type: string): boolean {
  return conditions.find((condition) => condition.type === type)?.status === "True";
}

function later(a: string | undefined, b: string | null | undefined): string | undefined {
  if (!b) return a;
  return a === undefined || parseTime(a) < parseTime(b) ? b : a;
}

/** What init containers say; `initializing` while one of them holds the others up. */
function summarizeInit(pod: Pod, reason: string): Summary & { initializing: boolean; sidecars: Summary } {
  const specs = new Map((pod.spec?.initContainers ?? []).map((container) => [container.name, container]));
  const sidecars: Summary = { ready: 0, restarts: 0, lastRestart: undefined, reason };
  const summary = { ready: 0, restarts: 0, lastRestart: undefined as string | undefined, reason };
  for (const [i, status] of (pod.status?.initContainerStatuses ?? []).entries()) {
    const sidecar = specs.get(status.name)?.restartPolicy === "Always";
    const ended = status.lastState?.terminated?.finishedAt;
    summary.restarts += status.restartCount;
    summary.lastRestart = later(summary.lastRestart, ended);
    if (sidecar) {
      sidecars.restarts += status.restartCount;
      sidecars.lastRestart = later(sidecars.lastRestart, ended);
    }
    const { terminated, waiting } = status.state ?? {};
    if (terminated?.exitCode === 0) continue;
    if (sidecar && status.started) {
      if (status.ready) summary.ready++;
      continue;
    }
    if (terminated)
      summary.reason = `Init:${terminated.reason || (terminated.signal ? `Signal:${terminated.signal}` : `ExitCode:${terminated.exitCode}`)}`;
    else if (waiting?.reason && waiting.reason !== "PodInitializing")
      summary.reason = `Init:${waiting.reason}`;
    else summary.reason = `Init:${i}/${pod.spec?.initContainers?.length ?? 0}`;
    return { ...summary, initializing: true, sidecars };
  }
  return { ...summary, initializing: false, sidecars };
}

function summarizeContainers(
  statuses: readonly ContainerStatus[],
  conditions: readonly PodCondition[],
  from: Summary,
): Summary {
  const summary = { ...from };
  let running = false;
  let errorReason = "";
  for (const status of statuses.toReversed()) {
    summary.restarts += status.restartCount;
    summary.lastRestart = later(summary.lastRestart, status.lastState?.terminated?.finishedAt);
    const { waiting, terminated } = status.state ?? {};
    if (waiting?.reason) summary.reason = waiting.reason;
    else if (terminated) {
      summary.reason =
        terminated.reason ||
        (terminated.signal ? `Signal:${terminated.signal}` : `ExitCode:${terminated.exitCode}`);
      if (terminated.exitCode !== 0) errorReason = summary.reason;
    } else if (status.ready && status.state?.running) {
      running = true;
      summary.ready++;
    }
  }
  if (summary.reason !== "Completed") return summary;
  if (running && isTrue(conditions, "Ready")) summary.reason = "Running";
  else if (errorReason) summary.reason = errorReason;
  else if (running) summary.reason = "NotReady";
  return summary;
}

function summarize(pod: Pod): Summary {
  const status = pod.status ?? {};
  const conditions = status.conditions ?? [];
  let reason: string = status.reason || status.phase || "";
  if (
    conditions.some(
      (condition) => condition.type === "PodScheduled" && condition.reason === "SchedulingGated",
    )
  )
    reason = "SchedulingGated";
  const init = summarizeInit(pod, reason);
  let summary: Summary = init;
  if (!init.initializing || isTrue(conditions, "Initialized"))
    summary = summarizeContainers(status.containerStatuses ?? [], conditions, {
      ...init.sidecars,
      ready: init.ready,
      reason: init.reason,
    });
  if (pod.metadata?.deletionTimestamp) {
    if (status.reason === "NodeLost") summary.reason = "Unknown";
    else if (status.phase !== "Succeeded" && status.phase !== "Failed") summary.reason = "Terminating";
  }
  return summary;
}

function gatesCell(pod: Pod): string {
  const gates = pod.spec?.readinessGates ?? [];
  if (gates.length === 0) return none;
  const conditions = pod.status?.conditions ?? [];
  const open = gates.filter(({ conditionType }) => isTrue(conditions, conditionType));
  return `${open.length}/${gates.length}`;
}

export function podRow(pod: Pod, nowMs: number): Row {
  const { ready, restarts, lastRestart, reason } = summarize(pod);
  const sidecars = (pod.spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
  const total = (pod.spec?.containers?.length ?? 0) + sidecars.length;
  const restartsCell =
    restarts !== 0 && lastRestart ? `${restarts} (${since(lastRestart, nowMs)} ago)` : String(restarts);
  const cells = [
    nameOf(pod),
    `${ready}/${total}`,
    reason,
    restartsCell,
    ageCell(pod, nowMs),
    pod.status?.podIPs?.[0]?.ip || none,
    pod.spec?.nodeName || none,
    pod.status?.nominatedNodeName || none,
    gatesCell(pod),
  ];
  const phase = pod.status?.phase;
  if (phase === "Succeeded") return { cells, conditions: succeeded };
  if (phase === "Failed") return { cells, conditions: failed };
  return { cells };
}
