/** What a delete request does to an object: nothing yet, a mark, or its end. Pure. */

import { formatTime, parseTime } from "@keelson/core";
import { nearestNumber } from "../contracts/numbers.ts";
import type { ApiObject } from "../contracts/object.ts";
import type { ApiResource } from "../registry/api-resource.ts";
import type { DeleteOptions, Deletion } from "../registry/deletion.ts";
import { foregroundFinalizer, orphanFinalizer } from "../registry/metadata.ts";

export function deletionOf(
  resource: ApiResource,
  existing: ApiObject,
  options: DeleteOptions,
  nowMs: number,
): Deletion {
  const draft: ApiObject = { ...existing, metadata: { ...existing.metadata } };
  const meta = draft.metadata;
  const grace = beginGracefully(resource, draft, options, nowMs);
  if (grace === "pending") return { kind: "pending" };
  const finalizers = finalizersFor(resource, existing, options);
  if (finalizers.length > 0) meta.finalizers = finalizers;
  else delete meta.finalizers;
  if (grace === undefined) {
    if (finalizers.length === 0) return { kind: "remove", draft: undefined };
    markAsDeleting(draft, nowMs);
    return { kind: "mark", draft };
  }
  return grace > 0 || finalizers.length > 0 ? { kind: "mark", draft } : { kind: "remove", draft };
}

/** Seconds of grace; `undefined` when the deletion is not graceful. Marks the draft. */
function beginGracefully(
  resource: ApiResource,
  draft: ApiObject,
  options: DeleteOptions,
  nowMs: number,
): number | "pending" | undefined {
  const { gracePeriod } = resource.strategy;
  if (!gracePeriod) return undefined;
  const meta = draft.metadata;
  const { deletionTimestamp, deletionGracePeriodSeconds: before } = meta;
  if (typeof deletionTimestamp === "string") {
    if (typeof before !== "number" || before === 0) return undefined;
    if (options.gracePeriodSeconds === undefined || options.gracePeriodSeconds >= before) return "pending";
    let period = options.gracePeriodSeconds;
    let at = parseTime(deletionTimestamp) + (period - before) * 1000;
    if (at < nowMs) {
      at = nowMs;
      // The grace is over, but the program that runs the object still has the last word.
      if (period !== 0) period = 1;
    }
    meta.deletionTimestamp = formatTime(at);
    meta.deletionGracePeriodSeconds = period;
    return period;
  }
  const period = gracePeriod.call(resource.strategy, draft, options.gracePeriodSeconds);
  meta.deletionTimestamp = formatTime(nowMs + period * 1000);
  meta.deletionGracePeriodSeconds = period;
  if (nearestNumber(meta.generation ?? 0) > 0) meta.generation = nearestNumber(meta.generation as number) + 1;
  return period;
}

function markAsDeleting(draft: ApiObject, nowMs: number): void {
  const meta = draft.metadata;
  const { deletionTimestamp } = meta;
  if (deletionTimestamp === undefined && nearestNumber(meta.generation ?? 0) > 0)
    meta.generation = (meta.generation as number) + 1;
  if (typeof deletionTimestamp !== "string" || parseTime(deletionTimestamp) > nowMs)
    meta.deletionTimestamp = formatTime(nowMs);
  meta.deletionGracePeriodSeconds = 0;
}

/** The finalizers that the garbage collector will act on are added or taken away as the policy says. */
function finalizersFor(resource: ApiResource, existing: ApiObject, options: DeleteOptions): string[] {
  const before = existing.metadata.finalizers ?? [];
  const orphan = shouldOrphan(resource, before, options);
  const foreground = shouldWait(resource, before, options);
  const after = before.filter((name) => name !== orphanFinalizer && name !== foregroundFinalizer);
  if (orphan) after.push(orphanFinalizer);
  if (foreground) after.push(foregroundFinalizer);
  const same = after.length === before.length && after.every((name) => before.includes(name));
  return same ? [...before] : after;
}

function shouldOrphan(resource: ApiResource, before: readonly string[], options: DeleteOptions): boolean {
  if (resource.ungoverned) return false;
  if (options.orphanDependents !== undefined) return options.orphanDependents;
  if (options.propagationPolicy) return options.propagationPolicy === "Orphan";
  for (const name of before) {
    if (name === orphanFinalizer) return true;
    if (name === foregroundFinalizer) return false;
  }
  return resource.strategy.defaultPropagation === "Orphan";
}

function shouldWait(resource: ApiResource, before: readonly string[], options: DeleteOptions): boolean {
  if (resource.ungoverned || options.orphanDependents !== undefined) return false;
  if (options.propagationPolicy) return options.propagationPolicy === "Foreground";
  for (const name of before) {
    if (name === foregroundFinalizer) return true;
    if (name === orphanFinalizer) return false;
  }
  return false;
}
