/**
 * What an expression can evaluate to, in the cheapest JavaScript shape that still tells every type apart.
 *
 * | CEL | here |
 * |---|---|
 * | bool, string, null | the same |
 * | int | `number` while safe, else `bigint` (see numbers.ts) |
 * | uint, double | boxed: `Uint`, `Double`; a bare number is always an int |
 * | bytes | `Uint8Array` |
 * | list, map | `CelList`, `CelMap`: Kubernetes objects are read in place, never copied |
 * | timestamp, duration, type, optional | classes below |
 * | Kubernetes types (quantity, ip, url, …) | subclasses of `Opaque` |
 * | an error | a `Fault`: a value, because `false && error` is false |
 */
import type { Int } from "./numbers.ts";
import { type CelType, types } from "./types.ts";

/** A floating-point number: JavaScript’s own numbers stand for it only in this wrapper. */
export class Double {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** An unsigned integer of 64 bits. */
export class Uint {
  readonly value: Int;

  constructor(value: Int) {
    this.value = value;
  }
}

/** A moment between the years 1 and 9999, to the nanosecond. */
export class Timestamp {
  /** Since the epoch; negative before it. */
  readonly seconds: number;
  /** 0 to 999,999,999, always counted forward. */
  readonly nanos: number;
  /** East of UTC, as the text it came from said; matters only when it becomes text again. */
  readonly offsetSeconds: number;

  constructor(seconds: number, nanos: number, offsetSeconds = 0) {
    this.seconds = seconds;
    this.nanos = nanos;
    this.offsetSeconds = offsetSeconds;
  }
}

/** A duration with the precision of nanoseconds. */
export class Duration {
  readonly nanos: Int;

  constructor(nanos: Int) {
    this.nanos = nanos;
  }
}

/** A type as a value: what `type(x)` returns. Compared by name. */
export class TypeValue {
  readonly type: CelType;

  constructor(type: CelType) {
    this.type = type;
  }
}

/** A value that may be absent. */
export class Optional {
  /** Undefined for none; a CEL null is a value. */
  readonly value: CelValue | undefined;

  private constructor(value: CelValue | undefined) {
    this.value = value;
  }

  static readonly none: Optional = new Optional(undefined);

  static of(value: CelValue): Optional {
    return new Optional(value);
  }
}

/** An error met while evaluating. */
export class Fault {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

export function fault(message: string): Fault {
  return new Fault(message);
}

/** A value of a type that only functions can look into. */
export abstract class Opaque {
  abstract readonly type: CelType;
  /** Faults when the other value is of another type and that is not simply "unequal". */
  abstract equals(other: CelValue): boolean | Fault;
  /** What cost counts for it; undefined when it has no size. */
  get size(): number | undefined {
    return undefined;
  }
}

/** An immutable list. */
export abstract class CelList {
  abstract readonly size: number;
  /** The element at an index within bounds; it may be a fault when the data is not what its schema says. */
  abstract at(index: number): CelValue;

  *[Symbol.iterator](): IterableIterator<CelValue> {
    for (let i = 0; i < this.size; i++) yield this.at(i);
  }

  /** This list and another, in a form of its own; undefined for the usual concatenation. */
  plus(_other: CelList): CelValue | undefined {
    return undefined;
  }

  /** Equality of its own (sets, keyed lists); undefined for element by element. */
  equals(_other: CelList): boolean | Fault | undefined {
    return undefined;
  }
}

/** A list of values already at hand. */
export class ArrayList extends CelList {
  readonly #items: readonly CelValue[];

  constructor(items: readonly CelValue[]) {
    super();
    this.#items = items;
  }

  override get size(): number {
    return this.#items.length;
  }

  override at(index: number): CelValue {
    return this.#items[index] as CelValue;
  }
}

/** Two lists seen as one, so that adding is cheap however long they are. */
export class ConcatList extends CelList {
  readonly #first: CelList;
  readonly #second: CelList;
  readonly size: number;
  /** Filled at the first access: a chain of a thousand sums must not make every access walk a thousand links. */
  #flat: CelValue[] | undefined;

  constructor(first: CelList, second: CelList) {
    super();
    this.#first = first;
    this.#second = second;
    this.size = first.size + second.size;
  }

  override at(index: number): CelValue {
    this.#flat ??= this.#flatten();
    return this.#flat[index] as CelValue;
  }

