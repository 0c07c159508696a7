/** Objects that are not stored themselves but carry a request: Binding, Eviction, TokenRequest. */
import type { JsonObject, JsonValue } from "@keelson/core";
import { DecodeError, decodeBuiltin } from "../builtin/decode.ts";
import { badRequest } from "../errors.ts";
import type { ApiObject } from "../hooks.ts";
import { definitionName } from "../tables/index.ts";

export interface KindName {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Throws 400 when the body is of another kind. */
export function decodeKind(kind: KindName, value: JsonValue, strict?: string[]): ApiObject {
  const definition = definitionName(kind);
  if (!definition) throw new Error(`the tables have no ${kind.kind}`);
  const apiVersion = kind.group ? `${kind.group}/${kind.version}` : kind.version;
  const given = value as JsonObject | null;
  if (given && typeof given === "object" && given.kind && given.kind !== kind.kind)
    throw badRequest(
      `${String(given.kind)} in version "${kind.version}" cannot be handled as a ${kind.kind}: converting (${kind.version}.${String(given.kind)}) to (${kind.group || "core"}.${kind.kind}): unknown conversion`,
    );
  try {
    const object = decodeBuiltin(definition, value, strict);
    object.apiVersion = apiVersion;
    object.kind = kind.kind;
    if (!object.metadata) object.metadata = {};
    return object as ApiObject;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw badRequest(
      `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${error.message}`,
    );
  }
}

/** The Status of something done. */
export function success(code: number): JsonObject {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code };
}
