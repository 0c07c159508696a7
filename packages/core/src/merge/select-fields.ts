/** The part of an object that a set of fields names, found without a schema. */
import { deepEqual } from "../json.ts";
import type { JsonObject, JsonValue, ManagedFieldsEntry } from "../object.ts";
import { setKey } from "../set-key.ts";
import { FieldSet } from "./field-set.ts";
import { elementContent, type PathElement } from "./path.ts";
import { isMap } from "./typed.ts";

/** What a manager owns in an object; the empty set when it owns nothing. */
export function ownedFields(
  entries: readonly ManagedFieldsEntry[] | null | undefined,
  owner: { readonly manager: string; readonly operation?: "Apply" | "Update"; readonly subresource?: string },
): FieldSet {
  let fields = FieldSet.empty;
  for (const entry of entries ?? []) {
    if (entry.manager !== owner.manager || entry.operation !== (owner.operation ?? "Apply")) continue;
    if ((entry.subresource ?? "") !== (owner.subresource ?? "") || !entry.fieldsV1) continue;
    fields = fields.union(FieldSet.fromJson(entry.fieldsV1));
  }
  return fields;
}

/**
 * The object seen through a set of fields: named leaves with all they contain, and what leads to them.
 * Items of lists are found by the keys or values that the set names, in the order of the list; what the
 * object does not have is left out. Undefined when nothing is left.
 */
export function selectFields(object: JsonObject, fields: FieldSet): JsonObject | undefined {
  return select(object, fields) as JsonObject | undefined;
}

function select(value: JsonValue, fields: FieldSet): JsonValue | undefined {
  if (Array.isArray(value)) return selectItems(value, fields);
  if (!isMap(value)) return undefined;
  const out: JsonObject = {};
  let empty = true;
  for (const element of fields.elements()) {
    const content = elementContent(element);
    if (content.kind !== "field" || !Object.hasOwn(value, content.name)) continue;
    const kept = selectAt(value[content.name] as JsonValue, fields, element);
    if (kept === undefined) continue;
    setKey(out, content.name, kept);
    empty = false;
  }
  return empty ? undefined : out;
}

/** A member without members below it is a leaf and stands whole; one with some is only a container. */
function selectAt(value: JsonValue, fields: FieldSet, element: PathElement): JsonValue | undefined {
  const below = fields.below(element);
  if (below === undefined) return value;
  const kept = select(value, below);
  if (kept !== undefined || !fields.hasElement(element)) return kept;
  return Array.isArray(value) ? [] : {};
}

function selectItems(items: readonly JsonValue[], fields: FieldSet): JsonValue[] | undefined {
  const wanted = [...fields.elements()];
  const out: JsonValue[] = [];
  items.forEach((item, i) => {
    const element = wanted.find((candidate) => names(candidate, item, i));
    const kept = element === undefined ? undefined : selectAt(item, fields, element);
    if (kept !== undefined) out.push(kept);
  });
  return out.length === 0 ? undefined : out;
}

function names(element: PathElement, item: JsonValue, index: number): boolean {
  const content = elementContent(element);
  switch (content.kind) {
    case "key":
      return isMap(item) && content.keys.every(([key, value]) => deepEqual(item[key], value));
    case "value":
      return deepEqual(item, content.value);
    case "index":
      return content.index === index;
    default:
      return false;
  }
}
