/** What reading values costs: one unit is roughly the work of reading a field. */

import type { Expr } from "../syntax/ast.ts";
import { codePointLength } from "../values/code-points.ts";
import type { SizeRange } from "../values/cost-range.ts";
import type { CelType } from "../values/types.ts";
import { CelList, CelMap, type CelValue, Opaque, Optional } from "../values/values.ts";

export const stringTraversalFactor = 0.1;
export const regexLengthFactor = 0.25;
export const listCreateCost = 10;
export const mapCreateCost = 30;
export const structCreateCost = 40;

/** An expression as cost rules see it. */
export interface CostNode {
  /** The way from a variable to this value, `@items`, `@keys` and `@values` standing for what is inside. */
  readonly path: readonly string[] | undefined;
  readonly type: CelType;
  readonly expr: Expr | undefined;
  /** What the expression itself tells about its size. */
  readonly size: SizeRange | undefined;
}

/** What the schema of the data tells about the size of a value. */
export type SizeHints = (node: CostNode) => SizeRange | undefined;

/** The size of a value as cost counts it. */
export function sizeOf(value: CelValue): number {
  if (typeof value === "string") return codePointLength(value);
  if (value instanceof CelList || value instanceof CelMap) return value.size;
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof Opaque) return value.size ?? 1;
  if (value instanceof Optional && value.value !== undefined) return sizeOf(value.value);
  return 1;
}

/** The cost of reading a string, or a part of one, once. */
export function traversal(value: CelValue, factor = 1): number {
  return Math.ceil(sizeOf(value) * factor * stringTraversalFactor);
}

/** The cost of matching a pattern against a string; one is added so that an empty string is not free. */
export function regexCost(text: CelValue, pattern: number): number {
  return Math.ceil((1 + sizeOf(text)) * stringTraversalFactor) * Math.ceil(pattern * regexLengthFactor);
}
