/**
 * What cost counts: one unit is roughly the work of reading a field. Ranges are estimated before anything
 * runs; at run time the same rules count what really happened.
 */

import type { Expr } from "../syntax/ast.ts";
import { codePointLength } from "../values/code-points.ts";
import type { CelType } from "../values/types.ts";
import { CelList, CelMap, type CelValue, Opaque, Optional } from "../values/values.ts";

/** Sizes and costs saturate here: "unbounded". */
export const unbounded = 2 ** 64;

export const stringTraversalFactor = 0.1;
export const regexLengthFactor = 0.25;
export const listCreateCost = 10;
export const mapCreateCost = 30;
export const structCreateCost = 40;

/** From least to most, both included. */
export interface CostRange {
  readonly min: number;
  readonly max: number;
}

/** Characters, bytes, elements or entries, as `size()` counts them. */
export type SizeRange = CostRange;

export const unknownSize: SizeRange = Object.freeze({ min: 0, max: unbounded });
export const noCost: CostRange = Object.freeze({ min: 0, max: 0 });

export function fixed(value: number): CostRange {
  return { min: value, max: value };
}

function saturate(value: number): number {
  return Math.min(value, unbounded);
}

export function plus(a: CostRange, b: CostRange): CostRange {
  return { min: saturate(a.min + b.min), max: saturate(a.max + b.max) };
}

export function times(a: CostRange, b: CostRange): CostRange {
  return { min: product(a.min, b.min), max: product(a.max, b.max) };
}

function product(a: number, b: number): number {
  return a === 0 || b === 0 ? 0 : saturate(a * b);
}

/** Rounded up to whole units. */
export function scale(range: CostRange, factor: number): CostRange {
  return { min: saturate(Math.ceil(range.min * factor)), max: saturate(Math.ceil(range.max * factor)) };
}

/** The range that covers both. */
export function union(a: CostRange, b: CostRange): CostRange {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
}

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
