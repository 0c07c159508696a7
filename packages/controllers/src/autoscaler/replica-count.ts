/** How many replicas a metric asks for, given what the pods use. Pure; in the steps of the upstream autoscaler. */
import { Quantity } from "@keelson/core";
import type { Container, MetricTarget } from "@keelson/core/kinds";
import { isPodReady, type PodObject } from "@keelson/workloads";

/** Usage of one pod, in milli-cores or milli-bytes, or what else is counted. */
export type PodUsage = ReadonlyMap<string, number>;

export interface Measured {
  readonly replicas: number;
  /** Of the pods that count, in milli-units. */
  readonly averageValue: number;
  /** Percent of what the pods request; absent for a target that is no share. */
  readonly averageUtilization?: number;
}

/** Why no number of replicas can be told, in the autoscaler's words. */
export class MetricError extends Error {
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.name = "MetricError";
    this.reason = reason;
  }
}

const tolerance = 0.1;
/** A pod that is younger is still starting, however busy it is. */
const cpuInitializationMs = 5 * 60_000;
/** For this long a pod that was never ready is taken to be starting. */
const readinessDelayMs = 30_000;

export interface MetricInput {
  readonly resource: string;
  /** Of one container of each pod alone. */
  readonly container?: string;
  readonly target: MetricTarget;
  readonly pods: readonly PodObject[];
  /** By the pods' names. */
  readonly usage: PodUsage;
  readonly current: number;
  readonly nowMs: number;
}

export function replicasFor(input: MetricInput): Measured {
  const { target, pods, usage, resource } = input;
  if (pods.length === 0)
    throw new MetricError(
      "FailedGetResourceMetric",
      "no pods returned by selector while calculating replica count",
    );
  const { ready, unready, missing, ignored } = groupPods(input);
  const live = pods.filter(({ metadata }) => !ignored.has(metadata.name));
  const requests = target.type === "Utilization" ? requestsOf(live, resource, input.container) : undefined;
  const counted = new Map([...usage].filter(([name]) => ready.has(name)));
  if (counted.size === 0)
    throw new MetricError(
      "FailedGetResourceMetric",
      `did not receive metrics for targeted pods (pods might be unready)`,
    );
  const measure = (of: PodUsage) => ratioOf(of, target, requests);
  const first = measure(counted);
  const shown = {
    averageValue: Math.round(sum(counted) / counted.size),
    ...(first.utilization !== undefined && { averageUtilization: first.utilization }),
  };
  const answer = (replicas: number): Measured => ({ replicas, ...shown });
  const fillsUp = unready.size > 0 && first.ratio > 1;
  if (!fillsUp && missing.size === 0) {
    if (isWithin(first.ratio)) return answer(input.current);
    return answer(ceil(first.ratio * counted.size));
  }
  const assumed = new Map(counted);
  // Nothing is done because of what is not known: such pods use what they should, or nothing when others use too much.
  for (const name of missing) assumed.set(name, first.ratio < 1 ? neutral(target, requests?.get(name)) : 0);
  if (fillsUp) for (const name of unready) assumed.set(name, 0);
  const second = measure(assumed);
  const turned = (first.ratio < 1 && second.ratio > 1) || (first.ratio > 1 && second.ratio < 1);
  if (isWithin(second.ratio) || turned) return answer(input.current);
  const replicas = ceil(second.ratio * assumed.size);
  const against =
    (second.ratio < 1 && replicas > input.current) || (second.ratio > 1 && replicas < input.current);
  return answer(against ? input.current : replicas);
}

function ceil(value: number): number {
  // A sum of decimals may miss a whole number by what a computer loses.
  return Math.ceil(value - 1e-9);
}

function isWithin(ratio: number): boolean {
  return Math.abs(1 - ratio) <= tolerance;
}

function sum(usage: PodUsage): number {
  let total = 0;
  for (const value of usage.values()) total += value;
  return total;
}

function ratioOf(
  usage: PodUsage,
  target: MetricTarget,
  requests: PodUsage | undefined,
): { ratio: number; utilization?: number } {
  if (requests) {
    let requested = 0;
    for (const name of usage.keys()) requested += requests.get(name) ?? 0;
    if (requested === 0)
      throw new MetricError("FailedGetResourceMetric", "no metrics returned matched known pods");
    const utilization = Math.floor((sum(usage) * 100) / requested);
    return { ratio: utilization / (target.averageUtilization ?? 100), utilization };
  }
  const wanted = milli(target.averageValue ?? target.value ?? 0);
  return { ratio: sum(usage) / usage.size / wanted };
}

/** What a pod would use at exactly the target, or all it requests where the target is less. */
function neutral(target: MetricTarget, requested: number | undefined): number {
  if (requested !== undefined) return (requested * Math.max(100, target.averageUtilization ?? 100)) / 100;
  return milli(target.averageValue ?? target.value ?? 0);
}

export function milli(quantity: string | number): number {
  return Number(Quantity.from(quantity).milliValue());
}

interface Groups {
  readonly ready: ReadonlySet<string>;
  readonly unready: ReadonlySet<string>;
  readonly missing: ReadonlySet<string>;
  readonly ignored: ReadonlySet<string>;
}

function groupPods({ pods, usage, resource, nowMs }: MetricInput): Groups {
  const [ready, unready, missing, ignored] = [0, 1, 2, 3].map(() => new Set<string>()) as [
    Set<string>,
    Set<string>,
    Set<string>,
    Set<string>,
  ];
  for (const pod of pods) {
    const { name, deletionTimestamp } = pod.metadata;
    if (deletionTimestamp !== undefined || pod.status?.phase === "Failed") ignored.add(name);
    else if (pod.status?.phase === "Pending") unready.add(name);
    else if (!usage.has(name)) missing.add(name);
    else if (resource === "cpu" && isStarting(pod, nowMs)) unready.add(name);
    else ready.add(name);
  }
  return { ready, unready, missing, ignored };
}

/** Whether its CPU still tells of its start rather than of its work. */
function isStarting(pod: PodObject, nowMs: number): boolean {
  const started = Date.parse(pod.status?.startTime ?? "");
  const condition = pod.status?.conditions?.find(({ type }) => type === "Ready");
  if (Number.isNaN(started) || !condition) return true;
  const turned = Date.parse(condition.lastTransitionTime ?? "");
  if (nowMs < started + cpuInitializationMs) return !isPodReady(pod);
  return !isPodReady(pod) && turned < started + readinessDelayMs;
}

function requestsOf(pods: readonly PodObject[], resource: string, only: string | undefined): PodUsage {
  const requests = new Map<string, number>();
  for (const { metadata, spec } of pods) {
    const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
    const containers = [...spec.containers, ...sidecars].filter(
      ({ name }) => only === undefined || name === only,
    );
    if (only !== undefined && containers.length === 0)
      throw new MetricError(
        "FailedGetContainerResourceMetric",
        `container ${only} not found in Pod ${metadata.name}`,
      );
    requests.set(
      metadata.name,
      containers.map((container) => requestOf(container, resource, metadata.name)).reduce((a, b) => a + b, 0),
    );
  }
  return requests;
}

function requestOf({ name, resources }: Container, resource: string, pod: string): number {
  const request = resources?.requests?.[resource];
  if (request === undefined)
    throw new MetricError(
      "FailedGetResourceMetric",
      `missing request for ${resource} in container ${name} of Pod ${pod}`,
    );
  return milli(request);
}
