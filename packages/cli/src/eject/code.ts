/** Small pieces of TypeScript. */
import type { JsonValue } from "@keelson/core";

/** A value as a literal. */
export function codeOf(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(codeOf).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(
    ([name, each]) => `${propertyOf(name)}: ${codeOf(each as JsonValue)}`,
  );
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
}

/** A name before a colon. */
export function propertyOf(name: string): string {
  return isName(name) ? name : JSON.stringify(name);
}

/** A name behind a dot, or in brackets; `optional` where what stands before may be absent. */
export function accessOf(name: string, optional: boolean): string {
  if (isName(name)) return `${optional ? "?." : "."}${name}`;
  return `${optional ? "?." : ""}[${JSON.stringify(name)}]`;
}

export function isName(text: string): boolean {
  return /^[A-Za-z_$][\w$]*$/.test(text);
}

/** Text inside a template literal. */
export function templateText(text: string): string {
  return text.replace(/[\\`]|\$(?=\{)/g, "\\$&");
}

/** Words that no variable of a module may be named. */
const taken = new Set(
  (
    "break case catch class const continue debugger default delete do else enum export extends false finally for " +
    "function if import in instanceof new null return super switch this throw true try typeof var void while with " +
    "yield let static implements interface package private protected public await async arguments eval schema ctx " +
    "pass controller many done waiting need int expression collect own object undefined"
  ).split(" "),
);

/** A variable for something that a definition names. */
export function variableOf(name: string): string {
  return taken.has(name) ? `${name}Object` : name;
}

/** `deploymentSpecReplicas` from words of any form. */
export function camelCase(...words: readonly string[]): string {
  const parts = words.flatMap((word) => word.split(/[^A-Za-z0-9]+/)).filter((part) => part !== "");
  return parts
    .map((part, index) => (index === 0 ? part[0]?.toLowerCase() : part[0]?.toUpperCase()) + part.slice(1))
    .join("")
    .replace(/^(?=\d)/, "_");
}
