/** One pod on its node: its containers, what they were started with, and what its status says of them. */
import type { ContainerEnd, ContainerSpec, PodObject, SimulatedProcess } from "./process.ts";

/** One container of a pod. */
export interface ContainerRun {
  readonly spec: ContainerSpec;
  process: SimulatedProcess | undefined;
  /** It has ended for good, and well. */
  done: boolean;
  restarts: number;
  startedMs: number;
  /** How it ended the last time. */
  end: ContainerEnd | undefined;
  /** Why it does not run, when it does not. */
  waiting: { readonly reason: string; readonly message?: string } | undefined;
  /** How often in a row it had to be started again. */
  failures: number;
  ready: boolean;
  /** Since when its liveness probe fails. */
  hungSinceMs: number | undefined;
}

/** One run of a simulated pod, from its start to its end. */
export interface PodRun {
  pod: PodObject;
  readonly uid: string;
  readonly address: string;
  node: string | undefined;
  /** Why no node takes it. */
  unschedulable: string | undefined;
  readonly init: readonly ContainerRun[];
  readonly containers: readonly ContainerRun[];
  started: boolean;
  ending: boolean;
  /** Its kubelet has ended it for good; the object stays. */
  evicted: boolean;
  /** Its object is gone, but its node does not know. */
  orphan: boolean;
  /** Files of mounted Secrets and ConfigMaps, by volume, as they lie in the pod. */
  readonly files: Map<string, Readonly<Record<string, string>>>;
  /** The summary of what was last reported, to say nothing twice. */
  reported: string;
}

export function podRun(pod: PodObject, address: string): PodRun {
  const { initContainers = [], containers = [] } = pod.spec ?? {};
  return {
    pod,
    uid: pod.metadata.uid,
    address,
    node: pod.spec?.nodeName,
    unschedulable: undefined,
    init: initContainers.map(containerRun),
    containers: containers.map(containerRun),
    started: false,
    ending: false,
    evicted: false,
    orphan: false,
    files: new Map(),
    reported: "",
  };
}

function containerRun(spec: ContainerSpec): ContainerRun {
  return {
    spec,
    process: undefined,
    done: false,
    restarts: 0,
    startedMs: 0,
    end: undefined,
    waiting: { reason: "ContainerCreating" },
    failures: 0,
    ready: false,
    hungSinceMs: undefined,
  };
}

export function phaseOf({
  evicted,
  started,
  init,
  containers,
  pod,
}: PodRun): "Pending" | "Running" | "Succeeded" | "Failed" {
  if (evicted) return "Failed";
  if (!started) return "Pending";
  const isStuck = init.some(({ done, end, process }) => !done && !process && end !== undefined);
  if (pod.spec?.restartPolicy === "Never" && isStuck) return "Failed";
  const over = containers.every(({ done, end, process }) => done || (!process && end !== undefined));
  if (pod.spec?.restartPolicy !== "Always" && over && containers.length > 0) {
    if (containers.every(({ done }) => done)) return "Succeeded";
    if (pod.spec?.restartPolicy === "Never") return "Failed";
  }
  return "Running";
}

/** What makes one status another, times aside. */
export function summaryOf(run: PodRun): string {
  const { init, containers, unschedulable, node, started } = run;
  const short = ({ process, done, restarts, end, waiting, ready }: ContainerRun) => [
    process !== undefined,
    done,
    restarts,
    end?.message,
    waiting?.reason,
    ready,
  ];
  return JSON.stringify([phaseOf(run), node, unschedulable, started, init.map(short), containers.map(short)]);
}

/** The status that a kubelet would report. `at` is now. */
export function statusOf(run: PodRun, at: string): object {
  const { pod, address, init, containers, unschedulable, node, started } = run;
  const phase = phaseOf(run);
  const ready = phase === "Running" && containers.every((each) => each.ready);
  const before = pod.status?.conditions ?? [];
  const condition = (type: string, status: "True" | "False", more: object = {}) => {
    const known = before.find((each) => each.type === type);
    const since = known?.status === status ? known.lastTransitionTime : at;
    return { type, status, lastTransitionTime: since, ...more };
  };
  const scheduled =
    node === undefined && unschedulable !== undefined
      ? condition("PodScheduled", "False", { reason: "Unschedulable", message: unschedulable })
      : condition("PodScheduled", "True");
  const known = pod.status?.containerStatuses;
  return {
    phase,
    ...(started ? { podIP: address, podIPs: [{ ip: address }], hostIP: "10.1.0.1" } : {}),
    conditions: [
      ...(node === undefined && unschedulable === undefined ? [] : [scheduled]),
      ...(started
        ? [
            condition("Initialized", "True"),
            condition("ContainersReady", ready ? "True" : "False"),
            condition("Ready", ready ? "True" : "False"),
          ]
        : []),
    ],
    ...(node === undefined
      ? {}
      : {
          containerStatuses: containers.map((each) =>
            containerStatus(
              each,
              known?.find(({ name }) => name === each.spec.name)?.state?.running?.startedAt ?? at,
            ),
          ),
          ...(init.length > 0
            ? { initContainerStatuses: init.map((each) => containerStatus(each, at)) }
            : {}),
        }),
  };
}

function containerStatus(run: ContainerRun, startedAt: string): object {
  const { spec, process, waiting, end, restarts, ready, done } = run;
  const terminated = end && {
    exitCode: end.exitCode,
    reason: end.exitCode === 0 ? "Completed" : end.exitCode === 137 ? "OOMKilled" : "Error",
    message: end.message,
  };
  return {
    name: spec.name,
    image: spec.image ?? "",
    imageID: "",
    ready,
    started: process !== undefined,
    restartCount: restarts,
    state: process
      ? { running: { startedAt } }
      : done || (waiting === undefined && terminated)
        ? { terminated }
        : { waiting: waiting ?? { reason: "ContainerCreating" } },
    ...(terminated && !done ? { lastState: { terminated } } : {}),
  };
}
