/** The checks of a definition's schema beyond its structure: what may be used where, defaults, rules. */

import { compileRules, type RuleSchema } from "@keelson/cel";
import { deepCopy, deepEqual, type JsonObject, type JsonValue } from "@keelson/core";
import {
  type FieldError,
  forbiddenField,
  invalidField,
  notSupportedField,
  requiredField,
} from "../contracts/field-error.ts";
import { coerceEmbedded, validateEmbedded } from "./embedded.ts";
import { isFormat } from "./formats.ts";
import { prune } from "./prune.ts";
import { additionalSchema, itemsOf, type JsonSchema } from "./schema.ts";
import { validateStructural } from "./structural.ts";
import { validateValue } from "./validate-value.ts";

const types = ["array", "boolean", "integer", "number", "object", "string"];
const reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
const resourceFields = new Set(["metadata", "kind", "apiVersion"]);
const rootFields = [
  "Description",
  "Type",
  "Format",
  "Title",
  "Maximum",
  "ExclusiveMaximum",
  "Minimum",
  "ExclusiveMinimum",
  "MaxLength",
  "MinLength",
  "Pattern",
  "MaxItems",
  "MinItems",
  "UniqueItems",
  "MultipleOf",
  "Required",
  "Items",
  "Properties",
  "ExternalDocs",
  "Example",
  "XPreserveUnknownFields",
  "XValidations",
];

/** `path` leads to the schema: `spec.validation.openAPIV3Schema`. */
export function validateSchema(schema: JsonSchema, path: string, hasStatus: boolean): FieldError[] {
  const errors: FieldError[] = hasStatus ? rootErrors(schema, path) : [];
  if (schema.nullable) errors.push(forbiddenField(`${path}.nullable`, "nullable cannot be true at the root"));
  const structural = validateStructural(schema, path);
  errors.push(...structural);
  const defaults =
    structural.length > 0
      ? []
      : defaultErrors({ ...schema, "x-kubernetes-embedded-resource": true }, path, false);
  errors.push(...defaults);
  if (hasSchemaKeyword(schema))
    errors.push(invalidField(path, "", "OpenAPIV3Schema 'schema' is not supported"));
  const usage = usageErrors(schema, path, { root: true, meta: false, noDefaults: undefined });
  errors.push(...usage);
  if (structural.length === 0 && defaults.length === 0 && usage.length === 0)
    errors.push(...(compileRules(schema as RuleSchema, { path }).errors as FieldError[]));
  return errors;
}

function hasSchemaKeyword(schema: JsonSchema): boolean {
  if ((schema as { $schema?: string }).$schema) return true;
  return subSchemas(schema).some(hasSchemaKeyword);
}

function subSchemas(schema: JsonSchema): JsonSchema[] {
  const items = itemsOf(schema);
  const additional = additionalSchema(schema);
  const { allOf = [], anyOf = [], oneOf = [], not } = schema;
  return [
    ...(items ? [items] : []),
    ...allOf,
    ...anyOf,
    ...oneOf,
    ...(not ? [not] : []),
    ...Object.values(schema.properties ?? {}),
    ...(additional ? [additional] : []),
  ];
}

/** Formats that no validation knows, as often as they occur; they are accepted and have no effect. */
export function unknownFormats(schema: JsonSchema): string[] {
  const { format, type = "" } = schema;
  const own = format && !isKnownFormat(type, format) ? [format] : [];
  return [...own, ...subSchemas(schema).flatMap(unknownFormats)];
}

function isKnownFormat(type: string, format: string): boolean {
  if (type === "integer") return format === "int32" || format === "int64";
  if (type === "number") return format === "float" || format === "double";
  return (type === "" || type === "string") && isFormat(format);
}

