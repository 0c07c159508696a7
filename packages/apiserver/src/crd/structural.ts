/** Whether a schema is structural: every field has a type, and logic adds no structure. */
import { deepEqual } from "@keelson/core";
import {
  errorText,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
} from "../contracts/field-error.ts";
import { patternError } from "../validation/checks/pattern.ts";
import { additionalSchema, itemsOf, type JsonSchema } from "./schema.ts";

type Level = "root" | "item" | "field";

const missingType: Record<Level, string> = {
  root: "must not be empty at the root",
  item: "must not be empty for specified array items",
  field: "must not be empty for specified object fields",
};

/** Errors in lexical order, as the real server sorts them. */
export function validateStructural(schema: JsonSchema, path: string): FieldError[] {
  const errors = [...invariants(schema, "root", path), ...completeness(schema, schema, path, path)];
  return errors.sort((a, b) => (errorText(a) < errorText(b) ? -1 : 1));
}

function invariants(schema: JsonSchema, level: Level, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const items = itemsOf(schema);
  const embedded = schema["x-kubernetes-embedded-resource"] === true;
  const preserves = schema["x-kubernetes-preserve-unknown-fields"] === true;
  const intOrString = schema["x-kubernetes-int-or-string"] === true;
  if (schema.type === "array" && !schema.items)
    errors.push(requiredField(`${path}.items`, "must be specified"));
  if (items) errors.push(...invariants(items, "item", `${path}.items`));
  for (const [key, property] of Object.entries(schema.properties ?? {}))
    errors.push(...invariants(property, "field", `${path}.properties[${key}]`));
  if (schema.additionalProperties !== undefined) {
    if (level === "root")
      errors.push(forbiddenField(`${path}.additionalProperties`, "must not be used at the root"));
    const additional = additionalSchema(schema);
    if (additional) errors.push(...invariants(additional, "field", `${path}.additionalProperties`));
  }
  if (intOrString && preserves)
    errors.push(
      invalidField(
        `${path}.x-kubernetes-preserve-unknown-fields`,
        true,
        "must be false if x-kubernetes-int-or-string is true",
      ),
    );
  if (intOrString && embedded)
    errors.push(
      invalidField(
        `${path}.x-kubernetes-embedded-resource`,
        true,
        "must be false if x-kubernetes-int-or-string is true",
      ),
    );
  errors.push(
    ...valueValidation(schema, isIntOrString(schema.anyOf), isIntOrString(schema.allOf?.[0]?.anyOf), path),
  );
  errors.push(...typeErrors(schema, level, path));
  errors.push(...resourceErrors(schema, level, path));
  return errors;
}

function typeErrors(schema: JsonSchema, level: Level, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const embedded = schema["x-kubernetes-embedded-resource"] === true;
  const preserves = schema["x-kubernetes-preserve-unknown-fields"] === true;
  const intOrString = schema["x-kubernetes-int-or-string"] === true;
  const message = "must be object if x-kubernetes-embedded-resource is true";
  if (embedded && schema.type !== "object")
    errors.push(
      schema.type
        ? invalidField(`${path}.type`, schema.type, message)
        : requiredField(`${path}.type`, message),
    );
  else if (!schema.type && !intOrString && !preserves)
    errors.push(requiredField(`${path}.type`, missingType[level]));
  if (embedded && schema.additionalProperties !== undefined)
    errors.push(
      forbiddenField(
        `${path}.additionalProperties`,
        "must not be used if x-kubernetes-embedded-resource is set",
      ),
    );
  if (level === "root" && schema.type && schema.type !== "object")
    errors.push(invalidField(`${path}.type`, schema.type, "must be object at the root"));
  return errors;
}

function resourceErrors(schema: JsonSchema, level: Level, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const embedded = schema["x-kubernetes-embedded-resource"] === true;
  const isResource = level === "root" || embedded;
  const { kind, apiVersion, metadata } = schema.properties ?? {};
  if (isResource && kind && kind.type !== "string")
    errors.push(invalidField(`${path}.properties[kind].type`, kind.type ?? "", "must be string"));
  if (isResource && apiVersion && apiVersion.type !== "string")
    errors.push(invalidField(`${path}.properties[apiVersion].type`, apiVersion.type ?? "", "must be string"));
  if (metadata) {
    const at = `${path}.properties[metadata]`;
    if (isResource && metadata.type !== "object")
      errors.push(invalidField(`${at}.type`, metadata.type ?? "", "must be object"));
    if (level === "root" && restrictsMetadata(metadata))
      errors.push(
        forbiddenField(
          at,
          "must not specify anything other than name and generateName, but metadata is implicitly specified",
        ),
      );
  }
  if (
    embedded &&
    !schema["x-kubernetes-preserve-unknown-fields"] &&
    Object.keys(schema.properties ?? {}).length === 0
  )
    errors.push(
      requiredField(
        `${path}.properties`,
        "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
      ),
    );
  return errors;
}

