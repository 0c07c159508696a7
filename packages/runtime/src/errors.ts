/** Every error of the runtime, by code. */

/**
 * - `OwnsItself`, `InvalidDeclaration`: a controller that cannot work as declared.
 * - `NotDeclared`: a reconcile reached for what its controller does not declare.
 * - `NoOutcome`: a reconcile returned nothing.
 * - `ReconcileTimeout`: a reconcile did not end in time.
 * - `Ended`: a reconcile used its context after its end.
 * - `OutcomeUnknown`: an object is not served because the last write to it may or may not have happened.
 * - `NotOurs`: an object of a child's name exists and belongs to someone else.
 * - `StillThere`: a child of an earlier owner of the same name has not gone yet.
 * - `OwnerGone`: an object was deleted while its reconcile ran; nothing more is made for it.
 * - `Replaced`: a child that we saw is gone, and another has its name.
 * - `InvalidChild`: a desired child that cannot be made as asked.
 * - `InvalidStatus`: a status that the server refuses, or that JSON cannot carry.
 * - `InvalidObject`: a stored object does not fit the schema that this release declares.
 * - `WebhookTimeout`: a webhook did not answer in time.
 * - `BadAnswer`: a webhook was asked, or would have answered, in a form that the protocol does not have.
 * - `StepTooLarge`: a step returned more than a status can hold.
 * - `Unreachable`: no way to an application's port.
 * - `CrdRefused`: the server does not take or serve a CustomResourceDefinition.
 * - `KindMissing`: the server does not serve a kind that a controller needs.
 * - `NotStarted`: a controller that a reconcile started did not get its caches complete.
 * - `LeaseLost`: this process no longer leads, and sends nothing more.
 * - `Stopped`: the operator is stopping.
 */
export type RuntimeErrorCode =
  | "OwnsItself"
  | "InvalidDeclaration"
  | "NotDeclared"
  | "NoOutcome"
  | "ReconcileTimeout"
  | "Ended"
  | "OutcomeUnknown"
  | "NotOurs"
  | "StillThere"
  | "OwnerGone"
  | "Replaced"
  | "InvalidChild"
  | "InvalidStatus"
  | "InvalidObject"
  | "WebhookTimeout"
  | "BadAnswer"
  | "StepTooLarge"
  | "Unreachable"
  | "CrdRefused"
  | "KindMissing"
  | "NotStarted"
  | "LeaseLost"
  | "Stopped";

/** What went wrong in the runtime, with a code that programs can rely on. */
export class RuntimeError extends Error {
  override readonly name = "RuntimeError";
  readonly code: RuntimeErrorCode;

  constructor(code: RuntimeErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
