/** Values that name their own kind, as protobuf. */
import type { JsonObject } from "@keelson/core";
import { canEncode, encode } from "./encode.ts";

/** What has a form, in it; `undefined` for what has none. */
export function encodeValue(value: JsonObject): Buffer | undefined {
  const { apiVersion = "v1", kind } = value;
  if (typeof apiVersion !== "string" || typeof kind !== "string" || !canEncode(apiVersion, kind))
    return undefined;
  return Buffer.from(encode({ ...value, apiVersion }));
}
