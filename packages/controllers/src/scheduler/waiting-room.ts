/**
 * What the scheduler remembers between its decisions. A pod without a node is in one of these states:
 *
 * - new: nothing is known of it; it is looked at next.
 * - parked: it fit nowhere; it is looked at again when something changed that may matter.
 * - assumed: a node was chosen, and its volumes or its binding are under way; it counts on that node already.
 */
import { canonicalJson, type JsonValue, type Stored } from "@keelson/core";
import type { Change } from "@keelson/runtime/internal";
import type { NodeObject } from "@keelson/workloads";
import { isPodFinished, type PodObject } from "@keelson/workloads";

export interface Assumed {
  readonly pod: PodObject;
  readonly node: string;
  /** Its claims are not bound yet. */
  readonly waitsForVolumes: boolean;
}

export class WaitingRoom {
  /** What mattered of every node and pod when it was last seen: heartbeats and status updates change nothing. */
  readonly #seen = new Map<string, string>();
  readonly #parked = new Map<string, string>();
  readonly #assumed = new Map<string, Assumed>();

  /** Whether the change of a pod gives the scheduler something to do. */
  podChanged({ type, object: pod }: Change<PodObject>): boolean {
    const id = `pod/${pod.metadata.uid}`;
    if (type === "deleted" || isPodFinished(pod)) {
      const counted = this.#seen.delete(id);
      this.forget(pod.metadata.uid);
      if (counted && pod.spec.nodeName) this.wake();
      return counted;
    }
    const facts = pod.spec.nodeName ? assignedFacts(pod) : pendingFacts(pod);
    if (this.#seen.get(id) === facts) return false;
    this.#seen.set(id, facts);
    if (pod.spec.nodeName) {
      this.forget(pod.metadata.uid);
      this.wake();
    } else {
      this.#parked.delete(pod.metadata.uid);
    }
    return true;
  }

  nodeChanged({ type, object: node }: Change<NodeObject>): boolean {
    const id = `node/${node.metadata.name}`;
    const facts = type === "deleted" ? undefined : nodeFacts(node);
    if (this.#seen.get(id) === facts) return false;
    if (facts === undefined) this.#seen.delete(id);
    else this.#seen.set(id, facts);
    this.wake();
    return true;
  }

  /** Something changed that may let a parked pod go. */
  wake(): void {
    this.#parked.clear();
  }

  park(pod: PodObject): void {
    this.#parked.set(pod.metadata.uid, pod.metadata.name);
  }

  isParked(pod: Stored): boolean {
    return this.#parked.has(pod.metadata.uid);
  }

  assume(assumed: Assumed): void {
    this.#assumed.set(assumed.pod.metadata.uid, assumed);
  }

  forget(uid: string): void {
    this.#assumed.delete(uid);
    this.#parked.delete(uid);
  }

  isAssumed(pod: Stored): boolean {
    return this.#assumed.has(pod.metadata.uid);
  }

  assumed(): readonly Assumed[] {
    return [...this.#assumed.values()];
  }
}

function text(value: unknown): string {
  return canonicalJson(value as JsonValue);
}

function assignedFacts({ metadata, spec }: PodObject): string {
  return text([spec.nodeName, metadata.labels ?? {}, metadata.deletionTimestamp !== undefined]);
}

function pendingFacts({ metadata, spec }: PodObject): string {
  return text([
    metadata.labels ?? {},
    metadata.annotations ?? {},
    metadata.deletionTimestamp !== undefined,
    spec,
  ]);
}

function nodeFacts({ metadata, spec, status }: NodeObject): string {
  return text([
    metadata.uid,
    metadata.labels ?? {},
    spec.taints ?? [],
    spec.unschedulable ?? false,
    status?.allocatable ?? {},
  ]);
}
