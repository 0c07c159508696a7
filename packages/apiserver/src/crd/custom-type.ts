/** Objects of a custom resource: decoded, pruned, completed and judged by the schemas of their definition. */

import { type CompiledRules, compileRules, type RuleSchema } from "@keelson/cel";
import { deepCopy, type JsonValue } from "@keelson/core";
import { MergeError, type TypeRef, typeFromStructuralSchema } from "@keelson/core/internal/merge";
import { DecodeError } from "../builtin/scalars.ts";
import { type FieldError, goQuote, goValue, invalidField } from "../contracts/field-error.ts";
import type { ApiMeta, ApiObject } from "../contracts/object.ts";
import { badRequest } from "../contracts/status-error.ts";
import { apiVersionText, type ObjectType, versionOf } from "../registry/api-resource.ts";
import { conforms } from "./conforms.ts";
import type { Converter } from "./conversion.ts";
import { customScale, validateCustomScale } from "./custom-scale.ts";
import { applyDefaults, hasDefaults } from "./defaults.ts";
import type { Definition, DefinitionVersion } from "./definition.ts";
import { coerceEmbedded, coerceMetadata, hasEmbedded, validateEmbedded } from "./embedded.ts";
import { fieldAt } from "./json-path.ts";
import { validateListTypes } from "./list-types.ts";
import { prune, pruneNulls } from "./prune.ts";
import { isObject, type JsonSchema } from "./schema.ts";
import { validateValue } from "./validate-value.ts";

