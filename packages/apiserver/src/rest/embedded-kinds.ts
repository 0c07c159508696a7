/** Objects that are not stored themselves but carry a request: Binding, Eviction, TokenRequest. */

import type { JsonObject, JsonValue } from "@keelson/core";
import { lookupTable } from "@keelson/core/internal";
import { decodeBuiltin } from "../builtin/decode.ts";
import { DecodeError } from "../builtin/scalars.ts";
import { goQuote, goValue } from "../contracts/field-error.ts";
import type { ApiObject } from "../contracts/object.ts";
import { badRequest } from "../contracts/status-error.ts";
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
  refuseOthers(kind, apiVersion, value);
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

/** Older versions that carry the same; the server knows no others. */
const alsoTaken: Readonly<Record<string, string>> = lookupTable({ Eviction: "policy/v1beta1" });

function refuseOthers(kind: KindName, apiVersion: string, value: JsonValue): void {
  if (typeof value !== "object" || value === null) return;
  const given = value as JsonObject;
  const name = goValue(given.kind || kind.kind);
  const version = goValue(given.apiVersion || apiVersion);
  const taken = version === apiVersion || version === alsoTaken[kind.kind];
  if (name === kind.kind && taken) return;
  throw badRequest(
    `${name} in version ${goQuote(version.slice(version.indexOf("/") + 1))} cannot be handled as a ${kind.kind}: no kind ${goQuote(name)} is registered for version ${goQuote(version)} in scheme "pkg/runtime/scheme.go:111"`,
  );
}

/** The Status of something done. */
export function success(code: number): JsonObject {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code };
}
