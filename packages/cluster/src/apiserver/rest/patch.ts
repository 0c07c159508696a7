/** The four kinds of patch, each from its body to a new draft. */
import { deepCopy, type JsonObject, type JsonValue, parseApiVersion } from "@keelson/core";
import {
  applyJsonPatch,
  applyMergePatch,
  applyStrategicPatch,
  MergeError,
  maxJsonPatchOperations,
  parseJsonPatch,
} from "@keelson/core/merge";
import { DecodeError, isObject } from "../builtin/decode.ts";
import { parseYaml } from "../codec/body.ts";
import { JsonSyntaxError, parseJsonBody } from "../codec/json-body.ts";
import {
  badRequest,
  entityTooLarge,
  failure,
  invalid,
  StatusError,
  unsupportedMediaType,
} from "../errors.ts";
import { goQuote, invalidField } from "../field-error.ts";
import type { ApiObject } from "../hooks.ts";
import { header } from "../http/message.ts";
import { apiVersionText } from "../registry/api-resource.ts";
import { builtinKindError, decodeObject, type Exchange, refuseOtherKind } from "./exchange.ts";
import type { FieldValidation } from "./options.ts";

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
  if (!entry) throw notAPatch();
  const kind = entry[0] as PatchKind;
  if (kind === "strategic" && !resource.type.strategicPatches)
    throw unsupportedMediaType([patchTypes.json, patchTypes.merge, patchTypes.apply]);
  const bytes = await request.body();
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  return kind === "apply" ? applyConfiguration(text) : objectPatch(kind, text);
}

function notAPatch(): StatusError {
  return failure({
    code: 415,
    reason: "UnsupportedMediaType",
    message: "415: Unsupported Media Type",
    details: {},
  });
}

async function applyConfiguration(text: string): Promise<Patch> {
  let parsed: { value: JsonValue; duplicates: readonly string[] };
  try {
    // kubectl sends JSON under the YAML media type; it parses far faster as what it is.
    parsed = text.trimStart().startsWith("{") ? parseJsonBody(text) : await parseYaml(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError) parsed = await yamlConfiguration(text);
    else if (error instanceof StatusError) throw badRequest(`error decoding YAML: ${error.status.message}`);
    else throw error;
  }
  if (!isObject(parsed.value))
    throw badRequest("error decoding YAML: error converting YAML to JSON: the document is not an object");
  const { duplicates } = parsed;
  return {
    kind: "apply",
    config: parsed.value,
    applyTo() {
      throw new Error("a configuration is merged by the field manager");
    },
    reportStrict({ warnings }, validation) {
      if (validation === "Ignore") return;
      for (const path of duplicates) {
        const problem = `error strict decoding YAML: key ${goQuote(path)} already set in map`;
        if (validation === "Strict") throw badRequest(problem);
        warnings.add(problem);
      }
    },
  };
}

async function yamlConfiguration(text: string) {
  try {
    return await parseYaml(text);
  } catch (error) {
    if (error instanceof StatusError) throw badRequest(`error decoding YAML: ${error.status.message}`);
    throw error;
  }
}

function objectPatch(kind: Exclude<PatchKind, "apply">, text: string): Patch {
  let body: { value: JsonValue; duplicates: readonly string[] };
  try {
    body = parseJsonBody(text);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw badRequest(kind === "strategic" ? error.message : `error decoding patch: ${error.message}`);
  }
  const { value, duplicates } = body;
  const problems = duplicates.map((path) =>
    kind === "json" ? `json patch duplicate field ${goQuote(path)}` : `duplicate field ${goQuote(path)}`,
  );
  return {
    kind,
    applyTo(exchange, live, validation) {
      const patched = applyObjectPatch(exchange, kind, live, value);
      const strict: string[] = [];
      const draft = decodePatched(exchange, kind, live, patched, strict);
      const all = [...problems, ...strict.map((path) => `unknown field ${goQuote(path)}`)];
      if (all.length > 0 && validation === "Strict")
        throw unfit(patched, `strict decoding error: ${all.join(", ")}`);
      if (validation === "Warn") for (const problem of all) exchange.warnings.add(problem);
      return draft;
    },
    reportStrict() {},
  };
}

function applyObjectPatch(
  exchange: Exchange,
  kind: Exclude<PatchKind, "apply">,
  live: ApiObject,
  patch: JsonValue,
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
    if (!isObject(patch)) {
      const type = Array.isArray(patch) ? "array" : typeof patch;
      const what = `json: cannot unmarshal ${type} into Go value of type map[string]interface {}`;
      throw badRequest(kind === "merge" ? `error decoding patch: ${what}` : what);
    }
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
  strict: string[],
): ApiObject {
  const { resource, version } = exchange;
  const apiVersion = typeof patched.apiVersion === "string" ? patched.apiVersion : "";
  const kind = typeof patched.kind === "string" ? patched.kind : "";
  if (resource.custom) {
    refuseOtherKind(resource, patched, apiVersion, kind);
    const expected = apiVersionText(resource, version.name);
    if (apiVersion !== expected)
      throw invalid({ group: parseApiVersion(apiVersion).group, kind }, String(live.metadata.name), [
        invalidField("apiVersion", apiVersion, `must be ${expected}`),
      ]);
  } else {
    const wrong = builtinKindError(exchange, apiVersion, kind);
    if (wrong) throw unfit(patched, wrong);
  }
  try {
    return decodeObject(exchange, deepCopy(patched), strict);
  } catch (error) {
    const cause = error instanceof StatusError ? error.cause : error;
    const message =
      cause instanceof DecodeError
        ? patchKind === "strategic"
          ? cause.asValue
          : cause.message
        : error instanceof StatusError && error.status.code === 400
          ? (error.status.message ?? "")
          : undefined;
    if (message === undefined) throw error;
    throw unfit(patched, message);
  }
}

/** The patched object cannot be of the kind. */
function unfit(patched: JsonObject, why: string): StatusError {
  return invalid({ group: "", kind: "" }, "", [invalidField("patch", JSON.stringify(patched), why)]);
}
