/** The functions and operators that every CEL environment has. */

import { regexCost, regexLengthFactor, sizeOf, stringTraversalFactor, traversal } from "../check/cost.ts";
import {
  type CostModel,
  type FunctionDecl,
  type Library,
  member,
  type Overload,
  overload,
} from "../check/functions.ts";
import { codePointLength } from "../values/code-points.ts";
import { noSuchOverload } from "../values/compare.ts";
import * as convert from "../values/convert.ts";
import { fixed, plus, scale, times, unbounded } from "../values/cost-range.ts";
import { EffortExceeded, matchBudget } from "../values/effort.ts";
import * as operators from "../values/operators.ts";
import { compilePattern } from "../values/regex.ts";
import { type CelType, listType, mapType, paramType, sameType, types, typeType } from "../values/types.ts";
import { CelList, CelMap, type CelValue, Fault } from "../values/values.ts";
import { standardMacros } from "./macros.ts";
import { timeFunctions } from "./standard-time.ts";

const { bool, bytes, double, duration, dyn, int, string, timestamp, uint } = types;
const A = paramType("A");
const B = paramType("B");
const listA = listType(A);
const mapAB = mapType(A, B);

type Binary = (a: CelValue, b: CelValue) => CelValue;
type Unary = (a: CelValue) => CelValue;

function binary(name: string, run: Binary, overloads: readonly Overload[]): FunctionDecl {
  return { name, overloads, impl: (args) => run(args[0] as CelValue, args[1] as CelValue) };
}

function unary(name: string, run: Unary, overloads: readonly Overload[]): FunctionDecl {
  return { name, overloads, impl: (args) => run(args[0] as CelValue) };
}

/** Comparing strings costs as much as reading the shorter one. */
const shorter: CostModel = {
  before: (args) =>
    Math.ceil(Math.min(sizeOf(args[0] as CelValue), sizeOf(args[1] as CelValue)) * stringTraversalFactor),
  estimate: ({ args, size }) => {
    const [left, right] = args;
    if (left === undefined || right === undefined) return undefined;
    const most = Math.min(size(left).max, size(right).max);
    return scale({ min: most > 0 ? 1 : 0, max: most }, stringTraversalFactor);
  },
};

/** Some types have a cost of equality of their own. */
const equality: CostModel = {
  ...shorter,
  estimate: (call) => {
    const [left, right] = call.args;
    if (left === undefined || right === undefined) return undefined;
    const own = left.type.equalityCost;
    return own !== undefined && sameType(left.type, right.type) ? own(right.size) : shorter.estimate?.(call);
  },
};

/** Joining two strings copies both. */
const joined: CostModel = {
  before: (args) =>
    Math.ceil((sizeOf(args[0] as CelValue) + sizeOf(args[1] as CelValue)) * stringTraversalFactor),
  estimate: ({ args, size }) => {
    const [left, right] = args;
    if (left === undefined || right === undefined) return undefined;
    const resultSize = plus(size(left), size(right));
    return { ...scale(resultSize, stringTraversalFactor), resultSize };
  },
};

const concatenated: CostModel = {
  estimate: ({ args, size }) => {
    const [left, right] = args;
    if (left === undefined || right === undefined) return undefined;
    return { ...fixed(1), resultSize: plus(size(left), size(right)) };
  },
};

const arithmetic: FunctionDecl[] = [
  binary("_+_", operators.add, [
    overload("add_bytes", [bytes, bytes], bytes, undefined, joined),
    overload("add_double", [double, double], double),
    overload("add_duration_duration", [duration, duration], duration),
    overload("add_duration_timestamp", [duration, timestamp], timestamp),
    overload("add_timestamp_duration", [timestamp, duration], timestamp),
    overload("add_int64", [int, int], int),
    overload("add_list", [listA, listA], listA, undefined, concatenated),
    overload("add_string", [string, string], string, undefined, joined),
    overload("add_uint64", [uint, uint], uint),
  ]),
  binary("_-_", operators.subtract, [
    overload("subtract_double", [double, double], double),
    overload("subtract_duration_duration", [duration, duration], duration),
    overload("subtract_int64", [int, int], int),
    overload("subtract_timestamp_duration", [timestamp, duration], timestamp),
    overload("subtract_timestamp_timestamp", [timestamp, timestamp], duration),
    overload("subtract_uint64", [uint, uint], uint),
  ]),
  binary("_*_", operators.multiply, [
    overload("multiply_double", [double, double], double),
    overload("multiply_int64", [int, int], int),
    overload("multiply_uint64", [uint, uint], uint),
  ]),
  binary("_/_", operators.divide, [
    overload("divide_double", [double, double], double),
    overload("divide_int64", [int, int], int),
    overload("divide_uint64", [uint, uint], uint),
  ]),
  binary("_%_", operators.modulo, [
    overload("modulo_int64", [int, int], int),
    overload("modulo_uint64", [uint, uint], uint),
  ]),
  unary("-_", operators.negate, [
    overload("negate_double", [double], double),
    overload("negate_int64", [int], int),
  ]),
];

