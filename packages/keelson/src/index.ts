/** The front door: what an operator's author needs, from one import. */

export {
  ApiError,
  type Client,
  ClientError,
  connect,
  isAbsent,
  isAlreadyExists,
  isApiError,
  isConflict,
  isForbidden,
  isInvalid,
  isNotFound,
  isTooManyRequests,
  isTransient,
} from "@keelson/client";
export type {
  AnyKind,
  Clock,
  Condition,
  InputOf,
  Kind,
  KubeObject,
  ObjectMeta,
  ObjectOf,
  Random,
} from "@keelson/core";
export { parseJson, Quantity } from "@keelson/core";
export * from "@keelson/runtime";
export * from "@keelson/schema";
export { z } from "zod";
