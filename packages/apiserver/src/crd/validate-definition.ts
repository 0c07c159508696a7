/** Whether a definition can be accepted, and whether it may change into another. */
import {
  deepEqual,
  type JsonObject,
  type JsonValue,
  validateDns1035Label,
  validateDns1123Subdomain,
} from "@keelson/core";
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  notSupportedField,
  requiredField,
  tooManyField,
} from "../contracts/field-error.ts";
import type { ApiObject } from "../contracts/object.ts";
import { checkServiceAddress } from "../validation/admissionregistration/client-config.ts";
import { Errors } from "../validation/checks/errors.ts";
import {
  type Definition,
  type DefinitionColumn,
  type DefinitionNames,
  type DefinitionScale,
  type DefinitionVersion,
  readDefinition,
  sameInAllVersions,
} from "./definition.ts";
import type { JsonSchema } from "./schema.ts";
import { schemaAt, validateSchema } from "./validate-schema.ts";

interface WebhookService {
  readonly name?: string;
  readonly namespace?: string;
  readonly path?: string;
  readonly port?: number;
}

const columnTypes = ["boolean", "date", "integer", "number", "string"];
const columnFormats = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const maxSelectableFields = 8;

export function validateDefinition(object: ApiObject): FieldError[] {
  const definition = readDefinition(object);
  return [
    ...nameErrors(object),
    ...specErrors(definition),
    ...statusErrors(object, definition),
    ...approvalErrors(object, definition),
  ];
}

function nameErrors(object: ApiObject): FieldError[] {
  const { name } = object.metadata;
  if (!name) return [];
  const { names, group } = readDefinition(object);
  if (name === `${names.plural}.${group}`) return [];
  return [invalidField("metadata.name", name, 'must be spec.names.plural+"."+spec.group')];
}

export function validateDefinitionUpdate(object: ApiObject, oldObject: ApiObject): FieldError[] {
  const definition = readDefinition(object);
  const old = readDefinition(oldObject);
  const errors = [...specErrors(definition, old)];
  const immutable = (field: string, value: JsonValue, before: JsonValue) => {
    if (!deepEqual(value, before)) errors.push(invalidField(`spec.${field}`, value, "field is immutable"));
  };
  if (isEstablished(oldObject)) {
    immutable("scope", scopeOf(definition), scopeOf(old));
    immutable("names.kind", definition.names.kind, old.names.kind);
  }
  immutable("group", definition.group, old.group);
  immutable("names.plural", definition.names.plural, old.names.plural);
  errors.push(...statusErrors(object, definition));
  // What was accepted before the rule, or with another opinion of it, may stay as it is.
  if (approvalErrors(oldObject, old).length === 0) errors.push(...approvalErrors(object, definition));
  return errors;
}

const approvalAnnotation = "api-approved.kubernetes.io";

/** Groups of the project itself take definitions only with a word on who approved them. */
function approvalErrors(object: ApiObject, { group }: Definition): FieldError[] {
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(group)) return [];
  const field = `metadata.annotations[${approvalAnnotation}]`;
  const value = object.metadata.annotations?.[approvalAnnotation];
  const hint = `protected groups must have approval annotation "${approvalAnnotation}", see https://github.com/kubernetes/enhancements/pull/1111`;
  if (!value) return [requiredField(field, hint)];
  if (value.startsWith("unapproved") || /^https?:\/\/[^/]+/.test(value)) return [];
  return [
    invalidField(
      field,
      value,
      `protected groups must have approval annotation "${approvalAnnotation}" with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111`,
    ),
  ];
}

function scopeOf({ namespaced, object }: Definition): string {
  return String((object.spec as JsonObject | undefined)?.scope ?? (namespaced ? "Namespaced" : "Cluster"));
}

export function isEstablished(object: ApiObject): boolean {
  return hasCondition(object, "Established");
}

export function hasCondition(object: ApiObject, type: string, status = "True"): boolean {
  const conditions = (object.status as JsonObject | undefined)?.conditions as JsonObject[] | null | undefined;
  return (conditions ?? []).some((condition) => condition.type === type && condition.status === status);
}

