/** Whether a CRD can take the place of another without refusing or losing what instances hold. */
import { canonicalJson } from "@keelson/core";
import type { CustomResourceDefinitionObject, StructuralSchema } from "@keelson/schema";
import { formatPath, type Path } from "../path.ts";

/** What would break, as sentences; empty when nothing would. */
export function breakingChanges(
  from: Pick<CustomResourceDefinitionObject, "spec">,
  to: Pick<CustomResourceDefinitionObject, "spec">,
): string[] {
  const [before, ...others] = from.spec.versions;
  const after = to.spec.versions[0];
  if (!before || !after || others.length > 0 || before.name !== after.name) {
    return [
      `the version changes from ${from.spec.versions.map(({ name }) => name).join(", ")} to ${after?.name}`,
    ];
  }
  if (from.spec.scope !== to.spec.scope)
    return [`the scope changes from ${from.spec.scope} to ${to.spec.scope}`];
  const found: string[] = [];
  compare(before.schema.openAPIV3Schema, after.schema.openAPIV3Schema, [], found);
  return found;
}

function compare(from: StructuralSchema, to: StructuralSchema, path: Path, found: string[]): void {
  const at = path.length === 0 ? "the object" : formatPath(path);
  if (from.type !== to.type) {
    found.push(`the type of ${at} changes from ${from.type ?? "any"} to ${to.type ?? "any"}`);
    return;
  }
  if (to.pattern !== undefined && from.pattern !== to.pattern) found.push(`${at} gets another pattern`);
  for (const name of ["minimum", "minLength", "minItems"] as const) {
    if (to[name] !== undefined && (from[name] === undefined || to[name] > from[name])) {
      found.push(`the ${name} of ${at} rises to ${to[name]}`);
    }
  }
  for (const name of ["maximum", "maxLength", "maxItems"] as const) {
    if (to[name] !== undefined && (from[name] === undefined || to[name] < from[name])) {
      found.push(`the ${name} of ${at} falls to ${to[name]}`);
    }
  }
  if (from.nullable && !to.nullable) found.push(`${at} may no longer be null`);
  compareFields(from, to, path, found);
  compareEntries(from, to, path, found);
  compareEnums(from, to, at, found);
  if (from.items && to.items) compare(from.items, to.items, [...path, "items"], found);
  else if (from.items) found.push(`the elements of ${at} lose their type`);
}

function compareFields(from: StructuralSchema, to: StructuralSchema, path: Path, found: string[]): void {
  const before = from.properties ?? {};
  const after = to.properties ?? {};
  const wasRequired = new Set(from.required);
  const isRequired = new Set(to.required);
  for (const [name, schema] of Object.entries(before)) {
    const at = [...path, name];
    const now = after[name];
    if (now === undefined) {
      found.push(`${formatPath(at)} is removed`);
      continue;
    }
    if (isRequired.has(name) && !wasRequired.has(name)) found.push(`${formatPath(at)} becomes required`);
    if (
      isRequired.has(name) &&
      wasRequired.has(name) &&
      schema.default !== undefined &&
      now.default === undefined
    ) {
      found.push(`${formatPath(at)} is required and loses its default`);
    }
    compare(schema, now, at, found);
  }
  for (const [name, schema] of Object.entries(after)) {
    if (Object.hasOwn(before, name) || !isRequired.has(name) || schema.default !== undefined) continue;
    found.push(`${formatPath([...path, name])} is new and required`);
  }
}

/** Of a map. */
function compareEntries(from: StructuralSchema, to: StructuralSchema, path: Path, found: string[]): void {
  const [before, after] = [from.additionalProperties, to.additionalProperties];
  if (typeof before !== "object") return;
  if (typeof after === "object") compare(before, after, [...path, "values"], found);
  else if (!after && !to["x-kubernetes-preserve-unknown-fields"]) {
    found.push(`the entries of ${formatPath(path)} are removed`);
  }
}

function compareEnums(from: StructuralSchema, to: StructuralSchema, at: string, found: string[]): void {
  if (!to.enum?.length) return;
  if (!from.enum?.length) {
    found.push(`${at} may only be ${to.enum.map((value) => JSON.stringify(value)).join(" or ")}`);
    return;
  }
  const allowed = new Set(to.enum.map((value) => canonicalJson(value)));
  for (const value of from.enum) {
    if (!allowed.has(canonicalJson(value))) found.push(`${at} may no longer be ${JSON.stringify(value)}`);
  }
}
