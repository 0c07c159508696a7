/** What strict decoding complains about, in the words and in the order of the real server. */
import type { JsonValue } from "@keelson/core";
import type { DecodedBody } from "../codec/body.ts";
import { findWrittenKey } from "../codec/json-body.ts";
import { goQuote } from "../contracts/field-error.ts";

const yamlErrors = "yaml: unmarshal errors:";

/** Keys that YAML repeats make one problem together. */
export function repeatedKeys(lines: readonly string[]): string {
  return [yamlErrors, ...lines.map((line) => `  ${line}`)].join("\n");
}

/** A problem as Warning headers say it, which have no lines. */
export function warningsOf(problem: string): string[] {
  const at = problem.indexOf(`${yamlErrors}\n`);
  if (at < 0) return [problem];
  return problem
    .slice(at + yamlErrors.length + 1)
    .split("\n")
    .map((line) => line.trim());
}

/**
 * Built-in kinds are read field by field, so that what is wrong is found as it is written. A custom resource is read whole,
 * where only repeated keys are found, and then compared with its schema.
 */
export function strictProblems(body: DecodedBody, unknown: readonly string[], custom: boolean): string[] {
  const inYaml = body.repeated.length > 0 ? [repeatedKeys(body.repeated)] : [];
  if (custom)
    return [
      ...inYaml,
      ...[...new Set(body.duplicates.map(duplicateField))].slice(0, mostProblems),
      ...unknown.map(unknownField),
    ];
  return [...inYaml, ...inOrder(body, new Set(unknown), new Set(body.duplicates))];
}

function duplicateField(path: string): string {
  return `duplicate field ${goQuote(path)}`;
}

function unknownField(path: string): string {
  return `unknown field ${goQuote(path)}`;
}

/** YAML is read as a map and printed as JSON before its fields are looked at, which puts them in order. */
function* sortedKeys(value: JsonValue, path: string): Generator<string> {
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) yield* sortedKeys(item, `${path}[${i}]`);
  } else if (typeof value === "object" && value !== null) {
    for (const key of Object.keys(value).sort()) {
      const at = path ? `${path}.${key}` : key;
      yield at;
      yield* sortedKeys(value[key] as JsonValue, at);
    }
  }
}

/** So many are named, as by the real server. */
const mostProblems = 100;

function inOrder(
  { value, source, mediaType }: DecodedBody,
  unknown: ReadonlySet<string>,
  duplicates: ReadonlySet<string>,
): Set<string> {
  const problems = new Set<string>();
  const seen = new Set<string>();
  let skipped: string | undefined;
  const isLast = (key: string): boolean => {
    // What is inside a field that nobody knows is not read.
    if (skipped !== undefined && isWithin(key, skipped)) return false;
    skipped = unknown.has(key) ? key : undefined;
    if (skipped !== undefined) problems.add(unknownField(key));
    else if (seen.has(key) && duplicates.has(key)) problems.add(duplicateField(key));
    seen.add(key);
    return problems.size === mostProblems;
  };
  if (mediaType === "application/json") findWrittenKey(Buffer.from(source).toString(), isLast);
  else for (const key of sortedKeys(value, "")) if (isLast(key)) break;
  return problems;
}

function isWithin(path: string, outer: string): boolean {
  return path.startsWith(outer) && /^[.[]/.test(path.slice(outer.length));
}
