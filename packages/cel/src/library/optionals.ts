/** Optional values: `a.?b`, `a[?i]`, `orValue`, `optMap` and the rest. */

import { type FunctionDecl, type Library, member, overload } from "../check/functions.ts";
import type { Expr } from "../syntax/ast.ts";
import type { Macro, MacroBuilder } from "../syntax/macro.ts";
import { noSuchOverload } from "../values/compare.ts";
import { listType, mapType, optionalType, paramType, types } from "../values/types.ts";
import {
  ArrayList,
  CelList,
  CelMap,
  CelStruct,
  type CelValue,
  Double,
  Duration,
  fault,
  Optional,
  Timestamp,
  Uint,
} from "../values/values.ts";

const { bool, dyn, int, string } = types;
const K = paramType("K");
const V = paramType("V");
const optionalV = optionalType(V);
const listV = listType(V);
const mapKV = mapType(K, V);
const listOfOptional = listType(optionalV);

/** Values that `ofNonZeroValue` takes for nothing. */
function isZero(value: CelValue): boolean {
  if (value === null || value === false || value === 0 || value === "") return true;
  if (value instanceof CelList || value instanceof CelMap) return value.size === 0;
  if (value instanceof Uint || value instanceof Double) return value.value === 0;
  if (value instanceof Uint8Array) return value.length === 0;
  if (value instanceof Duration) return value.nanos === 0;
  if (value instanceof Timestamp) return value.seconds === -62135596800 && value.nanos === 0;
  return value instanceof CelStruct && value.fields.size === 0;
}

function unwrap([list]: readonly CelValue[]): CelValue {
  if (!(list instanceof CelList)) return noSuchOverload;
  const out: CelValue[] = [];
  for (const item of list) {
    if (!(item instanceof Optional)) return fault(`value ${String(item)} is not optional`);
    if (item.value !== undefined) out.push(item.value);
  }
  return new ArrayList(out);
}

function elementAt(index: (size: number) => number) {
  return ([list]: readonly CelValue[]): CelValue => {
    if (!(list instanceof CelList)) return noSuchOverload;
    return list.size === 0 ? Optional.none : Optional.of(list.at(index(list.size)));
  };
}

const functions: readonly FunctionDecl[] = [
  {
    name: "optional.of",
    overloads: [overload("optional_of", [V], optionalV, ([value]) => Optional.of(value as CelValue))],
  },
  {
    name: "optional.ofNonZeroValue",
    overloads: [
      overload("optional_ofNonZeroValue", [V], optionalV, ([value]) =>
        isZero(value as CelValue) ? Optional.none : Optional.of(value as CelValue),
      ),
    ],
  },
  { name: "optional.none", overloads: [overload("optional_none", [], optionalV, () => Optional.none)] },
  {
    name: "value",
    overloads: [
      member("optional_value", [optionalV], V, ([value]) => {
        if (!(value instanceof Optional)) return noSuchOverload;
        return value.value === undefined ? fault("optional.none() dereference") : value.value;
      }),
    ],
  },
  {
    name: "hasValue",
    overloads: [
      member("optional_hasValue", [optionalV], bool, ([value]) =>
        value instanceof Optional ? value.value !== undefined : noSuchOverload,
      ),
    ],
  },
  // These two do not always compute their second operand, so they are planned specially.
  { name: "or", overloads: [member("optional_or_optional", [optionalV, optionalV], optionalV)] },
  { name: "orValue", overloads: [member("optional_orValue_value", [optionalV, V], V)] },
  { name: "_?._", overloads: [overload("select_optional_field", [dyn, string], optionalV)] },
  {
    name: "_[?_]",
    overloads: [
      overload("list_optindex_optional_int", [listV, int], optionalV),
      overload("optional_list_optindex_optional_int", [optionalType(listV), int], optionalV),
      overload("map_optindex_optional_value", [mapKV, K], optionalV),
      overload("optional_map_optindex_optional_value", [optionalType(mapKV), K], optionalV),
    ],
  },
  {
    name: "_[_]",
    overloads: [
      overload("optional_list_index_int", [optionalType(listV), int], optionalV),
      overload("optional_map_index_value", [optionalType(mapKV), K], optionalV),
    ],
  },
  {
    name: "first",
    overloads: [
      member(
        "list_first",
        [listV],
        optionalV,
        elementAt(() => 0),
      ),
    ],
  },
  {
    name: "last",
    overloads: [
      member(
        "list_last",
        [listV],
        optionalV,
        elementAt((size) => size - 1),
      ),
    ],
  },
  { name: "optional.unwrap", overloads: [overload("optional_unwrap", [listOfOptional], listV, unwrap)] },
  { name: "unwrapOpt", overloads: [member("optional_unwrapOpt", [listOfOptional], listV, unwrap)] },
];

/** `target.fn(v, body)`: the body with the value bound to v, or nothing when there is none. */
function optionalMacro(fn: string, wrap: (build: MacroBuilder, body: Expr) => Expr): Macro {
  return {
    fn,
    argCount: 2,
    receiver: true,
    expand(build, target, args) {
      const [variable, body] = args as [Expr, Expr];
      if (variable.kind !== "ident") {
        return build.fail(variable, `${fn}() variable name must be a simple identifier`);
      }
      const bound = build.comprehension({
        range: build.list(),
        iterVar: "#unused",
        iterVar2: undefined,
        accuVar: variable.name,
        accuInit: build.memberCall("value", build.copy(target)),
        condition: build.literal(false),
        step: build.ident(variable.name),
        result: body,
      });
      return build.call(
        "_?_:_",
        build.memberCall("hasValue", target),
        wrap(build, bound),
        build.call("optional.none"),
      );
    },
  };
}

/** Optional values: `optional.of`, `orValue`, `?.`. */
export const optionalLibrary: Library = {
  name: "optional",
  functions,
  macros: [
    optionalMacro("optMap", (build, body) => build.call("optional.of", body)),
    optionalMacro("optFlatMap", (_build, body) => body),
  ],
  types: [types.anyOptional],
  optionalSyntax: true,
};
