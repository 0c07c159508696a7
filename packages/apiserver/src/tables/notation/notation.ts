/**
 * Reads the short notation of the generated definitions.
 *
 * A line without indentation opens a definition: its name, `*` when it is a kind, and its schema. A line with
 * one space is a field: name, `!` when required, schema. ` |` gives the definition's unions as JSON.
 *
 *     schema    = type [ "~" listType [ "(" keys ")" ] ] [ "^" patchStrategy [ "(" mergeKey ")" ] ]
 *                 [ "%" mapType ] [ "=" default ]
 *     type      = "@" reference | "[" schema "]" | "{" schema "}" | "?" | "int-or-string" | "quantity"
 *               | ( "s" | "b" | "i" | "n" | "o" ) [ "/" format ] [ "(" choice "|" choice … ")" ]
 *     reference = name in the same package | alias "." alias "." name
 */
import { parseJson } from "@keelson/core";
import type { Schema, Union } from "./schema.ts";

/** A schema while it is being read. */
type Draft = { -readonly [K in keyof Schema]: Schema[K] };

const types = { s: "string", b: "boolean", i: "integer", n: "number", o: "object" } as const;

export interface PackageContext {
  /** Full name of the package the text belongs to. */
  readonly name: string;
  /** Group and version of its kinds. */
  readonly group: string;
  readonly version: string;
  /** Full package name for an alias such as `core.v1`. */
  readonly packageOf: (alias: string) => string;
}

/** Definitions by full name. */
export function parseDefinitions(text: string, context: PackageContext): Map<string, Schema> {
  const definitions = new Map<string, Schema>();
  const reader = new Reader(context);
  let properties: Record<string, Schema> | undefined;
  let required: string[] = [];
  let current: Draft = {};
  for (const line of text.split("\n")) {
    if (line.startsWith(" |")) {
      current["x-kubernetes-unions"] = parseJson(line.slice(2)) as unknown as Union[];
    } else if (line.startsWith(" ")) {
      const space = line.indexOf(" ", 1);
      const isRequired = line[space - 1] === "!";
      const field = line.slice(1, isRequired ? space - 1 : space);
      if (properties === undefined) current.properties = properties = {};
      properties[field] = Object.freeze(reader.read(line.slice(space + 1)));
      if (isRequired) {
        required.push(field);
        current.required = required;
      }
    } else {
      const space = line.indexOf(" ");
      const isKind = line[space - 1] === "*";
      const kind = line.slice(0, isKind ? space - 1 : space);
      current = reader.read(line.slice(space + 1));
      if (isKind) {
        current["x-kubernetes-group-version-kind"] = [
          { group: context.group, version: context.version, kind },
        ];
      }
      properties = undefined;
      required = [];
      definitions.set(`${context.name}.${kind}`, current);
    }
  }
  for (const definition of definitions.values()) {
    Object.freeze(definition.properties);
    Object.freeze(definition);
  }
  return definitions;
}

class Reader {
  private readonly context: PackageContext;
  private text = "";
  private at = 0;

  constructor(context: PackageContext) {
    this.context = context;
  }

  read(text: string): Draft {
    this.text = text;
    this.at = 0;
    const schema = this.schema();
    if (this.at !== text.length) throw new SyntaxError(`cannot read "${text}" after ${this.at} characters`);
    return schema;
  }

  private schema(): Draft {
    const schema = this.type();
    if (this.skip("~")) {
      schema["x-kubernetes-list-type"] = this.word() as Schema["x-kubernetes-list-type"];
      const keys = this.parenthesis();
      if (keys !== undefined) schema["x-kubernetes-list-map-keys"] = keys.split(",");
    }
    if (this.skip("^")) {
      schema["x-kubernetes-patch-strategy"] = this.word();
      const key = this.parenthesis();
      if (key !== undefined) schema["x-kubernetes-patch-merge-key"] = key;
    }
    if (this.skip("%")) schema["x-kubernetes-map-type"] = this.word() as Schema["x-kubernetes-map-type"];
    if (this.skip("=")) schema.default = parseJson(this.match(/\{\}|"[^"]*"|[\w.-]+/y)) as Schema["default"];
    return schema;
  }

  private type(): Draft {
    if (this.skip("@")) return { $ref: this.reference() };
    if (this.skip("[")) return { type: "array", items: this.until("]") };
    if (this.skip("{")) return { type: "object", additionalProperties: this.until("}") };
    if (this.skip("?")) return {};
    if (this.skip("int-or-string")) return { format: "int-or-string", "x-kubernetes-int-or-string": true };
    if (this.skip("quantity")) return { format: "quantity" };
    const schema: Draft = { type: types[this.match(/[sbino]/y) as keyof typeof types] };
    if (this.skip("/")) schema.format = this.word() as Schema["format"];
    const choices = this.parenthesis();
    if (choices !== undefined) schema.enum = choices.split("|");
    return schema;
  }

  private until(end: string): Schema {
    const schema = Object.freeze(this.schema());
    if (!this.skip(end)) throw new SyntaxError(`"${this.text}" lacks ${end}`);
    return schema;
  }

  private reference(): string {
    const reference = this.match(/[\w.-]+/y);
    const dot = reference.lastIndexOf(".");
    return dot < 0
      ? `${this.context.name}.${reference}`
      : `${this.context.packageOf(reference.slice(0, dot))}.${reference.slice(dot + 1)}`;
  }

  private word(): string {
    return this.match(/[\w,-]+/y);
  }

  private parenthesis(): string | undefined {
    return this.text[this.at] === "(" ? this.match(/\([^)]*\)/y).slice(1, -1) : undefined;
  }

  private skip(text: string): boolean {
    if (!this.text.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }

  private match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found === undefined) throw new SyntaxError(`cannot read "${this.text}" at ${this.at}`);
    this.at += found.length;
    return found;
  }
}
