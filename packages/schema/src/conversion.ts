/** Objects from one version to another, and the answers to an API server that asks for it. Nothing here does I/O. */

import { type JsonObject, type KubeObject, type ObjectMeta, parseApiVersion } from "@keelson/core";
import { compareApiVersions, errorText } from "@keelson/core/internal";
import { SchemaError } from "./errors.ts";
import type { AnyConversion, Converted, RuntimeStatus } from "./resource.ts";

/** What a conversion needs to know of a resource. */
export interface Convertible {
  readonly group: string;
  readonly kind: string;
  /** The stored version. */
  readonly version: string;
  readonly versions: Readonly<Record<string, unknown>>;
  readonly conversions: Readonly<Record<string, AnyConversion>>;
}

/** The object at another version of its resource; by way of the stored one. */
export function convertObject(resource: Convertible, object: KubeObject, version: string): KubeObject {
  const { version: from } = parseApiVersion(object.apiVersion ?? "");
  for (const name of [from, version]) {
    if (name in resource.versions) continue;
    const names = Object.keys(resource.versions).sort(compareApiVersions).join(", ");
    throw new SchemaError(
      "UnknownVersion",
      resource.kind,
      `there is no version "${name}" to convert; there are ${names}`,
    );
  }
  if (from === version) return object;
  const stored = from === resource.version ? object : step(resource, object, from, "toStored");
  return version === resource.version ? stored : step(resource, stored, version, "fromStored");
}

function step(
  resource: Convertible,
  object: KubeObject,
  other: string,
  direction: "toStored" | "fromStored",
): KubeObject {
  const { group, kind, version: stored } = resource;
  const apiVersion = `${group}/${direction === "toStored" ? stored : other}`;
  const conversion = resource.conversions[other];
  // Versions without conversions have the same shape: `resource()` sees to that.
  if (!conversion) return { ...object, apiVersion, kind };
  const given: unknown = conversion[direction](object as never);
  if (typeof given !== "object" || given === null || !("spec" in given)) {
    throw new SchemaError(
      "BadConversion",
      kind,
      `the conversion ${direction} of version ${other} returned no spec; it must return { spec, status? }`,
    );
  }
  const { spec, status, annotations } = given as Converted<unknown>;
  const {
    spec: _,
    status: before,
    metadata,
    ...rest
  } = object as KubeObject & {
    spec?: unknown;
    status?: RuntimeStatus;
  };
  const whole = { ...runtimePart(before), ...(status as object | undefined) };
  return {
    ...rest,
    apiVersion,
    kind,
    metadata: annotated(metadata, annotations),
    spec,
    ...(before === undefined && status === undefined ? {} : { status: whole }),
  } as KubeObject;
}

function annotated(
  metadata: ObjectMeta | undefined,
  annotations: Converted<unknown>["annotations"],
): ObjectMeta {
  if (annotations === undefined) return metadata ?? {};
  const { annotations: _, ...rest } = metadata ?? {};
  return Object.keys(annotations).length === 0 ? rest : { ...rest, annotations: { ...annotations } };
}

/** What the runtime keeps in a status is the same in every version. */
function runtimePart(status: RuntimeStatus | undefined): RuntimeStatus {
  const { observedGeneration, conditions, inventory, steps } = status ?? {};
  return {
    ...(observedGeneration === undefined ? {} : { observedGeneration }),
    ...(conditions === undefined ? {} : { conditions }),
    ...(inventory === undefined ? {} : { inventory }),
    ...(steps === undefined ? {} : { steps }),
  };
}

/** What an API server sends to a conversion webhook, and what it reads back. */
export interface ConversionReview {
  apiVersion: string;
  kind: "ConversionReview";
  request?: { uid: string; desiredAPIVersion: string; objects: KubeObject[] };
  response?: {
    uid: string;
    convertedObjects: KubeObject[];
    result: { status: "Success" } | { status: "Failure"; message: string };
  };
}

/**
 * Answers a conversion webhook's request for any of the resources. What cannot be converted becomes an answer that
 * says so, as the API server wants it; only what is no ConversionReview at all throws.
 */
export function answerConversionReview(resources: readonly Convertible[], review: unknown): ConversionReview {
  const { apiVersion, request } = checkedReview(review);
  const answer = (result: Omit<NonNullable<ConversionReview["response"]>, "uid">): ConversionReview => ({
    apiVersion,
    kind: "ConversionReview",
    response: { uid: request.uid, ...result },
  });
  try {
    return answer({
      convertedObjects: request.objects.map((object) =>
        convertOne(resources, object, request.desiredAPIVersion),
      ),
      result: { status: "Success" },
    });
  } catch (error) {
    const message = errorText(error);
    return answer({ convertedObjects: [], result: { status: "Failure", message } });
  }
}

function checkedReview(review: unknown): Required<Omit<ConversionReview, "response">> {
  const { apiVersion, kind, request } = (review ?? {}) as Partial<ConversionReview>;
  const sound =
    kind === "ConversionReview" &&
    typeof apiVersion === "string" &&
    typeof request?.uid === "string" &&
    typeof request.desiredAPIVersion === "string" &&
    Array.isArray(request.objects);
  if (sound) return { apiVersion, kind, request };
  const seen = JSON.stringify(review) ?? String(review);
  throw new SchemaError(
    "BadReview",
    "",
    `this is no ConversionReview with a request: ${seen.length > 200 ? `${seen.slice(0, 200)}…` : seen}`,
  );
}

function convertOne(resources: readonly Convertible[], object: KubeObject, apiVersion: string): KubeObject {
  const { group, version } = parseApiVersion(apiVersion);
  const { group: ofObject } = parseApiVersion(object.apiVersion ?? "");
  const resource = resources.find((each) => each.kind === object.kind && each.group === ofObject);
  const name = [object.metadata?.namespace, object.metadata?.name].filter(Boolean).join("/");
  const what = `cannot convert ${object.kind} ${name} from ${object.apiVersion} to ${apiVersion}`;
  if (!resource || resource.group !== group) {
    const known = resources.map((each) => `${each.kind}.${each.group}`).join(", ") || "nothing";
    throw new SchemaError("UnknownVersion", "", `${what}: this webhook converts ${known}`);
  }
  try {
    return convertObject(resource, object, version);
  } catch (cause) {
    const why = errorText(cause);
    throw new SchemaError("BadConversion", "", `${what}: ${why}`, { cause });
  }
}

/** Names, types and nesting alone: what a conversion by name must leave untouched. */
export function shapeOf(schema: unknown): unknown {
  const { type, properties, items, additionalProperties } = schema as JsonObject;
  return {
    ...(type === undefined ? {} : { type }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties as JsonObject)
              .sort(([a], [b]) => (a < b ? -1 : 1))
              .map(([name, property]) => [name, shapeOf(property)]),
          ),
        }),
    ...(items === undefined ? {} : { items: shapeOf(items) }),
    ...(typeof additionalProperties === "object"
      ? { additionalProperties: shapeOf(additionalProperties) }
      : {}),
  };
}
