/**
 * Who owns the fields of what the server begins with: the server itself. Worked out from the shape of these few
 * kinds alone, because asking their schemas would make every start wait for them.
 */
import { formatTime, type JsonObject, type JsonValue } from "@keelson/core";
import { lookupTable } from "@keelson/core/internal";
import type { ApiObject } from "../contracts/object.ts";

/** The names under which parts of the server write, by group; the others write as the server. */
const managers: Readonly<Record<string, string>> = lookupTable({
  "flowcontrol.apiserver.k8s.io": "api-priority-and-fairness-config-producer-v1",
});

/** Objects that are there in every object of their kind, and so owned by nobody; a map or a pointer is owned too. */
const alwaysThere = new Set(["metadata", "spec", "priorityLevelConfiguration"]);

/** Lists that merge by keys; the others are owned whole. */
const keysOf: Readonly<Record<string, readonly string[]>> = lookupTable({ ports: ["port", "protocol"] });

/** Structures that are owned whole. */
const whole = new Set(["roleRef"]);

/** The names of the object, what others write, and what is given out after owners are noted. */
const unowned = new Set(["apiVersion", "kind", "status", "clusterIPs", "ipFamilies", "finalizers"]);

/** The object with its owner noted. */
export function ownedByServer(object: ApiObject, nowMs: number): ApiObject {
  const { metadata, apiVersion } = object;
  const { labels, annotations } = metadata;
  const noted = { ...(annotations && { annotations }), ...(labels && { labels }) };
  const fields = fieldsOf({ ...object, metadata: noted as JsonObject });
  const entry: JsonObject = {
    manager: managers[String(apiVersion).split("/")[0] ?? ""] ?? "kube-apiserver",
    operation: "Update",
    apiVersion: apiVersion as string,
    time: formatTime(nowMs),
    fieldsType: "FieldsV1",
    fieldsV1: fields,
  };
  return { ...object, metadata: { ...metadata, managedFields: [entry] } };
}

function owned(key: string, value: JsonValue | undefined): JsonObject {
  if (Array.isArray(value)) return ownedList(key, value);
  if (typeof value !== "object" || value === null || whole.has(key)) return {};
  return { ...(!alwaysThere.has(key) && { ".": {} }), ...fieldsOf(value as JsonObject) };
}

function fieldsOf(object: JsonObject): JsonObject {
  const fields: JsonObject = {};
  for (const [key, value] of Object.entries(object)) {
    if (unowned.has(key) || value === null) continue;
    const inner = owned(key, value);
    if (!alwaysThere.has(key) || Object.keys(inner).length > 0) fields[`f:${key}`] = inner;
  }
  return fields;
}

function ownedList(key: string, items: readonly JsonValue[]): JsonObject {
  const keys = keysOf[key];
  if (!keys) return {};
  const named = (items as JsonObject[]).map((item): [string, JsonObject] => [
    `k:${JSON.stringify(Object.fromEntries(keys.map((name) => [name, item[name]])))}`,
    { ".": {}, ...fieldsOf(item) },
  ]);
  return { ".": {}, ...Object.fromEntries(named) };
}
