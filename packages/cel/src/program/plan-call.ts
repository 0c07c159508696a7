/** Plans function calls and operators. */

import { lookupTable } from "@keelson/core/internal";
import type { Reference } from "../check/checker.ts";
import { sizeOf, stringTraversalFactor } from "../check/cost.ts";
import type { CostModel, FunctionDecl, Implementation, Overload } from "../check/functions.ts";
import type { CallExpr, Expr } from "../syntax/ast.ts";
import { CelError } from "../syntax/errors.ts";
import { equal, noSuchOverload } from "../values/compare.ts";
import * as operators from "../values/operators.ts";
import { compilePattern } from "../values/regex.ts";
import { type CelType, isDynOrError } from "../values/types.ts";
import {
  CelList,
  type CelValue,
  Double,
  Fault,
  fault,
  type MapKey,
  mapKey,
  Opaque,
  Optional,
  typeOf,
  Uint,
} from "../values/values.ts";
import { charge, type Frame, type Step } from "./frame.ts";
import { type Plan, type Planner, stepOf } from "./planner.ts";

type CallReference = Extract<Reference, { kind: "call" }>;

export function planCall(planner: Planner, expr: CallExpr): Plan {
  const [first, second] = expr.args;
  switch (expr.fn) {
    case "_&&_":
      return step(logic(false, planner.step(first as Expr), planner.step(second as Expr)));
    case "_||_":
      return step(logic(true, planner.step(first as Expr), planner.step(second as Expr)));
    case "_==_":
      return step(equality(planner.step(first as Expr), planner.step(second as Expr), false));
    case "_!=_":
      return step(equality(planner.step(first as Expr), planner.step(second as Expr), true));
    default:
      return planFunction(planner, expr);
  }
}

function step(run: Step): Plan {
  return { kind: "step", step: run };
}

/** `decisive` settles the result whatever the other side is, even an error. */
function logic(decisive: boolean, left: Step, right: Step): Step {
  return (frame) => {
    const a = left(frame);
    if (a === decisive) return decisive;
    const b = right(frame);
    if (b === decisive) return decisive;
    if (typeof a !== "boolean") return a instanceof Fault ? a : noSuchOverload;
    if (typeof b !== "boolean") return b instanceof Fault ? b : noSuchOverload;
    return !decisive;
  };
}

function equality(left: Step, right: Step, negated: boolean): Step {
  return (frame) => {
    const a = left(frame);
    const b = right(frame);
    charge(frame, equalityCost(a, b, negated));
    if (a instanceof Fault) return a;
    if (b instanceof Fault) return b;
    const same = equal(a, b);
    if (negated) return same !== true;
    return same;
  };
}

function equalityCost(a: CelValue, b: CelValue, negated: boolean): number {
  if (typeof a === "number" && typeof b === "number") return 1;
  // Kubernetes prices its own types for `==` and forgets `!=`.
  if (a instanceof Opaque && !negated) return 1;
  return Math.ceil(Math.min(sizeOf(a), sizeOf(b)) * stringTraversalFactor);
}

const conversions: ReadonlySet<string> = new Set(
  "bool bytes double duration dyn int string timestamp type uint".split(" "),
);
const patternFunctions: ReadonlySet<string> = new Set(["matches", "find", "findAll"]);

function planFunction(planner: Planner, expr: CallExpr): Plan {
  const reference = planner.reference(expr.id);
  if (reference?.kind !== "call") return { kind: "const", value: fault(`no such overload: ${expr.fn}`) };
  const member = expr.target !== undefined && !reference.namespaced;
  const operands = member ? [expr.target as Expr, ...expr.args] : [...expr.args];
  const plans = operands.map((operand) => planner.plan(operand));
  const special = planSpecial(reference, plans);
  if (special !== undefined) return special;
  const call = implementationOf(
    reference,
    operands.map((operand) => planner.checked.typeOf(operand.id)),
    member,
  );
  if (conversions.has(reference.fn.name) && plans.length === 1 && plans[0]?.kind === "const") {
    const value = call([plans[0].value]);
    if (value instanceof Fault) throw new CelError("type", value.message);
    return { kind: "const", value };
  }
  const single = reference.overloads.length === 1 ? reference.overloads[0] : undefined;
  const cost = single?.cost ?? reference.fn.cost;
  const steps = plans.map(stepOf);
  const operator = Object.hasOwn(fastOperators, reference.fn.name)
    ? fastOperators[reference.fn.name]
    : undefined;
  if (operator !== undefined && cost === undefined) {
    return step(operatorStep(operator, steps[0] as Step, steps[1] as Step));
  }
  const pattern = plans[1];
  return step(
    callStep(
      {
        run: call,
        cost,
        overload: single?.id ?? "",
        nonStrict: reference.fn.nonStrict ?? false,
        stopsAtFault: patternFunctions.has(reference.fn.name) && pattern?.kind === "const",
      },
      steps,
    ),
  );
}

/** Calls that are planned in a way of their own. */
function planSpecial(reference: CallReference, plans: readonly Plan[]): Plan | undefined {
  const { fn, overloads } = reference;
  const [first, second] = plans;
  if (first === undefined || second === undefined) return undefined;
  const only = overloads.length === 1 ? overloads[0]?.id : undefined;
  if (fn.name === "or" || fn.name === "orValue") return step(planOr(fn.name, stepOf(first), stepOf(second)));
  if (only === "in_list" && second.kind === "const") return planMembership(first, second.value);
  if (patternFunctions.has(fn.name) && second.kind === "const" && typeof second.value === "string") {
    const compiled = compilePattern(second.value);
    if (compiled instanceof Fault) throw new CelError("type", compiled.message);
  }
  return undefined;
}

