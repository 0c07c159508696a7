/** What changed between two values of one type, as sets of fields. */
import { deepEqual } from "../json.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import { MergeError } from "./errors.ts";
import { FieldSet, FieldSetBuilder } from "./field-set.ts";
import { displayPath, fieldElement, type PathElement } from "./path.ts";
import { type Atom, type ListType, type MapType, type TypeRef, typeOfField } from "./schema.ts";
import { deduceAtom, formOf, isEmptyMap, isMap, itemElement, itemElementIfAny, type Value } from "./typed.ts";

/** No path is in more than one of the three. */
export interface Comparison {
  readonly removed: FieldSet;
  readonly modified: FieldSet;
  readonly added: FieldSet;
}

export const noChange: Comparison = Object.freeze({
  removed: FieldSet.empty,
  modified: FieldSet.empty,
  added: FieldSet.empty,
});

/** Both values must fit the type. Values that are one and the same object are equal without a look inside. */
export function compareTyped(before: Value, after: Value, type: TypeRef): Comparison {
  if (before === after) return noChange;
  const walk = new CompareWalk();
  walk.compare(before, after, type.atom);
  return walk.result();
}

class CompareWalk {
  readonly #removed = new FieldSetBuilder();
  readonly #modified = new FieldSetBuilder();
  readonly #added = new FieldSetBuilder();
  readonly #path: PathElement[] = [];

  result(): Comparison {
    return { removed: this.#removed.build(), modified: this.#modified.build(), added: this.#added.build() };
  }

  compare(before: Value, after: Value, open: Atom): void {
    if (before === after) return;
    const left = deduceAtom(open, before);
    const right = deduceAtom(open, after);
    let leaf: boolean;
    if (after === undefined) leaf = this.#as(left, before, after);
    else if (before === undefined || left === right) leaf = this.#as(right, before, after);
    else {
      this.#as(left, before, after);
      leaf = this.#as(right, before, after);
    }
    if (leaf) return;
    if (before === undefined) this.#added.insert(this.#path);
    else if (after === undefined) this.#removed.insert(this.#path);
  }

  /** Records the differences of one form; returns whether the value is a leaf in it. */
  #as(atom: Atom, before: Value, after: Value): boolean {
    switch (formOf(atom)) {
      case "map": {
        const map = atom.map as MapType;
        const left = isMap(before) ? before : undefined;
        const right = isMap(after) ? after : undefined;
        const empty = (left === undefined || isEmptyMap(left)) && (right === undefined || isEmptyMap(right));
        if (map.atomic || empty) return this.#leaf(before, after);
        this.#maps(map, left ?? {}, right ?? {});
        return false;
      }
      case "list": {
        const list = atom.list as ListType;
        const left = Array.isArray(before) ? before : [];
        const right = Array.isArray(after) ? after : [];
        if (list.atomic || (left.length === 0 && right.length === 0)) return this.#leaf(before, after);
        this.#lists(list, left, right);
        return false;
      }
      default:
        return this.#leaf(before, after);
    }
  }

  #leaf(before: Value, after: Value): true {
    if (before === undefined) this.#added.insert(this.#path);
    else if (after === undefined) this.#removed.insert(this.#path);
    else if (!deepEqual(before, after)) this.#modified.insert(this.#path);
    return true;
  }

  #below(element: PathElement, before: Value, after: Value, type: TypeRef | undefined): void {
    if (before === after) return;
    this.#path.push(element);
    if (type === undefined) this.#leaf(before, after);
    else this.compare(before, after, type.atom);
    this.#path.pop();
  }

  #maps(map: MapType, before: JsonObject, after: JsonObject): void {
    for (const name in before) {
      const left: Value = before[name];
      if (left === undefined) continue;
      const right: Value = Object.hasOwn(after, name) ? after[name] : undefined;
      if (left !== right) this.#below(fieldElement(name), left, right, typeOfField(map, name));
    }
    for (const name in after) {
      const right: Value = after[name];
      if (right === undefined || (Object.hasOwn(before, name) && before[name] !== undefined)) continue;
      this.#below(fieldElement(name), undefined, right, typeOfField(map, name));
    }
  }

  #lists(list: ListType, before: JsonValue[], after: JsonValue[]): void {
    if (this.#inPairs(list, before, after)) return;
    const left = this.#group(list, before);
    const right = this.#group(list, after);
    for (const [element, items] of left) this.#items(list, element, items, right.get(element) ?? []);
    for (const [element, items] of right) if (!left.has(element)) this.#items(list, element, [], items);
  }

  /** Lists with the same items in the same order, each once, compare item by item; most lists do. */
  #inPairs(list: ListType, before: JsonValue[], after: JsonValue[]): boolean {
    if (before.length !== after.length) return false;
    const elements: PathElement[] = [];
    for (let i = 0; i < before.length; i++) {
      const element = itemElementIfAny(list, before[i] as JsonValue);
      if (element === undefined) return false;
      if (before[i] !== after[i] && itemElementIfAny(list, after[i] as JsonValue) !== element) return false;
      elements.push(element);
    }
    if (new Set(elements).size !== elements.length) return false;
    for (let i = 0; i < before.length; i++) {
      this.#below(elements[i] as PathElement, before[i], after[i], list.element);
    }
    return true;
  }

  /** Items that occur several times are compared as one leaf. */
  #items(list: ListType, element: PathElement, before: JsonValue[], after: JsonValue[]): void {
    if (before.length <= 1 && after.length <= 1) {
      this.#below(element, before[0], after[0], list.element);
    } else if (before.length >= 2 && after.length >= 2) {
      if (!deepEqual(before, after)) this.#modified.insert([...this.#path, element]);
    } else if (before.length >= 2) {
      if (after.length > 0) this.#below(element, undefined, after[0], list.element);
      this.#removed.insert([...this.#path, element]);
    } else {
      if (before.length > 0) this.#below(element, before[0], undefined, list.element);
      this.#added.insert([...this.#path, element]);
    }
  }

  #group(list: ListType, values: JsonValue[]): Map<PathElement, JsonValue[]> {
    const out = new Map<PathElement, JsonValue[]>();
    values.forEach((value, i) => {
      const element = this.#element(list, value, i);
      const items = out.get(element);
      if (items === undefined) out.set(element, [value]);
      else items.push(value);
    });
    return out;
  }

  #element(list: ListType, value: JsonValue, index: number): PathElement {
    try {
      return itemElement(list, value);
    } catch (cause) {
      const where = `${displayPath(this.#path)}: element ${index}: ${(cause as Error).message}`;
      throw new MergeError("TypeMismatch", `failed to compare objects: ${where}`, { cause });
    }
  }
}
