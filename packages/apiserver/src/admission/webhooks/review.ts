/** AdmissionReview: what a webhook is asked, and what it may answer. */
import { type JsonObject, type JsonValue, parseJson } from "@keelson/core";
import type { JsonPatchOperation } from "@keelson/core/internal/merge";
import type { AdmissionRequest } from "../../contracts/admission.ts";
import { goValue } from "../../contracts/field-error.ts";
import { StatusError } from "../../contracts/status-error.ts";
import { requestJson, type VersionedObjects } from "../expressions.ts";
import type { Match } from "../matching.ts";

export interface Question {
  readonly uid: string;
  readonly version: "v1" | "v1beta1";
  readonly body: string;
}

export interface Answer {
  readonly allowed: boolean;
  readonly warnings: readonly string[];
  readonly status: JsonObject | undefined;
  readonly patch: readonly JsonPatchOperation[];
}

/** Something in the answer is not as it must be. */
export class BadAnswer extends Error {}
/** The answer is none. */
export class Unreadable extends Error {}

export function questionOf(
  uid: string,
  version: Question["version"],
  request: AdmissionRequest,
  match: Match,
  { object, oldObject }: VersionedObjects,
): Question {
  const { dryRun, options, ...rest } = requestJson(request, match);
  const review = {
    kind: "AdmissionReview",
    apiVersion: `admission.k8s.io/${version}`,
    request: { uid, ...rest, object: object ?? null, oldObject: oldObject ?? null, dryRun, options },
  };
  return { uid, version, body: JSON.stringify(review) };
}

const isJsonObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Throws what is wrong with it. */
export function answerOf(text: string, { uid, version }: Question, mutating: boolean): Answer {
  const review = parse(text);
  const { response } = review;
  if (!isJsonObject(response)) throw new BadAnswer("webhook response was absent");
  if (version === "v1") checkV1(review, response, uid, mutating);
  const patch = mutating && typeof response.patch === "string" ? response.patch : "";
  return {
    allowed: response.allowed === true,
    warnings: Array.isArray(response.warnings) ? response.warnings.map(goValue) : [],
    status: isJsonObject(response.status) ? response.status : undefined,
    patch: patch === "" ? [] : patchOf(patch, version === "v1" ? response.patchType : "JSONPatch"),
  };
}

function parse(text: string): JsonObject {
  try {
    const value = parseJson(text);
    if (isJsonObject(value)) return value;
  } catch {
    // Told below, with everything else that is no object.
  }
  throw new Unreadable("couldn't get version/kind; json parse error: the answer is no JSON object");
}

function checkV1(review: JsonObject, response: JsonObject, uid: string, mutating: boolean): void {
  if (response.uid !== uid)
    throw new BadAnswer(
      `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response.uid ?? "")}`,
    );
  const { apiVersion = "", kind = "" } = review as { apiVersion?: string; kind?: string };
  if (apiVersion !== "admission.k8s.io/v1" || kind !== "AdmissionReview")
    throw new BadAnswer(
      `expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got ${apiVersion}, Kind=${kind}`,
    );
  const { patch, patchType } = response;
  if (!mutating) {
    if (patch) throw new BadAnswer("validating webhook may not return response.patch");
    if (patchType !== undefined && patchType !== null)
      throw new BadAnswer("validating webhook may not return response.patchType");
    return;
  }
  const typed = patchType !== undefined && patchType !== null;
  if (patch && !typed) throw new BadAnswer("webhook returned response.patch but not response.patchType");
  if (!patch && typed) throw new BadAnswer("webhook returned response.patchType but not response.patch");
  if (patchType === "") throw new BadAnswer('webhook returned invalid response.patchType of ""');
}

/** Thrown outside the checks above: an unknown type or an unreadable patch. */
export class BadPatch extends Error {}

function patchOf(base64: string, type: JsonValue | undefined): JsonPatchOperation[] {
  let operations: unknown;
  try {
    operations = parseJson(Buffer.from(base64, "base64").toString());
  } catch (error) {
    throw new BadPatch(
      `received undecodable patch in webhook response: ${error instanceof Error ? error.message : ""}`,
    );
  }
  if (!Array.isArray(operations))
    throw new BadPatch(
      "received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type jsonpatch.Patch",
    );
  if (operations.length > 0 && type !== "JSONPatch")
    throw new BadPatch(`unsupported patch type ${JSON.stringify(type)}`);
  return operations as JsonPatchOperation[];
}

/** The refusal that a client reads when a webhook says no. */
export function denial(hook: string, status: JsonObject | undefined): StatusError {
  const deniedBy = `admission webhook ${JSON.stringify(hook)} denied the request`;
  const { message, reason, code } = (status ?? {}) as { message?: string; reason?: string; code?: number };
  const text = message
    ? `${deniedBy}: ${message}`
    : reason
      ? `${deniedBy}: ${reason}`
      : `${deniedBy} without explanation`;
  return new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    ...status,
    status: "Failure",
    message: text,
    code: code !== undefined && code >= 400 ? code : 400,
  } as StatusError["status"]);
}
