/** Sets of fields, and their form in `managedFields`. */
import type { JsonObject, JsonValue } from "../object.ts";
import { MergeError } from "./errors.ts";
import { canonicalElement, compareElements, displayPath, type Path, type PathElement } from "./path.ts";

/** Whether the element itself is in the set, and what is in the set below it. */
export interface FieldSetNode {
  readonly member: boolean;
  readonly below: FieldSet | undefined;
}

/** A member with nothing below it. */
export const leafNode: FieldSetNode = Object.freeze({ member: true, below: undefined });
const decoded = new WeakMap<object, FieldSet>();
/** Sets of some size that were written lately. */
const shared = new Array<FieldSet | undefined>(256);
const largestShared = 200;

/**
 * An immutable set of paths. Membership of a path says nothing about its parents or its children.
 *
 * Guarantees: no empty branches, so equal sets have equal structure; operations share what does not change
 * and return an operand itself when the result equals it.
 */
export class FieldSet {
  // `this`, since by name the compiler emits an alias that is not set yet.
  static readonly empty: FieldSet = new this(new Map());

  readonly #nodes: ReadonlyMap<PathElement, FieldSetNode>;
  /** Written forms, without and with the mark that says the set's own path is a member. */
  #json: JsonObject | undefined;
  #jsonWithSelf: JsonObject | undefined;
  #size: number | undefined;

  private constructor(nodes: ReadonlyMap<PathElement, FieldSetNode>) {
    this.#nodes = nodes;
  }

  /** A set of the given paths; the empty path is ignored, since nobody owns a whole object. */
  static of(...paths: Path[]): FieldSet {
    const builder = new FieldSetBuilder();
    for (const path of paths) builder.insert(path);
    return builder.build();
  }

  /** Only for builders: takes the map over. */
  static adopt(nodes: ReadonlyMap<PathElement, FieldSetNode>): FieldSet {
    return nodes.size === 0 ? FieldSet.empty : new FieldSet(nodes);
  }

  /**
   * Reads `fieldsV1`. Elements of unknown kinds are dropped, as the API server drops them.
   * The result for a frozen object is remembered.
   */
  static fromJson(fields: JsonObject): FieldSet {
    const known = decoded.get(fields);
    if (known !== undefined) return known;
    const set = decode(fields).below ?? FieldSet.empty;
    if (Object.isFrozen(fields)) decoded.set(fields, set);
    return set;
  }

  /** `fieldsV1`, with its elements in the API server's order. Frozen, and made once per set. */
  toJson(): JsonObject {
    if (this.#json === undefined) {
      this.#json = this.#encode(false);
      decoded.set(this.#json, this);
    }
    return this.#json;
  }

  /** Sets share their branches, so most of a changed set is written already. */
  #toJsonWithSelf(): JsonObject {
    this.#jsonWithSelf ??= this.#encode(true);
    return this.#jsonWithSelf;
  }

