/** Claims and pods of the instances. */
import { isApiError, type ObjectMeta, type ObjectOf, Quantity } from "keelson";
import { Pod } from "keelson/kinds";
import { reasons } from "../api/conditions.ts";
import type { DatabaseObject } from "../api/database.ts";
import { annotations } from "../api/names.ts";
import type { Members } from "../decide/members.ts";
import { majorPart, type UpgradePlan } from "../decide/upgrade.ts";
import type { LeaseRecord } from "../ha/state.ts";
import { podView } from "../observe/pod-view.ts";
import { installCommand } from "../resources/agent-image.ts";
import { claimFor } from "../resources/claim.ts";
import type { DatabaseContext } from "../resources/declaration.ts";
import { databaseName, instanceKey, selectorLabels } from "../resources/names.ts";
import { ownersOf } from "../resources/owners.ts";
import { podFor } from "../resources/pod.ts";
import { digestOf, type Recipe, recipeOf } from "../resources/recipe.ts";
import type { RestoreSource } from "../resources/store.ts";
import { versionFor } from "./upgrade.ts";
import { releaseVolume } from "./volumes.ts";

export interface InstancesOptions {
  readonly members: Members;
  /** Those that have a pod or a claim. */
  readonly existing: readonly string[];
  readonly record: LeaseRecord | undefined;
  readonly agentImage: string;
  readonly restore: RestoreSource | undefined;
  readonly plan: UpgradePlan;
  /** The Database is being deleted. */
  readonly closing: boolean;
}

/** The first instance makes the database; the others are made when there is something to clone. */
export async function keepInstances(
  object: DatabaseObject,
  ctx: DatabaseContext,
  options: InstancesOptions,
): Promise<void> {
  const { members, existing, record, closing } = options;
  const initialised = record?.published.systemId !== undefined;
  const [first] = members.keep;
  for (const name of members.keep) {
    if (!initialised && name !== first && !existing.includes(name)) continue;
    await keepInstance(object, ctx, name, options);
  }
  if (closing) return;
  const database = databaseName(object);
  for (const name of members.remove) {
    const slot = instanceKey(database, name);
    if (ctx.own.pods.get(slot)) await ctx.own.pods.delete(slot);
    else await removeClaim(object, ctx, slot);
  }
}

/** All that it had is on those that stay: its volume goes too, unless volumes are to be kept whatever happens. */
async function removeClaim(object: DatabaseObject, ctx: DatabaseContext, slot: string): Promise<void> {
  const claim = ctx.own.claims.get(slot);
  if (!claim || claim.metadata.deletionTimestamp !== undefined) return;
  const volume = claim.spec?.volumeName;
  if (volume && object.spec.onDelete !== "Retain") await releaseVolume(ctx, volume);
  await ctx.own.claims.delete(slot);
}

async function keepInstance(
  object: DatabaseObject,
  ctx: DatabaseContext,
  name: string,
  { agentImage, restore, record, plan, closing }: InstancesOptions,
): Promise<void> {
  const { spec } = object;
  const database = databaseName(object);
  const slot = instanceKey(database, name);
  await keepClaim(object, ctx, { name, slot, systemId: record?.published.systemId });
  const pod = ctx.own.pods.get(slot);
  const version = versionFor(name, plan, spec.version);
  const recipe = recipeOf(object, { version, record });
  if (pod && isStuck(pod, recipe)) {
    await ctx.own.pods.delete(slot);
    ctx.event("Normal", "InstanceReplaced", `${name}: it could not start as its older spec said`);
    return;
  }
  if (pod) return closing ? undefined : await repairLabels(object, ctx, pod.metadata);
  const isAhead = majorPart(version) !== majorPart(plan.version);
  const isFirst = record?.published.systemId === undefined && name === `${database.name}-0`;
  const desired = podFor({
    database,
    instance: name,
    recipe,
    major: majorPart(version),
    ...(isAhead && {
      upgradeFrom: { image: `${spec.image}:${plan.version}`, major: majorPart(plan.version) },
    }),
    agentImage,
    installCommand,
    archive: spec.backup?.archive ?? false,
    ...(isFirst && restore && { restore }),
  });
  try {
    await ctx.own.pods.apply(slot, {
      ...desired,
      metadata: { ...desired.metadata, ownerReferences: ownersOf(object, ctx) },
    });
    ctx.event("Normal", "InstanceStarted", `${name} starts with ${recipe.image}`);
  } catch (error) {
    // Its predecessor is still on its way out.
    if (!(isApiError(error) && error.code === 409)) throw error;
    ctx.recheck(1_000);
  }
}

/** It does not start, and the spec has been corrected since: nobody waits until it is ready. */
function isStuck(pod: ObjectOf<typeof Pod>, recipe: Recipe): boolean {
  const { obstacle, template, deleting } = podView(pod);
  return obstacle !== undefined && !deleting && template !== digestOf(recipe);
}

/** Claims grow and never shrink. One that its class does not let grow stays as it is, and the instance runs on. */
async function keepClaim(
  object: DatabaseObject,
  ctx: DatabaseContext,
  {
    name,
    slot,
    systemId,
  }: { readonly name: string; readonly slot: string; readonly systemId: string | undefined },
): Promise<void> {
  const { storage } = object.spec;
  const existing = ctx.own.claims.get(slot);
  if (existing?.metadata.deletionTimestamp !== undefined) return;
  const asked = existing?.spec?.resources?.requests?.["storage"];
  const isSmaller = asked !== undefined && Quantity.from(storage.size).compare(Quantity.from(asked)) < 0;
  const size = isSmaller ? asked : storage.size;
  const data = systemId ?? existing?.metadata.annotations?.[annotations.systemId];
  const wanted = (ofSize: typeof size) =>
    claimFor(databaseName(object), name, { ...storage, size: ofSize }, data);
  try {
    await ctx.own.claims.apply(slot, wanted(size));
  } catch (error) {
    if (!existing || !isApiError(error) || (error.code !== 403 && error.code !== 422)) throw error;
    ctx.event("Warning", reasons.volumeNotGrown, `${name}: ${error.message}`);
    await ctx.own.claims.apply(slot, wanted(asked ?? storage.size));
  }
}

/** Services and budgets find pods by labels: what a person took away is put back. */
async function repairLabels(
  object: DatabaseObject,
  ctx: DatabaseContext,
  metadata: ObjectMeta,
): Promise<void> {
  const wanted = selectorLabels(databaseName(object));
  const wrong = Object.entries(wanted).filter(([key, value]) => metadata.labels?.[key] !== value);
  const owners = ownersOf(object, ctx);
  const has = metadata.ownerReferences ?? [];
  const owned =
    has.length === owners.length && owners.every(({ uid }) => has.some((each) => each.uid === uid));
  if (wrong.length === 0 && owned) return;
  const { name = "", namespace = "default", uid } = metadata;
  const body = { metadata: { uid, labels: wanted, ...(!owned && { ownerReferences: owners }) } };
  await ctx.client.kind(Pod).patch({ name, namespace }, { type: "merge", body: body as never });
}
