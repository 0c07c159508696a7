/** Every error of hooks, by code. */

/**
 * - `InvalidDefinition`: a CompositeController or DecoratorController that cannot work as written.
 * - `InvalidParent`: an object that its controller cannot serve: it has no selector.
 * - `HookUnreachable`: no answer came from the hook: no connection, no certificate, no Service.
 * - `HookTimeout`: the hook did not answer in time.
 * - `HookFailed`: the hook answered with another status than 200.
 * - `HookBusy`: the hook asks to be called later (429).
 * - `BadAnswer`: the hook's answer is no answer: not JSON, of another shape, or too large.
 * - `InvalidChild`: the hook asks for a child that cannot be made: of a kind that the definition does not name, in
 *   another namespace, without a name, twice.
 * - `NotOurs`: an object of a child's name exists and belongs to someone else.
 * - `ChildrenFailed`: some children could not be brought to their desired state.
 */
export type HookErrorCode =
  | "InvalidDefinition"
  | "InvalidParent"
  | "HookUnreachable"
  | "HookTimeout"
  | "HookFailed"
  | "HookBusy"
  | "BadAnswer"
  | "InvalidChild"
  | "NotOurs"
  | "ChildrenFailed";

/** What went wrong with a hook, with a code that programs can rely on. */
export class HookError extends Error {
  override readonly name = "HookError";
  readonly code: HookErrorCode;
  /** Not to be tried again before this time is over. */
  readonly retryAfterMs?: number;

  constructor(
    code: HookErrorCode,
    message: string,
    options: ErrorOptions & { readonly retryAfterMs?: number } = {},
  ) {
    super(message, options);
    this.code = code;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
  }
}
