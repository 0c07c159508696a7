/**
 * Work that cost does not count: comparing two deep objects costs one unit, however deep they are.
 *
 * Evaluation is synchronous, so one counter serves all; each evaluation looks at how far it moved. Without it
 * an expression within its cost limit could compare a large object with itself for hours.
 */

import { MatchBudget } from "./regex.ts";

/** One step is about one value looked at. */
export const effort: { steps: number; matching: MatchBudget | undefined } = { steps: 0, matching: undefined };

/** Thrown by functions that cannot go on within the bounds of an evaluation. */
export class EffortExceeded extends Error {}

/** What the matches of one evaluation may take together. */
const maxMatchMs = 1000;

/** What is left for matches in this evaluation. */
export function matchBudget(): MatchBudget {
  effort.matching ??= new MatchBudget(maxMatchMs);
  return effort.matching;
}

/** Steps an evaluation may take for each unit of its cost limit. */
export const stepsPerCost = 10;
