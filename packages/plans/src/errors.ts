/** Every error of plans, by code. */

/**
 * - `InvalidDefinition`: a plan that cannot work as written: no steps, two of one name, a step that says nothing.
 * - `InvalidExpression`: an expression between `${` and `}` that cannot be read or evaluated.
 */
export type PlanErrorCode = "InvalidDefinition" | "InvalidExpression";

/** What is wrong with a plan, with a code that programs can rely on. */
export class PlanError extends Error {
  override readonly name = "PlanError";
  readonly code: PlanErrorCode;

  constructor(code: PlanErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** An expression that reads what is not there. */
export class MissingData extends PlanError {
  constructor(message: string) {
    super("InvalidExpression", message);
  }
}
