/** The options of writes, from the query and, for deletes, from the body. */
import type { JsonObject, JsonValue } from "@keelson/core";
import { decodePart } from "../builtin/decode.ts";
import { DecodeError, isObject } from "../builtin/scalars.ts";
import {
  type FieldError,
  forbiddenField,
  goValue,
  invalidField,
  notSupportedField,
  requiredField,
} from "../contracts/field-error.ts";
import { badRequest, invalid } from "../contracts/status-error.ts";
import type { DeleteOptions, Propagation } from "../registry/deletion.ts";
import { validateDryRun, validateFieldManager, validateFieldValidation } from "../registry/metadata.ts";

export type FieldValidation = "Strict" | "Warn" | "Ignore";

export interface WriteOptions {
  readonly kind: "CreateOptions" | "UpdateOptions" | "PatchOptions";
  readonly dryRun: boolean;
  /** Empty when the client named none. */
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  readonly force: boolean;
}

/** Of a write that asks for nothing in particular, as most do. */
const plain = { dryRun: false, fieldManager: "", fieldValidation: "Warn", force: false } as const;
const plainOptions: Readonly<Record<WriteOptions["kind"], WriteOptions>> = {
  CreateOptions: { kind: "CreateOptions", ...plain },
  UpdateOptions: { kind: "UpdateOptions", ...plain },
  PatchOptions: { kind: "PatchOptions", ...plain },
};

export function writeOptions(
  kind: WriteOptions["kind"],
  query: URLSearchParams,
  apply = false,
): WriteOptions {
  if (query.size === 0 && !apply) return plainOptions[kind];
  const dryRun = query.getAll("dryRun");
  const fieldManager = query.get("fieldManager") ?? "";
  const fieldValidation = query.get("fieldValidation") ?? "";
  const force = query.get("force");
  const errors: FieldError[] = [];
  if (kind === "PatchOptions") {
    if (apply && !fieldManager) errors.push(requiredField("fieldManager", "is required for apply patch"));
    if (!apply && force !== null)
      errors.push(forbiddenField("force", "may not be specified for non-apply patch"));
  }
  errors.push(...validateFieldManager(fieldManager, "fieldManager"));
  errors.push(...validateDryRun(dryRun));
  errors.push(...validateFieldValidation(fieldValidation));
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind }, "", errors);
  return {
    kind,
    dryRun: dryRun.length > 0,
    fieldManager,
    fieldValidation: (fieldValidation || "Warn") as FieldValidation,
    force: force !== null && force !== "false" && force !== "0",
  };
}

/** Options of a delete: the body's when there is one, else the query's. */
export function deleteOptions(query: URLSearchParams, body: JsonValue | undefined): DeleteOptions {
  const raw: JsonObject = {};
  if (isObject(body)) {
    if (body.kind !== undefined && body.kind !== "" && body.kind !== "DeleteOptions")
      throw badRequest(
        `decoded object cannot be converted to DeleteOptions: expected DeleteOptions, got ${goValue(body.kind)}`,
      );
    checkShape(body);
    Object.assign(raw, body);
  } else if (body !== undefined && body !== null) {
    throw badRequest("decoded object cannot be converted to DeleteOptions");
  } else {
    for (const name of ["propagationPolicy", "orphanDependents", "gracePeriodSeconds"])
      if (query.has(name)) raw[name] = query.get(name);
    if (query.has("dryRun")) raw.dryRun = query.getAll("dryRun");
  }
  const gracePeriodSeconds = seconds(raw.gracePeriodSeconds);
  const dryRun = Array.isArray(raw.dryRun) ? raw.dryRun.map(String) : [];
  const orphan = raw.orphanDependents;
  const policy = raw.propagationPolicy;
  const errors: FieldError[] = [];
  if (orphan !== undefined && orphan !== null && policy)
    errors.push(
      invalidField(
        "propagationPolicy",
        policy,
        "orphanDependents and deletionPropagation cannot be both set",
      ),
    );
  const named = policy !== undefined && policy !== null;
  if (named && policy !== "Foreground" && policy !== "Background" && policy !== "Orphan")
    errors.push(
      notSupportedField("propagationPolicy", policy, ["Foreground", "Background", "Orphan", "nil"]),
    );
  errors.push(...validateDryRun(dryRun));
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", errors);
  const preconditions = isObject(raw.preconditions) ? raw.preconditions : {};
  return {
    dryRun: dryRun.length > 0,
    gracePeriodSeconds,
    propagationPolicy: (policy || undefined) as Propagation | undefined,
    orphanDependents: orphan === undefined || orphan === null ? undefined : isTrue(orphan),
    uid: typeof preconditions.uid === "string" ? preconditions.uid : undefined,
    resourceVersion:
      typeof preconditions.resourceVersion === "string" ? preconditions.resourceVersion : undefined,
  };
}

/** Throws 400 for a body whose values are of the wrong types. */
function checkShape(body: JsonObject): void {
  try {
    decodePart("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions", body);
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(error.message);
    throw error;
  }
}

/** Anything in a query but these is true. */
function isTrue(value: JsonValue): boolean {
  return value !== false && value !== "false" && value !== "0";
}

function seconds(value: JsonValue | undefined): number | undefined {
  if (value === undefined || value === null) return undefined;
  const number = typeof value === "string" ? Number(value) : value;
  if (typeof number !== "number" || !Number.isInteger(number))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
  return number < 0 ? 1 : number;
}
