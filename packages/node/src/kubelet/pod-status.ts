/** The whole status of a pod, from its records: pure. */
import { formatTime } from "@keelson/core";
import { compareBytes } from "@keelson/core/internal";
import type { ContainerStatus, Pod, PodStatus } from "@keelson/core/kinds";
import { qosClassOf } from "@keelson/workloads";
import type { ContainerKind, ContainerRecord } from "./container-record.ts";
import { containerStatus } from "./container-status.ts";
import { podConditions } from "./pod-conditions.ts";
import { type PodPhase, podPhase } from "./pod-phase.ts";
import type { PendingResize } from "./resize.ts";

export interface PodStatusInput {
  readonly pod: Pod;
  readonly records: readonly ContainerRecord[];
  /** The pod's address, once it had one; it outlives the sandbox. */
  readonly address: string | undefined;
  readonly hasSandbox: boolean;
  readonly hostAddress: string;
  readonly startedAt: number;
  /** Nothing will be started any more; once `stopped`, nothing runs either. */
  readonly end?: "stopping" | "stopped";
  /** Ends the pod whatever its containers do: an eviction, a deadline, a refusal. */
  readonly verdict?: { readonly reason: string; readonly message: string };
  /** Resources that the node could not grant yet. */
  readonly resize?: PendingResize;
  readonly now: number;
}

export function makePodStatus(input: PodStatusInput): PodStatus {
  const { pod, records, address } = input;
  const spec = pod.spec ?? { containers: [] };
  const before = pod.status ?? {};
  const context = {
    hasInitContainers: (spec.initContainers ?? []).length > 0,
    isLiving: input.end === undefined,
  };
  const statuses = (...kinds: ContainerKind[]) =>
    records
      .filter(({ kind }) => kinds.includes(kind))
      .map((record) => containerStatus(record, context))
      .map((status) => (input.end === "stopped" ? concluded(status) : status));
  const init = statuses("init", "sidecar");
  const regular = byName(statuses("regular"));
  const ephemeral = byName(statuses("ephemeral"));
  const all = [...init, ...regular];
  const computed =
    input.verdict === undefined ? podPhase({ spec, statuses: all, over: input.end !== undefined }) : "Failed";
  const phase = settled(before.phase, computed, input.end === "stopped");
  const said = input.verdict ?? (phase === before.phase ? before : {});
  const generation = pod.metadata?.generation;
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    phase,
    conditions: podConditions({
      pod,
      phase,
      statuses: all,
      hasSandbox: input.hasSandbox,
      resize: input.resize,
      now: formatTime(input.now),
    }),
    ...(said.message ? { message: said.message } : {}),
    ...(said.reason ? { reason: said.reason } : {}),
    hostIP: input.hostAddress,
    hostIPs: [{ ip: input.hostAddress }],
    ...(address === undefined ? {} : { podIP: address, podIPs: [{ ip: address }] }),
    startTime: before.startTime ?? formatTime(input.startedAt),
    ...(init.length > 0 ? { initContainerStatuses: init } : {}),
    containerStatuses: regular,
    ...(ephemeral.length > 0 ? { ephemeralContainerStatuses: ephemeral } : {}),
    qosClass: before.qosClass ?? qosClassOf(spec),
  };
}

/** A pod that is over stays over, and one of which nothing is left is over. */
function settled(before: PodStatus["phase"], computed: PodPhase, stopped: boolean): PodPhase {
  if (before === "Succeeded" || before === "Failed") return before;
  return stopped && computed !== "Succeeded" ? "Failed" : computed;
}

/** A container that never ran, or whose end nobody saw, counts as failed once its pod is stopped. */
function concluded(status: ContainerStatus): ContainerStatus {
  if (status.state?.terminated !== undefined) return status;
  const known = status.lastState?.terminated;
  if (known !== undefined) return { ...status, state: { terminated: known }, lastState: {} };
  const message = "The container could not be located when the pod was terminated";
  return { ...status, state: { terminated: { exitCode: 137, reason: "ContainerStatusUnknown", message } } };
}

function byName(statuses: ContainerStatus[]): ContainerStatus[] {
  return statuses.sort((a, b) => compareBytes(a.name, b.name));
}
