/**
 * Ranges of cost and of size. They are estimated before anything runs; at run time the same rules count what
 * really happened.
 */

/** Sizes and costs saturate here: "unbounded". */
export const unbounded = 2 ** 64;

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