const ordered: readonly [string, CelType, CelType, boolean][] = [
  ["bool", bool, bool, false],
  ["int64", int, int, false],
  ["int64_double", int, double, false],
  ["int64_uint64", int, uint, false],
  ["uint64", uint, uint, false],
  ["uint64_double", uint, double, false],
  ["uint64_int64", uint, int, false],
  ["double", double, double, false],
  ["double_int64", double, int, false],
  ["double_uint64", double, uint, false],
  ["string", string, string, true],
  ["bytes", bytes, bytes, true],
  ["timestamp", timestamp, timestamp, false],
  ["duration", duration, duration, false],
];

function relation(name: string, id: string, run: Binary): FunctionDecl {
  return binary(
    name,
    run,
    ordered.map(([suffix, a, b, sized]) =>
      overload(`${id}_${suffix}`, [a, b], bool, undefined, sized ? shorter : undefined),
    ),
  );
}

const relations: FunctionDecl[] = [
  relation("_<_", "less", operators.less),
  relation("_<=_", "less_equals", operators.lessOrEqual),
  relation("_>_", "greater", operators.greater),
  relation("_>=_", "greater_equals", operators.greaterOrEqual),
  { name: "_==_", overloads: [overload("equals", [A, A], bool, undefined, equality)] },
  { name: "_!=_", overloads: [overload("not_equals", [A, A], bool, undefined, shorter)] },
  binary("@in", (wanted, container) => operators.contains(container, wanted), [
    overload("in_list", [A, listA], bool, undefined, {
      before: (args) => sizeOf(args[1] as CelValue),
      estimate: ({ args, size }) => (args[1] === undefined ? undefined : size(args[1])),
    }),
    overload("in_map", [A, mapAB], bool),
  ]),
];

/** These are planned specially; the declarations serve the checker. */
const logic: FunctionDecl[] = [
  { name: "_?_:_", overloads: [overload("conditional", [bool, A, A], A)] },
  { name: "_&&_", overloads: [overload("logical_and", [bool, bool], bool)] },
  { name: "_||_", overloads: [overload("logical_or", [bool, bool], bool)] },
  unary("!_", operators.not, [overload("logical_not", [bool], bool)]),
  {
    ...unary("@not_strictly_false", operators.notStrictlyFalse, [
      overload("not_strictly_false", [bool], bool),
    ]),
    nonStrict: true,
  },
  {
    name: "_[_]",
    overloads: [overload("index_list", [listA, int], A), overload("index_map", [mapAB, A], B)],
  },
];

function size(value: CelValue): CelValue {
  if (typeof value === "string") return codePointLength(value);
  if (value instanceof CelList || value instanceof CelMap) return value.size;
  return value instanceof Uint8Array ? value.length : noSuchOverload;
}

const sizes = unary("size", size, [
  overload("size_bytes", [bytes], int),
  member("bytes_size", [bytes], int),
  overload("size_list", [listA], int),
  member("list_size", [listA], int),
  overload("size_map", [mapAB], int),
  member("map_size", [mapAB], int),
  overload("size_string", [string], int),
  member("string_size", [string], int),
]);

/** Bytes become at most as many characters; a character becomes at most four bytes. */
const encoded: CostModel = {
  before: (args) => traversal(args[0] as CelValue),
  estimate: ({ args, size }) => {
    if (args[0] === undefined) return undefined;
    const { min, max } = size(args[0]);
    return {
      ...scale({ min, max }, stringTraversalFactor),
      resultSize: { min, max: Math.min(max * 4, unbounded) },
    };
  },
};
const decoded: CostModel = {
  before: (args) => traversal(args[0] as CelValue),
  estimate: ({ args, size }) => {
    if (args[0] === undefined) return undefined;
    const { min, max } = size(args[0]);
    return {
      ...scale({ min, max }, stringTraversalFactor),
      resultSize: { min: Math.floor(min / 4), max },
    };
  },
};

function conversion(
  name: string,
  run: Unary,
  result: CelType,
  from: readonly [string, CelType, CostModel?][],
): FunctionDecl {
  return {
    name,
    overloads: from.map(([id, type, cost]) =>
      overload(id, [type], result, (args) => run(args[0] as CelValue), cost),
    ),
  };
}

