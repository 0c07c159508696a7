/** Macros over two variables: index and element of a list, key and value of a map. */

import { type FunctionDecl, type Library, overload } from "../check/functions.ts";
import { accumulatorName, type Expr } from "../syntax/ast.ts";
import type { Macro, MacroBuilder } from "../syntax/macro.ts";
import { noSuchOverload } from "../values/compare.ts";
import { mapType, paramType } from "../values/types.ts";
import { CelMap, type CelValue, EntryMap, type Fault, fault } from "../values/values.ts";
import { allLoop, existsLoop, existsOneLoop, iterationVariable, type LoopParts, listLoop } from "./macros.ts";

export const mapInsertName = "cel.@mapInsert";

function twoVariables(build: MacroBuilder, range: Expr, args: readonly Expr[]): LoopParts {
  const [first, second] = args as [Expr, Expr];
  const name = "argument must be a simple name";
  if (first.kind !== "ident") return build.fail(first, name);
  if (second.kind !== "ident") return build.fail(second, name);
  if (first.name === second.name) return build.fail(second, `duplicate variable name: ${first.name}`);
  return {
    range,
    iterVar: iterationVariable(build, first, name),
    iterVar2: iterationVariable(build, second, name),
  };
}

function quantifier(fn: string, loop: typeof allLoop): Macro {
  return {
    fn,
    argCount: 3,
    receiver: true,
    expand: (build, range, args) => loop(build, twoVariables(build, range, args), args[2] as Expr),
  };
}

type Grow = (build: MacroBuilder, loop: LoopParts, transform: Expr) => Expr;

/** A loop that builds a list or map, with an optional filter before the transform. */
function transform(fn: string, argCount: 3 | 4, grow: Grow | undefined): Macro {
  return {
    fn,
    argCount,
    receiver: true,
    expand(build, range, args) {
      const loop = twoVariables(build, range, args);
      const filter = argCount === 4 ? args[2] : undefined;
      const body = args[argCount - 1] as Expr;
      if (grow === undefined) return listLoop(build, loop, filter, body);
      const grown = grow(build, loop, body);
      return build.comprehension({
        ...loop,
        iterVar2: loop.iterVar2,
        accuVar: accumulatorName,
        accuInit: build.map(),
        condition: build.literal(true),
        step: filter === undefined ? grown : build.call("_?_:_", filter, grown, build.accumulator()),
        result: build.accumulator(),
      });
    },
  };
}

const sameKey: Grow = (build, loop, body) =>
  build.call(mapInsertName, build.accumulator(), build.ident(loop.iterVar), body);
const ownEntry: Grow = (build, _loop, body) => build.call(mapInsertName, build.accumulator(), body);

const K = paramType("K");
const V = paramType("V");
const mapKV = mapType(K, V);

function insert(map: CelValue, key: CelValue, value: CelValue): EntryMap | Fault {
  if (!(map instanceof CelMap)) return noSuchOverload;
  const target = map instanceof EntryMap ? map : EntryMap.of(entriesOf(map));
  return target.with(key, value) ?? fault(`insert failed: key ${String(key)} already exists`);
}

function* entriesOf(map: CelMap): IterableIterator<[CelValue, CelValue]> {
  for (const key of map.keys()) yield [key, map.find(key) ?? null];
}

const mapInsert: FunctionDecl = {
  name: mapInsertName,
  overloads: [
    overload("@mapInsert_map_key_value", [mapKV, K, V], mapKV, ([map, key, value]) =>
      insert(map as CelValue, key as CelValue, value as CelValue),
    ),
    overload("@mapInsert_map_map", [mapKV, mapKV], mapKV, ([map, more]) => {
      if (!(more instanceof CelMap)) return noSuchOverload;
      let grown = map as CelValue;
      for (const [key, value] of entriesOf(more)) {
        grown = insert(grown, key, value);
        if (!(grown instanceof EntryMap)) return grown;
      }
      return grown;
    }),
  ],
};

/** Comprehensions with two variables. */
export const twoVariableLibrary: Library = {
  name: "comprehensions",
  functions: [mapInsert],
  macros: [
    quantifier("all", allLoop),
    quantifier("exists", existsLoop),
    quantifier("existsOne", existsOneLoop),
    quantifier("exists_one", existsOneLoop),
    transform("transformList", 3, undefined),
    transform("transformList", 4, undefined),
    transform("transformMap", 3, sameKey),
    transform("transformMap", 4, sameKey),
    transform("transformMapEntry", 3, ownEntry),
    transform("transformMapEntry", 4, ownEntry),
  ],
};