function specErrors(definition: Definition, old?: Definition): FieldError[] {
  const { group, names, versions } = definition;
  const errors: FieldError[] = [];
  const groupFaults = validateDns1123Subdomain(group);
  if (!group) errors.push(requiredField("spec.group"));
  else if (groupFaults.length > 0) errors.push(invalidField("spec.group", group, groupFaults.join(",")));
  else if (!group.includes("."))
    errors.push(invalidField("spec.group", group, "should be a domain with at least one dot"));
  const scope = (definition.object.spec as JsonObject | undefined)?.scope;
  if (!scope) errors.push(requiredField("spec.scope"));
  else if (scope !== "Cluster" && scope !== "Namespaced")
    errors.push(notSupportedField("spec.scope", scope, ["Cluster", "Namespaced"]));
  for (const [i, version] of versions.entries())
    if (!version.schema) errors.push(requiredField(`spec.versions[${i}].schema.openAPIV3Schema`));
  if (definition.preserveUnknownFields && !old?.preserveUnknownFields)
    errors.push(
      invalidField(
        "spec.preserveUnknownFields",
        true,
        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
      ),
    );
  errors.push(...versionErrors(definition));
  const [first] = versions;
  const firstFaults = first ? validateDns1035Label(first.name) : [];
  if (first?.name && firstFaults.length > 0)
    errors.push(invalidField("spec.version", first.name, firstFaults.join(",")));
  for (const field of ["plural", "singular", "kind", "listKind"] as const)
    if (!names[field]) errors.push(requiredField(`spec.names.${field}`));
  errors.push(...namesErrors(names, "spec.names"));
  errors.push(...conversionErrors(definition));
  return errors;
}

function versionErrors(definition: Definition): FieldError[] {
  const { versions } = definition;
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  let unique = true;
  const hoisted = {
    schema: sameInAllVersions(versions, ({ schema }) => schema),
    scale: sameInAllVersions(versions, ({ scale, hasStatus }) =>
      scale || hasStatus ? { scale, hasStatus } : undefined,
    ),
    columns: sameInAllVersions(versions, ({ columns }) => (columns.length > 0 ? columns : undefined)),
    fields: sameInAllVersions(versions, ({ selectableFields }) =>
      selectableFields.length > 0 ? selectableFields : undefined,
    ),
  };
  for (const [i, version] of versions.entries()) {
    const path = `spec.versions[${i}]`;
    if (seen.has(version.name)) unique = false;
    seen.add(version.name);
    const faults = validateDns1035Label(version.name);
    if (faults.length > 0) errors.push(invalidField(`${path}.name`, version.name, faults.join(",")));
    errors.push(...deprecationErrors(version, path));
    // What all versions share is checked once, where the server keeps it.
    const at = (part: keyof typeof hoisted, own: string, shared: string) =>
      hoisted[part] ? (i === 0 ? shared : undefined) : `${path}.${own}`;
    const schemaPath = at("schema", "schema", "spec.validation");
    if (version.schema && schemaPath)
      errors.push(...validateSchema(version.schema, `${schemaPath}.openAPIV3Schema`, version.hasStatus));
    const scalePath = at("scale", "subresources", "spec.subresources");
    if (version.scale && scalePath) errors.push(...scaleErrors(version.scale, scalePath));
    const columnPath = at("columns", "additionalPrinterColumns", "spec.additionalPrinterColumns");
    if (columnPath)
      for (const [j, column] of version.columns.entries())
        errors.push(...columnErrors(column, `${columnPath}[${j}]`));
    const fieldPath = at("fields", "selectableFields", "spec.selectableFields");
    if (fieldPath && version.schema)
      errors.push(...selectableErrors(version.selectableFields, version.schema, fieldPath));
  }
  const shown = versions.map((version) => ({
    Name: version.name,
    Served: version.served,
    Storage: version.storage,
    Deprecated: version.deprecated,
    DeprecationWarning: version.deprecationWarning ?? null,
    Schema: null,
    Subresources: null,
    AdditionalPrinterColumns: null,
    SelectableFields: null,
  }));
  if (!unique) errors.push(invalidField("spec.versions", shown, "must contain unique version names"));
  if (versions.filter(({ storage }) => storage).length !== 1)
    errors.push(
      invalidField("spec.versions", shown, "must have exactly one version marked as storage version"),
    );
  return errors;
}