const conversions: FunctionDecl[] = [
  unary("type", convert.toType, [overload("type", [A], typeType(A))]),
  unary("dyn", (value) => value, [overload("to_dyn", [A], dyn)]),
  conversion("bool", convert.toBool, bool, [
    ["bool_to_bool", bool],
    ["string_to_bool", string],
  ]),
  conversion("bytes", convert.toBytes, bytes, [
    ["bytes_to_bytes", bytes],
    ["string_to_bytes", string, encoded],
  ]),
  conversion("double", convert.toDouble, double, [
    ["double_to_double", double],
    ["int64_to_double", int],
    ["string_to_double", string],
    ["uint64_to_double", uint],
  ]),
  conversion("duration", convert.toDuration, duration, [
    ["duration_to_duration", duration],
    ["int64_to_duration", int],
    ["string_to_duration", string],
  ]),
  conversion("int", convert.toInt, int, [
    ["int64_to_int64", int],
    ["double_to_int64", double],
    ["duration_to_int64", duration],
    ["string_to_int64", string],
    ["timestamp_to_int64", timestamp],
    ["uint64_to_int64", uint],
  ]),
  conversion("string", convert.toText, string, [
    ["string_to_string", string],
    ["bool_to_string", bool],
    ["bytes_to_string", bytes, decoded],
    ["double_to_string", double],
    ["duration_to_string", duration],
    ["int64_to_string", int],
    ["timestamp_to_string", timestamp],
    ["uint64_to_string", uint],
  ]),
  conversion("timestamp", convert.toTimestamp, timestamp, [
    ["timestamp_to_timestamp", timestamp],
    ["int64_to_timestamp", int],
    ["string_to_timestamp", string],
  ]),
  conversion("uint", convert.toUint, uint, [
    ["uint64_to_uint64", uint],
    ["double_to_uint64", double],
    ["int64_to_uint64", int],
    ["string_to_uint64", string],
  ]),
];

/** Reading the affix. At run time the whole string is counted, as the language does. */
const affix: CostModel = {
  before: (args) => traversal(args[0] as CelValue),
  estimate: ({ args, size }) =>
    args[0] === undefined ? undefined : scale(size(args[0]), stringTraversalFactor),
};

const within: CostModel = {
  before: (args) => traversal(args[0] as CelValue) * traversal(args[1] as CelValue),
  estimate: ({ target, args, size }) => {
    if (target === undefined || args[0] === undefined) return undefined;
    return times(scale(size(target), stringTraversalFactor), scale(size(args[0]), stringTraversalFactor));
  },
};

const pattern: CostModel = {
  before: (args) => regexCost(args[0] as CelValue, sizeOf(args[1] as CelValue)),
  estimate: ({ target, args, size }) => {
    if (target === undefined || args[0] === undefined) return undefined;
    return times(
      scale(plus(size(target), fixed(1)), stringTraversalFactor),
      scale(size(args[0]), regexLengthFactor),
    );
  },
};

/** Whether the pattern occurs anywhere in the text. */
function matches(text: string, pattern: string): CelValue {
  const compiled = compilePattern(pattern);
  if (compiled instanceof Fault) return compiled;
  const found = matchBudget().test(compiled, text);
  if (found === undefined) throw new EffortExceeded();
  return found;
}

function onStrings(run: (text: string, other: string) => CelValue) {
  return (args: readonly CelValue[]): CelValue => {
    const [text, other] = args;
    return typeof text === "string" && typeof other === "string" ? run(text, other) : noSuchOverload;
  };
}

const strings: FunctionDecl[] = [
  {
    name: "contains",
    overloads: [
      member(
        "contains_string",
        [string, string],
        bool,
        onStrings((s, part) => s.includes(part)),
        within,
      ),
    ],
  },
  {
    name: "endsWith",
    overloads: [
      member(
        "ends_with_string",
        [string, string],
        bool,
        onStrings((s, end) => s.endsWith(end)),
        affix,
      ),
    ],
  },
  {
    name: "startsWith",
    overloads: [
      member(
        "starts_with_string",
        [string, string],
        bool,
        onStrings((s, start) => s.startsWith(start)),
        affix,
      ),
    ],
  },
  {
    name: "matches",
    overloads: [
      overload("matches", [string, string], bool, onStrings(matches)),
      member("matches_string", [string, string], bool, onStrings(matches), pattern),
    ],
  },
];

/** The operators and functions of the CEL specification. */
export const standardLibrary: Library = {
  name: "standard",
  macros: standardMacros,
  functions: [...logic, ...arithmetic, ...relations, sizes, ...conversions, ...strings, ...timeFunctions],
};
