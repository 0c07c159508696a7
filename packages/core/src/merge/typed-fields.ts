/** The fields of a value as ownership sees them, and whether the value fits its type. */
import { isRawNumber } from "../json.ts";
import type { JsonObject, JsonValue } from "../object.ts";
import { MergeError } from "./errors.ts";
import { FieldSet, type FieldSetNode, leafNode, makeNode } from "./field-set.ts";
import { goType, goValue, goValueSyntax } from "./go-format.ts";
import { displayElement, displayPath, fieldElement, indexElement, type PathElement } from "./path.ts";
import { type Atom, type ListType, type MapType, type Scalar, type TypeRef, typeOfField } from "./schema.ts";
import {
  deduceAtom,
  type ElementMemo,
  isEmptyMap,
  isMap,
  isScalar,
  itemElement,
  itemElementIfAny,
  type Value,
} from "./typed.ts";

/** Every leaf and every item of a value. The value must fit the type, or be what is left of one that did. */
export function fieldsOf(value: Value, type: TypeRef): FieldSet {
  const found = new Walk(undefined, true).fields(value, type.atom);
  // Nobody owns a whole object.
  return found instanceof FieldSet ? found : FieldSet.empty;
}

/** As {@link fieldsOf}, and throws as {@link checkType} does: one walk for both. */
export function checkedFieldsOf(value: Value, type: TypeRef, memo?: ElementMemo): FieldSet {
  const walk = new Walk([], false, memo);
  const found = walk.fields(value, type.atom);
  walk.report();
  return found instanceof FieldSet ? found : FieldSet.empty;
}

/** Frozen values that were found to fit; what is frozen stays as it is. */
const fitting = new WeakMap<object, Atom>();

/**
 * Throws a {@link MergeError} with the API server's message when a value does not fit its type.
 * Objects in storage may hold duplicates in sets and keyed lists; applied ones may not.
 */
export function checkType(value: Value, type: TypeRef, options: { readonly allowDuplicates: boolean }): void {
  const walk = new Walk([], options.allowDuplicates);
  walk.check(value, type.atom);
  walk.report();
}

/**
 * Stands for what is left of an item whose fields were all taken away: it keeps the list it is in alive.
 * Only sets of half-pruned objects hold it; it is never written.
 */
const namelessItem: PathElement = "?:";

interface Problem {
  readonly path: string;
  readonly message: string;
}

class Walk {
  readonly #problems: Problem[] | undefined;
  readonly #duplicates: boolean;
  readonly #memo: ElementMemo | undefined;
  readonly #path: PathElement[] = [];

  constructor(problems: Problem[] | undefined, allowDuplicates: boolean, memo?: ElementMemo) {
    this.#problems = problems;
    this.#duplicates = allowDuplicates;
    this.#memo = memo;
  }

  report(): void {
    const problems = this.#problems;
    if (problems === undefined || problems.length === 0) return;
    const lines = problems.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
    const text = lines.length === 1 ? (lines[0] as string) : `errors:\n  ${lines.join("\n  ")}`;
    throw new MergeError("TypeMismatch", text);
  }