function deprecationErrors(
  { deprecated, deprecationWarning }: DefinitionVersion,
  path: string,
): FieldError[] {
  if (deprecationWarning === undefined) return [];
  const faults: string[] = [];
  if (!deprecated) faults.push("can only be set for deprecated versions");
  else {
    if (Buffer.byteLength(deprecationWarning) > 256) faults.push("must be <= 256 characters long");
    if (deprecationWarning === "") faults.push("must not be an empty string");
    const odd = deprecationWarning.search(/[\p{C}]/u);
    if (odd >= 0)
      faults.push(
        `must only contain printable UTF-8 characters; non-printable character found at index ${odd}`,
      );
  }
  return faults.map((fault) => invalidField(`${path}.deprecationWarning`, deprecationWarning, fault));
}

function namesErrors(names: DefinitionNames, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const check = (field: string, value: string, prefix = "") => {
    const faults = validateDns1035Label(prefix ? value.toLowerCase() : value);
    if (value && faults.length > 0)
      errors.push(invalidField(`${path}.${field}`, value, prefix + faults.join(",")));
  };
  const mixed = "may have mixed case, but should otherwise match: ";
  check("plural", names.plural);
  check("singular", names.singular);
  check("kind", names.kind, mixed);
  check("listKind", names.listKind, mixed);
  for (const [i, name] of names.shortNames.entries()) check(`shortNames[${i}]`, name);
  if (names.kind && names.kind === names.listKind)
    errors.push(invalidField(`${path}.listKind`, names.listKind, "kind and listKind may not be the same"));
  for (const [i, name] of names.categories.entries()) check(`categories[${i}]`, name);
  return errors;
}

