/** Deployments: replica sets that hand over to each other, one template after the next. */
import { deepEqual, labelSelectorFrom, objectKey, type Stored } from "@keelson/core";
import { Deployment, type DeploymentStatus, Pod, ReplicaSet } from "@keelson/core/kinds";
import { allow, allowSubresource, type RawController } from "@keelson/runtime";
import {
  type CacheReader,
  type Change,
  controllerUid,
  type RawContext,
  rawController,
  watch,
} from "@keelson/runtime/internal";
import { isPodFinished } from "@keelson/workloads";
import { cacheNamed, controllerManager, yieldingToOthers } from "../acting/acting.ts";
import { claimed } from "../ownership/claim.ts";
import { candidatesFor, ownerIndexes, ownersOf } from "../ownership/owner-index.ts";
import { controllerOfObject } from "../ownership/owner-reference.ts";
import type { ReplicaSetObject } from "../replicas/replica-status.ts";
import { conditionOf, progressing, reasons, withCondition } from "./conditions.ts";
import type { DeploymentObject } from "./deployment-object.ts";
import { isRollingUpdate } from "./limits.ts";
import { currentSet, newSet, removeHistory, resize } from "./replica-set-writes.ts";
import { active, activeOrLatest, byAge, sizeOf, splitSets, sum, sumOfSizes } from "./replica-sets.ts";
import { isSaturated, isScalingEvent, newSetSize, oldSetSizes, proportionalSizes } from "./scaling.ts";
import {
  countedStatus,
  deadlineCheckMs,
  hasProgressDeadline,
  isComplete,
  progressCondition,
  rolloutStatus,
  type Sets,
} from "./status.ts";

const watches = {
  deployments: watch(Deployment),
  sets: watch(ReplicaSet, { indexes: ownerIndexes, keys: ownersOf(Deployment, "deployments") }),
  // Recreate waits until the old pods are gone; nothing else here looks at pods.
  pods: watch(Pod, { indexes: { owner: controllerUid }, keys: deploymentOfDeletedPod }),
};

type Context = RawContext<typeof watches>;

function* deploymentOfDeletedPod(
  { type, object }: Change<Stored>,
  caches: Readonly<Record<string, CacheReader<never>>>,
): Iterable<string> {
  const owner = controllerOfObject(object);
  if (type !== "deleted" || owner?.kind !== "ReplicaSet") return;
  const { namespace } = object.metadata;
  const set = cacheNamed<Stored>(caches, "sets").get(
    objectKey({ metadata: { namespace, name: owner.name } }),
  );
  const deployment = set && controllerOfObject(set);
  if (deployment?.kind === "Deployment") yield objectKey({ metadata: { namespace, name: deployment.name } });
}

export function deploymentController(): RawController {
  return rawController({
    name: "deployment-controller",
    fieldManager: controllerManager,
    watches,
    writes: [
      allowSubresource(Deployment, "status", ["update"]),
      allow(ReplicaSet, ["create", "update", "patch", "delete"]),
    ],
    concurrency: 5,
    reconcile: yieldingToOthers(async (key, ctx: Context) => {
      const deployment = ctx.caches.deployments.get(key);
      if (deployment) await reconcile(ctx, deployment);
    }),
  });
}

async function reconcile(ctx: Context, given: DeploymentObject): Promise<void> {
  let deployment = given;
  const selector = labelSelectorFrom(deployment.spec.selector);
  if (selector.requirements.length === 0) {
    const message = "This deployment is selecting all pods. A non-empty selector is required.";
    ctx.event(deployment, "Warning", "SelectingAll", message);
    const observedGeneration = deployment.metadata.generation;
    await writeStatus(ctx, deployment, { ...deployment.status, observedGeneration });
    return;
  }
  const claim = { owner: deployment, ownerKind: Deployment, kind: ReplicaSet, selector };
  const sets = await claimed(ctx, claim, candidatesFor(ctx.caches.sets, deployment));
  if (deployment.metadata.deletionTimestamp !== undefined) {
    await syncStatus(ctx, deployment, splitSets(deployment, sets));
    return;
  }
  deployment = await notePause(ctx, deployment);
  const seen = splitSets(deployment, sets);
  const known = await currentSet(ctx, deployment, seen);
  deployment = known.deployment;
  const split: Sets = { newest: known.newest, old: seen.old };
  const all = split.newest ? [...split.old, split.newest] : split.old;
  if (deployment.spec.paused || isScalingEvent(deployment, all)) {
    await scale(ctx, deployment, split, all);
  } else if (isRollingUpdate(deployment)) {
    await rollStep(ctx, deployment, split);
  } else {
    await recreateStep(ctx, deployment, split);
  }
}

