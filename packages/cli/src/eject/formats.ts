/** What schemas say of the values that an expression reads beyond JSON: bytes, dates, decimals. */
import type { Program } from "@keelson/cel";
import { type Expr, walk } from "@keelson/cel/internal";
import type { JsonObject } from "@keelson/core";
import type { Graph } from "@keelson/graphs";

/** A schema of the server's OpenAPI, with what its references lead to. */
export type RootedSchema = Graph["schema"];
type Schema = RootedSchema["schema"];

const formats = new Set(["byte", "date", "date-time", "duration"]);
const deepest = 8;

/** The part of a variable's schema that matters to an expression; empty where JSON says it all. */
export function formatsFor(name: string, rooted: RootedSchema | undefined, program: Program): JsonObject {
  if (!rooted) return {};
  const out: JsonObject = {};
  for (const path of pathsFrom(name, program)) {
    const found = at(rooted, path);
    if (found) merge(out, path, slice(found, 0));
  }
  return out;
}

/** The longest chains of fields that begin at a variable. */
function pathsFrom(name: string, program: Program): string[][] {
  const paths: string[][] = [];
  walk(program.checked.expr, (expr, parents) => {
    if (expr.kind !== "ident" || expr.name !== name) return;
    const path: string[] = [];
    let below: Expr = expr;
    for (const parent of parents.toReversed()) {
      const field = fieldOf(parent, below);
      if (field === undefined) break;
      path.push(field);
      below = parent;
    }
    paths.push(path);
  });
  return paths;
}

function fieldOf(expr: Expr, operand: Expr): string | undefined {
  if (expr.kind === "select" && expr.operand === operand) return expr.field;
  if (expr.kind !== "call" || !["_[_]", "_?._", "_[?_]"].includes(expr.fn)) return undefined;
  const [first, key] = expr.args;
  return first === operand && key?.kind === "literal" && typeof key.value === "string"
    ? key.value
    : undefined;
}

function at({ schema, schemas }: RootedSchema, path: readonly string[]): RootedSchema | undefined {
  let current: Schema = schema;
  for (const name of path) {
    const next = current.properties?.[name] ?? current.additionalProperties;
    if (typeof next !== "object") return undefined;
    current = schemas.resolve(next);
  }
  return { schema: current, schemas };
}

/** Only what differs from JSON. */
function slice({ schema, schemas }: RootedSchema, depth: number): JsonObject | undefined {
  if (depth > deepest) return undefined;
  const inner = (each: Schema) => slice({ schema: schemas.resolve(each), schemas }, depth + 1);
  if (schema.type === "number") return { type: "number" };
  if (schema.type === "string" && formats.has(schema.format ?? "")) {
    return { type: "string", format: schema.format as string };
  }
  if (schema.items) {
    const items = inner(schema.items);
    return items && { type: "array", items };
  }
  if (typeof schema.additionalProperties === "object") {
    const additionalProperties = inner(schema.additionalProperties);
    return additionalProperties && { type: "object", additionalProperties };
  }
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, each]) => {
    const found = inner(each);
    return found ? [[name, found] as const] : [];
  });
  return fields.length === 0 ? undefined : { type: "object", properties: Object.fromEntries(fields) };
}

function merge(root: JsonObject, path: readonly string[], found: JsonObject | undefined): void {
  if (!found) return;
  let current = root;
  for (const name of path) {
    current["type"] = "object";
    const properties = (current["properties"] ?? {}) as JsonObject;
    current["properties"] = properties;
    const next = (properties[name] ?? {}) as JsonObject;
    properties[name] = next;
    current = next;
  }
  Object.assign(current, found);
}
