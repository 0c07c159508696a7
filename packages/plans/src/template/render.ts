/** Fills in what objects leave to expressions. */
import type { JsonValue } from "@keelson/core";
import { PlanError } from "../errors.ts";
import { checkExpression, evaluate, type TemplateValues } from "./expression.ts";

/**
 * A value with its expressions evaluated. A text that is one expression becomes its value, whatever that is; several, or
 * one among other words, become a text. `$${` stands for `${`.
 */
export function render<T extends JsonValue>(template: T, values: TemplateValues): T {
  return map(template, (text) => rendered(text, values)) as T;
}

/** Throws for the first expression that cannot be read. */
export function checkTemplate(template: JsonValue): void {
  map(template, (text) => {
    for (const part of partsOf(text)) if (typeof part !== "string") checkExpression(part.expression);
    return text;
  });
}

function map(value: JsonValue, of: (text: string) => JsonValue): JsonValue {
  if (typeof value === "string") return value.includes("${") ? of(value) : value;
  if (Array.isArray(value)) return value.map((each) => map(each, of));
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, map(each, of)]));
}

function rendered(text: string, values: TemplateValues): JsonValue {
  const parts = partsOf(text);
  const [only] = parts;
  if (parts.length === 1 && typeof only === "object") return evaluate(only.expression, values);
  return parts
    .map((part) => {
      if (typeof part === "string") return part;
      const value = evaluate(part.expression, values);
      return typeof value === "string" ? value : JSON.stringify(value);
    })
    .join("");
}

type Part = string | { readonly expression: string };

/** Words and expressions in their order. Braces and quotes inside an expression belong to it. */
function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  let plain = "";
  for (let at = 0; at < text.length; ) {
    if (text.startsWith("$${", at)) {
      plain += "${";
      at += 3;
    } else if (text.startsWith("${", at)) {
      const end = endOf(text, at + 2);
      if (plain !== "") parts.push(plain);
      plain = "";
      parts.push({ expression: text.slice(at + 2, end) });
      at = end + 1;
    } else plain += text[at++];
  }
  if (plain !== "" || parts.length === 0) parts.push(plain);
  return parts;
}

function endOf(text: string, start: number): number {
  let depth = 0;
  let quote = "";
  for (let at = start; at < text.length; at++) {
    const character = text[at] as string;
    if (quote !== "") {
      if (character === "\\") at++;
      else if (character === quote) quote = "";
    } else if (character === '"' || character === "'") quote = character;
    else if (character === "{") depth++;
    else if (character === "}" && depth-- === 0) return at;
  }
  throw new PlanError("InvalidExpression", `the expression in ${JSON.stringify(text)} has no end`);
}
