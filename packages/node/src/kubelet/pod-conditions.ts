/** The pod conditions that the kubelet owns. */
import type { ContainerStatus, Pod, PodCondition } from "@keelson/core/kinds";
import { kindOf } from "./container-record.ts";
import type { PodPhase } from "./pod-phase.ts";
import type { PendingResize } from "./resize.ts";

export const kubeletConditions: ReadonlySet<string> = new Set([
  "PodReadyToStartContainers",
  "Initialized",
  "Ready",
  "ContainersReady",
  "PodScheduled",
  "PodResizePending",
]);

type ConditionState = Pick<PodCondition, "status" | "reason" | "message">;

export interface ConditionInput {
  readonly pod: Pick<Pod, "spec" | "status" | "metadata">;
  readonly phase: PodPhase;
  /** Of init and regular containers; undefined when the pod was refused before any was made. */
  readonly statuses: readonly ContainerStatus[] | undefined;
  readonly hasSandbox: boolean;
  readonly resize?: PendingResize;
  /** RFC 3339. */
  readonly now: string;
}

/** Conditions of others stay as they are; ours keep their transition time while their status stays. */
export function podConditions(input: ConditionInput): PodCondition[] {
  const before = input.pod.status?.conditions ?? [];
  const foreign = before.filter(({ type }) => !kubeletConditions.has(type));
  const containersReady = containersReadyState(input);
  const states: [string, ConditionState][] = [
    ["PodReadyToStartContainers", { status: input.hasSandbox ? "True" : "False" }],
    ["Initialized", initializedState(input)],
    ["Ready", ready(input, containersReady, foreign)],
    ["ContainersReady", containersReady],
    ["PodScheduled", { status: "True" }],
  ];
  const generation = input.pod.metadata?.generation;
  const own = states.map(([type, state]): PodCondition => {
    const old = before.find((condition) => condition.type === type);
    const same = old !== undefined && old.status === state.status;
    return {
      type,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      status: state.status,
      lastTransitionTime: same ? (old.lastTransitionTime ?? input.now) : input.now,
      ...(state.reason === undefined ? {} : { reason: state.reason }),
      ...(state.message === undefined ? {} : { message: state.message }),
    };
  });
  return [...foreign, ...own, ...resizeCondition(input)];
}

/** There only while something is pending; it is new when its reason is. */
function resizeCondition({ pod, resize, now }: ConditionInput): PodCondition[] {
  if (!resize) return [];
  const { reason, message, generation } = resize;
  const type = "PodResizePending";
  const old = pod.status?.conditions?.find((condition) => condition.type === type);
  const lastTransitionTime = old?.reason === reason ? (old.lastTransitionTime ?? now) : now;
  return [{ type, status: "True", observedGeneration: generation, lastTransitionTime, reason, message }];
}

function containersReadyState({ pod, phase, statuses }: ConditionInput): ConditionState {
  if (statuses === undefined) return { status: "False", reason: "UnknownContainerStatuses" };
  const sidecars = (pod.spec?.initContainers ?? []).filter(
    (container) => kindOf(container, "init") === "sidecar",
  );
  const names = [...sidecars, ...(pod.spec?.containers ?? [])].map(({ name }) => name);
  const { unknown, failing } = sort(names, statuses, (status) => status.ready);
  if (phase === "Succeeded" && unknown.length === 0) return { status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  const message = describe(unknown, failing, "unready");
  return message === "" ? { status: "True" } : { status: "False", reason: "ContainersNotReady", message };
}

function ready(
  { pod }: ConditionInput,
  containers: ConditionState,
  foreign: readonly PodCondition[],
): ConditionState {
  if (containers.status !== "True") return containers;
  const complaints = (pod.spec?.readinessGates ?? []).flatMap(({ conditionType }) => {
    const found = foreign.find(({ type }) => type === conditionType);
    const gate = `pod readiness gate ${JSON.stringify(conditionType)}`;
    if (found === undefined) return [`corresponding condition of ${gate} does not exist.`];
    return found.status === "True" ? [] : [`the status of ${gate} is not "True", but ${found.status}`];
  });
  if (complaints.length === 0) return { status: "True" };
  return { status: "False", reason: "ReadinessGatesNotReady", message: complaints.join(", ") };
}

function initializedState({ pod, phase, statuses }: ConditionInput): ConditionState {
  const inits = pod.spec?.initContainers ?? [];
  if (statuses === undefined) {
    return inits.length > 0 ? { status: "False", reason: "UnknownContainerStatuses" } : { status: "True" };
  }
  const sidecars = new Set(inits.filter((one) => kindOf(one, "init") === "sidecar").map(({ name }) => name));
  const names = inits.map(({ name }) => name);
  const { unknown, failing } = sort(names, statuses, (status) =>
    sidecars.has(status.name) ? status.started === true : status.ready,
  );
  if (phase === "Succeeded" && unknown.length === 0) return { status: "True", reason: "PodCompleted" };
  const regular = new Set((pod.spec?.containers ?? []).map(({ name }) => name));
  const begun = statuses.some(
    ({ name, state, lastState }) =>
      regular.has(name) && (state?.running ?? state?.terminated ?? lastState?.terminated) !== undefined,
  );
  if (begun) return { status: "True" };
  const message = describe(unknown, failing, "incomplete");
  return message === ""
    ? { status: "True" }
    : { status: "False", reason: "ContainersNotInitialized", message };
}

function sort(
  names: readonly string[],
  statuses: readonly ContainerStatus[],
  good: (one: ContainerStatus) => boolean,
) {
  const unknown: string[] = [];
  const failing: string[] = [];
  for (const name of names) {
    const status = statuses.find((one) => one.name === name);
    if (status === undefined) unknown.push(name);
    else if (!good(status)) failing.push(name);
  }
  return { unknown, failing };
}

function describe(unknown: readonly string[], failing: readonly string[], how: string): string {
  return [
    ...(unknown.length > 0 ? [`containers with unknown status: [${unknown.join(" ")}]`] : []),
    ...(failing.length > 0 ? [`containers with ${how} status: [${failing.join(" ")}]`] : []),
  ].join(", ");
}
