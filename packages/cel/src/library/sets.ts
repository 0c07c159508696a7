/** Lists seen as sets. */

import { sizeOf } from "../check/cost.ts";
import { type CostModel, type Library, overload } from "../check/functions.ts";
import { noSuchOverload } from "../values/compare.ts";
import { fixed, plus, scale, times } from "../values/cost-range.ts";
import { contains as has } from "../values/operators.ts";
import { listType, paramType, types } from "../values/types.ts";
import { CelList, type CelValue } from "../values/values.ts";

const listT = listType(paramType("T"));

type Args = readonly CelValue[];

function contains([list, sublist]: Args): CelValue {
  if (!(list instanceof CelList) || !(sublist instanceof CelList)) return noSuchOverload;
  for (const element of sublist) {
    const found = has(list, element);
    if (found !== true) return found;
  }
  return true;
}

function equivalent([a, b]: Args): CelValue {
  const one = contains([a as CelValue, b as CelValue]);
  return one === true ? contains([b as CelValue, a as CelValue]) : one;
}

function intersects([a, b]: Args): CelValue {
  if (!(a instanceof CelList) || !(b instanceof CelList)) return noSuchOverload;
  for (const element of a) if (has(b, element) === true) return true;
  return false;
}

function cost(factor: number): CostModel {
  return {
    before: ([a, b]) => 1 + Math.trunc(sizeOf(a as CelValue) * sizeOf(b as CelValue) * factor),
    estimate: ({ args, size }) => {
      const [a, b] = args;
      if (a === undefined || b === undefined) return undefined;
      return plus(scale(times(size(a), size(b)), factor), fixed(1));
    },
  };
}

const { bool } = types;

/** `sets.contains`, `sets.equivalent` and `sets.intersects`. */
export const setsLibrary: Library = {
  name: "sets",
  functions: [
    {
      name: "sets.contains",
      overloads: [overload("list_sets_contains_list", [listT, listT], bool, contains, cost(1))],
    },
    {
      name: "sets.equivalent",
      overloads: [overload("list_sets_equivalent_list", [listT, listT], bool, equivalent, cost(2))],
    },
    {
      name: "sets.intersects",
      overloads: [overload("list_sets_intersects_list", [listT, listT], bool, intersects, cost(1))],
    },
  ],
};
