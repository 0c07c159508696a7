/** Conversion between versions of a custom resource: by name alone, or by a webhook. */
import type { JsonObject, JsonValue, Random } from "@keelson/core";
import { goValue } from "../contracts/field-error.ts";
import type { ApiObject } from "../contracts/object.ts";
import { failure } from "../contracts/status-error.ts";
import type { Definition, WebhookClientConfig } from "./definition.ts";
import { isObject } from "./schema.ts";

/** Brings an object to another apiVersion. */
export type Converter = (object: ApiObject, apiVersion: string) => ApiObject | Promise<ApiObject>;

/** Sends a JSON body to a webhook and returns the JSON it answers with. */
export type WebhookCaller = (client: WebhookClientConfig, body: JsonObject) => Promise<JsonValue>;

export function converterFor(definition: Definition, call: WebhookCaller, random: Random): Converter {
  const { conversion } = definition;
  if (conversion.strategy === "None")
    return (object, apiVersion) =>
      Object.isFrozen(object) ? renamed(object, apiVersion) : { ...object, apiVersion };
  const cache = new WeakMap<object, Map<string, Promise<ApiObject>>>();
  const ask = async (object: ApiObject, apiVersion: string): Promise<ApiObject> => {
    const uid = random.uuid();
    const version = conversion.reviewVersions.includes("v1") ? "v1" : "v1beta1";
    const review: JsonObject = {
      kind: "ConversionReview",
      apiVersion: `apiextensions.k8s.io/${version}`,
      request: { uid, desiredAPIVersion: apiVersion, objects: [object] },
    };
    const fail = (why: string) => conversionFailed(definition, object, apiVersion, why);
    let answer: JsonValue;
    try {
      answer = await call(conversion.client, review);
    } catch (error) {
      throw fail(`Post failed: ${error instanceof Error ? error.message : String(error)}`);
    }
    return readAnswer(answer, uid, object, apiVersion, fail);
  };
  return (object, apiVersion) => {
    if (!Object.isFrozen(object)) return ask(object, apiVersion);
    let known = cache.get(object);
    if (!known) {
      known = new Map();
      cache.set(object, known);
    }
    let result = known.get(apiVersion);
    if (!result) {
      result = ask(object, apiVersion);
      known.set(apiVersion, result);
      // A webhook that was down may be up the next time.
      result.catch(() => known.delete(apiVersion));
    }
    return result;
  };
}

const renames = new WeakMap<object, Map<string, ApiObject>>();

function renamed(object: ApiObject, apiVersion: string): ApiObject {
  let known = renames.get(object);
  if (!known) {
    known = new Map();
    renames.set(object, known);
  }
  let result = known.get(apiVersion);
  if (!result) {
    result = Object.freeze({ ...object, apiVersion });
    known.set(apiVersion, result);
  }
  return result;
}

function readAnswer(
  answer: JsonValue,
  uid: string,
  object: ApiObject,
  apiVersion: string,
  fail: (why: string) => Error,
): ApiObject {
  const response = isObject(answer) ? answer.response : undefined;
  if (!isObject(response)) throw fail("invalid response: no response provided");
  if (response.uid !== uid)
    throw fail(`invalid response: expected response.uid=${uid}, got ${goValue(response.uid ?? "")}`);
  const result = response.result as JsonObject | undefined;
  if (result?.status !== "Success") throw fail(goValue(result?.message ?? "unknown reason"));
  const objects = response.convertedObjects as JsonValue[] | undefined;
  if (!Array.isArray(objects) || objects.length !== 1)
    throw fail(`invalid response: expected 1 converted objects, got ${objects?.length ?? 0}`);
  const [converted] = objects;
  if (!isObject(converted) || converted.apiVersion !== apiVersion || converted.kind !== object.kind)
    throw fail(`invalid converted object: expected ${apiVersion} ${String(object.kind)}`);
  return restoreMetadata(object, converted, fail);
}

/** A webhook may change labels and annotations; everything else in metadata stays. */
function restoreMetadata(
  original: ApiObject,
  converted: JsonObject,
  fail: (why: string) => Error,
): ApiObject {
  const meta = converted.metadata;
  if (!isObject(meta)) throw fail("invalid metadata of type in converted object");
  if (meta.name !== original.metadata.name || meta.uid !== original.metadata.uid)
    throw fail("metadata.name and metadata.uid must not change in conversion");
  const { labels: _l, annotations: _a, ...kept } = original.metadata;
  const metadata: JsonObject = { ...kept };
  if (isObject(meta.labels)) metadata.labels = meta.labels;
  if (isObject(meta.annotations)) metadata.annotations = meta.annotations;
  return { ...converted, metadata } as ApiObject;
}

function conversionFailed(definition: Definition, object: ApiObject, apiVersion: string, why: string) {
  const { group, names } = definition;
  return failure({
    code: 500,
    reason: "",
    message: `conversion webhook for ${group}/${String(object.apiVersion).split("/").pop()}, Kind=${names.kind} failed: ${why} (to ${apiVersion})`,
  });
}