/** Status is validated apart, so the root may hold only what survives that. */
function rootErrors(schema: JsonSchema, path: string): FieldError[] {
  if (schema.type !== undefined && schema.type !== "object")
    return [
      invalidField(
        `${path}.type`,
        schema.type,
        'only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
      ),
    ];
  const goName = (key: string) =>
    key.startsWith("x-kubernetes-")
      ? `X${key
          .slice("x-kubernetes-".length)
          .split("-")
          .map((part) => part[0]?.toUpperCase() + part.slice(1))
          .join("")}`
      : (key[0]?.toUpperCase() ?? "") + key.slice(1);
  const odd = Object.keys(schema).find((key) => !rootFields.includes(goName(key)));
  if (odd === undefined) return [];
  return [
    invalidField(
      path,
      schema as JsonObject,
      `only [${rootFields.join(" ")}] fields are allowed at the root of the schema if the status subresource is enabled`,
    ),
  ];
}

interface Where {
  readonly root: boolean;
  /** Inside apiVersion, kind or metadata of a resource. */
  readonly meta: boolean;
  /** Why defaults are refused here. */
  readonly noDefaults: string | undefined;
}

function usageErrors(schema: JsonSchema, path: string, where: Where): FieldError[] {
  const errors = keywordErrors(schema, path, where);
  const inner: Where = { ...where, root: false };
  if (schema.uniqueItems)
    errors.push(
      forbiddenField(
        `${path}.uniqueItems`,
        "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
      ),
    );
  const additional = additionalSchema(schema);
  if (schema.additionalProperties !== undefined) {
    const hasProperties = Object.keys(schema.properties ?? {}).length > 0;
    if (hasProperties && (schema.additionalProperties === false || additional))
      errors.push(
        forbiddenField(
          `${path}.additionalProperties`,
          "additionalProperties and properties are mutual exclusive",
        ),
      );
    if (additional)
      errors.push(
        ...usageErrors(additional, `${path}.additionalProperties`, {
          ...inner,
          ...(where.meta && { noDefaults: "inside additionalProperties applying to object metadata" }),
        }),
      );
  }
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const isMeta =
      (where.root || schema["x-kubernetes-embedded-resource"] === true) && resourceFields.has(key);
    errors.push(
      ...usageErrors(property, `${path}.properties[${key}]`, {
        ...inner,
        ...(isMeta && { meta: true }),
        ...(isMeta && where.root && { noDefaults: `in top-level ${key}` }),
      }),
    );
  }
  if (schema.not) errors.push(...usageErrors(schema.not, `${path}.not`, inner));
  for (const junctor of ["allOf", "oneOf", "anyOf"] as const)
    for (const [i, sub] of (schema[junctor] ?? []).entries())
      errors.push(...usageErrors(sub, `${path}.${junctor}[${i}]`, inner));
  const items = itemsOf(schema);
  if (items) errors.push(...usageErrors(items, `${path}.items`, inner));
  errors.push(...listErrors(schema, path), ...ruleErrors(schema, path));
  return errors;
}

