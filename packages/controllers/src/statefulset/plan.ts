/** What a stateful set does next, from what is there. Pure. */

import { isPodAvailable, isPodFinished, isPodReady, type PodObject } from "@keelson/workloads";
import type { NewPod } from "../pods/pod-from-template.ts";
import {
  hasIdentity,
  hasStorage,
  isInRange,
  newPod,
  ordinalOf,
  replicasOf,
  revisionOf,
  type StatefulSetObject,
  startOrdinal,
} from "./identity.ts";

/** A revision by name, and the template it stands for. */
export interface Revision {
  readonly name: string;
  readonly template: StatefulSetObject["spec"]["template"];
}

export type Action =
  | { readonly type: "create"; readonly pod: NewPod }
  | { readonly type: "delete"; readonly pod: PodObject }
  /** Claims that are missing are made. */
  | { readonly type: "claims"; readonly pod: PodObject }
  /** Labels, volumes or owners of claims are not as they should be. */
  | { readonly type: "repair"; readonly pod: PodObject }
  /** Owners of claims of a pod that goes. */
  | { readonly type: "owners"; readonly pod: PodObject };

export interface PlanInput {
  readonly set: StatefulSetObject;
  readonly pods: readonly PodObject[];
  readonly current: Revision;
  readonly update: Revision;
  readonly nowMs: number;
  /** Whether a claim still belongs to an earlier pod of the same name. */
  readonly hasStaleClaim: (pod: NewPod) => boolean;
  readonly hasRightOwners: (pod: PodObject) => boolean;
}

type Replica =
  | { readonly made: PodObject; readonly missing?: never }
  | { readonly missing: NewPod; readonly made?: never };

/** In order. With ordered management at most one of them makes or removes a pod. */
export function plan(input: PlanInput): Action[] {
  const { set, pods } = input;
  if (set.metadata.deletionTimestamp !== undefined) return [];
  const replicas = replicasIn(input);
  const condemned = pods
    .filter((pod) => ordinalOf(pod) >= 0 && !isInRange(set, ordinalOf(pod)))
    .toSorted((a, b) => ordinalOf(b) - ordinalOf(a));
  const actions: Action[] = [];
  const ordered = set.spec.podManagementPolicy !== "Parallel";
  for (const replica of replicas) {
    const waits = planReplica(input, replica, ordered, actions);
    if (waits && ordered) return actions;
  }
  for (const pod of condemned) if (!input.hasRightOwners(pod)) actions.push({ type: "owners", pod });
  for (const pod of condemned) {
    const waits = planCondemned(input, pod, firstUnavailable(input, replicas, condemned), ordered, actions);
    if (waits && ordered) return actions;
  }
  if (set.spec.updateStrategy?.type !== "OnDelete") planUpdate(input, replicas, actions);
  return actions;
}

function replicasIn({ set, pods, current, update }: PlanInput): Replica[] {
  const start = startOrdinal(set);
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(pod), pod]));
  return Array.from({ length: replicasOf(set) }, (_, index): Replica => {
    const ordinal = start + index;
    const made = byOrdinal.get(ordinal);
    if (made) return { made };
    const { template, name } = isBelowUpdate(set, ordinal) ? current : update;
    return { missing: newPod(set, template, name, ordinal) };
  });
}

/** Whether a pod with this ordinal is made again at the current revision, before its turn in the update. */
function isBelowUpdate(set: StatefulSetObject, ordinal: number): boolean {
  const { type, rollingUpdate } = set.spec.updateStrategy ?? {};
  const start = startOrdinal(set);
  if (rollingUpdate) return ordinal < start + (rollingUpdate.partition ?? 0);
  return type !== "OnDelete" && ordinal < start + (set.status?.currentReplicas ?? 0);
}

function isRunningAndReady(pod: PodObject): boolean {
  return pod.status?.phase === "Running" && isPodReady(pod);
}

function isUnavailable({ set, nowMs }: PlanInput, { made }: Replica): boolean {
  return (
    made === undefined ||
    made.metadata.deletionTimestamp !== undefined ||
    !isPodAvailable(made, set.spec.minReadySeconds ?? 0, nowMs)
  );
}

/** Adds what the replica needs; true when those behind it have to wait. */
function planReplica(input: PlanInput, replica: Replica, ordered: boolean, actions: Action[]): boolean {
  const { set, nowMs } = input;
  if (replica.missing) {
    if (input.hasStaleClaim(replica.missing)) return true;
    actions.push({ type: "create", pod: replica.missing });
    return true;
  }
  const pod = replica.made;
  const isTerminating = pod.metadata.deletionTimestamp !== undefined;
  if (isPodFinished(pod)) {
    if (!isTerminating) actions.push({ type: "delete", pod });
    return true;
  }
  if (pod.status?.phase === "Pending") actions.push({ type: "claims", pod });
  const isWellOff =
    !isTerminating && isRunningAndReady(pod) && isPodAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs);
  if (ordered && !isWellOff) return true;
  if (!hasIdentity(pod) || !hasStorage(set, pod) || !input.hasRightOwners(pod)) {
    actions.push({ type: "repair", pod });
  }
  return false;
}

function firstUnavailable(
  input: PlanInput,
  replicas: readonly Replica[],
  condemned: readonly PodObject[],
): PodObject | undefined {
  const all = [...replicas, ...condemned.toReversed().map((made): Replica => ({ made }))];
  return all.find((replica) => isUnavailable(input, replica))?.made;
}

function planCondemned(
  { set, nowMs }: PlanInput,
  pod: PodObject,
  unavailable: PodObject | undefined,
  ordered: boolean,
  actions: Action[],
): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return true;
  const isWellOff = isRunningAndReady(pod) && isPodAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs);
  // One that is not well may only go first of all: taking a second one away could break the whole.
  if (ordered && !isWellOff && pod !== unavailable) return true;
  actions.push({ type: "delete", pod });
  return true;
}

/** From the last to the first, each when those behind it are available again. */
function planUpdate(input: PlanInput, replicas: readonly Replica[], actions: Action[]): void {
  const { partition = 0 } = input.set.spec.updateStrategy?.rollingUpdate ?? {};
  for (const replica of replicas.slice(partition).toReversed()) {
    const pod = replica.made;
    if (pod && revisionOf(pod) !== input.update.name && pod.metadata.deletionTimestamp === undefined) {
      actions.push({ type: "delete", pod });
      return;
    }
    if (isUnavailable(input, replica)) return;
  }
}
