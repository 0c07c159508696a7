/** Functions that graphs have beside those of Kubernetes: hashes, JSON, merges, positions in lists, seeded randomness. */
import { hash as digest } from "node:crypto";
import {
  ArrayList,
  CelList,
  CelMap,
  type CelValue,
  EntryMap,
  Fault,
  fromJson,
  listType,
  mapType,
  toJson,
  types,
} from "@keelson/cel";
import { fault, type Library, member, Opaque, opaqueType, overload, paramType } from "@keelson/cel/internal";
import { parseJson } from "@keelson/core";
import { errorText } from "@keelson/core/internal";

const { bytes, dyn, int, string } = types;
const elements = listType(paramType("T"));
const entries = mapType(paramType("K"), paramType("V"));
const noOverload = fault("no such overload");

/** Stands for a field that is left out. */
class Omitted extends Opaque {
  readonly type = opaqueType("kro.omit");

  equals(): Fault {
    return fault("omit() leaves a field out and cannot be compared");
  }
}

const omitted: CelValue = new Omitted();

export function isOmitted(value: CelValue): boolean {
  return value === omitted;
}

function hashed(name: string, of: (text: string) => Uint8Array) {
  return {
    name,
    overloads: [
      overload(`${name}_string`, [string], bytes, ([text]) =>
        typeof text === "string" ? of(text) : noOverload,
      ),
    ],
  };
}

/** FNV-1a of 64 bits. */
function fnv64a(text: string): Uint8Array {
  let value = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text)) {
    value = BigInt.asUintN(64, (value ^ BigInt(byte)) * 0x100000001b3n);
  }
  const out = new Uint8Array(8);
  new DataView(out.buffer).setBigUint64(0, value);
  return out;
}

function unmarshal([text]: readonly CelValue[]): CelValue {
  if (typeof text !== "string") return noOverload;
  try {
    return fromJson(parseJson(text));
  } catch (error) {
    return fault(`json.unmarshal: ${errorText(error)}`);
  }
}

/** Keys in the order of bytes, as Go writes maps. */
function marshal([value]: readonly CelValue[]): CelValue {
  const json = toJson(value as CelValue);
  if (json instanceof Fault) return json;
  return JSON.stringify(json, (_key, each: unknown) =>
    each !== null &&
    typeof each === "object" &&
    !Array.isArray(each) &&
    Object.getPrototypeOf(each) === Object.prototype
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

function position(list: CelValue | undefined, index: CelValue | undefined, most: (size: number) => number) {
  if (!(list instanceof CelList) || typeof index !== "number") return noOverload;
  if (index < 0 || index > most(list.size)) return fault(`index ${index} is outside a list of ${list.size}`);
  return { items: [...list], index };
}

function setAt([list, index, value]: readonly CelValue[]): CelValue {
  const at = position(list, index, (size) => size - 1);
  return at instanceof Fault ? at : new ArrayList(at.items.with(at.index, value as CelValue));
}

function insertAt([list, index, value]: readonly CelValue[]): CelValue {
  const at = position(list, index, (size) => size);
  return at instanceof Fault ? at : new ArrayList(at.items.toSpliced(at.index, 0, value as CelValue));
}

function removeAt([list, index]: readonly CelValue[]): CelValue {
  const at = position(list, index, (size) => size - 1);
  return at instanceof Fault ? at : new ArrayList(at.items.toSpliced(at.index, 1));
}

function* entriesOf(map: CelMap): IterableIterator<[CelValue, CelValue]> {
  for (const key of map.keys()) yield [key, map.find(key) as CelValue];
}

function merge([left, right]: readonly CelValue[]): CelValue {
  if (!(left instanceof CelMap) || !(right instanceof CelMap)) return noOverload;
  return EntryMap.of([...entriesOf(left), ...entriesOf(right)]);
}

function deepMerge([left, right]: readonly CelValue[]): CelValue {
  if (!(left instanceof CelMap) || !(right instanceof CelMap)) return noOverload;
  const merged = [...entriesOf(right)].map(([key, value]): [CelValue, CelValue] => {
    const before = left.find(key);
    const both = before instanceof CelMap && value instanceof CelMap;
    return [key, both ? deepMerge([before, value]) : value];
  });
  return EntryMap.of([...entriesOf(left), ...merged]);
}

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz";

/** The same characters as kro draws from a seed: names made there stay as they are. */
function seededString([length, seed]: readonly CelValue[]): CelValue {
  if (typeof length !== "number" || typeof seed !== "string") return noOverload;
  if (length <= 0) return fault("random.seededString needs a positive length");
  const source = digest("sha256", seed, "buffer");
  let out = "";
  for (let i = 0; i < length; i++) {
    out += alphabet[source.readUInt32BE((i * 4) % source.length) % alphabet.length];
  }
  return out;
}

function seededInt([min, max, seed]: readonly CelValue[]): CelValue {
  if (typeof min !== "number" || typeof max !== "number" || typeof seed !== "string") return noOverload;
  if (min >= max) return fault("random.seededInt needs a minimum below its maximum");
  const drawn = digest("sha256", seed, "buffer").readBigUInt64BE(0);
  return min + Number(drawn % BigInt(max - min));
}

/** Functions of graphs. */
export const graphLibrary: Library = {
  name: "graphs",
  functions: [
    hashed("hash.fnv64a", fnv64a),
    hashed("hash.sha256", (text) => digest("sha256", text, "buffer")),
    hashed("hash.md5", (text) => digest("md5", text, "buffer")),
    { name: "json.unmarshal", overloads: [overload("json.unmarshal_string", [string], dyn, unmarshal)] },
    { name: "json.marshal", overloads: [overload("json.marshal_dyn", [dyn], string, marshal)] },
    {
      name: "lists.setAtIndex",
      overloads: [overload("lists.setAtIndex_list", [elements, int, paramType("T")], elements, setAt)],
    },
    {
      name: "lists.insertAtIndex",
      overloads: [overload("lists.insertAtIndex_list", [elements, int, paramType("T")], elements, insertAt)],
    },
    {
      name: "lists.removeAtIndex",
      overloads: [overload("lists.removeAtIndex_list", [elements, int], elements, removeAt)],
    },
    { name: "merge", overloads: [member("map_merge", [entries, entries], entries, merge)] },
    { name: "deepMerge", overloads: [member("dyn_deepmerge", [dyn, dyn], dyn, deepMerge)] },
    {
      name: "random.seededString",
      overloads: [overload("random.seededString_int_string", [int, string], string, seededString)],
    },
    {
      name: "random.seededInt",
      overloads: [overload("random.seededInt_int_int_string", [int, int, string], int, seededInt)],
    },
    { name: "omit", overloads: [overload("omit_void", [], dyn, () => omitted)] },
  ],
};
