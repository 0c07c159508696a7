/** Operators as HTTP hooks: CompositeController and DecoratorController of Metacontroller. */
export {
  type AnyObject,
  CompositeController,
  type CompositeControllerObject,
  ControllerRevision,
  type ControllerRevisionObject,
  DecoratorController,
  type DecoratorControllerObject,
  type HookDefinition,
} from "./api/resources.ts";
export type {
  CustomizeAnswer,
  CustomizeRequest,
  HookFunctions,
  ObjectsByKind,
  SyncAnswer,
  SyncRequest,
} from "./call/functions.ts";
export type { CallOptions } from "./call/hook-client.ts";
export {
  type HookAnswer,
  type HookRequest,
  type HookTransport,
  networkTransport,
} from "./call/transport.ts";
export { waveAnnotation } from "./children/desired.ts";
export { hookControllers, isHookDefinition } from "./controller/hook-controllers.ts";
export { type HookOptions, relatedAnnotation } from "./controller/hooked-controller.ts";
export { type HookHostOptions, hookHosts } from "./controller/host.ts";
export { HookError, type HookErrorCode } from "./errors.ts";
