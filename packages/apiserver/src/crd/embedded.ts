/** Metadata inside custom resources: their own, and that of resources embedded in them. */
import { type JsonValue, validateQualifiedName } from "@keelson/core";
import { decodePart } from "../builtin/decode.ts";
import { DecodeError } from "../builtin/scalars.ts";
import { type FieldError, invalidField, requiredField } from "../contracts/field-error.ts";
import type { ApiMeta } from "../contracts/object.ts";
import { pathSegmentName, validateMetadata } from "../registry/metadata.ts";
import { additionalSchema, isObject, itemsOf, type JsonSchema } from "./schema.ts";

const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/** Brings metadata to its canonical form; unknown fields are dropped and named. Throws a DecodeError. */
export function coerceMetadata(value: JsonValue, path: string, dropped: string[]): ApiMeta {
  const unknown: string[] = [];
  try {
    const meta = decodePart(objectMeta, value, unknown) as ApiMeta;
    dropped.push(...unknown.map((field) => `${path}.${field}`));
    return meta;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new DecodeError(`${path}: Invalid value: ${JSON.stringify(value)}: ${error.message}`);
  }
}

const embeds = new WeakMap<JsonSchema, boolean>();

/** Whether a schema has room for embedded resources at all. */
export function hasEmbedded(schema: JsonSchema): boolean {
  const known = embeds.get(schema);
  if (known !== undefined) return known;
  const items = itemsOf(schema);
  const additional = additionalSchema(schema);
  const found =
    schema["x-kubernetes-embedded-resource"] === true ||
    (items !== undefined && hasEmbedded(items)) ||
    (additional !== undefined && hasEmbedded(additional)) ||
    Object.values(schema.properties ?? {}).some(hasEmbedded);
  embeds.set(schema, found);
  return found;
}

/** Coerces the metadata of every embedded resource, in place. */
export function coerceEmbedded(value: JsonValue, schema: JsonSchema, path: string, dropped: string[]): void {
  if (!hasEmbedded(schema)) return;
  each(value, schema, path, (item, sub, at) => {
    if (!sub["x-kubernetes-embedded-resource"] || !isObject(item)) return;
    for (const key of ["apiVersion", "kind"])
      if (item[key] !== undefined && typeof item[key] !== "string")
        throw new DecodeError(`${at}.${key}: Invalid value: ${JSON.stringify(item[key])}: must be string`);
    if (item.metadata === undefined) return;
    if (!isObject(item.metadata))
      throw new DecodeError(
        `${at}.metadata: Invalid value: ${JSON.stringify(item.metadata)}: must be an object`,
      );
    item.metadata = coerceMetadata(item.metadata, `${at}.metadata`, dropped);
  });
}

export function validateEmbedded(value: JsonValue, schema: JsonSchema): FieldError[] {
  const errors: FieldError[] = [];
  if (!hasEmbedded(schema)) return errors;
  each(value, schema, "", (item, sub, at) => {
    if (!sub["x-kubernetes-embedded-resource"] || !isObject(item)) return;
    errors.push(...resourceErrors(item.apiVersion, item.kind, at));
    if (!isObject(item.metadata)) return;
    const meta = item.metadata as ApiMeta;
    const found = validateMetadata(
      { ...meta, name: meta.name || "unset" },
      {
        namespaced: Boolean(meta.namespace),
        validateName: pathSegmentName,
        checks: { full: 0, update: 0, status: 0, qualifiedFinalizers: false },
      },
    );
    errors.push(...found.map((error) => ({ ...error, field: `${at}.${error.field}` })));
  });
  return errors;
}

function resourceErrors(
  apiVersion: JsonValue | undefined,
  kind: JsonValue | undefined,
  at: string,
): FieldError[] {
  const errors: FieldError[] = [];
  if (apiVersion === undefined || apiVersion === "") errors.push(requiredField(`${at}.apiVersion`));
  else if (typeof apiVersion === "string" && apiVersion.split("/").length > 2)
    errors.push(
      invalidField(`${at}.apiVersion`, apiVersion, `unexpected GroupVersion string: ${apiVersion}`),
    );
  if (kind === undefined || kind === "") errors.push(requiredField(`${at}.kind`));
  else if (typeof kind === "string")
    for (const message of validateQualifiedName(kind.toLowerCase()).slice(0, 1))
      errors.push(
        invalidField(`${at}.kind`, kind, `may have mixed case, but should otherwise match: ${message}`),
      );
  return errors;
}

function each(
  value: JsonValue,
  schema: JsonSchema,
  path: string,
  visit: (value: JsonValue, schema: JsonSchema, path: string) => void,
): void {
  visit(value, schema, path);
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    if (items) for (const [i, item] of value.entries()) each(item, items, `${path}[${i}]`, visit);
  } else if (isObject(value)) {
    const properties = schema.properties ?? {};
    const additional = additionalSchema(schema);
    for (const key of Object.keys(value)) {
      const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
      const sub = property ?? additional;
      if (!sub) continue;
      const at = property ? (path ? `${path}.${key}` : key) : `${path}[${key}]`;
      each(value[key] as JsonValue, sub, at, visit);
    }
  }
}
