/** The replica sets of a deployment: which one is new, which are old, what they sum up to. */
import { deepEqual } from "@keelson/core";
import { compareBytes } from "@keelson/core/internal";
import type { PodTemplateSpec } from "@keelson/core/kinds";
import type { ReplicaSetObject } from "../replicas/replica-status.ts";
import { revisionOf } from "./annotations.ts";
import type { DeploymentObject } from "./deployment-object.ts";

export const templateHashLabel = "pod-template-hash";

/** Whether two templates make the same pods; the hash that marks the pods of one set does not count. */
export function isSameTemplate(a: PodTemplateSpec | undefined, b: PodTemplateSpec | undefined): boolean {
  return deepEqual(withoutHash(a), withoutHash(b));
}

function withoutHash(template: PodTemplateSpec | undefined): PodTemplateSpec {
  const { [templateHashLabel]: _, ...labels } = template?.metadata?.labels ?? {};
  return { ...template, metadata: { ...template?.metadata, labels } };
}

/** The oldest set with the deployment's template, and all others. */
export function splitSets(
  deployment: DeploymentObject,
  sets: readonly ReplicaSetObject[],
): { newest: ReplicaSetObject | undefined; old: ReplicaSetObject[] } {
  const newest = sets
    .toSorted(byAge)
    .find((set) => isSameTemplate(set.spec.template, deployment.spec.template));
  return { newest, old: sets.filter((set) => set.metadata.uid !== newest?.metadata.uid) };
}

export function byAge(a: ReplicaSetObject, b: ReplicaSetObject): number {
  return (
    compareBytes(a.metadata.creationTimestamp, b.metadata.creationTimestamp) ||
    compareBytes(a.metadata.name, b.metadata.name)
  );
}

export function byRevision(a: ReplicaSetObject, b: ReplicaSetObject): number {
  const [left, right] = [revisionOf(a), revisionOf(b)];
  return left === right ? byAge(a, b) : left < right ? -1 : 1;
}

/** Larger sets first; of equal ones the older or the newer. */
export function bySize(older: "older" | "newer") {
  return (a: ReplicaSetObject, b: ReplicaSetObject): number =>
    sizeOf(b) - sizeOf(a) || (older === "older" ? byAge(a, b) : byAge(b, a));
}

export function sizeOf(set: ReplicaSetObject): number {
  return set.spec.replicas ?? 1;
}

export function active(sets: readonly ReplicaSetObject[]): ReplicaSetObject[] {
  return sets.filter((set) => sizeOf(set) > 0);
}

export type Count = "replicas" | "readyReplicas" | "availableReplicas";

export function sum(sets: readonly ReplicaSetObject[], of: Count): number {
  return sets.reduce((total, set) => total + (set.status?.[of] ?? 0), 0);
}

/** What the sets are asked for, whatever they have. */
export function sumOfSizes(sets: readonly ReplicaSetObject[]): number {
  return sets.reduce((total, set) => total + sizeOf(set), 0);
}

/** Undefined when a set does not say. A set that nobody has looked at yet has none. */
export function sumOfTerminating(sets: readonly ReplicaSetObject[]): number | undefined {
  let total = 0;
  for (const { status } of sets) {
    if (status?.terminatingReplicas === undefined) {
      if (status?.observedGeneration) return undefined;
      continue;
    }
    total += status.terminatingReplicas;
  }
  return total;
}

/** The one set to scale when there is only one: the active one, or the latest when none is active. */
export function activeOrLatest(
  newest: ReplicaSetObject | undefined,
  old: readonly ReplicaSetObject[],
): ReplicaSetObject | undefined {
  const running = active(newest ? [...old, newest] : old);
  if (running.length > 1) return undefined;
  return running[0] ?? newest ?? old.toSorted((a, b) => byAge(b, a))[0];
}