  #encode(self: boolean): JsonObject {
    const out: JsonObject = {};
    if (self) out["."] = emptyObject;
    for (const element of this.#sorted()) {
      const { member, below } = this.#nodes.get(element) as FieldSetNode;
      out[element] = below === undefined ? emptyObject : member ? below.#toJsonWithSelf() : below.toJson();
    }
    return Object.freeze(out);
  }

  #sorted(): PathElement[] {
    return [...this.#nodes.keys()].sort(compareElements);
  }

  get isEmpty(): boolean {
    return this.#nodes.size === 0;
  }

  /** The number of paths. */
  get size(): number {
    if (this.#size === undefined) {
      let size = 0;
      for (const node of this.#nodes.values()) size += (node.member ? 1 : 0) + (node.below?.size ?? 0);
      this.#size = size;
    }
    return this.#size;
  }

  has(path: Path): boolean {
    let set: FieldSet = this;
    for (let i = 0; i < path.length; i++) {
      const node: FieldSetNode | undefined = set.#nodes.get(path[i] as PathElement);
      if (node === undefined) return false;
      if (i === path.length - 1) return node.member;
      if (node.below === undefined) return false;
      set = node.below;
    }
    return false;
  }

  /** Whether the element itself is a member. */
  hasElement(element: PathElement): boolean {
    return this.#nodes.get(element)?.member === true;
  }

  /** What the set holds below an element. */
  below(element: PathElement): FieldSet | undefined {
    return this.#nodes.get(element)?.below;
  }

  elements(): IterableIterator<PathElement> {
    return this.#nodes.keys();
  }

  /** Every path, parents before children, in the API server's order. */
  *paths(): IterableIterator<Path> {
    yield* this.#walk([]);
  }

  *#walk(prefix: Path): IterableIterator<Path> {
    const sorted = this.#sorted();
    for (const element of sorted) if (this.hasElement(element)) yield [...prefix, element];
    for (const element of sorted) {
      const below = this.below(element);
      if (below !== undefined) yield* below.#walk([...prefix, element]);
    }
  }

  /**
   * The set itself, or an equal one from before. Writers write objects of few forms, so that most ownership is held,
   * and written out, once for many objects.
   */
  shared(): FieldSet {
    if (this.size > largestShared) return this;
    const slot = this.#hash() % shared.length;
    const known = shared[slot];
    if (known?.equals(this)) return known;
    shared[slot] = this;
    return this;
  }

  /** Equal for equal sets, whatever the order of their elements. */
  #hash(): number {
    let sum = 0;
    for (const [element, { member, below }] of this.#nodes) {
      const name = element.length * 31 + element.charCodeAt(element.length - 1);
      sum += name * (member ? 7 : 11) + (below === undefined ? 0 : (name + 1) * below.#hash());
    }
    return sum % 1_000_003;
  }

  equals(other: FieldSet): boolean {
    if (this === other) return true;
    if (this.#nodes.size !== other.#nodes.size) return false;
    for (const [element, node] of this.#nodes) {
      const its = other.#nodes.get(element);
      if (its === undefined || its.member !== node.member) return false;
      if (node.below === undefined ? its.below !== undefined : its.below === undefined) return false;
      if (node.below !== undefined && !node.below.equals(its.below as FieldSet)) return false;
    }
    return true;
  }

  union(other: FieldSet): FieldSet {
    if (this === other || other.isEmpty) return this;
    if (this.isEmpty) return other;
    let out: Map<PathElement, FieldSetNode> | undefined;
    for (const [element, node] of other.#nodes) {
      const mine = this.#nodes.get(element);
      if (mine === node) continue;
      const below =
        mine?.below === undefined
          ? node.below
          : node.below === undefined
            ? mine.below
            : mine.below.union(node.below);
      const member = node.member || mine?.member === true;
      if (mine !== undefined && mine.member === member && mine.below === below) continue;
      out ??= new Map(this.#nodes);
      out.set(element, makeNode(member, below));
    }
    return out === undefined ? this : FieldSet.adopt(out);
  }

  intersection(other: FieldSet): FieldSet {
    if (this === other || this.isEmpty) return this;
    const out = new Map<PathElement, FieldSetNode>();
    let same = true;
    for (const [element, node] of this.#nodes) {
      const its = other.#nodes.get(element);
      if (its === undefined) {
        same = false;
        continue;
      }
      const member = node.member && its.member;
      const below = node.below && its.below ? prune(node.below.intersection(its.below)) : undefined;
      if (member !== node.member || below !== node.below) same = false;
      if (member || below !== undefined) out.set(element, makeNode(member, below));
    }
    return same ? this : FieldSet.adopt(out);
  }

  /** The paths that `other` does not have. A parent in `other` does not take its children away. */
  difference(other: FieldSet): FieldSet {
    return this.#subtract(other, false);
  }

  /** As {@link difference}, but a path in `other` takes everything below it away. */
  recursiveDifference(other: FieldSet): FieldSet {
    return this.#subtract(other, true);
  }

  #subtract(other: FieldSet, recursive: boolean): FieldSet {
    if (this.isEmpty || other.isEmpty) return this;
    let out: Map<PathElement, FieldSetNode> | undefined;
    for (const [element, its] of other.#nodes) {
      const node = this.#nodes.get(element);
      if (node === undefined) continue;
      let member = node.member;
      let below = node.below;
      if (its.member) {
        member = false;
        if (recursive) below = undefined;
      }
      if (below !== undefined && its.below !== undefined)
        below = prune(below.#subtract(its.below, recursive));
      if (member === node.member && below === node.below) continue;
      out ??= new Map(this.#nodes);
      if (member || below !== undefined) out.set(element, makeNode(member, below));
      else out.delete(element);
    }
    return out === undefined ? this : FieldSet.adopt(out);
  }

  /** The members that have no members below them. */
  leaves(): FieldSet {
    const out = new Map<PathElement, FieldSetNode>();
    for (const [element, node] of this.#nodes) {
      out.set(element, node.below === undefined ? leafNode : makeNode(false, node.below.leaves()));
    }
    return FieldSet.adopt(out);
  }

  /**
   * The set with more members at this level and changed branches below, as `change` says. Used to walk a
   * set together with a schema.
   */
  mapNodes(
    change: (
      element: PathElement,
      member: boolean,
      below: FieldSet | undefined,
    ) => { member: boolean; below: FieldSet | undefined },
  ): FieldSet {
    let out: Map<PathElement, FieldSetNode> | undefined;
    for (const [element, node] of this.#nodes) {
      const changed = change(element, node.member, node.below);
      const below = changed.below === undefined ? undefined : prune(changed.below);
      if (changed.member === node.member && below === node.below) continue;
      out ??= new Map(this.#nodes);
      if (changed.member || below !== undefined) out.set(element, makeNode(changed.member, below));
      else out.delete(element);
    }
    return out === undefined ? this : FieldSet.adopt(out);
  }

  /** One path a line, for people. */
  toString(): string {
    return [...this.paths()].map(displayPath).join("\n");
  }
}

const emptyObject: JsonObject = Object.freeze({});

export function makeNode(member: boolean, below: FieldSet | undefined): FieldSetNode {
  return member && below === undefined ? leafNode : { member, below };
}

function prune(set: FieldSet): FieldSet | undefined {
  return set.isEmpty ? undefined : set;
}

interface Growing {
  member: boolean;
  below: FieldSetBuilder | undefined;
}

/** Collects paths into a {@link FieldSet}. */
export class FieldSetBuilder {
  /** Made with the first path: of the builders of a comparison most stay empty. */
  #nodes: Map<PathElement, Growing> | undefined;

  /** The empty path is ignored: nobody owns a whole object. */
  insert(path: Path): void {
    if (path.length === 0) return;
    let builder: FieldSetBuilder = this;
    for (let i = 0; i < path.length - 1; i++) {
      const node = builder.#at(path[i] as PathElement);
      node.below ??= new FieldSetBuilder();
      builder = node.below;
    }
    builder.#at(path[path.length - 1] as PathElement).member = true;
  }

  #at(element: PathElement): Growing {
    this.#nodes ??= new Map();
    let node = this.#nodes.get(element);
    if (node === undefined) {
      node = { member: false, below: undefined };
      this.#nodes.set(element, node);
    }
    return node;
  }

  build(): FieldSet {
    if (this.#nodes === undefined) return FieldSet.empty;
    const nodes = new Map<PathElement, FieldSetNode>();
    for (const [element, { member, below }] of this.#nodes)
      nodes.set(element, makeNode(member, below?.build()));
    return FieldSet.adopt(nodes);
  }
}

function decode(fields: JsonValue): FieldSetNode {
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) {
    throw new MergeError("BadManagedFields", "cannot read fieldsV1: expected an object");
  }
  const nodes = new Map<PathElement, FieldSetNode>();
  let self = false;
  for (const text in fields) {
    if (text === ".") {
      self = true;
      continue;
    }
    const element = canonicalElement(text);
    if (element === undefined) continue;
    const node = decode(fields[text] as JsonValue);
    const previous = nodes.get(element);
    nodes.set(
      element,
      previous === undefined ? node : makeNode(previous.member || node.member, node.below ?? previous.below),
    );
  }
  return nodes.size === 0 ? leafNode : { member: self, below: FieldSet.adopt(nodes) };
}