/** Faults that leave rules nothing to work with. */
const blocking = new Set([
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

/** One version's schema and what is derived from it, made when first needed. */
class VersionSchema {
  readonly version: DefinitionVersion;
  readonly schema: JsonSchema;
  readonly #preserve: boolean;
  readonly #hasDefaults: boolean;
  #rules: CompiledRules | undefined;
  #type: TypeRef | undefined;
  /** Stored objects brought up to this schema. */
  readonly #current = new WeakMap<object, ApiObject>();
  readonly #validLists = new WeakMap<object, boolean>();

  constructor(version: DefinitionVersion, preserveUnknownFields: boolean) {
    this.version = version;
    this.#preserve = preserveUnknownFields;
    this.schema = version.schema ?? { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    this.#hasDefaults = hasDefaults(this.schema);
  }

  get rules(): CompiledRules {
    this.#rules ??= compileRules(this.schema as RuleSchema);
    return this.#rules;
  }

  get mergeType(): TypeRef {
    this.#type ??= typeFromStructuralSchema(this.version.schema as never, {
      preserveUnknownFields: this.#preserve,
    });
    return this.#type;
  }

  prune(draft: ApiObject, dropped: string[]): void {
    coerceEmbedded(draft, this.schema, "", dropped);
    if (!this.#preserve) prune(draft, this.schema, true, dropped);
  }

  default(draft: ApiObject, applied = false): void {
    if (!applied) pruneNulls(draft, this.schema);
    if (this.#hasDefaults) applyDefaults(draft, this.schema);
  }

  /** Whether no list of a stored object holds the same item twice; looked at once. */
  hasValidLists(object: ApiObject): boolean {
    let valid = this.#validLists.get(object);
    if (valid === undefined) {
      valid = validateListTypes(this.schema, object).length === 0;
      if (Object.isFrozen(object)) this.#validLists.set(object, valid);
    }
    return valid;
  }

  /** A stored object as this schema sees it; what was written under it needs no change. */
  present(object: ApiObject): ApiObject {
    const known = this.#current.get(object);
    if (known) return known;
    if (!hasEmbedded(this.schema) && conforms(object, this.schema, !this.#preserve)) {
      if (Object.isFrozen(object)) this.#current.set(object, object);
      return object;
    }
    const copy = deepCopy(object);
    const dropped: string[] = [];
    this.prune(copy, dropped);
    this.default(copy);
    const result = dropped.length === 0 && !this.#hasDefaults ? object : copy;
    if (Object.isFrozen(object)) this.#current.set(object, result);
    return result;
  }
}

/** By stored definition: servers that begin with the same objects compile its schemas once. */
const compiled = new WeakMap<ApiObject, ReadonlyMap<string, VersionSchema>>();

function schemasOf(definition: Definition): ReadonlyMap<string, VersionSchema> {
  const { object, versions, preserveUnknownFields } = definition;
  const known = compiled.get(object);
  if (known) return known;
  const schemas = new Map(
    versions.map((version) => [version.name, new VersionSchema(version, preserveUnknownFields)]),
  );
  if (Object.isFrozen(object)) compiled.set(object, schemas);
  return schemas;
}

export function customType(definition: Definition, converter: Converter): ObjectType {
  const schemas = schemasOf(definition);
  const { kind } = definition.names;
  const schemaOf = (version: string): VersionSchema => {
    const found = schemas.get(version);
    if (!found) throw new Error(`${definition.name} has no version ${version}`);
    return found;
  };
  const convert = (object: ApiObject, version: string): ApiObject | Promise<ApiObject> => {
    const target = schemaOf(version);
    if (versionOf(object) === version) return Object.isFrozen(object) ? target.present(object) : object;
    const converted = converter(object, apiVersionText(definition, version));
    return converted instanceof Promise
      ? converted.then((result) => target.present(result))
      : target.present(converted);
  };
  return {
    strategicPatches: false,
    decode(value, version, strict) {
      const draft = deepCopy(value) as ApiObject;
      draft.apiVersion = apiVersionText(definition, version);
      draft.kind = kind;
      try {
        draft.metadata = isObject(draft.metadata)
          ? coerceMetadata(draft.metadata, "metadata", strict)
          : rootMetadata(draft.metadata);
        schemaOf(version).prune(draft, strict);
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error;
        throw badRequest(
          `${kind} in version ${goQuote(version)} cannot be handled as a ${kind}: ${error.message}`,
        );
      }
      strict.sort();
      return draft;
    },
    default: (draft, version, applied) => schemaOf(version).default(draft, applied),
    convert,
    convertBare(object, version) {
      const apiVersion = apiVersionText(definition, version);
      if (!schemas.has(version))
        throw new MergeError(
          "PatchUnusable",
          `request to convert CR to an invalid group/version: ${apiVersion}`,
        );
      return versionOf(object) === version ? object : converter(object, apiVersion);
    },
    toStorage: (object) => convert(object, definition.storageVersion),
    toWorking: convert,
    resetStatus: (draft) => void delete draft.status,
    keepAllButStatus(draft, old) {
      const { status } = draft;
      const { managedFields } = draft.metadata;
      for (const key of Object.keys(draft)) delete draft[key];
      Object.assign(draft, old, { metadata: { ...old.metadata } });
      draft.metadata.resourceVersion = old.metadata.resourceVersion as string;
      if (managedFields === undefined) delete draft.metadata.managedFields;
      else draft.metadata.managedFields = managedFields;
      if (status === undefined) delete draft.status;
      else draft.status = status;
    },
    validateSchema: (object, old, context, warn) => validate(schemaOf(context.version), object, old, warn),
    mergeType: (version) => schemaOf(version).mergeType,
    schema: (version) => schemaOf(version).version.schema,
    scale(version) {
      const { scale } = schemaOf(version).version;
      return scale && customScale(scale);
    },
    selectableFields(version) {
      const { selectableFields } = schemaOf(version).version;
      return Object.fromEntries(
        selectableFields.map((path) => [
          path.replace(/^\./, ""),
          (object: ApiObject) => shown(fieldAt(object, path)),
        ]),
      );
    },
  };
}

function rootMetadata(value: JsonValue | undefined): ApiMeta {
  if (value === undefined || value === null) return {} as ApiMeta;
  throw new DecodeError(
    `metadata: Invalid value: ${JSON.stringify(value)}: json: cannot unmarshal ${Array.isArray(value) ? "array" : typeof value} into Go struct field ObjectMeta.metadata of type v1.ObjectMeta`,
  );
}

function shown(value: JsonValue | undefined): string {
  return value === undefined || value === null ? "" : goValue(value);
}

function validate(
  version: VersionSchema,
  object: ApiObject,
  old: ApiObject | undefined,
  warn: (text: string) => void,
): FieldError[] {
  const { schema } = version;
  const errors = validateValue(schema, object, old ? { old } : {});
  const { scale } = version.version;
  if (scale) errors.push(...validateCustomScale(scale, object));
  errors.push(...validateEmbedded(object, schema));
  if (!old || version.hasValidLists(old)) errors.push(...validateListTypes(schema, object));
  const { rules } = version;
  if (!rules.hasRules) return errors;
  if (errors.some(({ type }) => blocking.has(type))) {
    errors.push(
      invalidField(
        "<nil>",
        null,
        "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
      ),
    );
    return errors;
  }
  const result = rules.validate({ self: object, ...(old && { oldSelf: old }) });
  for (const text of result.warnings) warn(text);
  return [...errors, ...(result.errors as FieldError[])];
}