function restrictsMetadata(metadata: JsonSchema): boolean {
  const { type: _t, default: _d, properties = {}, ...rest } = metadata;
  const names = Object.keys(properties);
  const onlyNames = names.length > 0 && names.every((name) => name === "name" || name === "generateName");
  if (names.length > 0 && !onlyNames) return true;
  return Object.values(rest).some((value) => value !== undefined);
}

const intAndString = [{ type: "integer" }, { type: "string" }];

function isIntOrString(schemas: readonly JsonSchema[] | undefined): boolean {
  return schemas !== undefined && deepEqual(schemas, intAndString);
}

function valueValidation(
  schema: JsonSchema,
  skipAnyOf: boolean,
  skipFirstAllOf: boolean,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  if (!skipAnyOf)
    for (const [i, sub] of (schema.anyOf ?? []).entries())
      errors.push(...nested(sub, false, `${path}.anyOf[${i}]`));
  for (const [i, sub] of (schema.allOf ?? []).entries())
    errors.push(...nested(sub, skipFirstAllOf && i === 0, `${path}.allOf[${i}]`));
  for (const [i, sub] of (schema.oneOf ?? []).entries())
    errors.push(...nested(sub, false, `${path}.oneOf[${i}]`));
  if (schema.not) errors.push(...nested(schema.not, false, `${path}.not`));
  if (schema.pattern) {
    const wrong = patternError(schema.pattern);
    if (wrong)
      errors.push(
        invalidField(
          `${path}.pattern`,
          schema.pattern,
          `must be a valid regular expression, but isn't: ${wrong}`,
        ),
      );
  }
  return errors;
}

/** What logic may say about a value; anything else would be structure. */
function nested(schema: JsonSchema, skipAnyOf: boolean, path: string): FieldError[] {
  const errors = valueValidation(schema, skipAnyOf, false, path);
  const items = itemsOf(schema);
  if (items) errors.push(...nested(items, false, `${path}.items`));
  for (const [key, property] of Object.entries(schema.properties ?? {}))
    errors.push(...nested(property, false, `${path}.properties[${key}]`));
  const forbid = (field: string, present: unknown, rule: string) => {
    if (present) errors.push(forbiddenField(`${path}.${field}`, `must be ${rule} to be structural`));
  };
  forbid("type", schema.type, "empty");
  forbid("additionalProperties", schema.additionalProperties !== undefined, "undefined");
  forbid("default", schema.default !== undefined, "undefined");
  forbid("title", schema.title, "empty");
  forbid("description", schema.description, "empty");
  forbid("nullable", schema.nullable, "false");
  forbid("x-kubernetes-preserve-unknown-fields", schema["x-kubernetes-preserve-unknown-fields"], "false");
  forbid("x-kubernetes-embedded-resource", schema["x-kubernetes-embedded-resource"], "false");
  forbid("x-kubernetes-int-or-string", schema["x-kubernetes-int-or-string"], "false");
  forbid("x-kubernetes-list-map-keys", schema["x-kubernetes-list-map-keys"]?.length, "empty");
  forbid("x-kubernetes-list-type", schema["x-kubernetes-list-type"] !== undefined, "undefined");
  forbid("x-kubernetes-map-type", schema["x-kubernetes-map-type"] !== undefined, "undefined");
  forbid("x-kubernetes-validations", schema["x-kubernetes-validations"]?.length, "empty");
  if (schema.properties?.metadata)
    errors.push(forbiddenField(`${path}.properties[metadata]`, "must not be specified in a nested context"));
  return errors;
}

/** What logic speaks about must be declared outside of it. */
function completeness(
  logic: JsonSchema,
  structure: JsonSchema | undefined,
  structurePath: string,
  logicPath: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const check = (sub: JsonSchema, at: string) =>
    errors.push(...nestedCompleteness(sub, structure, structurePath, at));
  if (logic.not) check(logic.not, `${logicPath}.not`);
  for (const junctor of ["allOf", "anyOf", "oneOf"] as const)
    for (const [i, sub] of (logic[junctor] ?? []).entries()) check(sub, `${logicPath}.${junctor}[${i}]`);
  return errors;
}

function nestedCompleteness(
  logic: JsonSchema,
  structure: JsonSchema | undefined,
  structurePath: string,
  logicPath: string,
): FieldError[] {
  if (!structure) return [requiredField(structurePath, `because it is defined in ${logicPath}`)];
  const errors = completeness(logic, structure, structurePath, logicPath);
  const items = itemsOf(logic);
  if (items)
    errors.push(
      ...nestedCompleteness(items, itemsOf(structure), `${structurePath}.items`, `${logicPath}.items`),
    );
  for (const [key, property] of Object.entries(logic.properties ?? {})) {
    const declared = structure.properties?.[key];
    const at = `${logicPath}.properties[${key}]`;
    const where = `${structurePath}.properties[${key}]`;
    if (!declared) errors.push(requiredField(where, `because it is defined in ${at}`));
    else errors.push(...nestedCompleteness(property, declared, where, at));
  }
  return errors;
}
