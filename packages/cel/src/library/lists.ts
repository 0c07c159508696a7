/** List functions of the language's extension: slice, flatten, distinct, sort, sortBy, reverse, lists.range. */

import { type CostNode, listCreateCost, sizeOf, stringTraversalFactor } from "../check/cost.ts";
import {
  type CallEstimate,
  type CostModel,
  type FunctionDecl,
  type Library,
  member,
  overload,
} from "../check/functions.ts";
import type { Expr } from "../syntax/ast.ts";
import type { Macro } from "../syntax/macro.ts";
import { compare, equal, noSuchOverload } from "../values/compare.ts";
import { fixed, plus, type SizeRange, scale, times, unbounded } from "../values/cost-range.ts";
import { maxLength, tooLong } from "../values/operators.ts";
import { type CelType, listType, paramType, types } from "../values/types.ts";
import { ArrayList, CelList, type CelValue, Fault, fault, isInt, typeOf } from "../values/values.ts";
import { mapLoop } from "./macros.ts";

const { bool, bytes, double, duration, dyn, int, string, timestamp, uint } = types;
const T = paramType("T");
const listT = listType(T);
const comparable: readonly CelType[] = [int, uint, double, bool, duration, timestamp, string, bytes];

type Args = readonly CelValue[];

function slice([list, from, to]: Args): CelValue {
  if (!(list instanceof CelList)) return noSuchOverload;
  const [start, end] = [Number(from), Number(to)];
  const call = `cannot slice(${String(from)}, ${String(to)})`;
  if (start < 0 || end < 0) return fault(`${call}, negative indexes not supported`);
  if (start > end) return fault(`${call}, start index must be less than or equal to end index`);
  if (list.size < end) return fault(`${call}, list is length ${list.size}`);
  const out: CelValue[] = [];
  for (let i = start; i < end; i++) out.push(list.at(i));
  return new ArrayList(out);
}

function flatten([list, levels = 1]: Args): CelValue {
  if (!(list instanceof CelList) || !isInt(levels)) return noSuchOverload;
  if (levels < 0) return fault("level must be non-negative");
  const out: CelValue[] = [];
  const go = (values: CelList, depth: number): void => {
    for (const value of values) {
      if (value instanceof CelList && depth > 0) go(value, depth - 1);
      else out.push(value);
    }
  };
  go(list, Number(levels));
  return new ArrayList(out);
}

function distinct([list]: Args): CelValue {
  if (!(list instanceof CelList)) return noSuchOverload;
  const out: CelValue[] = [];
  for (const value of list) if (!out.some((known) => equal(value, known) === true)) out.push(value);
  return new ArrayList(out);
}

function reverse([list]: Args): CelValue {
  return list instanceof CelList ? new ArrayList([...list].reverse()) : noSuchOverload;
}

function range([count]: Args): CelValue {
  if (count === undefined || !isInt(count)) return noSuchOverload;
  if (count > maxLength) return tooLong;
  return new ArrayList(Array.from({ length: Math.max(0, Number(count)) }, (_, i) => i));
}

function sortByKeys([list, keys]: Args): CelValue {
  if (!(list instanceof CelList) || !(keys instanceof CelList)) return noSuchOverload;
  if (list.size !== keys.size) {
    return fault(
      "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, " +
        `but got ${list.size} and ${keys.size} elements respectively`,
    );
  }
  if (list.size === 0) return list;
  const first = keys.at(0);
  if (compare(first, first) instanceof Fault) return fault("list elements must be comparable");
  const kind = typeOf(first).name;
  const order = Array.from({ length: list.size }, (_, i) => i);
  if (list.size > 1 && order.some((i) => typeOf(keys.at(i)).name !== kind)) {
    return fault("list elements must have the same type");
  }
  order.sort((a, b) => {
    const result = compare(keys.at(a), keys.at(b));
    return result instanceof Fault ? 0 : result;
  });
  return new ArrayList(order.map((i) => list.at(i)));
}

/** A call that makes a new list. */
function allocating(size: SizeRange, factor: number): CallEstimate {
  return { ...plus(scale(size, factor), fixed(1 + listCreateCost)), resultSize: size };
}

function allocated(size: number, factor: number): number {
  return Math.trunc(size * factor) + 1 + listCreateCost;
}

function literalInt(node: CostNode | undefined, otherwise: number): number {
  const expr = node?.expr;
  if (expr?.kind !== "literal" || !isInt(expr.value)) return otherwise;
  return Math.max(0, Number(expr.value));
}

