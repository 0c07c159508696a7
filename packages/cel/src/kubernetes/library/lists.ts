/** Kubernetes' list functions: isSorted, sum, min, max, indexOf, lastIndexOf. */

import { type FunctionDecl, type Library, member } from "../../check/functions.ts";
import { collectionCost } from "../../library/list-cost.ts";
import { compare, equal, noSuchOverload } from "../../values/compare.ts";
import { add } from "../../values/operators.ts";
import { type CelType, listType, paramType, types } from "../../values/types.ts";
import { CelList, type CelValue, Double, Duration, Fault, fault, Uint } from "../../values/values.ts";

const { bool, bytes, double, duration, int, string, timestamp, uint } = types;

const summable: readonly [string, CelType, CelValue][] = [
  ["int", int, 0],
  ["uint", uint, new Uint(0)],
  ["double", double, new Double(0)],
  ["duration", duration, new Duration(0)],
];
const comparable: readonly [string, CelType][] = [
  ["int", int],
  ["uint", uint],
  ["double", double],
  ["bool", bool],
  ["duration", duration],
  ["timestamp", timestamp],
  ["string", string],
  ["bytes", bytes],
];

type Args = readonly CelValue[];

function isSorted([list]: Args): CelValue {
  if (!(list instanceof CelList)) return noSuchOverload;
  for (let i = 1; i < list.size; i++) if (compare(list.at(i - 1), list.at(i)) === 1) return false;
  return true;
}

function sumFrom(zero: CelValue) {
  return ([list]: Args): CelValue => {
    if (!(list instanceof CelList)) return noSuchOverload;
    let total = zero;
    for (const element of list) {
      total = add(total, element);
      if (total instanceof Fault) return total;
    }
    return total;
  };
}

function extreme(name: string, sign: 1 | -1) {
  return ([list]: Args): CelValue => {
    if (!(list instanceof CelList)) return noSuchOverload;
    if (list.size === 0) return fault(`${name} called on empty list`);
    let best = list.at(0);
    for (let i = 1; i < list.size; i++) if (compare(list.at(i), best) === sign) best = list.at(i);
    return best;
  };
}

function indexOf([list, item]: Args): CelValue {
  if (!(list instanceof CelList)) return noSuchOverload;
  for (let i = 0; i < list.size; i++) if (equal(list.at(i), item as CelValue) === true) return i;
  return -1;
}

function lastIndexOf([list, item]: Args): CelValue {
  if (!(list instanceof CelList)) return noSuchOverload;
  for (let i = list.size - 1; i >= 0; i--) if (equal(list.at(i), item as CelValue) === true) return i;
  return -1;
}

function ofComparable(
  name: string,
  id: (type: string) => string,
  result: (type: CelType) => CelType,
  impl: (args: Args) => CelValue,
): FunctionDecl {
  return {
    name,
    cost: collectionCost,
    overloads: comparable.map(([suffix, type]) => member(id(suffix), [listType(type)], result(type), impl)),
  };
}

const A = paramType("A");

export const kubernetesLists: Library = {
  name: "kubernetes.lists",
  functions: [
    ofComparable(
      "isSorted",
      (type) => `list_${type}_is_sorted_bool`,
      () => bool,
      isSorted,
    ),
    {
      name: "sum",
      cost: collectionCost,
      overloads: summable.map(([name, type, zero]) =>
        member(`list_${name}_sum_${name}`, [listType(type)], type, sumFrom(zero)),
      ),
    },
    ofComparable(
      "max",
      (type) => `list_${type}_max_${type}`,
      (type) => type,
      extreme("max", 1),
    ),
    ofComparable(
      "min",
      (type) => `list_${type}_min_${type}`,
      (type) => type,
      extreme("min", -1),
    ),
    {
      name: "indexOf",
      cost: collectionCost,
      overloads: [member("list_a_index_of_int", [listType(A), A], int, indexOf)],
    },
    {
      name: "lastIndexOf",
      cost: collectionCost,
      overloads: [member("list_a_last_index_of_int", [listType(A), A], int, lastIndexOf)],
    },
  ],
};
