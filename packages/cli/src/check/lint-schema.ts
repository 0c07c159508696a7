/** What users of a resource miss in its schema: descriptions, and limits that keep an object small. */
import type { CustomResourceDefinitionObject, StructuralSchema } from "@keelson/schema";
import { type FieldFinding, showPath } from "./finding.ts";

/** The runtime's own fields in every status are as they are. */
const OURS = ["observedGeneration", "conditions", "inventory", "steps"];

export function lintCrd(crd: CustomResourceDefinitionObject): FieldFinding[] {
  const { names, versions } = crd.spec;
  const findings = versions.flatMap(({ schema }) => {
    const { spec = {}, status = {} } = schema.openAPIV3Schema.properties ?? {};
    const own = Object.entries(status.properties ?? {}).filter(([name]) => !OURS.includes(name));
    return [
      ...lintFields(spec, ["spec"]),
      ...lintFields({ ...status, properties: Object.fromEntries(own) }, ["status"]).filter(
        ({ rule }) => rule === "missing-description",
      ),
    ];
  });
  // Versions share most of their fields.
  const unique = new Map(findings.map((each) => [`${each.rule} ${showPath(each.path)}`, each]));
  return [...unique.values()].map((each) => ({ ...each, kind: names.kind }));
}

type Found = Omit<FieldFinding, "kind">;

function lintFields(schema: StructuralSchema, path: readonly string[]): Found[] {
  const warning = (rule: string, at: readonly string[], message: string, fix: string): Found => ({
    ...{ rule, severity: "warning", path: at, message: `${showPath(at)} ${message}`, fix },
  });
  const out: Found[] = [];
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const at = [...path, name];
    if (!field.description) {
      out.push(
        warning(
          "missing-description",
          at,
          "has no description",
          `add .describe("…"): kubectl explain prints it`,
        ),
      );
    }
    out.push(...bounds(field, at), ...lintFields(field, at));
  }
  if (schema.items) {
    out.push(...bounds(schema.items, [...path, "[]"]), ...lintFields(schema.items, [...path, "[]"]));
  }
  if (typeof schema.additionalProperties === "object") {
    const at = [...path, "*"];
    out.push(...bounds(schema.additionalProperties, at), ...lintFields(schema.additionalProperties, at));
  }
  return out;

  function bounds(field: StructuralSchema, at: readonly string[]): Found[] {
    const bounded = field.enum !== undefined || field.format !== undefined || isBoundedPattern(field.pattern);
    if (field.type === "string" && field.maxLength === undefined && !bounded) {
      return [
        warning(
          "unbounded-string",
          at,
          "may be of any length",
          "add .max(n): it also makes CEL rules affordable",
        ),
      ];
    }
    if (field.type === "array" && field.maxItems === undefined) {
      return [
        warning(
          "unbounded-list",
          at,
          "may have any number of items",
          "add .max(n): an object has at most 1.5 MB",
        ),
      ];
    }
    return [];
  }
}

/** Anchored at both ends and without open repetition. */
function isBoundedPattern(pattern: string | undefined): boolean {
  return pattern !== undefined && /^\^.*\$$/.test(pattern) && !/[*+]|,\}/.test(pattern);
}
