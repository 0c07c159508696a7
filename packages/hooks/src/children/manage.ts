/** Brings the children of a parent to what its hook asks for. */
import { isAlreadyExists, isConflict } from "@keelson/client";
import { groupKind, type JsonObject, parseKey, type Stored } from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import { type CacheReader, type RawContext, readinessOf } from "@keelson/runtime/internal";
import { HookError } from "../errors.ts";
import { type ChildRule, describe } from "./child-rule.ts";
import { controllerOf } from "./claim.ts";
import { type DesiredChild, waveOf } from "./desired.ts";
import type { ObjectMap } from "./object-map.ts";

export interface ManageOptions {
  readonly rules: readonly ChildRule[];
  readonly observed: ObjectMap;
  readonly desired: readonly DesiredChild[];
}

/**
 * Deletes what is not desired, makes what is missing, and updates what differs by the method of its kind. One child's
 * error does not keep the others back. Children of a later wave wait until those before are ready.
 */
export async function manageChildren(ctx: RawContext, options: ManageOptions): Promise<void> {
  const errors: unknown[] = [];
  await deleteUndesired(ctx, options, errors);
  const waves = [...new Set(options.desired.map(({ wave }) => wave))].sort((a, b) => a - b);
  for (const wave of waves) {
    const those = options.desired.filter((child) => child.wave === wave);
    for (const child of those) {
      try {
        await bring(ctx, child, options.observed.get(child.rule.kind, child.key));
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0 || (wave !== waves.at(-1) && !those.every((child) => isReady(ctx, child)))) break;
  }
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) {
    const all = errors.map((error) => errorText(error)).join("; and ");
    throw new HookError("ChildrenFailed", all, { cause: errors[0] });
  }
}

/** Only those of the last wave go at once; the others wait until they are gone. */
async function deleteUndesired(
  ctx: RawContext,
  { observed, desired }: ManageOptions,
  errors: unknown[],
): Promise<void> {
  const wanted = new Set(desired.map(({ rule, key }) => `${groupKind(rule.kind)} ${key}`));
  const undesired = [...observed.entries()]
    .filter(([kind, object]) => !wanted.has(describe(kind, object)))
    .map(([kind, object]) => ({ kind, object, wave: observedWave(object) }));
  const last = Math.max(...undesired.map(({ wave }) => wave));
  for (const { kind, object, wave } of undesired) {
    const { namespace, name, uid, deletionTimestamp } = object.metadata;
    if (wave !== last || deletionTimestamp !== undefined) continue;
    try {
      await ctx.kind(kind).delete({ namespace, name }, { uid, propagation: "Background" });
    } catch (error) {
      // Another has its name by now, and is looked at when it is seen.
      if (!isConflict(error)) errors.push(error);
    }
  }
}

function observedWave(object: Stored): number {
  try {
    return waveOf(object.metadata.annotations, object.metadata.name);
  } catch {
    return 0;
  }
}

async function bring(ctx: RawContext, child: DesiredChild, seen: Stored | undefined): Promise<void> {
  const { rule, body } = child;
  if (!seen) return await make(ctx, child);
  // It is made again when it has gone.
  if (child.asIs || seen.metadata.deletionTimestamp !== undefined) return;
  switch (rule.method) {
    case "OnDelete":
      return;
    case "InPlace":
    case "RollingInPlace": {
      const metadata = { ...body.metadata, uid: seen.metadata.uid };
      await ctx.apply(rule.watch, { ...body, metadata });
      return;
    }
    case "Recreate":
    case "RollingRecreate":
      if (await ctx.wouldChange(rule.watch, body)) await recreate(ctx, child, seen);
      return;
  }
}

/** What exists under the name and is not ours stays as it is. */
async function make(ctx: RawContext, { rule, key, body }: DesiredChild): Promise<void> {
  const cache = ctx.caches[rule.watch] as unknown as CacheReader<Stored>;
  const found = cache.get(key) ?? ((await ctx.kind(rule.kind).find(parseKey(key))) as Stored | undefined);
  if (found) {
    const by = controllerOf(found);
    const what = describe(rule.kind, found);
    throw new HookError(
      "NotOurs",
      by
        ? `cannot make ${what}: it exists and is controlled by ${by.kind} ${by.name}`
        : `cannot make ${what}: it exists and is no child of this object; delete it, or give it the labels of ` +
            "the selector to have it adopted",
    );
  }
  await ctx.apply(rule.watch, body, { force: false });
}

/** A child is given up only for one that the server would take. It is made again when it has gone. */
async function recreate(ctx: RawContext, { rule, body }: DesiredChild, seen: Stored): Promise<void> {
  const verbs = ctx.kind(rule.kind);
  try {
    await verbs.create(body as JsonObject, { dryRun: true });
  } catch (error) {
    // The name is taken by the child itself, which the server looks at last.
    if (!isAlreadyExists(error)) throw error;
  }
  const { namespace, name, uid } = seen.metadata;
  try {
    await verbs.delete({ namespace, name }, { uid, propagation: "Background" });
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
}

function isReady(ctx: RawContext, { rule, key }: DesiredChild): boolean {
  const object = (ctx.caches[rule.watch] as unknown as CacheReader<Stored>).get(key);
  return (
    object !== undefined &&
    object.metadata.deletionTimestamp === undefined &&
    readinessOf(rule.kind, object).ready
  );
}
