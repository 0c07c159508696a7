/** Cost rules that several Kubernetes libraries share. */
import { stringTraversalFactor, traversal } from "../../check/cost.ts";
import type { CostModel } from "../../check/functions.ts";
import { fixed, scale } from "../../values/cost-range.ts";
import type { CelValue } from "../../values/values.ts";

/** Accessors and comparisons of small values. */
export const unitCost: CostModel = { before: () => 1, estimate: () => fixed(1) };

/** Reading a string once to make something of it. */
export const parseCost: CostModel = {
  before: (args) => traversal(args[0] as CelValue),
  estimate: ({ args, size }) =>
    args[0] === undefined ? undefined : scale(size(args[0]), stringTraversalFactor),
};
