/** What the operators do to values whose types are only known at run time. */

import { compare, equal, noSuchOverload } from "./compare.ts";
import { uintOverflow } from "./convert.ts";
import * as numbers from "./numbers.ts";
import {
  addDuration,
  durationDifference,
  intOverflow,
  negateDuration,
  subDuration,
  sumDurations,
  timeBetween,
} from "./time.ts";
import {
  CelList,
  CelMap,
  type CelValue,
  ConcatList,
  Double,
  Duration,
  Fault,
  fault,
  isInt,
  Timestamp,
  Uint,
} from "./values.ts";

/** No string or list may grow beyond this many units: a few doublings must not exhaust memory. */
export const maxLength = 2 ** 26;

export const divisionByZero: Fault = fault("division by zero");
export const modulusByZero: Fault = fault("modulus by zero");
export const tooLong: Fault = fault("result exceeds the maximum length");

function asUint(value: numbers.Int | undefined): CelValue {
  return value === undefined ? uintOverflow : new Uint(value);
}

export function add(a: CelValue, b: CelValue): CelValue {
  if (isInt(a)) return isInt(b) ? (numbers.addInt(a, b) ?? intOverflow) : noSuchOverload;
  if (typeof a === "string") {
    if (typeof b !== "string") return noSuchOverload;
    return a.length + b.length > maxLength ? tooLong : a + b;
  }
  if (a instanceof CelList) return b instanceof CelList ? concat(a, b) : noSuchOverload;
  if (a instanceof Double) return b instanceof Double ? new Double(a.value + b.value) : noSuchOverload;
  if (a instanceof Uint) {
    return b instanceof Uint ? asUint(numbers.addUint(a.value, b.value)) : noSuchOverload;
  }
  if (a instanceof Timestamp) return b instanceof Duration ? addDuration(a, b) : noSuchOverload;
  if (a instanceof Duration) {
    if (b instanceof Duration) return sumDurations(a, b);
    return b instanceof Timestamp ? addDuration(b, a) : noSuchOverload;
  }
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    const joined = new Uint8Array(a.length + b.length);
    joined.set(a);
    joined.set(b, a.length);
    return joined;
  }
  return a instanceof Uint8Array ? noSuchOverload : unsupported("_+_");
}

function concat(a: CelList, b: CelList): CelValue {
  const own = a.plus(b);
  if (own !== undefined) return own;
  if (a.size === 0) return b;
  return b.size === 0 ? a : new ConcatList(a, b);
}

export function subtract(a: CelValue, b: CelValue): CelValue {
  if (isInt(a)) return isInt(b) ? (numbers.subInt(a, b) ?? intOverflow) : noSuchOverload;
  if (a instanceof Double) return b instanceof Double ? new Double(a.value - b.value) : noSuchOverload;
  if (a instanceof Uint) {
    return b instanceof Uint ? asUint(numbers.subUint(a.value, b.value)) : noSuchOverload;
  }
  if (a instanceof Timestamp) {
    if (b instanceof Duration) return subDuration(a, b);
    return b instanceof Timestamp ? timeBetween(a, b) : noSuchOverload;
  }
  if (a instanceof Duration) return b instanceof Duration ? durationDifference(a, b) : noSuchOverload;
  return unsupported("_-_");
}

export function multiply(a: CelValue, b: CelValue): CelValue {
  if (isInt(a)) return isInt(b) ? (numbers.mulInt(a, b) ?? intOverflow) : noSuchOverload;
  if (a instanceof Double) return b instanceof Double ? new Double(a.value * b.value) : noSuchOverload;
  if (a instanceof Uint) {
    return b instanceof Uint ? asUint(numbers.mulUint(a.value, b.value)) : noSuchOverload;
  }
  return unsupported("_*_");
}

export function divide(a: CelValue, b: CelValue): CelValue {
  if (isInt(a)) {
    if (!isInt(b)) return noSuchOverload;
    return b === 0 ? divisionByZero : (numbers.divInt(a, b) ?? intOverflow);
  }
  if (a instanceof Double) return b instanceof Double ? new Double(a.value / b.value) : noSuchOverload;
  if (a instanceof Uint) {
    if (!(b instanceof Uint)) return noSuchOverload;
    return b.value === 0 ? divisionByZero : new Uint(numbers.divUint(a.value, b.value));
  }
  return unsupported("_/_");
}

export function modulo(a: CelValue, b: CelValue): CelValue {
  if (isInt(a)) {
    if (!isInt(b)) return noSuchOverload;
    return b === 0 ? modulusByZero : (numbers.modInt(a, b) ?? intOverflow);
  }
  if (a instanceof Uint) {
    if (!(b instanceof Uint)) return noSuchOverload;
    return b.value === 0 ? modulusByZero : new Uint(numbers.modUint(a.value, b.value));
  }
  return unsupported("_%_");
}

export function negate(a: CelValue): CelValue {
  if (isInt(a)) return numbers.negInt(a) ?? intOverflow;
  if (a instanceof Double) return new Double(-a.value);
  if (a instanceof Duration) return negateDuration(a);
  return noSuchOverload;
}

export function not(a: CelValue): CelValue {
  return typeof a === "boolean" ? !a : noSuchOverload;
}

export function less(a: CelValue, b: CelValue): CelValue {
  const order = compare(a, b);
  return order instanceof Fault ? order : order < 0;
}

export function lessOrEqual(a: CelValue, b: CelValue): CelValue {
  const order = compare(a, b);
  return order instanceof Fault ? order : order <= 0;
}

export function greater(a: CelValue, b: CelValue): CelValue {
  const order = compare(a, b);
  return order instanceof Fault ? order : order > 0;
}

export function greaterOrEqual(a: CelValue, b: CelValue): CelValue {
  const order = compare(a, b);
  return order instanceof Fault ? order : order >= 0;
}

/** `x in container`: an element of a list, a key of a map. */
export function contains(container: CelValue, wanted: CelValue): CelValue {
  if (container instanceof CelMap) {
    const found = container.find(wanted);
    return found instanceof Fault ? found : found !== undefined;
  }
  if (!(container instanceof CelList)) return noSuchOverload;
  for (let i = 0; i < container.size; i++) {
    if (equal(wanted, container.at(i)) === true) return true;
  }
  return false;
}

/** What comprehensions ask before going on: true unless the value is plainly false. */
export function notStrictlyFalse(value: CelValue): CelValue {
  return typeof value === "boolean" ? value : true;
}

function unsupported(fn: string): Fault {
  return fault(`no such overload: ${fn}`);
}
