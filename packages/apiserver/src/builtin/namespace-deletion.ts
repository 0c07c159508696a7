/** How a namespace goes: marked first, gone when its own finalizers are. */
import { formatTime, type JsonObject } from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";
import { conflict } from "../contracts/status-error.ts";
import type { LifeCycle } from "../registry/api-resource.ts";
import type { DeleteOptions } from "../registry/deletion.ts";
import { foregroundFinalizer, orphanFinalizer } from "../registry/metadata.ts";

export const namespaceLifeCycle: LifeCycle = {
  mayGo: (namespace) => specFinalizers(namespace).length === 0,
  deletion(namespace, options, nowMs) {
    checkPreconditions(namespace, options);
    if (namespace.metadata.deletionTimestamp)
      return specFinalizers(namespace).length > 0 ? { kind: "pending" } : undefined;
    const metadata = { ...namespace.metadata, deletionTimestamp: formatTime(nowMs) };
    const finalizers = finalizersFor(namespace.metadata.finalizers ?? [], options);
    if (finalizers.length > 0) metadata.finalizers = finalizers;
    else delete metadata.finalizers;
    const status = { ...(namespace.status as JsonObject | undefined), phase: "Terminating" };
    return { kind: "mark", draft: { ...namespace, metadata, status } };
  },
};

function specFinalizers(namespace: ApiObject): string[] {
  return ((namespace.spec as JsonObject | undefined)?.finalizers as string[] | undefined) ?? [];
}

function checkPreconditions(namespace: ApiObject, options: DeleteOptions): void {
  const { name, uid, resourceVersion } = namespace.metadata;
  const fail = (what: string, wanted: string, found: string | undefined) =>
    conflict(
      { group: "", resource: "namespaces" },
      name,
      `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${found}`,
    );
  if (options.uid !== undefined && options.uid !== uid) throw fail("UID", options.uid, uid);
  if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion)
    throw fail("ResourceVersion", options.resourceVersion, resourceVersion);
}

function finalizersFor(before: readonly string[], options: DeleteOptions): string[] {
  const { orphanDependents, propagationPolicy } = options;
  const wants = (finalizer: string, byFlag: boolean, policy: string) => {
    if (orphanDependents !== undefined) return orphanDependents === byFlag;
    if (propagationPolicy) return propagationPolicy === policy;
    return before.includes(finalizer);
  };
  const after = before.filter((name) => name !== orphanFinalizer && name !== foregroundFinalizer);
  if (wants(orphanFinalizer, true, "Orphan")) after.push(orphanFinalizer);
  if (wants(foregroundFinalizer, false, "Foreground")) after.push(foregroundFinalizer);
  return after;
}
