/**
 * Work that cost does not count: comparing two deep objects costs one unit, however deep they are.
 *
 * Evaluation is synchronous, so one counter serves all; each evaluation looks at how far it moved. Without it
 * an expression within its cost limit could compare a large object with itself for hours.
 */

/** One step is about one value looked at. */
export const effort: { steps: number } = { steps: 0 };

/** Steps an evaluation may take for each unit of its cost limit. */
export const stepsPerCost = 10;