  #flatten(): CelValue[] {
    const parts: CelList[] = [];
    const pending: CelList[] = [this];
    while (pending.length > 0) {
      const list = pending.pop() as CelList;
      if (list instanceof ConcatList && list.#flat === undefined) pending.push(list.#second, list.#first);
      else parts.push(list);
    }
    const out: CelValue[] = [];
    for (const part of parts) for (let i = 0; i < part.size; i++) out.push(part.at(i));
    return out;
  }
}

/** An immutable map, or an object seen through its fields. */
export abstract class CelMap {
  abstract readonly size: number;
  /** Undefined when absent. Numeric keys match across int, uint and double. */
  abstract find(key: CelValue): CelValue | undefined;
  abstract keys(): Iterable<CelValue>;

  /** Equality of its own; undefined for entry by entry. */
  equals(_other: CelMap): boolean | Fault | undefined {
    return undefined;
  }
}

/** A map of values already at hand. */
export class EntryMap extends CelMap {
  readonly #entries: Map<MapKey, readonly [CelValue, CelValue]>;

  constructor(entries: Map<MapKey, readonly [CelValue, CelValue]>) {
    super();
    this.#entries = entries;
  }

  static of(entries: Iterable<readonly [CelValue, CelValue]>): EntryMap {
    const map = new Map<MapKey, readonly [CelValue, CelValue]>();
    for (const entry of entries) {
      const key = mapKey(entry[0]);
      if (key !== undefined) map.set(key, entry);
    }
    return new EntryMap(map);
  }

  override get size(): number {
    return this.#entries.size;
  }

  override find(key: CelValue): CelValue | undefined {
    const canonical = mapKey(key);
    return canonical === undefined ? undefined : this.#entries.get(canonical)?.[1];
  }

  override *keys(): IterableIterator<CelValue> {
    for (const [key] of this.#entries.values()) yield key;
  }

  /** A copy with one more entry; undefined when the key is taken. */
  with(key: CelValue, value: CelValue): EntryMap | undefined {
    const canonical = mapKey(key);
    if (canonical === undefined || this.#entries.has(canonical)) return undefined;
    return new EntryMap(new Map(this.#entries).set(canonical, [key, value]));
  }
}

/** A struct literal of a declared type. */
export class CelStruct {
  readonly type: CelType;
  readonly fields: ReadonlyMap<string, CelValue>;

  constructor(type: CelType, fields: ReadonlyMap<string, CelValue>) {
    this.type = type;
    this.fields = fields;
  }
}

/** A value of CEL. Integers are `bigint`. */
export type CelValue =
  | boolean
  | Int
  | string
  | null
  | Uint8Array
  | Double
  | Uint
  | Timestamp
  | Duration
  | TypeValue
  | Optional
  | CelList
  | CelMap
  | CelStruct
  | Opaque
  | Fault;

/** A key in the shape in which equal keys are the same JavaScript value. */
export type MapKey = string | boolean | number | bigint;

export function mapKey(value: CelValue): MapKey | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "number":
    case "bigint":
      return value;
    default:
      if (value === null) return "\u0000null";
      if (value instanceof Uint) return value.value;
      if (value instanceof Double) {
        if (!Number.isInteger(value.value)) return `\u0000double:${value.value}`;
        return Number.isSafeInteger(value.value) ? value.value + 0 : BigInt(value.value);
      }
      return undefined;
  }
}

/** The type a value has at run time; parameters are not known there. */
export function typeOf(value: CelValue): CelType {
  switch (typeof value) {
    case "boolean":
      return types.bool;
    case "string":
      return types.string;
    case "number":
    case "bigint":
      return types.int;
    default:
      if (value === null) return types.null;
      if (value instanceof CelList) return types.anyList;
      if (value instanceof CelMap) return types.anyMap;
      if (value instanceof Double) return types.double;
      if (value instanceof Uint) return types.uint;
      if (value instanceof Timestamp) return types.timestamp;
      if (value instanceof Duration) return types.duration;
      if (value instanceof Uint8Array) return types.bytes;
      if (value instanceof Optional) return types.anyOptional;
      if (value instanceof TypeValue) return types.type;
      if (value instanceof Fault) return types.error;
      return value.type;
  }
}

export function isInt(value: CelValue): value is Int {
  return typeof value === "number" || typeof value === "bigint";
}
