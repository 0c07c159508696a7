/** What a deployment does to its replica sets, and what it remembers of it. */
import { isAlreadyExists } from "@keelson/client";
import { deepCopy, deepEqual, objectKey } from "@keelson/core";
import { Deployment, type DeploymentStatus, type PodTemplateSpec, ReplicaSet } from "@keelson/core/kinds";
import type { CacheReader } from "@keelson/runtime/internal";
import { templateHash } from "@keelson/workloads";
import { type Acting, isNamespaceTerminating, serverMessage } from "../acting/acting.ts";
import { refuseIfGone } from "../ownership/claim.ts";
import { controllerReference, isControlledBy } from "../ownership/owner-reference.ts";
import type { ReplicaSetObject } from "../replicas/replica-status.ts";
import { maxRevision, newSetAnnotations, revisionAnnotation, sizeAnnotations } from "./annotations.ts";
import { conditionOf, progressing, reasons, withCondition } from "./conditions.ts";
import type { DeploymentObject } from "./deployment-object.ts";
import { byRevision, isSameTemplate, sizeOf, sumOfSizes, templateHashLabel } from "./replica-sets.ts";
import { newSetSize } from "./scaling.ts";
import { hasProgressDeadline, progressCondition, type Sets } from "./status.ts";

type Context = Acting & { readonly caches: { readonly sets: CacheReader<ReplicaSetObject> } };

/** The set that runs the deployment's template, with its revision brought up to date; undefined when there is none. */
export async function currentSet(
  ctx: Context,
  deployment: DeploymentObject,
  { newest, old }: Sets,
): Promise<{ deployment: DeploymentObject; newest: ReplicaSetObject | undefined }> {
  if (!newest) return { deployment, newest };
  const annotations = newSetAnnotations(deployment, newest.metadata.annotations, maxRevision(old) + 1n);
  const { minReadySeconds = 0 } = deployment.spec;
  const { minReadySeconds: before = 0, ...rest } = newest.spec;
  const isCurrent = deepEqual(annotations, newest.metadata.annotations ?? {}) && before === minReadySeconds;
  const set = isCurrent
    ? newest
    : await ctx.kind(ReplicaSet).update({
        ...newest,
        metadata: { ...newest.metadata, annotations },
        spec: { ...rest, ...(minReadySeconds > 0 ? { minReadySeconds } : {}) },
      });
  const revision = set.metadata.annotations?.[revisionAnnotation] ?? "";
  const isNews = hasProgressDeadline(deployment) && !conditionOf(deployment.status?.conditions, progressing);
  const found = `Found new replica set "${set.metadata.name}"`;
  const conditions = isNews
    ? withCondition(
        deployment.status?.conditions,
        progressCondition("True", reasons.found, found, ctx.clock.now()),
      )
    : undefined;
  return { deployment: await remember(ctx, deployment, revision, conditions), newest: set };
}

/** The set that runs the deployment's template, made when there is none. */
export async function newSet(
  ctx: Context,
  deployment: DeploymentObject,
  { newest, old }: Sets,
): Promise<{ deployment: DeploymentObject; newest: ReplicaSetObject }> {
  if (newest) return { deployment, newest };
  const template = deepCopy(deployment.spec.template) as PodTemplateSpec;
  const hash = templateHash(template, deployment.status?.collisionCount);
  const labels = { ...template.metadata?.labels, [templateHashLabel]: hash };
  const name = `${deployment.metadata.name.slice(0, 253 - 1 - hash.length)}-${hash}`;
  const { minReadySeconds, selector } = deployment.spec;
  const revision = maxRevision(old) + 1n;
  const replicas = newSetSize(deployment, sumOfSizes(old), 0);
  // One that has had sets before may be gone, and they with it.
  if (deployment.metadata.annotations?.[revisionAnnotation] !== undefined)
    await refuseIfGone(ctx, { owner: deployment, ownerKind: Deployment });
  let created: ReplicaSetObject | undefined;
  try {
    created = await ctx.kind(ReplicaSet).create({
      metadata: {
        name,
        namespace: deployment.metadata.namespace,
        labels,
        annotations: {
          ...newSetAnnotations(deployment, undefined, revision),
          ...sizeAnnotations(deployment),
        },
        ownerReferences: [controllerReference(deployment, Deployment)],
      },
      spec: {
        replicas,
        ...(minReadySeconds ? { minReadySeconds } : {}),
        selector: { ...selector, matchLabels: { ...selector.matchLabels, [templateHashLabel]: hash } },
        template: { ...template, metadata: { ...template.metadata, labels } },
      },
    });
  } catch (error) {
    const mine = await explain(ctx, deployment, name, error);
    return { deployment: await remember(ctx, deployment, String(revision)), newest: mine };
  }
  if (replicas > 0) {
    const message = `Scaled up replica set ${name} from 0 to ${replicas}`;
    ctx.event(deployment, "Normal", "ScalingReplicaSet", message);
  }
  const message = `Created new replica set "${name}"`;
  const conditions = hasProgressDeadline(deployment)
    ? withCondition(
        deployment.status?.conditions,
        progressCondition("True", reasons.created, message, ctx.clock.now()),
      )
    : undefined;
  return { deployment: await remember(ctx, deployment, String(revision), conditions), newest: created };
}