const sliceCost: CostModel = {
  after: (_args, result) => allocated(sizeOf(result), 1),
  estimate: ({ target, args, size }) => {
    if (target === undefined) return undefined;
    const length = literalInt(args[1], size(target).max) - literalInt(args[0], 0);
    return allocating(fixed(length < 0 ? unbounded : length), 1);
  },
};

const flattenCost: CostModel = {
  before: ([list, levels = 1]) => allocated(sizeOf(list as CelValue), Number(levels)),
  estimate: ({ target, args, size }) =>
    target === undefined
      ? undefined
      : allocating(size(target), args.length === 0 ? 1 : literalInt(args[0], unbounded)),
};

const rangeCost: CostModel = {
  before: ([count]) => allocated(Math.max(0, Number(count)), 1),
  estimate: ({ args }) => allocating(fixed(literalInt(args[0], unbounded)), 1),
};

const reverseCost: CostModel = {
  before: ([list]) => allocated(sizeOf(list as CelValue), 1),
  estimate: ({ target, size }) => (target === undefined ? undefined : allocating(size(target), 1)),
};

/** Comparing every element with every other. */
function pairwise(list: CelValue): number {
  if (!(list instanceof CelList) || list.size === 0) return allocated(0, 2);
  const first = list.at(0);
  const textual = typeof first === "string" || first instanceof Uint8Array;
  return allocated(list.size * list.size, textual ? 2 + stringTraversalFactor : 2);
}

const distinctCost: CostModel = {
  before: ([list]) => pairwise(list as CelValue),
  estimate: ({ target, size }) =>
    target === undefined ? undefined : allocating(times(size(target), size(target)), 2),
};

function sortCost(type: CelType, byKeys: boolean): CostModel {
  const factor = type === string || type === bytes ? 2 + stringTraversalFactor : 2;
  return {
    before: (args) => pairwise(args[byKeys ? 1 : 0] as CelValue),
    estimate: ({ target, args, size }) => {
      const node = byKeys ? args[0] : target;
      return node === undefined ? undefined : allocating(times(size(node), size(node)), factor);
    },
  };
}

const sortByName = "@sortByAssociatedKeys";

const sortBy: Macro = {
  fn: "sortBy",
  argCount: 2,
  receiver: true,
  expand(build, target, args) {
    const sortable: Expr["kind"][] = ["list", "select", "ident", "comprehension", "call"];
    if (!sortable.includes(target.kind)) {
      return build.fail(
        target,
        "sortBy can only be applied to a list, identifier, comprehension, call or select expression",
      );
    }
    const input = "@__sortBy_input__";
    const keys = mapLoop(build, build.ident(input), args);
    return build.comprehension({
      range: build.list(),
      iterVar: "#unused",
      iterVar2: undefined,
      accuVar: input,
      accuInit: target,
      condition: build.literal(false),
      step: build.ident(input),
      result: build.memberCall(sortByName, build.ident(input), keys),
    });
  },
};

const functions: readonly FunctionDecl[] = [
  { name: "slice", overloads: [member("list_slice", [listT, int, int], listT, slice, sliceCost)] },
  {
    name: "flatten",
    impl: flatten,
    overloads: [
      member("list_flatten", [listType(listT)], listT, undefined, flattenCost),
      member("list_flatten_int", [listType(dyn), int], listType(dyn), undefined, flattenCost),
    ],
  },
  {
    name: "sort",
    overloads: comparable.map((type) =>
      member(
        `list_${type.name}_sort`,
        [listType(type)],
        listType(type),
        ([list]) => sortByKeys([list as CelValue, list as CelValue]),
        sortCost(type, false),
      ),
    ),
  },
  {
    name: sortByName,
    overloads: comparable.map((type) =>
      member(
        `list_${type.name}_sortByAssociatedKeys`,
        [listT, listType(type)],
        listT,
        sortByKeys,
        sortCost(type, true),
      ),
    ),
  },
  { name: "lists.range", overloads: [overload("lists_range", [int], listType(int), range, rangeCost)] },
  { name: "reverse", overloads: [member("list_reverse", [listT], listT, reverse, reverseCost)] },
  { name: "distinct", overloads: [member("list_distinct", [listT], listT, distinct, distinctCost)] },
];

/** Version 3. */
export const listsLibrary: Library = { name: "lists", functions, macros: [sortBy] };
