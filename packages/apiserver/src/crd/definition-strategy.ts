/** The rules of CustomResourceDefinition itself. */
import { deepCopy, deepEqual, formatTime, type JsonObject } from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";
import type { Strategy } from "../contracts/strategy.ts";
import type { LifeCycle } from "../registry/api-resource.ts";
import { readDefinition } from "./definition.ts";
import { validateDefinition, validateDefinitionUpdate } from "./validate-definition.ts";
import { unknownFormats } from "./validate-schema.ts";

export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

export const definitionStrategy: Strategy = {
  allowUnconditionalUpdate: false,
  generation: "none",
  default(draft) {
    const spec = draft.spec as JsonObject | undefined;
    if (!spec) return;
    const names = spec.names as JsonObject | undefined;
    if (names && typeof names.kind === "string" && names.kind) {
      if (!names.singular) names.singular = names.kind.toLowerCase();
      if (!names.listKind) names.listKind = `${names.kind}List`;
    }
    if (!spec.conversion) spec.conversion = { strategy: "None" };
    const conversion = spec.conversion as JsonObject;
    const client = (conversion.webhook as JsonObject | undefined)?.clientConfig as JsonObject | undefined;
    const service = client?.service as JsonObject | undefined;
    if (service && service.port === undefined) service.port = 443;
    const webhook = conversion.webhook as JsonObject | undefined;
    if (webhook && !webhook.clientConfig && !webhook.conversionReviewVersions) delete conversion.webhook;
  },
  prepareForCreate(draft) {
    draft.metadata.generation = 1;
    const stored = storageVersions(draft);
    draft.status = {
      conditions: null,
      acceptedNames: { plural: "", kind: "" },
      storedVersions: stored.length > 0 ? stored : null,
    };
  },
  prepareForUpdate(draft, old) {
    if (!deepEqual(draft.spec, old.spec)) draft.metadata.generation = (old.metadata.generation ?? 0) + 1;
    const status = deepCopy((draft.status ?? {}) as JsonObject);
    const stored = (status.storedVersions as string[] | null | undefined) ?? [];
    const missing = storageVersions(draft).filter((version) => !stored.includes(version));
    draft.status = { ...status, storedVersions: [...stored, ...missing] };
  },
  validate: (object) => validateDefinition(object),
  validateUpdate: (object, old) => validateDefinitionUpdate(object, old),
  warningsOnCreate: (object) => formatWarnings(object, []),
  warningsOnUpdate: (object, old) => formatWarnings(object, formatsIn(old)),
};

function formatsIn(object: ApiObject): string[] {
  return readDefinition(object).versions.flatMap(({ schema }) => (schema ? unknownFormats(schema) : []));
}

function formatWarnings(object: ApiObject, known: readonly string[]): string[] {
  return formatsIn(object)
    .filter((format) => !known.includes(format))
    .map((format) => `unrecognized format ${JSON.stringify(format)}`);
}

function storageVersions(object: ApiObject): string[] {
  return readDefinition(object)
    .versions.filter(({ storage }) => storage)
    .slice(0, 1)
    .map(({ name }) => name);
}

/** A definition stays until its objects are gone. */
export const definitionLifeCycle: LifeCycle = {
  deletion(existing, options, nowMs) {
    const { uid, resourceVersion } = options;
    if (uid !== undefined && uid !== existing.metadata.uid) return undefined;
    if (resourceVersion !== undefined && resourceVersion !== existing.metadata.resourceVersion)
      return undefined;
    if (existing.metadata.deletionTimestamp) {
      return (existing.metadata.finalizers ?? []).length > 0 ? { kind: "pending" } : undefined;
    }
    const now = formatTime(nowMs);
    const finalizers = existing.metadata.finalizers ?? [];
    const draft: ApiObject = {
      ...existing,
      metadata: {
        ...existing.metadata,
        deletionTimestamp: now,
        finalizers: finalizers.includes(cleanupFinalizer) ? finalizers : [...finalizers, cleanupFinalizer],
      },
      status: withCondition(existing, {
        type: "Terminating",
        status: "True",
        lastTransitionTime: now,
        reason: "InstanceDeletionPending",
        message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
      }),
    };
    return { kind: "mark", draft };
  },
};

/** The status with a condition set; its time changes only when its status does. */
export function withCondition(object: ApiObject, condition: JsonObject): JsonObject {
  const status = (object.status ?? {}) as JsonObject;
  const conditions = [...((status.conditions as JsonObject[] | null | undefined) ?? [])];
  const at = conditions.findIndex(({ type }) => type === condition.type);
  const before = at < 0 ? undefined : conditions[at];
  const next =
    before?.status === condition.status
      ? { ...condition, lastTransitionTime: before?.lastTransitionTime ?? condition.lastTransitionTime }
      : condition;
  if (at < 0) conditions.push(next as JsonObject);
  else conditions[at] = next as JsonObject;
  return { ...status, conditions };
}
