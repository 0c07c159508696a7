/** Goes through a template with its schema: what is not known there is told, and its expressions are found. */
import type { JsonObject, JsonValue } from "@keelson/core";
import { isObject } from "@keelson/core/internal";
import type { Problems } from "../errors.ts";
import { type CelText, celOf } from "../expressions/text.ts";
import { fieldOf, isOpen, itemsOf, type RootedSchema, typesOf } from "../openapi/schema.ts";
import type { Path } from "../path.ts";
import { named } from "./compatible.ts";

/** An expression in a template, and what its place wants. */
export interface TemplateExpression {
  /** In the template. */
  readonly at: Path;
  readonly text: CelText;
  /** Undefined where anything may stand. */
  readonly wanted: RootedSchema | undefined;
}

/** `path` is the template's own in the definition. Without a schema only expressions are looked for. */
export function scanTemplate(
  template: JsonObject,
  rooted: RootedSchema | undefined,
  path: Path,
  problems: Problems,
): TemplateExpression[] {
  const found: TemplateExpression[] = [];
  const visit = (value: JsonValue | undefined, wanted: RootedSchema | undefined, at: Path): void => {
    const open = wanted === undefined || isOpen(wanted.schema) ? undefined : wanted;
    if (typeof value === "string") {
      const text = problems.try(() => celOf(value, [...path, ...at]));
      if (text) found.push({ at, text, wanted: open });
      else if (open) checkType("string", open, at);
    } else if (Array.isArray(value)) {
      if (open && !checkType("array", open, at)) return;
      const items = open && { schema: itemsOf(open), schemas: open.schemas };
      for (const [index, item] of value.entries()) visit(item, items, [...at, index]);
    } else if (isObject(value)) {
      if (open && !checkType("object", open, at)) return;
      for (const [name, field] of Object.entries(value)) visitField(name, field as JsonValue, open, at);
    } else if (value !== null && value !== undefined && open) checkType(scalarType(value), open, at);
  };
  const visitField = (name: string, field: JsonValue, open: RootedSchema | undefined, at: Path) => {
    const schema = open && fieldOf(open, name);
    if (open && !schema) {
      problems.report([...path, ...at, name], `there is no field ${name} here${alternatives(name, open)}`);
      return;
    }
    visit(field, open && schema && { schema, schemas: open.schemas }, [...at, name]);
  };
  const checkType = (type: string, { schema }: RootedSchema, at: Path): boolean => {
    const allowed = typesOf(schema);
    if (allowed.includes(type) || (type === "integer" && allowed.includes("number"))) return true;
    const wanted = allowed.map(named).join(" or ");
    problems.report([...path, ...at], `${named(type)} stands here where ${wanted} is needed`);
    return false;
  };
  visit(template, rooted, []);
  return found;
}

function scalarType(value: JsonValue): string {
  if (typeof value === "boolean") return "boolean";
  return typeof value === "number" && !Number.isInteger(value) ? "number" : "integer";
}

/** The field that was probably meant. */
function alternatives(name: string, { schema }: RootedSchema): string {
  const lower = name.toLowerCase();
  const near = Object.keys(schema.properties ?? {}).find(
    (each) => each.toLowerCase() === lower || each === `${name}s` || name === `${each}s`,
  );
  return near === undefined ? "" : `; there is ${near}`;
}