function keywordErrors(schema: JsonSchema, path: string, where: Where): FieldError[] {
  const errors: FieldError[] = [];
  const raw = schema as Readonly<Record<string, unknown>>;
  if (schema.type && !types.includes(schema.type))
    errors.push(notSupportedField(`${path}.type`, schema.type, types));
  if (schema.default !== undefined && where.noDefaults !== undefined)
    errors.push(forbiddenField(`${path}.default`, `must not be set ${where.noDefaults}`));
  for (const key of ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"])
    if (raw[key] !== undefined && raw[key] !== "")
      errors.push(forbiddenField(`${path}.${key}`, `${key} is not supported`));
  if (schema.type === "null")
    errors.push(forbiddenField(`${path}.type`, "type cannot be set to null, use nullable as an alternative"));
  if (Array.isArray(schema.items))
    errors.push(forbiddenField(`${path}.items`, "items must be a schema object and not an array"));
  if (where.meta && schema["x-kubernetes-embedded-resource"])
    errors.push(
      forbiddenField(`${path}.x-kubernetes-embedded-resource`, "must not be used inside of resource meta"),
    );
  return errors;
}

function listErrors(schema: JsonSchema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const preserve = schema["x-kubernetes-preserve-unknown-fields"];
  const mapType = schema["x-kubernetes-map-type"];
  const listType = schema["x-kubernetes-list-type"];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const items = itemsOf(schema);
  if (preserve === false)
    errors.push(
      invalidField(`${path}.x-kubernetes-preserve-unknown-fields`, false, "must be true or undefined"),
    );
  const requireType = (type: string, extension: string) => {
    const message = `must be ${type} if ${extension} is specified`;
    errors.push(
      schema.type
        ? invalidField(`${path}.type`, schema.type, message)
        : requiredField(`${path}.type`, message),
    );
  };
  if (mapType !== undefined && schema.type !== "object") requireType("object", "x-kubernetes-map-type");
  if (mapType !== undefined && mapType !== "atomic" && mapType !== "granular")
    errors.push(notSupportedField(`${path}.x-kubernetes-map-type`, mapType, ["atomic", "granular"]));
  if (listType !== undefined && schema.type !== "array") requireType("array", "x-kubernetes-list-type");
  else if (listType === "set" && items) {
    const message = "must be atomic as item of a list with x-kubernetes-list-type=set";
    const inner = items["x-kubernetes-list-type"];
    if (items.type === "array" && inner !== undefined && inner !== "atomic")
      errors.push(invalidField(`${path}.items.x-kubernetes-list-type`, inner, message));
    if (items.type === "object" && items["x-kubernetes-map-type"] !== "atomic")
      errors.push(invalidField(`${path}.items.x-kubernetes-map-type`, inner ?? null, message));
  }
  if (listType !== undefined && listType !== "atomic" && listType !== "set" && listType !== "map")
    errors.push(notSupportedField(`${path}.x-kubernetes-list-type`, listType, ["atomic", "set", "map"]));
  if (keys.length > 0 && listType !== "map") {
    const message = "must be map if x-kubernetes-list-map-keys is non-empty";
    errors.push(
      listType === undefined
        ? requiredField(`${path}.x-kubernetes-list-type`, message)
        : invalidField(`${path}.x-kubernetes-list-type`, listType, message),
    );
  }
  if (listType === "map") errors.push(...mapListErrors(schema, items, keys, path));
  if ((listType === "map" || listType === "set") && items?.nullable)
    errors.push(
      forbiddenField(
        `${path}.items.nullable`,
        `cannot be nullable when x-kubernetes-list-type is ${listType}`,
      ),
    );
  return errors;
}

function mapListErrors(
  schema: JsonSchema,
  items: JsonSchema | undefined,
  keys: readonly string[],
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  if (keys.length === 0)
    errors.push(
      requiredField(
        `${path}.x-kubernetes-list-map-keys`,
        "must not be empty if x-kubernetes-list-type is map",
      ),
    );
  if (!schema.items)
    errors.push(requiredField(`${path}.items`, "must have a schema if x-kubernetes-list-type is map"));
  if (items && items.type !== "object")
    errors.push(
      invalidField(
        `${path}.items.type`,
        items.type ?? "",
        "must be object if parent array's x-kubernetes-list-type is map",
      ),
    );
  if (items?.type !== "object") return errors;
  const seen = new Set<string>();
  for (const key of keys) {
    const property = items.properties?.[key];
    const at = `${path}.items.properties[${key}]`;
    if (!property)
      errors.push(
        invalidField(
          `${path}.x-kubernetes-list-map-keys`,
          [...keys],
          "entries must all be names of item properties",
        ),
      );
    else {
      if (property.type === "array" || property.type === "object")
        errors.push(
          invalidField(
            `${at}.type`,
            items.type,
            "must be a scalar type if parent array's x-kubernetes-list-type is map",
          ),
        );
      if (!items.required?.includes(key) && property.default === undefined)
        errors.push(
          requiredField(
            `${at}.default`,
            "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
          ),
        );
      if (property.nullable)
        errors.push(
          forbiddenField(
            `${at}.nullable`,
            "this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
          ),
        );
    }
    if (seen.has(key))
      errors.push(
        invalidField(`${path}.x-kubernetes-list-map-keys`, [...keys], "must not contain duplicate entries"),
      );
    seen.add(key);
  }
  return errors;
}

function ruleErrors(schema: JsonSchema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [i, rule] of (schema["x-kubernetes-validations"] ?? []).entries()) {
    const at = `${path}.x-kubernetes-validations[${i}]`;
    const text = (rule.rule ?? "").trim();
    const message = (rule.message ?? "").trim();
    if (!text) errors.push(requiredField(`${at}.rule`, "rule is not specified"));
    else if (rule.message && !message)
      errors.push(invalidField(`${at}.message`, rule.message, "must be non-empty if specified"));
    else if (/[\n\r]/.test(message))
      errors.push(invalidField(`${at}.message`, rule.message, "must not contain line breaks"));
    else if (/[\n\r]/.test(text) && !message)
      errors.push(requiredField(`${at}.message`, "message must be specified if rule contains line breaks"));
    if (rule.messageExpression && !rule.messageExpression.trim())
      errors.push(
        requiredField(`${at}.messageExpression`, "messageExpression must be non-empty if specified"),
      );
    if (rule.reason !== undefined && !reasons.includes(rule.reason))
      errors.push(notSupportedField(`${at}.reason`, rule.reason, reasons));
    if (rule.fieldPath && !rule.fieldPath.trim())
      errors.push(invalidField(`${at}.fieldPath`, rule.fieldPath, "must be non-empty if specified"));
    if (rule.fieldPath && /[\n\r]/.test(rule.fieldPath))
      errors.push(invalidField(`${at}.fieldPath`, rule.fieldPath, "must not contain line breaks"));
    if (rule.fieldPath && !isFieldPath(schema, rule.fieldPath))
      errors.push(invalidField(`${at}.fieldPath`, rule.fieldPath, "must be a valid path"));
  }
  return errors;
}

