/** Where a schema allows less than it did, or means something else. */
import { deepEqual } from "@keelson/core";
import type { StructuralSchema } from "@keelson/schema";
import { type FieldFinding, showPath } from "./finding.ts";

type Found = Omit<FieldFinding, "kind">;

const otherwise = "add a new version with a conversion, or leave it as it was";

export function compareSchemas(
  released: StructuralSchema,
  current: StructuralSchema,
  path: readonly string[] = [],
): Found[] {
  const name = showPath(path) || "the object";
  const error = (rule: string, message: string, fix: string): Found => ({
    ...{ rule, severity: "error", path, message, fix },
  });
  const { properties: before = {}, items, additionalProperties: values } = released;
  const findings: Found[] = [];
  if (typeOf(released) !== typeOf(current)) {
    if (!(released.type === "integer" && current.type === "number")) {
      return [error("changed-type", `${name} was ${typeOf(released)} and is ${typeOf(current)}`, otherwise)];
    }
  }
  findings.push(...narrowed(released, current).map((how) => error("narrowed", `${name} ${how}`, otherwise)));
  if (!deepEqual(released.default ?? null, current.default ?? null)) {
    const [was, is] = [released.default, current.default].map((value) => JSON.stringify(value));
    if (was !== undefined || !isRequiredLater(released, current)) {
      findings.push(
        error(
          "changed-default",
          `the default of ${name} was ${was ?? "none"} and is ${is ?? "none"}`,
          "leave it: manifests that do not name the field would mean something else",
        ),
      );
    }
  }
  for (const [field, schema] of Object.entries(before)) {
    const now = current.properties?.[field];
    const at = [...path, field];
    if (now !== undefined) findings.push(...compareSchemas(schema, now, at));
    else if (!current["x-kubernetes-preserve-unknown-fields"]) {
      findings.push({
        ...error("removed-field", `${showPath(at)} was released and is gone`, ""),
        path: at,
        fix: "keep the field and ignore it, or add a new version with a conversion",
      });
    }
  }
  findings.push(...newlyRequired(released, current, path));
  if (items && current.items) findings.push(...compareSchemas(items, current.items, [...path, "[]"]));
  if (typeof values === "object" && typeof current.additionalProperties === "object") {
    findings.push(...compareSchemas(values, current.additionalProperties, [...path, "*"]));
  }
  findings.push(...newRules(released, current, path));
  return findings;
}

/** A new default for a field that had none is what makes it safe to require it. */
function isRequiredLater(released: StructuralSchema, current: StructuralSchema): boolean {
  return released.default === undefined && current.default !== undefined;
}

function newlyRequired(
  released: StructuralSchema,
  current: StructuralSchema,
  path: readonly string[],
): Found[] {
  const required = (current.required ?? []).filter((field) => !released.required?.includes(field));
  return required
    .filter((field) => current.properties?.[field]?.default === undefined)
    .map((field) => ({
      rule: "required-without-default",
      severity: "error",
      path: [...path, field],
      message: `${showPath([...path, field])} is required and was not, and it has no default`,
      fix: "give it a default, or make it optional: objects that are stored already do not have it",
    }));
}

function newRules(released: StructuralSchema, current: StructuralSchema, path: readonly string[]): Found[] {
  const known = new Set((released["x-kubernetes-validations"] ?? []).map(({ rule }) => rule));
  const added = (current["x-kubernetes-validations"] ?? []).filter(({ rule }) => !known.has(rule));
  return added.map(({ rule }) => ({
    rule: "new-rule",
    severity: "warning",
    path,
    message: `${showPath(path) || "the object"} has a new rule: ${rule}`,
    fix: "make sure that no object that is stored already breaks it: a change of the field would be refused",
  }));
}

function typeOf(schema: StructuralSchema): string {
  if (schema["x-kubernetes-int-or-string"]) return "an integer or a string";
  return schema.type ?? "anything";
}

/** Each limit that is tighter than it was, as a sentence about the field. */
function narrowed(released: StructuralSchema, current: StructuralSchema): string[] {
  const out: string[] = [];
  for (const key of ["maximum", "maxLength", "maxItems", "maxProperties"] as const) {
    const [was, is] = [released[key], current[key]];
    if (is !== undefined && (was === undefined || is < was)) out.push(limited(key, was, is));
  }
  for (const key of ["minimum", "minLength", "minItems", "minProperties"] as const) {
    const [was, is] = [released[key] ?? implied(key), current[key]];
    if (is !== undefined && (was === undefined || is > was)) out.push(limited(key, released[key], is));
  }
  for (const key of ["exclusiveMinimum", "exclusiveMaximum", "uniqueItems"] as const) {
    if (current[key] && !released[key]) out.push(`has ${key}, which it had not`);
  }
  for (const key of ["pattern", "format", "multipleOf"] as const) {
    if (current[key] !== undefined && current[key] !== released[key]) {
      out.push(`has the ${key} ${current[key]} and had ${released[key] ?? "none"}`);
    }
  }
  if (released.nullable && !current.nullable) out.push("may not be null any more");
  const lost = (released.enum ?? []).filter((value) => !current.enum?.some((now) => deepEqual(now, value)));
  if (current.enum && !released.enum) out.push(`must be one of ${current.enum.join(", ")}, and was free`);
  else if (current.enum && lost.length > 0) out.push(`may not be ${lost.join(" or ")} any more`);
  if (released["x-kubernetes-preserve-unknown-fields"] && !current["x-kubernetes-preserve-unknown-fields"]) {
    out.push("drops fields that its schema does not name, and kept them");
  }
  const [list, nowList] = [released["x-kubernetes-list-type"], current["x-kubernetes-list-type"]];
  const keys = [released, current].map((each) => each["x-kubernetes-list-map-keys"] ?? []);
  if ((list ?? "atomic") !== (nowList ?? "atomic") || !deepEqual(keys[0] ?? [], keys[1] ?? [])) {
    out.push(`is merged as ${nowList ?? "atomic"} and was as ${list ?? "atomic"}`);
  }
  return out;
}

/** A length is never below nothing. */
function implied(key: string): number | undefined {
  return key === "minimum" ? undefined : 0;
}

function limited(key: string, was: number | undefined, is: number): string {
  return `has ${key} ${is} and had ${was ?? "none"}`;
}
