/** Pieces of a controller's source that come from definitions: types, templates, selectors. */
import type { CelType } from "@keelson/cel";
import type { JsonObject, JsonValue } from "@keelson/core";
import { codeOf, propertyOf } from "./code.ts";
import { NoForm } from "./graph-nodes.ts";

type Path = readonly (string | number)[];

export function commentOf(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}

/** Types whose TypeScript follows from CEL. */
export function isExact({ kind, params }: CelType): boolean {
  if (["string", "int", "bool", "double"].includes(kind)) return true;
  return (kind === "list" || kind === "map") && params.every(isExact);
}

export function typeText({ kind, params }: CelType): string {
  switch (kind) {
    case "string":
    case "timestamp":
    case "duration":
      return "string";
    case "int":
    case "uint":
    case "double":
      return "number";
    case "bool":
      return "boolean";
    case "list": {
      const inner = typeText(params[0] as CelType);
      return `${/^\w+$/.test(inner) ? inner : `(${inner})`}[]`;
    }
    case "map":
      return `Record<string, ${typeText(params[1] as CelType)}>`;
    default:
      return "unknown";
  }
}

export function pathKey(path: Path): string {
  return JSON.stringify(path);
}

/** A template as a literal, with code where its expressions stand. */
export function objectCode(
  value: JsonValue | undefined,
  at: Path,
  fields: ReadonlyMap<string, string>,
): string {
  const code = fields.get(pathKey(at));
  if (code !== undefined) return code;
  if (Array.isArray(value)) {
    return `[${value.map((each, index) => objectCode(each, [...at, index], fields)).join(", ")}]`;
  }
  if (typeof value !== "object" || value === null) return codeOf(value ?? null);
  const entries = Object.entries(value).map(
    ([name, each]) => `${propertyOf(name)}: ${objectCode(each as JsonValue, [...at, name], fields)}`,
  );
  return entries.length === 0 ? "{}" : `{ ${entries.join(", ")} }`;
}

/** Makes room for a field at a path. */
export function place(root: JsonObject, path: Path): void {
  let current = root as Record<string | number, unknown>;
  for (const [index, step] of path.entries()) {
    const isLast = index === path.length - 1;
    current[step] ??= isLast ? null : typeof path[index + 1] === "number" ? [] : {};
    current = current[step] as Record<string | number, unknown>;
  }
}

export function fixedLabels(selector: JsonObject): string {
  const { matchLabels = {}, matchExpressions = [] } = selector as {
    matchLabels?: Record<string, string>;
    matchExpressions?: { key: string; operator: string; values?: string[] }[];
  };
  const terms = [
    ...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`),
    ...matchExpressions.map(({ key, operator, values = [] }) => {
      if (operator === "Exists") return key;
      if (operator === "DoesNotExist") return `!${key}`;
      return `${key} ${operator === "In" ? "in" : "notin"} (${values.join(",")})`;
    }),
  ];
  return terms.join(",");
}

export function labelsCode(selector: JsonObject, fields: ReadonlyMap<string, string>): string {
  if ("matchExpressions" in selector) {
    throw new NoForm("a selector with matchExpressions whose values are computed has no form in TypeScript");
  }
  return objectCode(selector["matchLabels"] ?? {}, ["metadata", "selector", "matchLabels"], fields);
}

export function plainName(name: string): string {
  return name.replace(/^type /, "");
}
