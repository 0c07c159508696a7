/** The phase of a pod from the states of its containers, by the kubelet's rules. */
import type { ContainerStatus, PodSpec } from "@keelson/core/kinds";
import { type ContainerKind, kindOf, shouldRestart } from "./container-record.ts";

export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed";

export interface PhaseInput {
  readonly spec: PodSpec;
  /** Of init and regular containers. */
  readonly statuses: readonly ContainerStatus[];
  /** Nothing will be started any more, whatever the restart policy says. */
  readonly over: boolean;
}

export function podPhase({ spec, statuses, over }: PhaseInput): PodPhase {
  const byName = new Map(statuses.map((status) => [status.name, status]));
  const containers = [
    ...(spec.initContainers ?? []).map((container) => ({ container, kind: kindOf(container, "init") })),
    ...spec.containers.map((container) => ({ container, kind: "regular" as ContainerKind })),
  ];
  const count = {
    pendingInit: 0,
    pendingSidecar: 0,
    unknown: 0,
    running: 0,
    waiting: 0,
    stopped: 0,
    final: 0,
    succeeded: 0,
  };
  for (const { container, kind } of containers) {
    const status = byName.get(container.name);
    const ended = status?.state?.terminated ?? status?.lastState?.terminated;
    const restarts = (code: number) => shouldRestart({ kind, spec: container }, spec, code);
    if (kind === "init") {
      if (status?.state?.running !== undefined || ended === undefined) count.pendingInit++;
      else if (ended.exitCode !== 0 && !restarts(ended.exitCode)) return "Failed";
      continue;
    }
    if (status === undefined) count.unknown++;
    else if (status.state?.running !== undefined) {
      count.running++;
      if (kind === "sidecar" && !status.started) count.pendingSidecar++;
    } else if (ended === undefined) {
      count.waiting++;
      if (kind === "sidecar") count.pendingSidecar++;
    } else if (kind === "regular") {
      count.stopped++;
      if (status.state?.terminated?.exitCode === 0) count.succeeded++;
      if (!restarts(ended.exitCode)) count.final++;
    }
  }
  const initialized = spec.containers.some(({ name }) => hasStarted(byName.get(name)));
  if (count.pendingInit > 0 || (count.pendingSidecar > 0 && !initialized) || count.waiting > 0)
    return "Pending";
  if (count.running > 0 && count.unknown === 0) return "Running";
  if (count.running === 0 && count.stopped > 0 && count.unknown === 0) {
    if (!over && count.stopped !== count.final) return "Running";
    return count.stopped === count.succeeded ? "Succeeded" : "Failed";
  }
  return "Pending";
}

function hasStarted(status: ContainerStatus | undefined): boolean {
  return (
    status?.state?.running !== undefined ||
    status?.state?.terminated !== undefined ||
    status?.lastState?.terminated !== undefined
  );
}