function statusErrors(object: ApiObject, { versions }: Definition): FieldError[] {
  const status = (object.status ?? {}) as JsonObject;
  const stored = (status.storedVersions as string[] | null | undefined) ?? [];
  const path = "status.storedVersions";
  if (stored.length === 0) return [invalidField(path, null, "must have at least one stored version")];
  const errors: FieldError[] = [];
  for (const version of versions)
    if (version.storage && !stored.includes(version.name))
      errors.push(invalidField(path, [...stored], `must have the storage version ${version.name}`));
  for (const [i, name] of stored.entries())
    if (!versions.some((version) => version.name === name))
      errors.push(
        invalidField(
          `${path}[${i}]`,
          name,
          `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
        ),
      );
  return errors;
}

function scaleErrors(scale: DefinitionScale, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const check = (field: string, value: string, roots: readonly string[], under: string) => {
    const at = `${path}.scale.${field}`;
    const simple = simplePathErrors(value, at);
    if (simple.length > 0) errors.push(...simple);
    else if (!roots.some((root) => value.startsWith(root)))
      errors.push(invalidField(at, value, `should be a json path under ${under}`));
  };
  if (!scale.specReplicasPath) errors.push(requiredField(`${path}.scale.specReplicasPath`));
  else check("specReplicasPath", scale.specReplicasPath, [".spec."], ".spec");
  if (!scale.statusReplicasPath) errors.push(requiredField(`${path}.scale.statusReplicasPath`));
  else check("statusReplicasPath", scale.statusReplicasPath, [".status."], ".status");
  if (scale.labelSelectorPath)
    check("labelSelectorPath", scale.labelSelectorPath, [".spec.", ".status."], "either .spec or .status");
  return errors;
}

function simplePathErrors(path: string, field: string): FieldError[] {
  if (path === "") return [invalidField(field, path, "must not be empty")];
  if (!path.startsWith(".")) return [invalidField(field, path, "must be a simple json path starting with .")];
  return [];
}

function columnErrors(column: DefinitionColumn, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const oneOf = `must be one of ${columnTypes.join(",")}`;
  if (!column.name) errors.push(requiredField(`${path}.name`));
  if (!column.type) errors.push(requiredField(`${path}.type`, oneOf));
  else if (!columnTypes.includes(column.type)) errors.push(invalidField(`${path}.type`, column.type, oneOf));
  if (column.format && !columnFormats.includes(column.format))
    errors.push(invalidField(`${path}.format`, column.format, `must be one of ${columnFormats.join(",")}`));
  if (!column.jsonPath) errors.push(requiredField(`${path}.JSONPath`));
  else errors.push(...simplePathErrors(column.jsonPath, `${path}.JSONPath`));
  return errors;
}

function selectableErrors(paths: readonly string[], schema: JsonSchema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [i, jsonPath] of paths.entries()) {
    const at = `${path}[${i}].jsonPath`;
    if (!jsonPath) {
      errors.push(requiredField(at));
      continue;
    }
    const found = jsonPath.includes("[") ? undefined : schemaAt(schema, jsonPath);
    if (!found) {
      errors.push(invalidField(at, jsonPath, `is an invalid path: does not refer to a valid field`));
      continue;
    }
    if (jsonPath === ".metadata" || jsonPath.startsWith(".metadata."))
      errors.push(invalidField(at, jsonPath, "must not point to fields in metadata"));
    if (found.type !== "string" && found.type !== "boolean" && found.type !== "integer")
      errors.push(
        invalidField(
          at,
          jsonPath,
          "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
        ),
      );
    if (seen.has(jsonPath)) errors.push(duplicateField(at, jsonPath));
    seen.add(jsonPath);
  }
  if (seen.size > maxSelectableFields) errors.push(tooManyField(path, seen.size, maxSelectableFields));
  return errors;
}

function conversionErrors({ object, preserveUnknownFields }: Definition): FieldError[] {
  const conversion = (object.spec as JsonObject | undefined)?.conversion as JsonObject | undefined;
  if (!conversion) return [];
  const errors: FieldError[] = [];
  const { strategy } = conversion;
  const webhook = conversion.webhook as JsonObject | undefined;
  const path = "spec.conversion";
  if (!strategy) errors.push(requiredField(`${path}.strategy`));
  else if (strategy !== "None" && strategy !== "Webhook")
    errors.push(notSupportedField(`${path}.strategy`, strategy, ["None", "Webhook"]));
  if (strategy === "Webhook" && preserveUnknownFields)
    errors.push(
      invalidField(`${path}.strategy`, strategy, "must be None if spec.preserveUnknownFields is true"),
    );
  if (strategy !== "Webhook") {
    const message = "should not be set when strategy is not set to Webhook";
    if (webhook?.clientConfig) errors.push(forbiddenField(`${path}.webhookClientConfig`, message));
    if ((webhook?.conversionReviewVersions as string[] | undefined)?.length)
      errors.push(forbiddenField(`${path}.conversionReviewVersions`, message));
    return errors;
  }
  const client = webhook?.clientConfig as JsonObject | undefined;
  if (!client)
    errors.push(requiredField(`${path}.webhookClientConfig`, "required when strategy is set to Webhook"));
  else if ((client.url === undefined) === (client.service === undefined))
    errors.push(requiredField(`${path}.webhookClientConfig`, "exactly one of url or service is required"));
  else if (typeof client.url === "string")
    errors.push(...webhookUrlErrors(client.url, `${path}.webhookClientConfig.url`));
  else {
    const { name = "", namespace = "", path: at, port = 443 } = client.service as WebhookService;
    const found = new Errors();
    checkServiceAddress(`${path}.webhookClientConfig.service`, { name, namespace, path: at, port }, found);
    errors.push(...found.list);
  }
  const versions = (webhook?.conversionReviewVersions as string[] | undefined) ?? [];
  const at = `${path}.conversionReviewVersions`;
  for (const [i, version] of versions.entries()) {
    if (versions.indexOf(version) < i) errors.push(invalidField(`${at}[${i}]`, version, "duplicate version"));
    else
      for (const message of validateDns1035Label(version))
        errors.push(invalidField(`${at}[${i}]`, version, message));
  }
  if (versions.length === 0) errors.push(requiredField(at));
  else if (!versions.some((version) => version === "v1" || version === "v1beta1"))
    errors.push(invalidField(at, [...versions], "must include at least one of v1, v1beta1"));
  return errors;
}

function webhookUrlErrors(text: string, field: string): FieldError[] {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return [requiredField(field, "url must be a valid URL: host must be specified")];
  }
  const errors: FieldError[] = [];
  if (url.protocol !== "https:")
    errors.push(
      invalidField(
        field,
        url.protocol.slice(0, -1),
        "'https' is the only allowed URL scheme; desired format: https://host[/path]",
      ),
    );
  if (url.username || url.password)
    errors.push(invalidField(field, text, "user information is not permitted in the URL"));
  if (url.hash) errors.push(invalidField(field, url.hash, "fragments are not permitted in the URL"));
  if (url.search)
    errors.push(invalidField(field, url.search.slice(1), "query parameters are not permitted in the URL"));
  return errors;
}
