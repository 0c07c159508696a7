/** The four kinds of patch, each from its body to a new draft. */
import { type JsonObject, type JsonValue, parseApiVersion } from "@keelson/core";
import {
  applyJsonPatch,
  applyMergePatch,
  applyStrategicPatch,
  MergeError,
  maxJsonPatchOperations,
  parseJsonPatch,
} from "@keelson/core/internal/merge";
import { DecodeError, isObject, jsonType } from "../builtin/scalars.ts";
import { JsonSyntaxError, parseJsonBody } from "../codec/json-body.ts";
import { goQuote, goValue, invalidField } from "../contracts/field-error.ts";
import type { ApiObject } from "../contracts/object.ts";
import {
  badRequest,
  entityTooLarge,
  failure,
  internalError,
  invalid,
  StatusError,
  unsupportedMediaType,
} from "../contracts/status-error.ts";
import { header } from "../messages/message.ts";
import { parseYaml } from "../messages/text-thread.ts";
import { apiVersionText } from "../registry/api-resource.ts";
import { builtinKindError, decodeObject, type Exchange, kindFault, refuseOtherKind } from "./exchange.ts";
import type { FieldValidation } from "./options.ts";
import { repeatedKeys, warningsOf } from "./strict-problems.ts";

export type PatchKind = "json" | "merge" | "strategic" | "apply";

export const patchTypes: Readonly<Record<PatchKind, string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
};

export interface Patch {
  readonly kind: PatchKind;
  /** The applied configuration; for `apply` alone. */
  readonly config?: JsonObject;
  /** The patched object as a draft. Throws 400, 413 or 422. */
  applyTo(exchange: Exchange, live: ApiObject, validation: FieldValidation): ApiObject;
  /** Complains about keys the body gives twice. */
  reportStrict(exchange: Exchange, validation: FieldValidation): void;
}

export async function readPatch(exchange: Exchange): Promise<Patch> {
  const { request, resource } = exchange;
  const type = (header(request.headers, "content-type") ?? "").split(";")[0]?.trim() ?? "";
  const entry = Object.entries(patchTypes).find(([, mediaType]) => mediaType === type);
  const kind = entry?.[0] as PatchKind | undefined;
  if (resource.custom && (kind === undefined || kind === "strategic"))
    throw unsupportedMediaType([patchTypes.json, patchTypes.merge, patchTypes.apply]);
  if (kind === undefined) {
    // Refused before anybody looks at what it is for.
    exchange.warnings.clear();
    throw notAPatch();
  }
  const bytes = await request.body();
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  if (kind === "apply") return applyConfiguration(text, exchange.user.name);
  return objectPatch(kind, text, exchange.info.query.get("fieldValidation") ?? "");
}

function notAPatch(): StatusError {
  return failure({
    code: 415,
    reason: "UnsupportedMediaType",
    message: "415: Unsupported Media Type",
    details: {},
  });
}

async function applyConfiguration(text: string, user: string): Promise<Patch> {
  let parsed: { value: JsonValue; repeated: readonly string[] };
  try {
    // kubectl sends JSON under the YAML media type; it parses far faster as what it is.
    const json = text.trimStart().startsWith("{") ? parseJsonBody(text) : undefined;
    parsed =
      json && json.duplicates.length === 0
        ? { value: json.value, repeated: [] }
        : await yamlConfiguration(text, user);
  } catch (error) {
    if (error instanceof JsonSyntaxError) parsed = await yamlConfiguration(text, user);
    else throw error;
  }
  if (parsed.value === null) throw badRequest("invalid object type: /, Kind=");
  if (!isObject(parsed.value))
    throw badRequest(
      `error decoding YAML: error unmarshaling JSON: while decoding JSON: ${noObject(parsed.value)}`,
    );
  const { repeated } = parsed;
  return {
    kind: "apply",
    config: parsed.value,
    applyTo() {
      throw new Error("a configuration is merged by the field manager");
    },
    reportStrict({ warnings }, validation) {
      if (validation === "Ignore" || repeated.length === 0) return;
      const problem = `error strict decoding YAML: error converting YAML to JSON: ${repeatedKeys(repeated)}`;
      if (validation === "Strict") throw badRequest(problem);
      for (const line of warningsOf(problem)) warnings.add(line);
    },
  };
}

async function yamlConfiguration(text: string, user: string) {
  try {
    return await parseYaml(text, user);
  } catch (error) {
    if (error instanceof StatusError && error.status.code === 400)
      throw badRequest(`error decoding YAML: error converting YAML to JSON: ${error.status.message}`);
    throw error;
  }
}

/** A patch that is no object. */
function noObject(value: JsonValue): string {
  return `json: cannot unmarshal ${jsonType(value)} into Go value of type map[string]interface {}`;
}

