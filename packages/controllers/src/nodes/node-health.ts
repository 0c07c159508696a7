/** Whether a node still speaks to us, from its heartbeats. Pure: the past comes in, the present goes out. */
import { formatTime, type ObjectOf, parseTime } from "@keelson/core";
import type { Lease, NodeCondition } from "@keelson/core/kinds";
import type { NodeObject } from "@keelson/workloads";

/** What is remembered of a node between two looks. */
export interface NodeHealth {
  /** When we last saw a sign of life, by a clock that does not jump: a machine that slept has missed none. */
  readonly seenMs: number;
  readonly heartbeat: string | undefined;
  readonly renewed: string | undefined;
}

/** One moment by two clocks. */
export interface Moment {
  /** By the wall. */
  readonly nowMs: number;
  readonly monotonicMs: number;
}

export interface HealthTimings {
  /** Silence for longer makes a node unknown. Default: 50 s. */
  readonly graceMs?: number;
  /** A node that never spoke gets this long. Default: 60 s. */
  readonly startupGraceMs?: number;
}

export function readyOf(node: NodeObject): NodeCondition | undefined {
  return node.status?.conditions?.find(({ type }) => type === "Ready");
}

/** Takes in what the node and its lease say now. */
export function observe(
  before: NodeHealth | undefined,
  node: NodeObject,
  lease: ObjectOf<typeof Lease> | undefined,
  { nowMs, monotonicMs }: Moment,
): NodeHealth {
  const ready = readyOf(node);
  const heartbeat = ready?.lastHeartbeatTime;
  const renewed = lease?.spec?.renewTime;
  if (!before) {
    // A node that never spoke is judged from its birth on, another from when we first see it.
    const ageMs = ready ? 0 : nowMs - parseTime(node.metadata.creationTimestamp);
    const seenMs = monotonicMs - ageMs;
    return { seenMs, heartbeat, renewed };
  }
  const isAlive =
    heartbeat !== before.heartbeat || (renewed !== undefined && renewed > (before.renewed ?? ""));
  return { seenMs: isAlive ? monotonicMs : before.seenMs, heartbeat, renewed };
}

/** How long until silence means something; zero or less when it does. */
export function patienceMs(
  health: NodeHealth,
  node: NodeObject,
  { graceMs = 50_000, startupGraceMs = 60_000 }: HealthTimings,
  { monotonicMs }: Moment,
): number {
  return health.seenMs + (readyOf(node) ? graceMs : startupGraceMs) - monotonicMs;
}

const watched = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/** The conditions of a node that has gone silent; the very same list when they say so already. */
export function silentConditions(node: NodeObject, nowMs: number): readonly NodeCondition[] {
  const current = node.status?.conditions ?? [];
  let isChanged = false;
  const next = current.map((condition): NodeCondition => {
    if (!watched.includes(condition.type) || condition.status === "Unknown") return condition;
    isChanged = true;
    return {
      ...condition,
      status: "Unknown",
      reason: "NodeStatusUnknown",
      message: "Kubelet stopped posting node status.",
      lastTransitionTime: formatTime(nowMs),
    };
  });
  for (const type of watched) {
    if (current.some((condition) => condition.type === type)) continue;
    isChanged = true;
    next.push({
      type,
      status: "Unknown",
      reason: "NodeStatusNeverUpdated",
      message: "Kubelet never posted node status.",
      lastHeartbeatTime: node.metadata.creationTimestamp,
      lastTransitionTime: formatTime(nowMs),
    });
  }
  return isChanged ? next : current;
}
