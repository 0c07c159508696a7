/** Arithmetic beyond the operators. Not part of the Kubernetes environment. */

import { type FunctionDecl, type Implementation, type Library, overload } from "../check/functions.ts";
import type { Expr } from "../syntax/ast.ts";
import type { Macro } from "../syntax/macro.ts";
import { compare, noSuchOverload } from "../values/compare.ts";
import { type Int, intFromBigInt } from "../values/numbers.ts";
import { intOverflow } from "../values/time.ts";
import { type CelType, listType, types } from "../values/types.ts";
import { CelList, type CelValue, Double, Fault, fault, isInt, Uint } from "../values/values.ts";

const { bool, double, dyn, int, uint } = types;
const numeric: readonly CelType[] = [double, int, uint];

type Args = readonly CelValue[];

/** The first of the values to which `wins` prefers no other. */
function extreme(values: Iterable<CelValue>, sign: 1 | -1): CelValue {
  let best: CelValue | undefined;
  for (const value of values) {
    if (best === undefined) {
      best = value;
      continue;
    }
    const order = compare(value, best);
    if (order instanceof Fault) return order;
    if (order === sign) best = value;
  }
  return best ?? fault("math.@min(list) argument must not be empty");
}

function extremes(name: string, fn: string, sign: 1 | -1): FunctionDecl {
  const overloads = [];
  for (const type of numeric) {
    overloads.push(overload(`${name}_${type.name}`, [type], type, ([value]: Args) => value as CelValue));
    for (const other of numeric) {
      const result = type === other ? type : dyn;
      const id = `${name}_${type.name}_${other.name}`;
      overloads.push(overload(id, [type, other], result, (args) => extreme(args, sign)));
    }
    overloads.push(
      overload(`${name}_list_${type.name}`, [listType(type)], type, ([list]) =>
        list instanceof CelList ? extreme(list, sign) : noSuchOverload,
      ),
    );
  }
  overloads.push(
    overload(`${name}_list_dyn`, [listType(dyn)], dyn, ([list]) =>
      list instanceof CelList ? extreme(list, sign) : noSuchOverload,
    ),
  );
  return { name: fn, overloads };
}

function isNumber(expr: Expr): boolean {
  if (expr.kind !== "literal") return expr.kind !== "map" && expr.kind !== "struct";
  const { value } = expr;
  return isInt(value) || value instanceof Uint || value instanceof Double;
}

/** `math.greatest(…)` takes any number of arguments or one list. */
function variadic(name: string, fn: string, argCount: number): Macro {
  return {
    fn: name,
    argCount,
    receiver: true,
    expand(build, target, args) {
      if (target.kind !== "ident" || target.name !== "math") return undefined;
      const full = `math.${name}()`;
      const [first] = args;
      if (first === undefined) return build.fail(target, `${full} requires at least one argument`);
      if (args.length === 1) {
        if (first.kind === "list") {
          const wrong = first.elements.find((element) => !isNumber(element));
          if (first.elements.length === 0 || wrong !== undefined) {
            return build.fail(wrong ?? first, `${full} invalid single argument value`);
          }
        } else if (!isNumber(first)) return build.fail(first, `${full} invalid single argument value`);
        return build.call(fn, first);
      }
      const wrong = args.find((arg) => arg.kind === "list" || !isNumber(arg));
      if (wrong !== undefined) {
        return build.fail(wrong, `${full} simple literal arguments must be numeric`);
      }
      return args.length === 2 ? build.call(fn, ...args) : build.call(fn, build.list(...args));
    },
  };
}

function onDouble(run: (value: number) => number | boolean): Implementation {
  return ([value]) => {
    if (!(value instanceof Double)) return noSuchOverload;
    const result = run(value.value);
    return typeof result === "number" ? new Double(result) : result;
  };
}

function unary(name: string, run: (value: number) => number): FunctionDecl {
  return { name, overloads: [overload(`${name}_double`, [double], double, onDouble(run))] };
}

function test(name: string, run: (value: number) => boolean): FunctionDecl {
  return { name, overloads: [overload(`${name}_double`, [double], bool, onDouble(run))] };
}

function roundAway(value: number): number {
  if (!Number.isFinite(value)) return value;
  const rounded = Math.sign(value) * Math.floor(Math.abs(value) + 0.5);
  // Adding a half to the largest number below it must not carry over.
  return Math.abs(value) === 0.49999999999999994 ? 0 : rounded;
}

