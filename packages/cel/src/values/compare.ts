/** Equality and order between values. */
import { compareBytes as compareUtf8 } from "@keelson/core/internal";
import { effort } from "./effort.ts";
import { compareInt, compareIntToDouble } from "./numbers.ts";
import { compareTimestamps } from "./time.ts";
import {
  CelList,
  CelMap,
  CelStruct,
  type CelValue,
  Double,
  Duration,
  Fault,
  fault,
  isInt,
  Opaque,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
} from "./values.ts";

export const noSuchOverload: Fault = fault("no such overload");

/** Values of different types are unequal, numbers of different types are compared by value. */
export function equal(a: CelValue, b: CelValue): boolean | Fault {
  if (a === b) return true;
  switch (typeof a) {
    case "boolean":
    case "string":
      return false;
    case "number":
    case "bigint":
      return numbersEqual(a, b);
    default:
      return objectsEqual(a, b);
  }
}

function numbersEqual(a: number | bigint | Uint, b: CelValue): boolean {
  const left = a instanceof Uint ? a.value : a;
  if (isInt(b)) return left === b;
  if (b instanceof Uint) return left === b.value;
  return b instanceof Double && compareIntToDouble(left, b.value) === 0 && !Number.isNaN(b.value);
}

function objectsEqual(
  a: Exclude<CelValue, boolean | string | number | bigint>,
  b: CelValue,
): boolean | Fault {
  if (a === null || b === null) return false;
  if (a instanceof Fault) return a;
  if (b instanceof Fault) return b;
  if (a instanceof CelList) return b instanceof CelList ? listsEqual(a, b) : false;
  if (a instanceof CelMap) return b instanceof CelMap ? mapsEqual(a, b) : false;
  if (a instanceof Double) {
    if (b instanceof Double) return a.value === b.value;
    return isInt(b) || b instanceof Uint ? numbersEqual(b, a) : false;
  }
  if (a instanceof Uint) return numbersEqual(a, b);
  if (a instanceof Timestamp) return b instanceof Timestamp && compareTimestamps(a, b) === 0;
  if (a instanceof Duration) return b instanceof Duration && a.nanos === b.nanos;
  if (a instanceof Uint8Array) return b instanceof Uint8Array && compareBytes(a, b) === 0;
  if (a instanceof Optional) return b instanceof Optional ? optionalsEqual(a, b) : false;
  if (a instanceof TypeValue) return b instanceof TypeValue && a.type.name === b.type.name;
  if (a instanceof Opaque) return a.equals(b);
  return b instanceof CelStruct ? structsEqual(a, b) : false;
}

function optionalsEqual(a: Optional, b: Optional): boolean | Fault {
  if (a.value === undefined || b.value === undefined) return a.value === b.value;
  return equal(a.value, b.value);
}

function listsEqual(a: CelList, b: CelList): boolean | Fault {
  const own = a.equals(b);
  if (own !== undefined) return own;
  if (a.size !== b.size) return false;
  effort.steps += a.size;
  for (let i = 0; i < a.size; i++) if (equal(a.at(i), b.at(i)) === false) return false;
  return true;
}

function mapsEqual(a: CelMap, b: CelMap): boolean | Fault {
  const own = a.equals(b);
  if (own !== undefined) return own;
  if (a.size !== b.size) return false;
  effort.steps += a.size;
  for (const key of a.keys()) {
    const [left, right] = [a.find(key), b.find(key)];
    if (right === undefined || left === undefined || equal(left, right) === false) return false;
  }
  return true;
}

function structsEqual(a: CelStruct, b: CelStruct): boolean | Fault {
  if (a.type.name !== b.type.name || a.fields.size !== b.fields.size) return false;
  for (const [name, value] of a.fields) {
    const other = b.fields.get(name);
    if (other === undefined) return false;
    const same = equal(value, other);
    if (same !== true) return same;
  }
  return true;
}

/** A fault when the two have no order. */
export function compare(a: CelValue, b: CelValue): -1 | 0 | 1 | Fault {
  if (isInt(a)) {
    if (isInt(b)) return compareInt(a, b);
    return compareNumbers(a, b);
  }
  if (typeof a === "string") return typeof b === "string" ? compareStrings(a, b) : noSuchOverload;
  if (a instanceof Uint || a instanceof Double) return compareNumbers(a, b);
  if (typeof a === "boolean") {
    return typeof b === "boolean" ? compareInt(Number(a), Number(b)) : noSuchOverload;
  }
  if (a instanceof Timestamp) return b instanceof Timestamp ? compareTimestamps(a, b) : noSuchOverload;
  if (a instanceof Duration) return b instanceof Duration ? compareInt(a.nanos, b.nanos) : noSuchOverload;
  if (a instanceof Uint8Array) return b instanceof Uint8Array ? compareBytes(a, b) : noSuchOverload;
  return noSuchOverload;
}

const unordered = fault("NaN values cannot be ordered");

function compareNumbers(a: CelValue, b: CelValue): -1 | 0 | 1 | Fault {
  if (a instanceof Double && Number.isNaN(a.value)) return unordered;
  if (b instanceof Double && Number.isNaN(b.value)) return unordered;
  const left = a instanceof Uint ? a.value : a;
  const right = b instanceof Uint ? b.value : b;
  if (left instanceof Double) {
    if (right instanceof Double) {
      return left.value < right.value ? -1 : left.value > right.value ? 1 : 0;
    }
    return isInt(right) ? (-compareIntToDouble(right, left.value) as -1 | 0 | 1) : noSuchOverload;
  }
  if (!isInt(left)) return noSuchOverload;
  if (isInt(right)) return compareInt(left, right);
  return right instanceof Double ? compareIntToDouble(left, right.value) : noSuchOverload;
}

/** By code point, which is also the order of the bytes in UTF-8, not by UTF-16 unit. */
export function compareStrings(a: string, b: string): -1 | 0 | 1 {
  return a === b ? 0 : compareUtf8(a, b) < 0 ? -1 : 1;
}

function compareBytes(a: Uint8Array, b: Uint8Array): -1 | 0 | 1 {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [a[i] as number, b[i] as number];
    if (x !== y) return x < y ? -1 : 1;
  }
  return a.length < b.length ? -1 : a.length > b.length ? 1 : 0;
}
