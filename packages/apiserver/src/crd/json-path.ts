/** The JSONPath of printer columns and scale paths: fields, indices, wildcards, slices, simple filters. */
import type { JsonValue } from "@keelson/core";
import { isObject } from "./schema.ts";

type Step =
  | { readonly kind: "field"; readonly name: string }
  | { readonly kind: "index"; readonly at: number }
  | { readonly kind: "slice"; readonly from: number | undefined; readonly to: number | undefined }
  | { readonly kind: "all" }
  | { readonly kind: "descend" }
  | {
      readonly kind: "filter";
      readonly left: readonly Step[];
      readonly operator: string;
      readonly right: Operand;
    };

/** The right side of a comparison: a value, or a path into the item. */
type Operand = { readonly value: JsonValue } | { readonly path: readonly Step[] };

export type JsonPath = readonly Step[];

export class JsonPathError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "JsonPathError";
  }
}

/** Parses `.spec.items[?(@.type=="Ready")].status`, with or without braces. */
export function parseJsonPath(text: string): JsonPath {
  const bare = text.startsWith("{") && text.endsWith("}") ? text.slice(1, -1) : text;
  return new Parser(bare).path();
}

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  path(): Step[] {
    const steps: Step[] = [];
    if (this.#text[this.#at] === "$" || this.#text[this.#at] === "@") this.#at++;
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at];
      if (char === ".") {
        this.#at++;
        if (this.#text[this.#at] === ".") {
          this.#at++;
          steps.push({ kind: "descend" });
        }
        if (this.#text[this.#at] === "*") {
          this.#at++;
          steps.push({ kind: "all" });
        } else if (this.#text[this.#at] !== "[") {
          const name = this.#name();
          if (name) steps.push({ kind: "field", name });
        }
      } else if (char === "[") steps.push(this.#bracket());
      else throw new JsonPathError(`unrecognized character in path: ${this.#text}`);
    }
    return steps;
  }

  #name(): string {
    let name = "";
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at] as string;
      if (char === "\\") {
        name += this.#text[this.#at + 1] ?? "";
        this.#at += 2;
      } else if (char === "." || char === "[" || char === " ") break;
      else {
        name += char;
        this.#at++;
      }
    }
    return name;
  }

  #bracket(): Step {
    const end = this.#closing();
    const inner = this.#text.slice(this.#at + 1, end).trim();
    this.#at = end + 1;
    if (inner === "*") return { kind: "all" };
    const quoted = /^(['"])(.*)\1$/s.exec(inner);
    if (quoted) return { kind: "field", name: (quoted[2] as string).replace(/\\(.)/g, "$1") };
    if (/^-?\d+$/.test(inner)) return { kind: "index", at: Number(inner) };
    const slice = /^(-?\d*):(-?\d*)$/.exec(inner);
    if (slice) return { kind: "slice", from: bound(slice[1]), to: bound(slice[2]) };
    if (inner.startsWith("?(") && inner.endsWith(")")) return filter(inner.slice(2, -1));
    throw new JsonPathError(`invalid array index ${inner}`);
  }

  /** Where the bracket that opens here closes, past quotes and inner brackets. */
  #closing(): number {
    let depth = 0;
    let quote = "";
    for (let i = this.#at; i < this.#text.length; i++) {
      const char = this.#text[i] as string;
      if (quote) {
        if (char === "\\") i++;
        else if (char === quote) quote = "";
      } else if (char === "'" || char === '"') quote = char;
      else if (char === "[") depth++;
      else if (char === "]" && --depth === 0) return i;
    }
    throw new JsonPathError(`unterminated array in path: ${this.#text}`);
  }
}

function bound(text: string | undefined): number | undefined {
  return text ? Number(text) : undefined;
}

function filter(text: string): Step {
  const match = /==|!=|<=|>=|<|>/.exec(text);
  if (!match)
    return { kind: "filter", left: parseJsonPath(text.trim()), operator: "exists", right: { value: null } };
  const left = text.slice(0, match.index);
  const right = text.slice(match.index + match[0].length);
  return {
    kind: "filter",
    left: parseJsonPath(left.trim()),
    operator: match[0],
    right: operand(right.trim()),
  };
}

function operand(text: string): Operand {
  if (text.startsWith("@") || text.startsWith("$")) return { path: parseJsonPath(text) };
  const quoted = /^(['"])(.*)\1$/s.exec(text);
  if (quoted) return { value: quoted[2] as string };
  if (text === "true" || text === "false") return { value: text === "true" };
  const number = Number(text);
  return { value: Number.isNaN(number) ? text : number };
}

/** All values the path leads to, in order; none when a part is missing. */
export function findJsonPath(path: JsonPath, root: JsonValue): JsonValue[] {
  let values: JsonValue[] = [root];
  for (const step of path) values = values.flatMap((value) => follow(step, value));
  return values;
}

function follow(step: Step, value: JsonValue): JsonValue[] {
  switch (step.kind) {
    case "field": {
      const next = isObject(value) && Object.hasOwn(value, step.name) ? value[step.name] : undefined;
      return next === undefined ? [] : [next];
    }
    case "index": {
      if (!Array.isArray(value)) return [];
      const item = value.at(step.at);
      return item === undefined ? [] : [item];
    }
    case "slice":
      return Array.isArray(value) ? value.slice(step.from, step.to) : [];
    case "all":
      return Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];
    case "descend":
      return descendants(value);
    case "filter":
      return Array.isArray(value) ? value.filter((item) => passes(step, item)) : [];
  }
}

function descendants(value: JsonValue): JsonValue[] {
  const children = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];
  return [value, ...children.flatMap(descendants)];
}

function passes(step: Extract<Step, { kind: "filter" }>, item: JsonValue): boolean {
  const [left] = findJsonPath(step.left, item);
  if (step.operator === "exists") return left !== undefined;
  const right = "path" in step.right ? findJsonPath(step.right.path, item)[0] : step.right.value;
  if (left === undefined || right === undefined || left === null || right === null) return false;
  switch (step.operator) {
    case "==":
      return left === right;
    case "!=":
      return left !== right;
    case "<":
      return left < right;
    case ">":
      return left > right;
    case "<=":
      return left <= right;
    default:
      return left >= right;
  }
}

/** The value at a path of plain fields, `.spec.replicas`. */
export function fieldAt(value: JsonValue, path: string): JsonValue | undefined {
  return findJsonPath(parseJsonPath(path), value)[0];
}
