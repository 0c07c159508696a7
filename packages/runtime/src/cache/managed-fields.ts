/** Reads an object through the eyes of one field manager: the fields that it applied and still owns. */
import {
  canonicalJson,
  deepEqual,
  type JsonObject,
  type JsonValue,
  parseJson,
  type Stored,
} from "@keelson/core";

/**
 * What `manager` owns of the object by server-side apply, as a configuration: what it last applied, in the form in
 * which the server keeps it. A field that someone else changed is no longer owned and so is not in it. Undefined
 * when the manager never applied the object (or no managed fields were asked for).
 */
export function appliedBy(object: Stored, manager: string, subresource = ""): JsonObject | undefined {
  const entry = object.metadata.managedFields?.find(
    (each) =>
      each.manager === manager && each.operation === "Apply" && (each.subresource ?? "") === subresource,
  );
  return entry?.fieldsV1 && (extract(object as unknown as JsonValue, entry.fieldsV1) as JsonObject);
}

/** The fields of the status that other managers apply. What was written in another way belongs to nobody for good. */
export function appliedByOthers(object: Stored, manager: string): readonly JsonObject[] {
  return (object.metadata.managedFields ?? [])
    .filter(
      (each) =>
        each.manager !== manager && each.operation === "Apply" && (each.subresource ?? "") === "status",
    )
    .map(({ fieldsV1 }) => fieldsV1?.["f:status"])
    .filter((fields) => fields !== undefined) as JsonObject[];
}

/** The part of a value that a field set (the format `FieldsV1`) covers. */
export function extract(value: JsonValue, fields: JsonObject): JsonValue {
  const names = Object.keys(fields).filter((name) => name !== ".");
  // A set without members is a leaf: a scalar, or a list or map that is owned as a whole.
  if (names.length === 0) {
    if (!("." in fields) || typeof value !== "object" || value === null) return value;
    return Array.isArray(value) ? [] : {};
  }
  if (Array.isArray(value)) return extractItems(value, fields, names);
  if (typeof value !== "object" || value === null) return value;
  const out: JsonObject = {};
  for (const name of names) {
    if (!name.startsWith("f:")) continue;
    const property = name.slice(2);
    const item = value[property];
    if (item !== undefined) out[property] = extract(item, fields[name] as JsonObject);
  }
  return out;
}

function extractItems(
  items: readonly JsonValue[],
  fields: JsonObject,
  names: readonly string[],
): JsonValue[] {
  const selectors = names.map((name) => ({
    matches: matcher(name),
    fields: fields[name] as JsonObject,
  }));
  const out: JsonValue[] = [];
  items.forEach((item, index) => {
    const selector = selectors.find(({ matches }) => matches(item, index));
    if (selector) out.push(extract(item, selector.fields));
  });
  return out;
}

function matcher(name: string): (item: JsonValue, index: number) => boolean {
  const kind = name.slice(0, 2);
  const text = name.slice(2);
  if (kind === "i:") return (_item, index) => index === Number(text);
  const wanted = parseJson(text);
  if (kind === "v:") return (item) => deepEqual(item, wanted);
  const keys = Object.entries(wanted as JsonObject);
  return (item) =>
    typeof item === "object" &&
    item !== null &&
    !Array.isArray(item) &&
    // A key that the item leaves out stands for its default, which only the schema knows: the others decide.
    keys.every(([key, value]) => item[key] === undefined || deepEqual(item[key], value));
}

/** A configuration as a text that is equal for equal intents; identity and kind are no part of the intent. */
export function intentOf(configuration: JsonObject): string {
  const { apiVersion: _, kind: __, metadata, ...rest } = configuration;
  const {
    name: ___,
    namespace: ____,
    uid: _____,
    resourceVersion: ______,
    ...meta
  } = (metadata ?? {}) as JsonObject;
  return canonicalJson({ ...rest, metadata: meta });
}