/** The second operand is computed only when the first is empty. */
function planOr(fn: string, left: Step, right: Step): Step {
  return (frame) => {
    const value = left(frame);
    if (!(value instanceof Optional)) return value;
    if (value.value === undefined) return right(frame);
    return fn === "or" ? value : value.value;
  };
}

/** `x in [literals]` as a look-up; undefined when the literals are not all simple. */
function planMembership(wanted: Plan, list: CelValue): Plan | undefined {
  if (!(list instanceof CelList)) return undefined;
  if (list.size === 0) return { kind: "const", value: false };
  const members = new Set<MapKey>();
  for (const value of list) {
    const simple = typeof value !== "object" || value instanceof Uint || value instanceof Double;
    const key = simple ? mapKey(value) : undefined;
    if (key === undefined) return undefined;
    members.add(key);
  }
  const read = stepOf(wanted);
  return step((frame) => {
    const value = read(frame);
    if (value instanceof Fault) return value;
    const key = value === null ? undefined : mapKey(value);
    return key !== undefined && members.has(key);
  });
}

function implementationOf(
  reference: CallReference,
  argTypes: readonly CelType[],
  member: boolean,
): Implementation {
  const { fn, overloads } = reference;
  const [only] = overloads;
  if (overloads.length === 1 && only !== undefined) {
    const impl = only.impl ?? fn.impl;
    if (impl === undefined) return () => noSuchOverload;
    const certain = argTypes.every((type) => !isDynOrError(type) && type.kind !== "param");
    if (certain || only.impl === undefined) return impl;
    return (args) => (accepts(only, args) ? impl(args) : mismatch(fn, args));
  }
  if (fn.impl !== undefined) return fn.impl;
  const candidates = fn.overloads.filter((overload) => overload.member === member);
  return (args) => {
    for (const overload of candidates) {
      if (overload.impl !== undefined && accepts(overload, args)) return overload.impl(args);
    }
    return mismatch(fn, args);
  };
}

function mismatch(fn: FunctionDecl, args: readonly CelValue[]): Fault {
  return fault(`no such overload: ${fn.name}(${args.map((arg) => typeOf(arg).name).join(", ")})`);
}

function accepts(overload: Overload, args: readonly CelValue[]): boolean {
  return (
    overload.params.length === args.length &&
    overload.params.every((param, i) => isOfType(args[i] as CelValue, param))
  );
}

/** Whether a value can be of a type, as far as its outermost shape and first element tell. */
function isOfType(value: CelValue, type: CelType): boolean {
  if (isDynOrError(type) || type.kind === "param") return true;
  const actual = typeOf(value);
  if (actual.kind !== type.kind || actual.name !== type.name) return false;
  if (type.kind === "list" && value instanceof CelList && value.size > 0) {
    return isOfType(value.at(0), type.params[0] as CelType);
  }
  return true;
}

/** How a call is made and what it costs. */
interface PlannedCall {
  readonly run: Implementation;
  readonly cost: CostModel | undefined;
  /** The overload, where it is certain. */
  readonly overload: string;
  readonly nonStrict: boolean;
  /** Computes no argument behind one that failed, as calls of more than two always do. */
  readonly stopsAtFault: boolean;
}

function callStep(call: PlannedCall, steps: readonly Step[]): Step {
  const [first, second] = steps;
  if (!call.stopsAtFault && steps.length === 1 && first !== undefined) {
    return (frame) => finish(frame, call, [first(frame)]);
  }
  if (!call.stopsAtFault && steps.length === 2 && first !== undefined && second !== undefined) {
    return (frame) => finish(frame, call, [first(frame), second(frame)]);
  }
  return (frame) => {
    const args: CelValue[] = [];
    for (const next of steps) {
      const value = next(frame);
      args.push(value);
      if (value instanceof Fault && args.length < steps.length) return value;
    }
    return finish(frame, call, args);
  };
}

/** Pays for a call and makes it; one with a failed argument is paid for too. */
function finish(frame: Frame, { run, cost, overload, nonStrict }: PlannedCall, args: CelValue[]): CelValue {
  const before = cost?.before;
  const after = cost?.after;
  if (before !== undefined) charge(frame, before(args, overload));
  else if (after === undefined) charge(frame, 1);
  const failed = nonStrict ? undefined : args.find((arg) => arg instanceof Fault);
  const result = failed === undefined ? run(args) : failed;
  if (after !== undefined) charge(frame, after(args, result));
  return result;
}

/** The operators worth a closure without an argument array. */
const fastOperators: Readonly<Record<string, (a: CelValue, b: CelValue) => CelValue>> = lookupTable({
  "_+_": operators.add,
  "_-_": operators.subtract,
  "_<_": operators.less,
  "_<=_": operators.lessOrEqual,
  "_>_": operators.greater,
  "_>=_": operators.greaterOrEqual,
});

function operatorStep(run: (a: CelValue, b: CelValue) => CelValue, left: Step, right: Step): Step {
  return (frame) => {
    const a = left(frame);
    const b = right(frame);
    charge(frame, 1);
    if (a instanceof Fault) return a;
    return b instanceof Fault ? b : run(a, b);
  };
}
