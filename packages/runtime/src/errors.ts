/** Every error of the runtime, by code. */

export type RuntimeErrorCode = "OwnsItself" | "NotDeclared" | "NoOutcome" | "ReconcileTimeout" | "LeaseLost";

/** What went wrong in the runtime, with a code that programs can rely on. */
export class RuntimeError extends Error {
  override readonly name = "RuntimeError";
  readonly code: RuntimeErrorCode;

  constructor(code: RuntimeErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
