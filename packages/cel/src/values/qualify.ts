/** Field access and indexing. */
import { intFromDouble } from "./numbers.ts";
import {
  CelList,
  CelMap,
  CelStruct,
  type CelValue,
  Double,
  Fault,
  fault,
  isInt,
  typeOf,
  Uint,
} from "./values.ts";

/** The value at a key, a fault when it is not there. */
export function qualify(value: CelValue, key: CelValue): CelValue {
  if (value instanceof CelMap) {
    const found = value.find(key);
    return found === undefined ? missingKey(key) : found;
  }
  if (value instanceof Fault) return value;
  const found = lookUp(value, key);
  if (found !== undefined) return found;
  return value instanceof CelList ? fault(`index out of bounds: ${keyText(key)}`) : missingKey(key);
}

/** The value at a key, undefined when it is not there, a fault when the question makes no sense. */
export function lookUp(value: CelValue, key: CelValue): CelValue | undefined {
  if (value instanceof Fault) return value;
  if (value instanceof CelMap) return value.find(key);
  if (value instanceof CelList) {
    const index = indexOf(key);
    if (index instanceof Fault) return index;
    return index >= 0 && index < value.size ? value.at(index) : undefined;
  }
  if (value instanceof CelStruct && typeof key === "string") return value.fields.get(key);
  return undefined;
}

function indexOf(key: CelValue): number | Fault {
  if (isInt(key)) return Number(key);
  if (key instanceof Uint) return Number(key.value);
  if (key instanceof Double) {
    const whole = intFromDouble(key.value);
    if (whole !== undefined && Number(whole) === key.value) return Number(whole);
    return fault(`unsupported index value ${key.value} in list`);
  }
  return fault(`unsupported index type '${typeOf(key).name}' in list`);
}

export function missingKey(key: CelValue): Fault {
  return fault(`no such key: ${keyText(key)}`);
}

function keyText(key: CelValue): string {
  if (key instanceof Uint || key instanceof Double) return String(key.value);
  return String(key);
}
