/** Declares functions: their overloads for the checker, what they do, what they cost. */

import type { Macro } from "../syntax/macro.ts";
import type { CostRange, SizeRange } from "../values/cost-range.ts";
import type { CelType } from "../values/types.ts";
import type { CelValue } from "../values/values.ts";
import type { CostNode } from "./cost.ts";

/** Never throws: what goes wrong is returned as a fault. */
export type Implementation = (args: readonly CelValue[]) => CelValue;

/** The range of a call's cost, and of its result's size where that is known. */
export interface CallEstimate extends CostRange {
  readonly resultSize?: SizeRange | undefined;
}

export interface CostModel {
  /** What a call costs at run time, from its arguments. Charged before the call, so that none can run away. */
  readonly before?: (args: readonly CelValue[], overload: string) => number;
  /** What a call costs at run time, where only the result tells. */
  readonly after?: (args: readonly CelValue[], result: CelValue) => number;
  /** What a call may cost at most, before any value is known. Undefined leaves it to the next rule. */
  readonly estimate?: (call: EstimatedCall) => CallEstimate | undefined;
}

/** A call whose cost is asked for before any value is known. */
export interface EstimatedCall {
  readonly target: CostNode | undefined;
  readonly args: readonly CostNode[];
  readonly overload: string;
  /** The size of a node from everything that is known; from nothing to unbounded when nothing is. */
  size(node: CostNode): SizeRange;
}

export interface Overload {
  readonly id: string;
  /** True for `target.fn(…)`; the target is then the first parameter. */
  readonly member: boolean;
  readonly params: readonly CelType[];
  readonly result: CelType;
  /** Absent when the function's own implementation serves all overloads. */
  readonly impl?: Implementation;
  readonly cost?: CostModel;
}

export interface FunctionDecl {
  readonly name: string;
  readonly overloads: readonly Overload[];
  /** Serves every overload and tells the arguments apart itself. */
  readonly impl?: Implementation;
  /** Sees faults among its arguments instead of passing them on. */
  readonly nonStrict?: boolean;
  readonly cost?: CostModel;
}

/** A bundle of functions, macros and names that an environment takes in whole. */
export interface Library {
  readonly name: string;
  readonly functions?: readonly FunctionDecl[];
  readonly macros?: readonly Macro[];
  /** Types that may be named in expressions. */
  readonly types?: readonly CelType[];
  /** Turns on `?.` and its kin. */
  readonly optionalSyntax?: boolean;
}

export function overload(
  id: string,
  params: readonly CelType[],
  result: CelType,
  impl?: Implementation,
  cost?: CostModel,
): Overload {
  return { id, member: false, params, result, ...(impl && { impl }), ...(cost && { cost }) };
}

export function member(
  id: string,
  params: readonly CelType[],
  result: CelType,
  impl?: Implementation,
  cost?: CostModel,
): Overload {
  return { id, member: true, params, result, ...(impl && { impl }), ...(cost && { cost }) };
}