function objectPatch(kind: Exclude<PatchKind, "apply">, text: string, asked: string): Patch {
  // Read when there is an object to apply it to: that there is none is said first.
  const read = (): { value: JsonValue; problems: string[] } => {
    try {
      const { value, duplicates } = parseJsonBody(text);
      if (kind !== "json")
        return { value, problems: duplicates.map((path) => `duplicate field ${goQuote(path)}`) };
      const twice = duplicates.map((path) => `json patch duplicate field ${goQuote(path)}`);
      return { value, problems: [...twice, ...unknownInOperations(value)] };
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      throw badPatch(kind, error.message, asked);
    }
  };
  return {
    kind,
    applyTo(exchange, live, validation) {
      const { value, problems } = read();
      const patched = applyObjectPatch(exchange, kind, live, value, validation);
      const strict: string[] = [];
      // A strategic merge is judged by what was sent, the others by what came of it.
      const shown = () => (kind === "strategic" ? goValue(value) : textOf(patched, exchange.resource.custom));
      const draft = decodePatched(exchange, kind, live, patched, shown, strict);
      const all = [...problems, ...strict.map((path) => `unknown field ${goQuote(path)}`)];
      if (all.length > 0 && validation === "Strict")
        throw unfit(shown(), `strict decoding error: ${all.join(", ")}`);
      if (validation === "Warn") for (const problem of all) exchange.warnings.add(problem);
      return draft;
    },
    reportStrict() {},
  };
}

const operationFields = new Set(["op", "path", "from", "value"]);

function unknownInOperations(patch: JsonValue): string[] {
  if (!Array.isArray(patch)) return [];
  return patch.flatMap((operation, i) =>
    Object.keys(isObject(operation) ? operation : {})
      .filter((key) => !operationFields.has(key))
      .map((key) => `json patch unknown field ${goQuote(`[${i}].${key}`)}`),
  );
}

/** Unless asked to ignore what is wrong with it, the server reads a patch before it applies it. */
function badPatch(kind: PatchKind, why: string, validation: string): StatusError {
  if (kind === "strategic") return badRequest(why);
  if (kind === "merge" && validation === "Ignore") return badRequest("Invalid JSON Patch");
  return badRequest(`error decoding patch: ${why}`);
}

function applyObjectPatch(
  exchange: Exchange,
  kind: Exclude<PatchKind, "apply">,
  live: ApiObject,
  patch: JsonValue,
  validation: FieldValidation,
): JsonObject {
  try {
    if (kind === "json") {
      const operations = parseJsonPatch(patch);
      if (operations.length > maxJsonPatchOperations)
        throw entityTooLarge(
          `The allowed maximum operations in a JSON patch is ${maxJsonPatchOperations}, got ${operations.length}`,
        );
      return applyJsonPatch(live, operations);
    }
    if (kind === "strategic" && patch === null) return live;
    if (!isObject(patch)) throw badPatch(kind, noObject(patch), patch === null ? "Ignore" : validation);
    if (kind === "merge") return applyMergePatch(live, patch);
    return applyStrategicPatch(live, patch, exchange.resource.type.mergeType(exchange.version.name));
  } catch (error) {
    if (!(error instanceof MergeError)) throw error;
    if (error.code === "BadPatch") throw badRequest(error.message);
    if (kind === "strategic") throw failure({ code: 500, reason: "", message: error.message, cause: error });
    throw failure({
      code: 422,
      reason: "Invalid",
      message: "the server rejected our request due to an error in our request",
      details: {},
      cause: error,
    });
  }
}

function decodePatched(
  exchange: Exchange,
  patchKind: PatchKind,
  live: ApiObject,
  patched: JsonObject,
  shown: () => string,
  strict: string[],
): ApiObject {
  const { resource, version } = exchange;
  const apiVersion = typeof patched.apiVersion === "string" ? patched.apiVersion : "";
  const kind = typeof patched.kind === "string" ? patched.kind : "";
  if (resource.custom) {
    refuseOtherKind(resource, patched, apiVersion, kind);
    const expected = apiVersionText(resource, version.name);
    if (apiVersion === "")
      throw internalError("Object 'apiVersion' is missing in 'object has no apiVersion field'");
    if (apiVersion !== expected)
      throw invalid({ group: parseApiVersion(apiVersion).group, kind }, String(live.metadata.name), [
        invalidField("apiVersion", apiVersion, `must be ${expected}`),
      ]);
  } else if (patchKind !== "strategic") {
    // A strategic merge is of the fields alone: what kind it names is not looked at.
    const wrong = kindFault(patched) ?? builtinKindError(exchange, apiVersion, kind);
    if (wrong) throw unfit(shown(), wrong);
  }
  try {
    return decodeObject(exchange, patched, strict);
  } catch (error) {
    const cause = error instanceof StatusError ? error.cause : error;
    if (cause instanceof DecodeError) {
      const restored =
        patchKind === "strategic" ? resource.type.restoreFault?.(patched, version.name) : undefined;
      throw unfit(shown(), restored ?? cause.message);
    }
    if (error instanceof StatusError && error.status.code === 400)
      throw unfit(shown(), (error.status.message ?? "").replace(/^.*? cannot be handled as an? \w+: /, ""));
    throw error;
  }
}

/** Custom objects are printed with their keys in order. */
function textOf(patched: JsonObject, custom: boolean): string {
  if (!custom) return JSON.stringify(patched);
  return JSON.stringify(patched, (_, value: JsonValue) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  );
}

/** The patched object cannot be of the kind. */
function unfit(shown: string, why: string): StatusError {
  return invalid({ group: "", kind: "" }, "", [invalidField("patch", shown, why)]);
}
