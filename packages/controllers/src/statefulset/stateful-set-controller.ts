/** Stateful sets: pods with names and claims of their own, one after the other. */
import { isAlreadyExists, isApiError, isConflict } from "@keelson/client";
import { deepEqual, formatTime, labelSelectorFrom, objectKey, type Stored } from "@keelson/core";
import { ControllerRevision, PersistentVolumeClaim, Pod, StatefulSet } from "@keelson/core/kinds";
import { allow, allowSubresource, type RawController } from "@keelson/runtime";
import {
  type CacheReader,
  type Change,
  cached,
  type RawContext,
  rawController,
  watch,
} from "@keelson/runtime/internal";
import { nextAvailabilityMs, type PodObject, patchedTemplate, type RevisionObject } from "@keelson/workloads";
import {
  cacheNamed,
  controllerManager,
  isNamespaceTerminating,
  serverMessage,
  yieldingToOthers,
} from "../acting/acting.ts";
import { ControllerError } from "../acting/errors.ts";
import { claimed, refuseIfGone } from "../ownership/claim.ts";
import { candidatesFor, ownerIndexes, ownersOf } from "../ownership/owner-index.ts";
import { slowStart } from "../pods/pod-control.ts";
import type { NewPod } from "../pods/pod-from-template.ts";
import { claimOwners, hasOtherController, isClaimStale, type OwnerPod } from "./claim-owners.ts";
import {
  claimsFor,
  hasIdentity,
  hasStorage,
  isMemberOf,
  ordinalOf,
  parentAndOrdinal,
  repaired,
  type StatefulSetObject,
} from "./identity.ts";
import { type Action, plan, type Revision } from "./plan.ts";
import { revisionsOf, truncateHistory } from "./revision-history.ts";
import { statefulSetStatus } from "./status.ts";

const watches = {
  sets: watch(StatefulSet),
  pods: watch(Pod, { indexes: ownerIndexes, keys: ownersOf(StatefulSet, "sets") }),
  revisions: cached(ControllerRevision, { indexes: ownerIndexes }),
  // A pod whose claim still goes with an earlier one of its name is made when that is gone.
  claims: watch(PersistentVolumeClaim, { keys: setsOfDeletedClaim }),
};

function* setsOfDeletedClaim(
  { type, object }: Change<Stored>,
  caches: Readonly<Record<string, CacheReader<never>>>,
): Iterable<string> {
  if (type !== "deleted") return;
  const { parent } = parentAndOrdinal(object.metadata.name);
  for (const set of cacheNamed<StatefulSetObject>(caches, "sets").list(object.metadata.namespace)) {
    const templates = set.spec.volumeClaimTemplates ?? [];
    const isOfSet = templates.some(({ metadata }) => parent === `${metadata?.name}-${set.metadata.name}`);
    if (isOfSet) yield objectKey(set);
  }
}

type Context = RawContext<typeof watches>;

export function statefulSetController(): RawController {
  return rawController({
    name: "statefulset-controller",
    fieldManager: controllerManager,
    watches,
    writes: [
      allowSubresource(StatefulSet, "status", ["update"]),
      allow(Pod, ["create", "update", "patch", "delete"]),
      allow(ControllerRevision, ["create", "update", "patch", "delete"]),
      allow(PersistentVolumeClaim, ["create", "update"]),
    ],
    concurrency: 5,
    reconcile: yieldingToOthers(async (key, ctx: Context) => {
      const set = ctx.caches.sets.get(key);
      if (set) await reconcile(ctx, set);
    }),
  });
}

async function reconcile(ctx: Context, set: StatefulSetObject): Promise<void> {
  const selector = labelSelectorFrom(set.spec.selector);
  const matches = (pod: PodObject) => isMemberOf(set, pod);
  const claim = { owner: set, ownerKind: StatefulSet, kind: Pod, selector, matches };
  const revisions = await revisionsOf(ctx, set);
  const pods = await claimed(ctx, claim, candidatesFor(ctx.caches.pods, set));
  const nowMs = ctx.clock.now();
  const actions = plan({
    set,
    pods,
    current: asRevision(revisions.current),
    update: asRevision(revisions.update),
    nowMs,
    hasStaleClaim: (pod) => existingClaims(ctx, set, pod).some((each) => isClaimStale(each, set, pod)),
    hasRightOwners: (pod) => existingClaims(ctx, set, pod).every((each) => !claimOwners(each, set, pod)),
  });
  // Pods that vanished may have gone with their set.
  const isReplacing =
    actions.some(({ type }) => type === "create") && (set.status?.replicas ?? 0) > pods.length;
  if (isReplacing) await refuseIfGone(ctx, { owner: set, ownerKind: StatefulSet });
  const failure = await act(ctx, set, actions);
  const status = statefulSetStatus({
    set,
    pods: pods.map((pod) => ctx.caches.pods.get(objectKey(pod)) ?? leaving(pod, nowMs)),
    currentRevision: revisions.current.metadata.name,
    updateRevision: revisions.update.metadata.name,
    collisionCount: revisions.collisionCount,
    nowMs,
  });
  if (!deepEqual(set.status ?? {}, status)) {
    await ctx
      .kind(StatefulSet)
      .subresource("status")
      .update({ ...set, status });
  }
  if (failure) throw failure.error;
  await truncateHistory(ctx, set, revisions, pods);
  const minReady = set.spec.minReadySeconds ?? 0;
  if (minReady > 0 && status.readyReplicas !== status.availableReplicas) {
    ctx.recheck(nextAvailabilityMs(pods, minReady, nowMs) ?? minReady * 1000);
  }
}

