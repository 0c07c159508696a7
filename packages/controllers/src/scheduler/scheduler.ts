/** The scheduler: gives every pod a node, or says why it has none. */
import { isConflict, isNotFound } from "@keelson/client";
import { formatTime, labelSelectorFrom, matchesLabels, objectKey } from "@keelson/core";
import { compareBytes } from "@keelson/core/internal";
import {
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  StorageClass,
} from "@keelson/core/kinds";
import { allow, allowSubresource, type RawController } from "@keelson/runtime";
import { cached, type RawContext, rawController, watch } from "@keelson/runtime/internal";
import { isPodFinished, type PodObject } from "@keelson/workloads";
import { isNamespaceTerminating, serverMessage } from "../acting/acting.ts";
import { markDisrupted } from "../pods/disruption-target.ts";
import { classOfVolume, isBound } from "../volumes/matching.ts";
import { type Decision, decide } from "./decide.ts";
import { claimNameOf, volumePlan } from "./filters/volumes.ts";
import { type IsProtected, preempt } from "./preemption.ts";
import { markUnschedulable } from "./scheduling-failure.ts";
import { Snapshot, type StorageView } from "./view/snapshot.ts";
import { reserveVolumes } from "./volume-reservation.ts";
import { type Assumed, WaitingRoom } from "./waiting-room.ts";

/** All pods are decided on together, so there is one key. */
const key = "pods";

function watchesFor(room: WaitingRoom) {
  const woken = () => {
    room.wake();
    return [key];
  };
  return {
    pods: watch(Pod, {
      indexes: { pending: (pod) => (pod.spec.nodeName ? [] : ["true"]) },
      keys: (change) => (room.podChanged(change) ? [key] : []),
    }),
    nodes: watch(Node, { keys: (change) => (room.nodeChanged(change) ? [key] : []) }),
    claims: watch(PersistentVolumeClaim, { keys: woken }),
    volumes: watch(PersistentVolume, {
      indexes: { class: (volume) => [classOfVolume(volume)] },
      keys: woken,
    }),
    classes: watch(StorageClass, { keys: woken }),
    namespaces: cached(Namespace),
    budgets: cached(PodDisruptionBudget),
  };
}

export type SchedulerContext = RawContext<ReturnType<typeof watchesFor>>;

export interface SchedulerOptions {
  /** Pods with this `schedulerName` are ours. Default: `default-scheduler`. */
  readonly name?: string;
}

export function scheduler({ name = "default-scheduler" }: SchedulerOptions = {}): RawController {
  const room = new WaitingRoom();
  return rawController({
    name,
    fieldManager: "kube-scheduler",
    watches: watchesFor(room),
    writes: [
      allowSubresource(Pod, "binding", ["create"]),
      allowSubresource(Pod, "status", ["patch"]),
      allow(Pod, ["delete"]),
      allow(PersistentVolume, ["update"]),
      allow(PersistentVolumeClaim, ["update"]),
    ],
    concurrency: 1,
    reconcile: async (_key, ctx: SchedulerContext) => {
      await scheduleAll(ctx, room, name);
    },
  });
}

function isOurs(pod: PodObject, schedulerName: string): boolean {
  return (
    !pod.spec.nodeName &&
    (pod.spec.schedulerName ?? "default-scheduler") === schedulerName &&
    pod.metadata.deletionTimestamp === undefined &&
    !isPodFinished(pod) &&
    (pod.spec.schedulingGates ?? []).length === 0
  );
}

/** Higher priority first, then who came first. */
export function byTurn(a: PodObject, b: PodObject): number {
  return (
    (b.spec.priority ?? 0) - (a.spec.priority ?? 0) ||
    compareBytes(a.metadata.creationTimestamp, b.metadata.creationTimestamp) ||
    byVersion(a, b)
  );
}

/** Times have whole seconds; among pods of one second the version tells the order. */
function byVersion(a: PodObject, b: PodObject): number {
  const left = a.metadata.resourceVersion;
  const right = b.metadata.resourceVersion;
  return left.length - right.length || compareBytes(left, right);
}

