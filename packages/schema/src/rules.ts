/** Compiles the CEL rules of a resource where it is defined, so that a broken one is found before any server sees it. */
import { createRequire } from "node:module";
import type { CrdVersion, StructuralSchema } from "./crd-object.ts";
import { SchemaError } from "./errors.ts";

type Cel = typeof import("@keelson/cel");

/** The compiler costs 18 MB and a tenth of a second: it is loaded for the first resource that has a rule. */
const load = createRequire(import.meta.url);

/**
 * Throws with every rule that the API server would refuse, and why. Not inside a cluster: a server has taken the CRD
 * there already, and an operator that runs has no use for the compiler.
 */
export function checkRules(versions: readonly CrdVersion[]): void {
  const withRules = versions.filter(({ schema }) => hasRules(schema.openAPIV3Schema));
  if (withRules.length === 0 || process.env["KUBERNETES_SERVICE_HOST"] !== undefined) return;
  const { compileRules } = load("@keelson/cel") as Cel;
  for (const { name, schema } of withRules) {
    const { errors } = compileRules(schema.openAPIV3Schema);
    const [first] = errors;
    if (!first) continue;
    const where = `${placeOf(first.field)}${versions.length > 1 ? ` of ${name}` : ""}`;
    throw new SchemaError("BadRule", where, plain(first.detail));
  }
}

function hasRules(schema: StructuralSchema): boolean {
  if ((schema["x-kubernetes-validations"] ?? []).length > 0) return true;
  const { properties, items, additionalProperties } = schema;
  return (
    Object.values(properties ?? {}).some(hasRules) ||
    (items !== undefined && hasRules(items)) ||
    (typeof additionalProperties === "object" && hasRules(additionalProperties))
  );
}

/** `properties[spec].properties[size].x-kubernetes-validations[0].rule` is `spec.size (rule 1)`. */
function placeOf(field: string): string {
  return field
    .replace(/(^|\.)properties\[([^\]]+)\]/g, ".$2")
    .replace(/\.additionalProperties/g, ".*")
    .replace(/\.items/g, "[]")
    .replace(/\.x-kubernetes-validations\[(\d+)\](\.rule)?/, (_, index) => ` (rule ${Number(index) + 1})`)
    .replace(/^\./, "");
}

/** The compiler draws the expression below its sentence. */
function plain(detail: string): string {
  const [line = ""] = detail.split("\n");
  return line;
}
