/** A node as the scheduler sees it: what it has, and what the pods on it take. */
import type { NodeObject, PodObject } from "@keelson/workloads";
import {
  addNumbers,
  type HostPort,
  hostPortsOf,
  podRequests,
  type ResourceNumbers,
  resourceNumbers,
  scoringRequests,
} from "@keelson/workloads";

/** What scheduling needs to know of a pod, worked out once. */
export interface PodInfo {
  readonly pod: PodObject;
  readonly requests: ResourceNumbers;
  readonly scoring: ResourceNumbers;
  readonly hostPorts: readonly HostPort[];
}

const known = new WeakMap<PodObject["spec"], Omit<PodInfo, "pod">>();

export function podInfo(pod: PodObject): PodInfo {
  let facts = known.get(pod.spec);
  if (!facts) {
    facts = {
      requests: podRequests(pod.spec),
      scoring: scoringRequests(pod.spec),
      hostPorts: hostPortsOf(pod.spec),
    };
    known.set(pod.spec, facts);
  }
  return { pod, ...facts };
}

export class NodeInfo {
  readonly node: NodeObject;
  readonly allocatable: ResourceNumbers;
  readonly requested: ResourceNumbers = new Map();
  readonly scoring: ResourceNumbers = new Map();
  readonly pods: PodInfo[] = [];

  constructor(node: NodeObject) {
    this.node = node;
    this.allocatable = resourceNumbers(node.status?.allocatable);
  }

  get name(): string {
    return this.node.metadata.name;
  }

  add(info: PodInfo): void {
    this.pods.push(info);
    addNumbers(this.requested, info.requests);
    addNumbers(this.scoring, info.scoring);
  }

  /** The node without some of its pods. */
  without(gone: ReadonlySet<PodObject>): NodeInfo {
    const copy = new NodeInfo(this.node);
    for (const info of this.pods) if (!gone.has(info.pod)) copy.add(info);
    return copy;
  }
}