/** The deadline does not run while a deployment is paused: the condition says so, in both directions. */
async function notePause(ctx: Context, deployment: DeploymentObject): Promise<DeploymentObject> {
  const { paused = false } = deployment.spec;
  const current = conditionOf(deployment.status?.conditions, progressing);
  if (!hasProgressDeadline(deployment) || current?.reason === reasons.timedOut) return deployment;
  if (paused === (current?.reason === reasons.paused)) return deployment;
  const condition = progressCondition(
    "Unknown",
    paused ? reasons.paused : reasons.resumed,
    paused ? "Deployment is paused" : "Deployment is resumed",
    ctx.clock.now(),
  );
  const conditions = withCondition(deployment.status?.conditions, condition);
  return await writeStatus(ctx, deployment, { ...deployment.status, conditions });
}

/** The size changed, or nothing but the size may change. */
async function scale(
  ctx: Context,
  deployment: DeploymentObject,
  sets: Sets,
  all: readonly ReplicaSetObject[],
): Promise<void> {
  const { replicas = 1, paused } = deployment.spec;
  const single = activeOrLatest(sets.newest, sets.old);
  if (single) {
    if (sizeOf(single) !== replicas) await resize(ctx, deployment, single, replicas);
  } else if (isSaturated(deployment, sets.newest)) {
    for (const old of active(sets.old)) await resize(ctx, deployment, old, 0);
  } else if (isRollingUpdate(deployment)) {
    for (const { set, replicas: size } of proportionalSizes(deployment, all)) {
      await resize(ctx, deployment, set, size);
    }
  }
  if (paused) await removeHistory(ctx, deployment, sets.old);
  await syncStatus(ctx, deployment, latest(ctx, sets));
}

/** One step of a rolling update: the new set up, or the old ones down. */
async function rollStep(ctx: Context, given: DeploymentObject, split: Sets): Promise<void> {
  const { deployment, newest } = await newSet(ctx, given, split);
  const sets: Sets = { newest, old: split.old };
  const { replicas = 1 } = deployment.spec;
  const size = sizeOf(newest);
  const all = sumOfSizes(sets.old) + size;
  const wanted = size > replicas ? replicas : newSetSize(deployment, all, size);
  if (size !== replicas && wanted !== size) {
    await resize(ctx, deployment, newest, wanted);
    return await syncRollout(ctx, deployment, latest(ctx, sets));
  }
  const smaller = oldSetSizes(deployment, newest, sets.old);
  for (const { set, replicas: less } of smaller) await resize(ctx, deployment, set, less);
  if (smaller.length === 0 && isComplete(deployment, deployment.status)) {
    await removeHistory(ctx, deployment, sets.old);
  }
  await syncRollout(ctx, deployment, latest(ctx, sets));
}

/** Old pods go before the first new one comes. */
async function recreateStep(ctx: Context, given: DeploymentObject, split: Sets): Promise<void> {
  const running = active(split.old);
  for (const set of running) await resize(ctx, given, set, 0);
  if (running.length > 0 || oldPodsRun(ctx, split)) {
    return await syncRollout(ctx, given, latest(ctx, split));
  }
  const { deployment, newest } = await newSet(ctx, given, split);
  const sets: Sets = { newest, old: split.old };
  const { replicas = 1 } = deployment.spec;
  if (sizeOf(newest) !== replicas) await resize(ctx, deployment, newest, replicas);
  if (isComplete(deployment, deployment.status)) await removeHistory(ctx, deployment, sets.old);
  await syncRollout(ctx, deployment, latest(ctx, sets));
}

function oldPodsRun({ caches }: Context, { old }: Sets): boolean {
  if (sum(old, "replicas") > 0) return true;
  return old.some((set) => caches.pods.byIndex("owner", set.metadata.uid).some((pod) => !isPodFinished(pod)));
}

/** The sets with our own writes in them. */
function latest({ caches }: Context, { newest, old }: Sets): Sets {
  const now = (set: ReplicaSetObject) => caches.sets.get(objectKey(set)) ?? set;
  return { newest: newest && now(newest), old: old.map(now).toSorted(byAge) };
}

async function syncStatus(ctx: Context, deployment: DeploymentObject, sets: Sets): Promise<void> {
  await writeStatus(ctx, deployment, countedStatus(deployment, sets, ctx.clock.now()));
}

async function syncRollout(ctx: Context, deployment: DeploymentObject, sets: Sets): Promise<void> {
  const nowMs = ctx.clock.now();
  const status = rolloutStatus(deployment, sets, nowMs);
  await writeStatus(ctx, deployment, status);
  const check = deadlineCheckMs(deployment, status, nowMs);
  if (check !== undefined) ctx.recheck(check);
}

async function writeStatus(
  ctx: Context,
  deployment: DeploymentObject,
  status: DeploymentStatus,
): Promise<DeploymentObject> {
  if (deepEqual(deployment.status ?? {}, status)) return deployment;
  return await ctx
    .kind(Deployment)
    .subresource("status")
    .update({ ...deployment, status });
}
