/** A value as TypeScript writes it, as the formatter would have it. */
import { LINE_WIDTH } from "./project-files.ts";

/** `{ replicas: 2, image: "nginx" }`, or one property per line where that is too long. */
export function literalOf(value: unknown, indent: number, used: number): string {
  const flat = flatten(value);
  if (indent + used + flat.length <= LINE_WIDTH || typeof value !== "object" || value === null) return flat;
  const inner = " ".repeat(indent + 2);
  const items = Array.isArray(value)
    ? value.map((each) => literalOf(each, indent + 2, 0))
    : Object.entries(value).map(
        ([key, each]) => `${keyText(key)}: ${literalOf(each, indent + 2, key.length + 3)}`,
      );
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join("")}${" ".repeat(indent)}${close}`;
}

function flatten(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flatten).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(([key, each]) => `${keyText(key)}: ${flatten(each)}`);
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
}

function keyText(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
}