  #problem(message: string): void {
    this.#problems?.push({ path: displayPath(this.#path), message });
  }

  /** What a value holds below itself; `true` when it is a leaf. */
  fields(value: Value, open: Atom): FieldSet | true | undefined {
    const atom = deduceAtom(open, value);
    if (atom.map !== undefined) {
      if (atom.map.atomic) return this.#leaf(value, atom);
      if (isMap(value)) return this.#mapFields(value, atom.map);
      if (value !== null) this.#problem(`expected map, got ${goValue(value)}`);
      return undefined;
    }
    if (atom.scalar !== undefined) {
      this.#scalar(value, atom.scalar);
      return true;
    }
    if (atom.list !== undefined) {
      if (atom.list.atomic) return this.#leaf(value, atom);
      if (Array.isArray(value)) return this.#listFields(value, atom.list);
      if (value !== null) this.#problem(`expected list, got ${goValue(value)}`);
      return undefined;
    }
    this.#problem("schema error: invalid atom: inlined");
    return undefined;
  }

  #leaf(value: Value, atom: Atom): true {
    if (this.#problems !== undefined) this.check(value, atom);
    return true;
  }

  #mapFields(value: JsonObject, map: MapType): FieldSet {
    const nodes = new Map<PathElement, FieldSetNode>();
    for (const name in value) {
      const item: Value = value[name];
      if (item === undefined) continue;
      const field = map.fields.get(name);
      const type = field === undefined ? map.element : field.type;
      if (type === undefined) {
        this.#undeclared(name);
        break;
      }
      const { atom } = type;
      if (atom.scalar !== undefined && atom.map === undefined && atom.list === undefined) {
        if (!this.#scalarFits(item, atom.scalar)) this.#scalarAt(name, item, atom.scalar);
        nodes.set(fieldElement(name), leafNode);
        continue;
      }
      this.#path.push(fieldElement(name));
      const found = this.fields(item, atom);
      this.#path.pop();
      const below = found instanceof FieldSet && !found.isEmpty ? found : undefined;
      const member =
        found === true || field === undefined || item === null || (isMap(item) && isEmptyMap(item));
      if (member || below !== undefined) nodes.set(fieldElement(name), makeNode(member, below));
    }
    return FieldSet.adopt(nodes);
  }

  #listFields(value: JsonValue[], list: ListType): FieldSet {
    const nodes = new Map<PathElement, FieldSetNode>();
    for (let i = 0; i < value.length; i++) {
      const item = value[i] as JsonValue;
      const element = this.#element(list, item, i);
      if (element === undefined) return FieldSet.adopt(nodes);
      if (nodes.has(element)) {
        if (!this.#duplicates) this.#problem(`duplicate entries for key ${displayElement(element)}`);
        if (this.#problems !== undefined) this.#checkItem(item, list, element);
        // An item that occurs twice is owned as one, without its fields.
        nodes.set(element, leafNode);
        continue;
      }
      this.#path.push(element);
      const found = this.fields(item, list.element.atom);
      this.#path.pop();
      nodes.set(element, found instanceof FieldSet && !found.isEmpty ? makeNode(true, found) : leafNode);
    }
    // Without duplicates the nodes stand in the order of the items.
    if (nodes.size === value.length) this.#memo?.set(value, [...nodes.keys()]);
    return FieldSet.adopt(nodes);
  }

  /** Undefined when the item cannot be named and that is a problem, after which the list is not read on. */
  #element(list: ListType, item: JsonValue, index: number): PathElement | undefined {
    const element = itemElementIfAny(list, item);
    if (element !== undefined) return element;
    if (this.#problems === undefined) return namelessItem;
    try {
      return itemElement(list, item);
    } catch (error) {
      this.#problem(`element ${index}: ${(error as Error).message}`);
      return undefined;
    }
  }

  check(value: Value, open: Atom): void {
    if (typeof value === "object" && value !== null && this.#duplicates && fitting.get(value) === open)
      return;
    const before = this.#problems?.length;
    const atom = deduceAtom(open, value);
    if (atom.map !== undefined) {
      if (isMap(value)) this.#checkMap(value, atom.map);
      else if (value !== null) this.#problem(`expected map, got ${goValue(value)}`);
    } else if (atom.scalar !== undefined) {
      this.#scalar(value, atom.scalar);
    } else if (atom.list !== undefined) {
      if (Array.isArray(value)) this.#checkList(value, atom.list);
      else if (value !== null) this.#problem(`expected list, got ${goValue(value)}`);
    } else {
      this.#problem("schema error: invalid atom: inlined");
    }
    if (
      typeof value === "object" &&
      value !== null &&
      this.#problems?.length === before &&
      Object.isFrozen(value)
    ) {
      fitting.set(value, open);
    }
  }

  #checkMap(value: JsonObject, map: MapType): void {
    for (const name in value) {
      const item: Value = value[name];
      if (item === undefined) continue;
      const type = typeOfField(map, name);
      if (type === undefined) {
        this.#undeclared(name);
        return;
      }
      const { atom } = type;
      if (atom.scalar !== undefined && atom.map === undefined && atom.list === undefined) {
        if (!this.#scalarFits(item, atom.scalar)) this.#scalarAt(name, item, atom.scalar);
        continue;
      }
      this.#path.push(fieldElement(name));
      this.check(item, atom);
      this.#path.pop();
    }
  }

  #checkList(value: JsonValue[], list: ListType): void {
    const seen = list.atomic ? undefined : new Set<PathElement>();
    for (let i = 0; i < value.length; i++) {
      const item = value[i] as JsonValue;
      if (seen === undefined) {
        this.#path.push(indexElement(i));
        this.check(item, list.element.atom);
        this.#path.pop();
        continue;
      }
      const element = this.#element(list, item, i);
      if (element === undefined) return;
      if (seen.has(element) && !this.#duplicates) {
        this.#problem(`duplicate entries for key ${displayElement(element)}`);
      }
      seen.add(element);
      this.#checkItem(item, list, element);
    }
  }

  #checkItem(item: JsonValue, list: ListType, element: PathElement): void {
    this.#path.push(element);
    this.check(item, list.element.atom);
    this.#path.pop();
  }

  #undeclared(name: string): void {
    this.#path.push(fieldElement(name));
    this.#problem("field not declared in schema");
    this.#path.pop();
  }

  #scalarAt(name: string, value: Value, scalar: Scalar): void {
    this.#path.push(fieldElement(name));
    this.#scalar(value, scalar);
    this.#path.pop();
  }

  #scalarFits(value: Value, scalar: Scalar): boolean {
    switch (typeof value) {
      case "string":
        return scalar === "string" || scalar === "untyped";
      case "number":
        return scalar === "numeric" || scalar === "untyped";
      case "boolean":
        return scalar === "boolean" || scalar === "untyped";
      default:
        return value === null;
    }
  }

  #scalar(value: Value, scalar: Scalar): void {
    if (value === null || value === undefined || this.#problems === undefined) return;
    switch (scalar) {
      case "numeric":
        if (typeof value !== "number" && !isRawNumber(value)) {
          this.#problem(`expected numeric (int or float), got ${goType(value)}`);
        }
        return;
      case "string":
        if (typeof value !== "string") this.#problem(`expected string, got ${goValueSyntax(value)}`);
        return;
      case "boolean":
        if (typeof value !== "boolean") this.#problem(`expected boolean, got ${goValue(value)}`);
        return;
      case "untyped":
        if (!isScalar(value)) this.#problem(`expected any scalar, got ${goValue(value)}`);
    }
  }
}