/**
 * A create that failed: the set when an earlier run of ours made it, unseen; otherwise the failure, told. A name that
 * another template has taken is avoided from now on by counting the collision.
 */
async function explain(
  ctx: Context,
  deployment: DeploymentObject,
  name: string,
  error: unknown,
): Promise<ReplicaSetObject> {
  const { namespace } = deployment.metadata;
  if (isAlreadyExists(error)) {
    const set = await ctx.kind(ReplicaSet).get({ namespace, name });
    if (isControlledBy(set, deployment) && isSameTemplate(set.spec.template, deployment.spec.template))
      return set;
    const collisionCount = (deployment.status?.collisionCount ?? 0) + 1;
    await updateStatus(ctx, deployment, { ...deployment.status, collisionCount });
    throw error;
  }
  if (!isNamespaceTerminating(error)) {
    const message = `Failed to create new replica set "${name}": ${serverMessage(error)}`;
    if (hasProgressDeadline(deployment)) {
      const condition = progressCondition("False", reasons.createFailed, message, ctx.clock.now());
      const conditions = withCondition(deployment.status?.conditions, condition);
      await updateStatus(ctx, deployment, { ...deployment.status, conditions });
    }
    ctx.event(deployment, "Warning", reasons.createFailed, message);
  }
  throw error;
}

/** Writes the revision on the deployment, and conditions where they changed. */
async function remember(
  ctx: Context,
  deployment: DeploymentObject,
  revision: string,
  conditions?: DeploymentStatus["conditions"],
): Promise<DeploymentObject> {
  const { annotations } = deployment.metadata;
  if (annotations?.[revisionAnnotation] === revision && conditions === undefined) return deployment;
  const metadata = {
    ...deployment.metadata,
    annotations: { ...annotations, [revisionAnnotation]: revision },
  };
  const status = { ...deployment.status, ...(conditions ? { conditions } : {}) };
  return await updateStatus(ctx, { ...deployment, metadata }, status);
}

async function updateStatus(
  ctx: Context,
  deployment: DeploymentObject,
  status: DeploymentStatus,
): Promise<DeploymentObject> {
  return await ctx
    .kind(Deployment)
    .subresource("status")
    .update({ ...deployment, status });
}

/** Gives a set its size, with the annotations that say what the size is part of. */
export async function resize(
  ctx: Context,
  deployment: DeploymentObject,
  given: ReplicaSetObject,
  replicas: number,
): Promise<void> {
  const set = ctx.caches.sets.get(objectKey(given)) ?? given;
  const annotations = { ...set.metadata.annotations, ...sizeAnnotations(deployment) };
  const before = sizeOf(set);
  if (before === replicas && deepEqual(annotations, set.metadata.annotations)) return;
  await ctx.kind(ReplicaSet).update({
    ...set,
    metadata: { ...set.metadata, annotations },
    spec: { ...set.spec, replicas },
  });
  if (before === replicas) return;
  const direction = before < replicas ? "up" : "down";
  const message = `Scaled ${direction} replica set ${set.metadata.name} from ${before} to ${replicas}`;
  ctx.event(deployment, "Normal", "ScalingReplicaSet", message);
}

/** Deletes the oldest sets beyond what history keeps, those that are empty. */
export async function removeHistory(
  ctx: Context,
  { spec }: DeploymentObject,
  old: readonly ReplicaSetObject[],
): Promise<void> {
  const limit = spec.revisionHistoryLimit;
  if (limit === undefined || limit === 0x7fffffff) return;
  const alive = old.filter((set) => set.metadata.deletionTimestamp === undefined).toSorted(byRevision);
  for (const set of alive.slice(0, Math.max(0, alive.length - limit))) {
    const { generation = 0, name, namespace, uid } = set.metadata;
    const isEmpty = (set.status?.replicas ?? 0) === 0 && sizeOf(set) === 0;
    if (!isEmpty || generation > (set.status?.observedGeneration ?? 0)) continue;
    await ctx.kind(ReplicaSet).delete({ namespace, name }, { uid });
  }
}
