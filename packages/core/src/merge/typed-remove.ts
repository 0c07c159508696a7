/** Takes fields out of a value. */
import type { JsonObject, JsonValue } from "../object.ts";
import { setKey } from "../set-key.ts";
import type { FieldSet } from "./field-set.ts";
import { fieldElement } from "./path.ts";
import { type Atom, type ListType, type MapType, type TypeRef, typeOfField } from "./schema.ts";
import { deduceAtom, formOf, isEmptyMap, isMap, itemElementIfAny, type Value } from "./typed.ts";

/**
 * The value without the given fields and items. What loses all its content becomes null rather than
 * absent, as the API server leaves it; decoding drops such nulls. Unchanged parts are shared.
 */
export function removeFields(value: Value, fields: FieldSet, type: TypeRef): Value {
  return fields.isEmpty ? value : remove(value, fields, type.atom);
}

function remove(value: Value, fields: FieldSet, open: Atom): Value {
  const atom = deduceAtom(open, value);
  switch (formOf(atom)) {
    case "map": {
      const map = atom.map as MapType;
      if (!isMap(value) || isEmptyMap(value) || map.atomic) return null;
      return removeFromMap(value, fields, map);
    }
    case "list": {
      const list = atom.list as ListType;
      if (!Array.isArray(value) || value.length === 0 || list.atomic) return null;
      return removeFromList(value, fields, list);
    }
    default:
      return value;
  }
}

function removeFromMap(value: JsonObject, fields: FieldSet, map: MapType): Value {
  const out: JsonObject = {};
  let changed = false;
  let empty = true;
  for (const name in value) {
    const item: Value = value[name];
    if (item === undefined) continue;
    const element = fieldElement(name);
    if (fields.hasElement(element)) {
      changed = true;
      continue;
    }
    const below = fields.below(element);
    const type = typeOfField(map, name);
    const kept = below === undefined || type === undefined ? item : remove(item, below, type.atom);
    if (kept !== item) changed = true;
    empty = false;
    setKey(out, name, kept ?? null);
  }
  if (!changed) return value;
  return empty ? null : out;
}

function removeFromList(value: JsonValue[], fields: FieldSet, list: ListType): Value {
  const out: JsonValue[] = [];
  let changed = false;
  for (const item of value) {
    const element = itemElementIfAny(list, item);
    if (element !== undefined && fields.hasElement(element)) {
      changed = true;
      continue;
    }
    const below = element === undefined ? undefined : fields.below(element);
    const kept = below === undefined ? item : remove(item, below, list.element.atom);
    if (kept !== item) changed = true;
    out.push(kept ?? null);
  }
  if (!changed) return value;
  return out.length === 0 ? null : out;
}
