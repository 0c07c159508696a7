/** The state of one evaluation. */

import { CelError } from "../syntax/errors.ts";
import { effort } from "../values/effort.ts";
import type { CelValue } from "../values/values.ts";

export interface Frame {
  /** The environment's variables, in its order; undefined where nothing was bound. */
  readonly vars: readonly (CelValue | undefined)[];
  /** The variables of comprehensions. */
  readonly locals: (CelValue | undefined)[];
  cost: number;
  readonly limit: number;
  /** Where the counter of uncounted work must not go. */
  readonly maxSteps: number;
}

/** Evaluates one node. */
export type Step = (frame: Frame) => CelValue;

/** Thrown through all steps when the limit is passed; no operator absorbs it. */
export class CostExceeded extends CelError {
  constructor() {
    super("cancelled", "operation cancelled: actual cost limit exceeded");
  }
}

export function charge(frame: Frame, cost: number): void {
  frame.cost += cost;
  if (frame.cost > frame.limit || effort.steps > frame.maxSteps) throw new CostExceeded();
}
