/** What is asked of the metadata of every object. */

import type { JsonObject, JsonValue } from "@keelson/core";
import {
  deepEqual,
  validateAnnotationKey,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateLabelValue,
  validateQualifiedName,
} from "@keelson/core";
import { annotationsBytes, goQuote, maxAnnotationsBytes, validateGenerateName } from "@keelson/core/internal";
import {
  type FieldError,
  forbiddenField,
  invalidField,
  notSupportedField,
  requiredField,
  tooLongField,
} from "../contracts/field-error.ts";
import { nearestNumber } from "../contracts/numbers.ts";
import type { ApiMeta } from "../contracts/object.ts";

export type NameValidator = (name: string, prefix: boolean) => string[];

export const orphanFinalizer = "orphan";
export const foregroundFinalizer = "foregroundDeletion";
const standardFinalizers = new Set(["kubernetes", orphanFinalizer, foregroundFinalizer]);

/** The rule for names of most kinds. */
export const subdomainName: NameValidator = (name, prefix) =>
  prefix ? validateGenerateName(name, validateDns1123Subdomain) : validateDns1123Subdomain(name);

/** A name that can stand in a path: all that custom resources and RBAC ask. */
export const pathSegmentName: NameValidator = (name, prefix) => {
  if (!prefix && (name === "." || name === "..")) return [`may not be '${name}'`];
  return ["/", "%"].filter((part) => name.includes(part)).map((part) => `may not contain '${part}'`);
};

/** How often a kind's own update repeats the checks that all kinds share: each repetition reports again. */
export interface MetadataChecks {
  readonly full: number;
  readonly update: number;
  /** As `update`, of a write to the status. */
  readonly status: number;
  /** Whether a finalizer that the server does not know needs a domain. */
  readonly qualifiedFinalizers: boolean;
}

export interface MetadataRules {
  readonly namespaced: boolean;
  readonly validateName: NameValidator;
  readonly checks: MetadataChecks;
}

export function validateMetadata(meta: ApiMeta, rules: MetadataRules): FieldError[] {
  const errors: FieldError[] = [];
  const { generateName } = meta;
  if (typeof generateName === "string" && generateName)
    for (const message of rules.validateName(generateName, true))
      errors.push(invalidField("metadata.generateName", generateName, message));
  if (!meta.name) errors.push(requiredField("metadata.name", "name or generateName is required"));
  else
    for (const message of rules.validateName(meta.name, false))
      errors.push(invalidField("metadata.name", meta.name, message));
  return [...errors, ...validateCommon(meta, rules)];
}

function validateCommon(meta: ApiMeta, rules: MetadataRules): FieldError[] {
  const errors: FieldError[] = [];
  if (!rules.namespaced) {
    if (meta.namespace) errors.push(forbiddenField("metadata.namespace", "not allowed on this type"));
  } else if (!meta.namespace) errors.push(requiredField("metadata.namespace"));
  else
    for (const message of validateDns1123Label(meta.namespace))
      errors.push(invalidField("metadata.namespace", meta.namespace, message));
  if (nearestNumber(meta.generation ?? 0) < 0)
    errors.push(invalidField("metadata.generation", meta.generation, "must be greater than or equal to 0"));
  if (meta.labels) errors.push(...validateLabels(meta.labels, "metadata.labels"));
  if (meta.annotations) errors.push(...validateAnnotations(meta.annotations, "metadata.annotations"));
  if (meta.ownerReferences) errors.push(...validateOwners(meta.ownerReferences as JsonObject[]));
  if (meta.finalizers) errors.push(...validateFinalizers(meta.finalizers));
  if (meta.managedFields) errors.push(...validateManagedFields(meta.managedFields as JsonObject[]));
  if (meta.finalizers && rules.checks.qualifiedFinalizers)
    errors.push(...validateKubeFinalizers(meta.finalizers));
  return errors;
}

export function validateLabels(labels: Readonly<Record<string, string>>, field: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const key in labels) {
    const value = labels[key];
    for (const message of validateQualifiedName(key)) errors.push(invalidField(field, key, message));
    for (const message of validateLabelValue(value ?? "")) errors.push(invalidField(field, value, message));
  }
  return errors;
}

export function validateAnnotations(
  annotations: Readonly<Record<string, string>>,
  field: string,
): FieldError[] {
  const errors: FieldError[] = [];
  for (const key of Object.keys(annotations))
    for (const message of validateAnnotationKey(key)) errors.push(invalidField(field, key, message));
  if (annotationsBytes(annotations) > maxAnnotationsBytes)
    errors.push(tooLongField(field, maxAnnotationsBytes));
  return errors;
}

function validateOwners(owners: readonly JsonObject[]): FieldError[] {
  const path = "metadata.ownerReferences";
  const errors: FieldError[] = [];
  let controller = "";
  for (const owner of owners) {
    const apiVersion = String(owner.apiVersion ?? "");
    const parts = apiVersion.split("/");
    const version = parts.length > 2 ? "" : parts.at(-1);
    if (!version) errors.push(invalidField(`${path}.apiVersion`, apiVersion, "version must not be empty"));
    for (const part of ["kind", "name", "uid"] as const)
      if (!owner[part]) errors.push(invalidField(`${path}.${part}`, "", "must not be empty"));
    if (apiVersion === "v1" && owner.kind === "Event")
      errors.push(
        invalidField(path, inOwnerOrder(owner), "/v1, Kind=Event is disallowed from being an owner"),
      );
    if (owner.controller !== true) continue;
    const name = `${owner.kind}/${owner.name}`;
    if (controller)
      errors.push(
        invalidField(
          path,
          owners.map(inOwnerOrder),
          `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`,
        ),
      );
    else controller = name;
  }
  return errors;
}

