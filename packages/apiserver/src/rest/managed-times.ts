/** Whether a write changes anything but the time in its ownership entries. */
import { deepEqual, type JsonObject } from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";

/** Such a write keeps the resourceVersion and makes no event. */
export function sameButForTimes(draft: ApiObject, existing: ApiObject): boolean {
  const { metadata, ...rest } = draft;
  const { metadata: oldMetadata, ...oldRest } = existing;
  const { managedFields, ...meta } = metadata;
  const { managedFields: oldManagedFields, ...oldMeta } = oldMetadata;
  return (
    deepEqual(meta, oldMeta) &&
    deepEqual(withoutTimes(managedFields), withoutTimes(oldManagedFields)) &&
    deepEqual(rest, oldRest)
  );
}

function withoutTimes(entries: unknown): JsonObject[] {
  return ((entries as JsonObject[] | undefined) ?? []).map(({ time: _, ...entry }) => entry);
}