async function scheduleAll(ctx: SchedulerContext, room: WaitingRoom, schedulerName: string): Promise<void> {
  const work: Promise<void>[] = room
    .assumed()
    .filter(({ waitsForVolumes }) => waitsForVolumes)
    .map((assumed) => continueBinding(ctx, room, assumed));
  const turn = ctx.caches.pods
    .byIndex("pending", "true")
    .filter((pod) => isOurs(pod, schedulerName) && !room.isParked(pod) && !room.isAssumed(pod))
    .toSorted(byTurn);
  if (turn.length > 0) {
    const snapshot = takeSnapshot(ctx, room);
    for (const pod of turn) work.push(scheduleOne(ctx, room, snapshot, pod));
  }
  const failed = (await Promise.allSettled(work)).find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}

function takeSnapshot({ caches }: SchedulerContext, room: WaitingRoom): Snapshot {
  const assigned = caches.pods
    .list()
    .filter((pod) => pod.spec.nodeName && !isPodFinished(pod))
    .map((pod) => ({ pod, node: pod.spec.nodeName ?? "" }));
  const bound = new Set(assigned.map(({ pod }) => pod.metadata.uid));
  // Room was made for these, and is theirs until they are bound, whether they are looked at now or wait.
  const nominated = caches.pods
    .byIndex("pending", "true")
    .filter(
      (pod) =>
        pod.status?.nominatedNodeName &&
        pod.metadata.deletionTimestamp === undefined &&
        !isPodFinished(pod) &&
        !room.isAssumed(pod),
    )
    .map((pod) => ({ pod, node: pod.status?.nominatedNodeName ?? "" }));
  const underWay = room.assumed().filter(({ pod }) => !bound.has(pod.metadata.uid));
  const storage: StorageView = {
    claim: (namespace, name) => caches.claims.get(objectKey({ metadata: { namespace, name } })),
    volume: (name) => caches.volumes.get(name),
    volumesOfClass: (name) => caches.volumes.byIndex("class", name),
    storageClass: (name) => caches.classes.get(name),
  };
  return Snapshot.of({
    nodes: caches.nodes.list(),
    assigned: [...assigned, ...underWay],
    nominated,
    namespaces: caches.namespaces.list(),
    storage,
  });
}

/** Decides at once, so that the next pod sees the decision; what follows from it may take its time. */
function scheduleOne(
  ctx: SchedulerContext,
  room: WaitingRoom,
  snapshot: Snapshot,
  pod: PodObject,
): Promise<void> {
  const seen = snapshot.seenBy(pod);
  const decision = decide(pod, seen);
  if (!("node" in decision)) {
    room.park(pod);
    return giveUp(ctx, snapshot, seen, pod, decision);
  }
  const node = decision.node.name;
  const plan = volumePlan(pod, decision.node, seen);
  const waitsForVolumes = plan.bindings.length + plan.provisions.length > 0;
  const assumed: Assumed = { pod, node, waitsForVolumes };
  snapshot.assign(pod, node);
  room.assume(assumed);
  if (!waitsForVolumes) return bind(ctx, room, assumed);
  return reserveVolumes(ctx, plan, node).catch((error: unknown) => {
    room.forget(pod.metadata.uid);
    throw error;
  });
}

/** Says why the pod has no node, and sends less important pods away where that helps. */
async function giveUp(
  ctx: SchedulerContext,
  snapshot: Snapshot,
  seen: Snapshot,
  pod: PodObject,
  decision: Exclude<Decision, { node: unknown }>,
): Promise<void> {
  if (decision.isHopeless) return await markUnschedulable(ctx, pod, { message: decision.message });
  const outcome = preempt(pod, decision, seen, protection(ctx));
  if ("message" in outcome) {
    const message = `${decision.message} ${outcome.message}`;
    return await markUnschedulable(ctx, pod, { message });
  }
  const { node, victims } = outcome.sacrifice;
  snapshot.nominate(pod, node.name);
  await markUnschedulable(ctx, pod, { message: decision.message, nominatedNode: node.name });
  for (const victim of victims) await sendAway(ctx, victim, pod, node.name);
}