/** Messages show a reference in the order of its declaration. */
function inOwnerOrder(owner: JsonObject): JsonObject {
  const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = owner;
  const out: JsonObject = {};
  for (const [key, value] of Object.entries({
    apiVersion,
    kind,
    name,
    uid,
    controller,
    blockOwnerDeletion,
  }))
    if (value !== undefined) out[key] = value;
  return out;
}

function validateFinalizers(finalizers: readonly string[]): FieldError[] {
  const errors = finalizers.flatMap((finalizer) =>
    validateQualifiedName(finalizer).map((message) =>
      invalidField("metadata.finalizers", finalizer, message),
    ),
  );
  if (finalizers.includes(orphanFinalizer) && finalizers.includes(foregroundFinalizer))
    errors.push(
      invalidField(
        "metadata.finalizers",
        [...finalizers],
        `finalizer ${orphanFinalizer} and ${foregroundFinalizer} cannot be both set`,
      ),
    );
  return errors;
}

function validateKubeFinalizers(finalizers: readonly string[]): FieldError[] {
  return finalizers.flatMap((finalizer, i) =>
    finalizer.includes("/") || standardFinalizers.has(finalizer)
      ? []
      : [
          invalidField(
            `metadata.finalizers[${i}]`,
            finalizer,
            "name is neither a standard finalizer name nor is it fully qualified",
          ),
        ],
  );
}

function validateManagedFields(entries: readonly JsonObject[]): FieldError[] {
  const errors: FieldError[] = [];
  for (const [i, entry] of entries.entries()) {
    const path = `metadata.managedFields[${i}]`;
    const { operation, fieldsType, manager, subresource } = entry;
    if (operation !== "Apply" && operation !== "Update")
      errors.push(invalidField(`${path}.operation`, operation ?? "", "must be `Apply` or `Update`"));
    if (fieldsType && fieldsType !== "FieldsV1")
      errors.push(invalidField(`${path}.fieldsType`, fieldsType, "must be `FieldsV1`"));
    errors.push(...validateFieldManager(String(manager ?? ""), `${path}.manager`));
    if (typeof subresource === "string" && subresource.length > 256)
      errors.push(tooLongField(`${path}.subresource`, 256));
  }
  return errors;
}

const unprintable = /[\p{C}\p{Z}]/u;
const shortAndPlain = /^[ -~]{0,128}$/;

export function validateFieldManager(manager: string, field: string): FieldError[] {
  if (shortAndPlain.test(manager)) return [];
  const errors: FieldError[] = [];
  if (Buffer.byteLength(manager) > 128) errors.push(tooLongField(field, 128));
  let position = 0;
  for (const char of manager) {
    if (char !== " " && unprintable.test(char)) {
      const code = (char.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0");
      errors.push(invalidField(field, manager, `invalid character U+${code} (at position ${position})`));
    }
    position += Buffer.byteLength(char);
  }
  return errors;
}

export function validateMetadataUpdate(meta: ApiMeta, old: ApiMeta, rules: MetadataRules): FieldError[] {
  const compared = updateErrors(meta, old);
  const common = { ...rules.checks, qualifiedFinalizers: false };
  const errors = validateMetadata(meta, { ...rules, validateName: pathSegmentName, checks: common });
  errors.push(...compared);
  for (let i = 0; i < rules.checks.update; i++) {
    errors.push(...compared);
    if (rules.checks.qualifiedFinalizers) errors.push(...validateKubeFinalizers(meta.finalizers ?? []));
  }
  for (let i = 0; i < rules.checks.full; i++) errors.push(...validateMetadata(meta, rules));
  return errors;
}

function updateErrors(meta: ApiMeta, old: ApiMeta): FieldError[] {
  const errors: FieldError[] = [];
  if (old.deletionTimestamp) {
    const before = new Set(old.finalizers ?? []);
    const extra = [...new Set(meta.finalizers ?? [])].filter((name) => !before.has(name)).sort();
    if (extra.length > 0)
      errors.push(
        forbiddenField(
          "metadata.finalizers",
          `no new finalizers can be added if the object is being deleted, found new finalizers []string{${extra.map(goQuote).join(", ")}}`,
        ),
      );
  }
  if (!meta.resourceVersion)
    errors.push(
      invalidField("metadata.resourceVersion", meta.resourceVersion ?? "", "must be specified for an update"),
    );
  if (nearestNumber(meta.generation ?? 0) < nearestNumber(old.generation ?? 0))
    errors.push(invalidField("metadata.generation", meta.generation ?? 0, "must not be decremented"));
  for (const field of [
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
  ] as const)
    if (!deepEqual(meta[field], old[field]))
      errors.push(invalidField(`metadata.${field}`, shown(meta[field]), "field is immutable"));
  errors.push(...validateLabels(meta.labels ?? {}, "metadata.labels"));
  errors.push(...validateAnnotations(meta.annotations ?? {}, "metadata.annotations"));
  errors.push(...validateOwners((meta.ownerReferences as JsonObject[] | undefined) ?? []));
  errors.push(...validateManagedFields((meta.managedFields as JsonObject[] | undefined) ?? []));
  return errors;
}

function shown(value: JsonValue | undefined): JsonValue {
  return value === undefined ? null : value;
}

export function validateDryRun(values: readonly string[]): FieldError[] {
  return values.every((value) => value === "All") ? [] : [notSupportedField("dryRun", [...values], ["All"])];
}

const fieldValidations = ["", "Ignore", "Strict", "Warn"];

export function validateFieldValidation(value: string): FieldError[] {
  return fieldValidations.includes(value)
    ? []
    : [notSupportedField("fieldValidation", value, fieldValidations)];
}