function abs([value]: Args): CelValue {
  if (value instanceof Double) return new Double(Math.abs(value.value));
  if (value instanceof Uint) return value;
  if (value === undefined || !isInt(value)) return noSuchOverload;
  if (value === -(2n ** 63n)) return intOverflow;
  return value < 0 ? (-value as Int) : value;
}

function sign([value]: Args): CelValue {
  if (value instanceof Double) return new Double(Math.sign(value.value));
  if (value instanceof Uint) return new Uint(value.value === 0 ? 0 : 1);
  if (value === undefined || !isInt(value)) return noSuchOverload;
  return value < 0 ? -1 : value > 0 ? 1 : 0;
}

function bits(run: (a: bigint, b: bigint) => bigint): Implementation {
  return ([a, b]) => {
    if (a instanceof Uint && b instanceof Uint) {
      return new Uint(intFromBigInt(BigInt.asUintN(64, run(BigInt(a.value), BigInt(b.value)))));
    }
    if (a === undefined || b === undefined || !isInt(a) || !isInt(b)) return noSuchOverload;
    return intFromBigInt(BigInt.asIntN(64, run(BigInt(a), BigInt(b))));
  };
}

function bitwise(name: string, run: (a: bigint, b: bigint) => bigint): FunctionDecl {
  const impl = bits(run);
  return {
    name,
    overloads: [
      overload(`${name}_int_int`, [int, int], int, impl),
      overload(`${name}_uint_uint`, [uint, uint], uint, impl),
    ],
  };
}

function shift(name: string, run: (value: bigint, by: bigint) => bigint): FunctionDecl {
  const impl: Implementation = ([value, by]) => {
    if (by === undefined || !isInt(by)) return noSuchOverload;
    if (by < 0) return fault(`${name}() negative offset: ${by}`);
    const offset = by > 64 ? 64n : BigInt(by);
    if (value instanceof Uint) {
      return new Uint(intFromBigInt(BigInt.asUintN(64, run(BigInt(value.value), offset))));
    }
    if (value === undefined || !isInt(value)) return noSuchOverload;
    // Shifts see 64 plain bits: a right shift brings in zeros, not the sign.
    return intFromBigInt(BigInt.asIntN(64, run(BigInt.asUintN(64, BigInt(value)), offset)));
  };
  return {
    name,
    overloads: [
      overload(`${name}_int_int`, [int, int], int, impl),
      overload(`${name}_uint_int`, [uint, int], uint, impl),
    ],
  };
}

function squareRoot([value]: Args): CelValue {
  if (value instanceof Double) return new Double(Math.sqrt(value.value));
  if (value instanceof Uint) return new Double(Math.sqrt(Number(value.value)));
  return value !== undefined && isInt(value) ? new Double(Math.sqrt(Number(value))) : noSuchOverload;
}

const not: Implementation = ([value]) => {
  if (value instanceof Uint) return new Uint(intFromBigInt(BigInt.asUintN(64, ~BigInt(value.value))));
  return value !== undefined && isInt(value) ? intFromBigInt(~BigInt(value)) : noSuchOverload;
};

const counts = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

/** `math.greatest`, `math.least` and bit operations. */
export const mathLibrary: Library = {
  name: "math",
  macros: counts.flatMap((count) => [
    variadic("greatest", "math.@max", count),
    variadic("least", "math.@min", count),
  ]),
  functions: [
    extremes("math_@max", "math.@max", 1),
    extremes("math_@min", "math.@min", -1),
    unary("math.ceil", Math.ceil),
    unary("math.floor", Math.floor),
    unary("math.round", roundAway),
    unary("math.trunc", Math.trunc),
    test("math.isInf", (value) => value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY),
    test("math.isNaN", Number.isNaN),
    test("math.isFinite", Number.isFinite),
    {
      name: "math.abs",
      overloads: numeric.map((type) => overload(`math_abs_${type.name}`, [type], type, abs)),
    },
    {
      name: "math.sign",
      overloads: numeric.map((type) => overload(`math_sign_${type.name}`, [type], type, sign)),
    },
    {
      name: "math.sqrt",
      overloads: numeric.map((type) => overload(`math_sqrt_${type.name}`, [type], double, squareRoot)),
    },
    bitwise("math.bitAnd", (a, b) => a & b),
    bitwise("math.bitOr", (a, b) => a | b),
    bitwise("math.bitXor", (a, b) => a ^ b),
    {
      name: "math.bitNot",
      overloads: [
        overload("math_bitNot_int", [int], int, not),
        overload("math_bitNot_uint", [uint], uint, not),
      ],
    },
    shift("math.bitShiftLeft", (value, by) => value << by),
    shift("math.bitShiftRight", (value, by) => value >> by),
  ],
};