/** One that we deleted and that went at once: it was there when we looked, and does not stay. */
function leaving(pod: PodObject, nowMs: number): PodObject {
  return { ...pod, metadata: { ...pod.metadata, deletionTimestamp: formatTime(nowMs) } };
}

function asRevision(revision: RevisionObject): Revision {
  return { name: revision.metadata.name, template: patchedTemplate(revision) };
}

function existingClaims({ caches }: Context, set: StatefulSetObject, pod: OwnerPod) {
  return [...claimsFor(set, ordinalOf(pod)).values()].flatMap(
    (claim) => caches.claims.get(objectKey(claim)) ?? [],
  );
}

/** Carries the actions out; those of a parallel set several at a time. */
async function act(
  ctx: Context,
  set: StatefulSetObject,
  actions: readonly Action[],
): Promise<{ error: unknown } | undefined> {
  if (set.spec.podManagementPolicy === "Parallel") {
    const { error } = await slowStart(actions.length, async (index) => {
      const action = actions[index];
      if (action) await perform(ctx, set, action);
    });
    return error === undefined ? undefined : { error };
  }
  try {
    for (const action of actions) await perform(ctx, set, action);
  } catch (error) {
    return { error };
  }
  return undefined;
}

async function perform(ctx: Context, set: StatefulSetObject, action: Action): Promise<void> {
  switch (action.type) {
    case "create":
      await create(ctx, set, action.pod);
      return;
    case "delete": {
      const { metadata } = action.pod;
      await telling(ctx, set, "Delete", metadata.name, () =>
        ctx.kind(Pod).delete(metadata, { uid: metadata.uid }),
      );
      return;
    }
    case "claims":
      await createClaims(ctx, set, action.pod);
      await updateOwners(ctx, set, action.pod);
      return;
    case "owners":
      await updateOwners(ctx, set, action.pod);
      return;
    case "repair":
      await repair(ctx, set, action.pod);
  }
}

async function create(ctx: Context, set: StatefulSetObject, pod: NewPod): Promise<void> {
  const name = pod.metadata.name ?? "";
  await telling(ctx, set, "Create", name, async () => {
    await createClaims(ctx, set, pod as OwnerPod);
    const made = await ctx.kind(Pod).create(pod);
    await updateOwners(ctx, set, made);
  });
}

async function repair(ctx: Context, set: StatefulSetObject, pod: PodObject): Promise<void> {
  const isChanged = !hasIdentity(pod) || !hasStorage(set, pod);
  if (!hasStorage(set, pod)) await createClaims(ctx, set, pod);
  await updateOwners(ctx, set, pod);
  if (!isChanged) return;
  await telling(ctx, set, "Update", pod.metadata.name, () => ctx.kind(Pod).update(repaired(set, pod)));
}

/** Does it and tells how it went; races are not worth telling. */
async function telling(
  ctx: Context,
  set: StatefulSetObject,
  verb: "Create" | "Delete" | "Update",
  pod: string,
  work: () => Promise<unknown>,
): Promise<void> {
  const subject = `${verb} Pod ${pod} in StatefulSet ${set.metadata.name}`;
  try {
    await work();
  } catch (error) {
    const isRace = isAlreadyExists(error) || isConflict(error) || isNamespaceTerminating(error);
    if (!isRace && (isApiError(error) || error instanceof ControllerError)) {
      ctx.event(set, "Warning", `Failed${verb}`, `${subject} failed error: ${serverMessage(error)}`);
    }
    throw error;
  }
  ctx.event(set, "Normal", `Successful${verb}`, `${subject} successful`);
}

async function createClaims(ctx: Context, set: StatefulSetObject, pod: OwnerPod): Promise<void> {
  for (const claim of claimsFor(set, ordinalOf(pod)).values()) {
    const { name } = claim.metadata;
    const existing = ctx.caches.claims.get(objectKey(claim));
    if (existing) {
      if (existing.metadata.deletionTimestamp === undefined) continue;
      throw new ControllerError("Incomplete", `pvc ${name} is being deleted`);
    }
    const subject = `Create Claim ${name} ${"Pod"} ${pod.metadata.name} in StatefulSet ${set.metadata.name}`;
    try {
      await ctx.kind(PersistentVolumeClaim).create(claim);
    } catch (error) {
      if (isApiError(error) && !isAlreadyExists(error) && !isNamespaceTerminating(error)) {
        const message = `Create Claim ${name} for Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name}`;
        ctx.event(set, "Warning", "FailedCreate", `${message} failed error: ${serverMessage(error)}`);
      }
      throw error;
    }
    ctx.event(set, "Normal", "SuccessfulCreate", `${subject} success`);
  }
}

async function updateOwners(ctx: Context, set: StatefulSetObject, pod: OwnerPod): Promise<void> {
  for (const claim of existingClaims(ctx, set, pod)) {
    if (hasOtherController(claim, set, pod)) {
      const message =
        `PersistentVolumeClaim ${claim.metadata.name} has a conflicting OwnerReference that acts as a manging ` +
        "controller, the retention policy is ignored for this claim";
      ctx.event(set, "Warning", "ConflictingController", message);
    }
    const ownerReferences = claimOwners(claim, set, pod);
    if (!ownerReferences) continue;
    await ctx
      .kind(PersistentVolumeClaim)
      .update({ ...claim, metadata: { ...claim.metadata, ownerReferences } });
  }
}
