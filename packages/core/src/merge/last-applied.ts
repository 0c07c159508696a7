/** The annotation of client-side apply, for kubectl's way over to server-side apply. */
import { canonicalJson, parseJson } from "../json.ts";
import { annotationsBytes, maxAnnotationsBytes } from "../names.ts";
import type { JsonObject } from "../object.ts";
import { MergeError } from "./errors.ts";
import type { FieldSet } from "./field-set.ts";
import type { ManagedResource } from "./managed-resource.ts";
import { escapeHtml } from "./path.ts";
import type { ApplyConflict } from "./settle.ts";
import { compareTyped } from "./typed-compare.ts";
import { checkType, fieldsOf } from "./typed-fields.ts";

const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

function annotationsOf(object: JsonObject): Record<string, string> | undefined {
  return (object.metadata as { annotations?: Record<string, string> } | undefined)?.annotations ?? undefined;
}

/**
 * The conflicts that stay when kubectl takes over what it applied from the client's side before: fields
 * of the last applied configuration that the live object still has. Undefined when there is none to read.
 */
export function conflictsAfterLastApplied(
  resource: ManagedResource,
  live: JsonObject,
  conflicts: readonly ApplyConflict[],
): ApplyConflict[] | undefined {
  const text = annotationsOf(live)?.[lastAppliedAnnotation];
  if (!text) return undefined;
  let allowed: FieldSet;
  try {
    const config = parseJson(text) as JsonObject;
    if (config.apiVersion !== resource.apiVersion) return undefined;
    checkType(config, resource.type, { allowDuplicates: false });
    checkType(live, resource.type, { allowDuplicates: false });
    const { modified, added, removed } = compareTyped(config, live, resource.type);
    allowed = fieldsOf(config, resource.type).difference(modified).difference(added).difference(removed);
  } catch (error) {
    if (error instanceof MergeError || error instanceof SyntaxError) return undefined;
    throw error;
  }
  return conflicts.filter(({ path }) => !allowed.has(path));
}

/** Keeps the client-side annotation in step, where there is one, so that an older kubectl still works. */
export function syncLastApplied(object: JsonObject, config: JsonObject): JsonObject {
  const annotations = annotationsOf(object);
  if (!annotations?.[lastAppliedAnnotation]) return object;
  const metadata = { ...(config.metadata as JsonObject | undefined) };
  const applied = { ...annotationsOf(config) };
  delete applied[lastAppliedAnnotation];
  if (Object.keys(applied).length > 0) metadata.annotations = applied;
  else delete metadata.annotations;
  const next: Record<string, string> = {
    ...annotations,
    [lastAppliedAnnotation]: `${escapeHtml(canonicalJson({ ...config, metadata }))}\n`,
  };
  if (annotationsBytes(next) > maxAnnotationsBytes) delete next[lastAppliedAnnotation];
  return { ...object, metadata: { ...(object.metadata as JsonObject), annotations: next } };
}