/** Whether a path as `.spec['a-b'].c` leads to a declared field. */
export function isFieldPath(schema: JsonSchema, path: string): boolean {
  return schemaAt(schema, path) !== undefined;
}

const pathPart = /^(?:\.([A-Za-z_$][\w$]*)|\['((?:[^'\\]|\\.)*)'\])/;

/** The schema a simple path leads to; `undefined` when it leads nowhere. */
export function schemaAt(schema: JsonSchema, path: string): JsonSchema | undefined {
  let rest = path;
  let current: JsonSchema | undefined = schema;
  if (rest === "") return undefined;
  while (rest !== "") {
    const match: RegExpExecArray | null = pathPart.exec(rest);
    if (!match || !current) return undefined;
    const name = match[1] ?? (match[2] ?? "").replace(/\\(.)/g, "$1");
    current = current.properties?.[name] ?? additionalSchema(current);
    rest = rest.slice(match[0].length);
  }
  return current;
}

/** Defaults must be valid and complete by themselves. */
function defaultErrors(schema: JsonSchema, path: string, insideMeta: boolean): FieldError[] {
  const errors: FieldError[] = [];
  if (schema.default !== undefined && !insideMeta) errors.push(...defaultError(schema, schema.default, path));
  const items = itemsOf(schema);
  if (items) errors.push(...defaultErrors(items, `${path}.items`, insideMeta));
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const meta = insideMeta || (schema["x-kubernetes-embedded-resource"] === true && resourceFields.has(key));
    errors.push(...defaultErrors(property, `${path}.properties[${key}]`, meta));
  }
  return errors;
}

function defaultError(schema: JsonSchema, value: JsonValue, path: string): FieldError[] {
  const at = `${path}.default`;
  const errors: FieldError[] = [];
  const pruned = deepCopy(value);
  prune(pruned, schema, false, []);
  if (!deepEqual(pruned, value)) errors.push(invalidField(at, value, "must not have unknown fields"));
  const copy = deepCopy(value);
  coerceEmbedded(copy, schema, at, []);
  const embedded = validateEmbedded(copy, schema);
  if (embedded.length > 0)
    return [...errors, ...embedded.map((error) => ({ ...error, field: `${at}${error.field}` }))];
  const found = validateValue(schema, value, { base: at });
  if (found.length > 0) return [...errors, ...found];
  const rules = compileRules(schema as RuleSchema, { isResourceRoot: false });
  if (rules.hasRules && rules.errors.length === 0)
    errors.push(...(rules.validate({ self: value, path: at }).errors as FieldError[]));
  return errors;
}
