/** What the writer of a new object comes to own, remembered by the form of the object: writers repeat few forms. */
import type { JsonObject, JsonValue } from "../object.ts";
import type { FieldSet } from "./field-set.ts";
import type { ManagedResource } from "./managed-resource.ts";
import { type Atom, type TypeRef, typeOfField } from "./schema.ts";
import { deduceAtom, type Value } from "./typed.ts";

/**
 * All that ownership of a new object depends on: its keys, the types of its values, and the values themselves where
 * they name an item of a list or the empty object has one too.
 */
type Form =
  | { readonly kind: "type"; readonly type: "string" | "number" | "boolean" }
  | { readonly kind: "value"; readonly value: JsonValue }
  | { readonly kind: "map"; readonly keys: readonly string[]; readonly forms: readonly Form[] }
  | { readonly kind: "list"; readonly forms: readonly Form[] };

interface Remembered {
  readonly form: Form;
  readonly zero: JsonObject | undefined;
  readonly resetFields: ManagedResource["resetFields"];
  readonly fields: FieldSet;
}

/** The latest first. */
const remembered = new WeakMap<TypeRef, Remembered[]>();
const formsPerType = 4;
const largestForm = 300;

/**
 * The fields of an object that is made of nothing. `find` finds them, or throws when the object does not fit its type;
 * what it found for an object of the same form is taken instead.
 */
export function fieldsOfNew(resource: ManagedResource, object: JsonObject, find: () => FieldSet): FieldSet {
  const { type, zero, resetFields } = resource;
  let known = remembered.get(type);
  const at = known?.findIndex(
    (one) => one.zero === zero && one.resetFields === resetFields && hasForm(object, one.form),
  );
  if (known && at !== undefined && at >= 0) {
    const found = known[at] as Remembered;
    if (at > 0) known.unshift(...known.splice(at, 1));
    return found.fields;
  }
  const fields = find();
  const form = new Forming().of(object, zero, type.atom);
  if (form === undefined) return fields;
  if (!known) {
    known = [];
    remembered.set(type, known);
  }
  known.unshift({ form, zero, resetFields, fields });
  if (known.length > formsPerType) known.pop();
  return fields;
}

function hasForm(value: Value, form: Form): boolean {
  switch (form.kind) {
    case "type":
      return typeof value === form.type;
    case "value":
      return value === form.value;
    case "map": {
      if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
      let i = 0;
      for (const key in value) {
        if (key !== form.keys[i] || !hasForm(value[key], form.forms[i] as Form)) return false;
        i++;
      }
      return i === form.keys.length;
    }
    case "list":
      if (!Array.isArray(value) || value.length !== form.forms.length) return false;
      for (let i = 0; i < value.length; i++) if (!hasForm(value[i], form.forms[i] as Form)) return false;
      return true;
  }
}

/** Reads forms; undefined for a value that has too much of one, or whose ownership needs a closer look. */
class Forming {
  #parts = 0;

  of(value: Value, before: Value, open: Atom): Form | undefined {
    if (value === undefined || ++this.#parts > largestForm) return undefined;
    if (typeof value !== "object" || value === null) {
      if (before !== undefined || value === null) return { kind: "value", value };
      return { kind: "type", type: typeof value as "string" | "number" | "boolean" };
    }
    const { map, list } = deduceAtom(open, value);
    if (Array.isArray(value)) {
      if (list === undefined || (before !== undefined && before !== null)) return undefined;
      return this.#all(value, (item) =>
        list.atomic ? this.of(item, undefined, list.element.atom) : this.#item(item, list.keys, list.element),
      );
    }
    if (map === undefined || (map.atomic && before !== undefined)) return undefined;
    return this.#map(value, (name) => {
      const type = typeOfField(map, name);
      return type && this.of(value[name], ownOf(before, name), type.atom);
    });
  }

  /** Items of a set are told apart by their value, those of a keyed list by their keys. */
  #item(item: JsonValue, keys: readonly string[], type: TypeRef): Form | undefined {
    if (typeof item !== "object" || item === null) return { kind: "value", value: item };
    const { map } = type.atom;
    if (Array.isArray(item) || map === undefined) return undefined;
    return this.#map(item, (name) => {
      const field = typeOfField(map, name);
      // As if the empty object had them, so that the values count.
      return field && this.of(item[name], keys.includes(name) ? null : undefined, field.atom);
    });
  }

  #map(value: JsonObject, formOf: (name: string) => Form | undefined): Form | undefined {
    // A number beyond 2^53 looks like a map, and nothing else has this key.
    if ("rawJSON" in value) return undefined;
    const keys: string[] = [];
    for (const name in value) keys.push(name);
    const forms = this.#all(keys, formOf)?.forms;
    return forms && { kind: "map", keys, forms };
  }

  #all<T>(items: readonly T[], formOf: (item: T) => Form | undefined): (Form & { kind: "list" }) | undefined {
    const forms: Form[] = [];
    for (const item of items) {
      const form = formOf(item);
      if (form === undefined) return undefined;
      forms.push(form);
    }
    return { kind: "list", forms };
  }
}

function ownOf(value: Value, name: string): Value {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return Object.hasOwn(value, name) ? value[name] : undefined;
}