/** Whether a budget would be broken by evicting a pod now. */
function protection({ caches }: SchedulerContext): IsProtected {
  return ({ metadata }) =>
    caches.budgets
      .list(metadata.namespace)
      .some(
        ({ spec, status }) =>
          matchesLabels(labelSelectorFrom(spec.selector), metadata.labels) &&
          (status?.disruptionsAllowed ?? 0) <= 0,
      );
}

async function sendAway(
  ctx: SchedulerContext,
  victim: PodObject,
  pod: PodObject,
  node: string,
): Promise<void> {
  const { name, namespace, uid, deletionTimestamp } = victim.metadata;
  if (deletionTimestamp !== undefined) return;
  try {
    await markDisrupted(ctx, victim, {
      reason: "PreemptionByScheduler",
      message: `${pod.spec.schedulerName ?? "default-scheduler"}: preempting to accommodate a higher priority pod`,
      at: formatTime(ctx.clock.now()),
    });
    await ctx.kind(Pod).delete({ name, namespace }, { uid });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  ctx.event(victim, "Normal", "Preempted", `Preempted by pod ${pod.metadata.uid} on node ${node}`);
}

/** Binds a pod once its claims are; looks for another node when provisioning gave up on this one. */
async function continueBinding(ctx: SchedulerContext, room: WaitingRoom, assumed: Assumed): Promise<void> {
  const { pod, node } = assumed;
  const live = ctx.caches.pods.get(objectKey(pod));
  if (
    live?.metadata.uid !== pod.metadata.uid ||
    live.spec.nodeName ||
    live.metadata.deletionTimestamp !== undefined
  ) {
    room.forget(pod.metadata.uid);
    return;
  }
  const claims = (pod.spec.volumes ?? [])
    .map((volume) => claimNameOf(pod, volume))
    .filter((name) => name !== undefined)
    .map((name) =>
      ctx.caches.claims.get(objectKey({ metadata: { namespace: pod.metadata.namespace, name } })),
    );
  if (claims.every((claim) => claim && isBound(claim))) {
    await bind(ctx, room, assumed);
    return;
  }
  const isLost = claims.some((claim) => !claim || (!isBound(claim) && isReleased(ctx, claim, node)));
  if (isLost) room.forget(pod.metadata.uid);
}

/** Neither a node nor a volume is chosen for the claim any more. */
function isReleased(
  { caches }: SchedulerContext,
  claim: NonNullable<ReturnType<SchedulerContext["caches"]["claims"]["get"]>>,
  node: string,
): boolean {
  if (claim.metadata.annotations?.["volume.kubernetes.io/selected-node"] === node) return false;
  return !caches.volumes.list().some(({ spec }) => spec.claimRef?.uid === claim.metadata.uid);
}

async function bind(ctx: SchedulerContext, room: WaitingRoom, { pod, node }: Assumed): Promise<void> {
  const { name, namespace, uid } = pod.metadata;
  room.assume({ pod, node, waitsForVolumes: false });
  try {
    await ctx
      .kind(Pod)
      .subresource("binding")
      .create(
        { name, namespace },
        {
          apiVersion: "v1",
          kind: "Binding",
          metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid },
          target: { apiVersion: "v1", kind: "Node", name: node },
        },
      );
  } catch (error) {
    room.forget(uid);
    // Gone, or bound by another: there is nothing left to do.
    if (isNotFound(error) || isConflict(error) || isNamespaceTerminating(error)) return;
    await markUnschedulable(ctx, pod, {
      message: `binding rejected: ${serverMessage(error)}`,
      reason: "SchedulerError",
    });
    throw error;
  }
  ctx.event(pod, "Normal", "Scheduled", `Successfully assigned ${objectKey(pod)} to ${node}`);
}
