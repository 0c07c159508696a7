/** Markers of a field: `integer | default=1 minimum=0 description="how many"`. */
import { type JsonValue, parseJson } from "@keelson/core";
import { errorText } from "@keelson/core/internal";
import type { StructuralSchema } from "@keelson/schema";

/** One marker as written, its quotes taken off. */
export interface Marker {
  readonly key: string;
  readonly value: string;
}

/** Reads what stands behind the bar. Throws an `Error` that says what is wrong. */
export function parseMarkers(text: string): Marker[] {
  const markers: Marker[] = [];
  let at = 0;
  const skipSpace = () => {
    while (/\s/.test(text[at] ?? "")) at++;
  };
  skipSpace();
  if (at === text.length) throw new Error("a marker is missing behind the bar");
  while (at < text.length) {
    const equals = text.indexOf("=", at);
    const key = (equals < 0 ? text.slice(at) : text.slice(at, equals)).trim();
    if (equals < 0) throw new Error(`the marker ${JSON.stringify(key)} has no value`);
    if (key === "") throw new Error("a marker has no name before its equals sign");
    if (!Object.hasOwn(applied, key)) throw new Error(`there is no marker ${JSON.stringify(key)}`);
    const end = valueEnd(text, equals + 1);
    markers.push({ key, value: unquoted(text.slice(equals + 1, end)) });
    at = end;
    skipSpace();
  }
  return markers;
}

/** A value ends at the first space outside quotes and brackets. */
function valueEnd(text: string, start: number): number {
  let depth = 0;
  let quoted = false;
  for (let at = start; at < text.length; at++) {
    const char = text[at] as string;
    if (quoted && char === "\\") at++;
    else if (char === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
    else if (/\s/.test(char) && depth === 0) return at;
    if (depth < 0)
      throw new Error(`a bracket is closed that was not opened in ${JSON.stringify(text.trim())}`);
  }
  if (quoted) throw new Error(`a quote is not closed in ${JSON.stringify(text.trim())}`);
  if (depth > 0) throw new Error(`a bracket is not closed in ${JSON.stringify(text.trim())}`);
  return text.length;
}

function unquoted(value: string): string {
  if (value.length < 2 || !value.startsWith('"') || !value.endsWith('"')) return value.trim();
  return value.slice(1, -1).replace(/\\(["\\])/g, "$1");
}

interface Field {
  readonly schema: StructuralSchema;
  readonly value: string;
  /** Makes the field required in its object. */
  require(): void;
}

type Apply = (field: Field) => void;

const applied: Readonly<Record<string, Apply>> = {
  required: (field) => {
    if (boolean(field.value)) field.require();
  },
  default: ({ schema, value }) => {
    schema.default = schema.type === "string" ? value : json(schema, value);
  },
  description: ({ schema, value }) => {
    schema.description = value;
  },
  minimum: ({ schema, value }) => {
    schema.minimum = number(value);
  },
  maximum: ({ schema, value }) => {
    schema.maximum = number(value);
  },
  validation: ({ schema, value }) => {
    if (value.trim() === "") throw new Error("validation needs a rule");
    addRule(schema, value, "validation failed");
  },
  immutable: ({ schema, value }) => {
    if (boolean(value)) addRule(schema, "self == oldSelf", "field is immutable");
  },
  enum: ({ schema, value }) => {
    schema.enum = value.split(",").map((each) => enumValue(schema, each.trim()));
  },
  pattern: ({ schema, value }) => {
    only(schema, "pattern", "string");
    if (value === "") throw new Error("pattern needs an expression");
    schema.pattern = value;
  },
  minLength: limit("minLength", "string"),
  maxLength: limit("maxLength", "string"),
  minItems: limit("minItems", "array"),
  maxItems: limit("maxItems", "array"),
  uniqueItems: ({ schema, value }) => {
    only(schema, "uniqueItems", "array");
    if (boolean(value)) setListType(schema, "set");
  },
  listType: ({ schema, value }) => {
    only(schema, "listType", "array");
    if (value !== "atomic" && value !== "set" && value !== "map") {
      throw new Error(`listType is atomic, set or map, not ${value}`);
    }
    setListType(schema, value);
  },
  listMapKey: ({ schema, value }) => {
    only(schema, "listMapKey", "array");
    const keys = schema["x-kubernetes-list-map-keys"] ?? [];
    if (keys.includes(value)) throw new Error(`listMapKey=${value} is given twice`);
    schema["x-kubernetes-list-map-keys"] = [...keys, value];
  },
};

/** Writes markers into the schema of a field. Throws an `Error` that says what is wrong. */
export function applyMarkers(
  schema: StructuralSchema,
  markers: readonly Marker[],
  require: () => void,
): void {
  for (const { key, value } of markers) (applied[key] as Apply)({ schema, value, require });
  if (schema["x-kubernetes-list-map-keys"] && schema["x-kubernetes-list-type"] !== "map") {
    throw new Error("listMapKey needs listType=map");
  }
}

function limit(name: "minLength" | "maxLength" | "minItems" | "maxItems", type: "string" | "array"): Apply {
  return ({ schema, value }) => {
    only(schema, name, type);
    schema[name] = wholeNumber(value);
  };
}

function only(schema: StructuralSchema, marker: string, type: string): void {
  if (schema.type !== type) throw new Error(`${marker} is for type ${type}, not for ${schema.type ?? "any"}`);
}

function setListType(schema: StructuralSchema, wanted: "atomic" | "set" | "map"): void {
  const known = schema["x-kubernetes-list-type"];
  if (known !== undefined && known !== wanted) throw new Error(`a list cannot be a ${known} and a ${wanted}`);
  schema["x-kubernetes-list-type"] = wanted;
}

function addRule(schema: StructuralSchema, rule: string, message: string): void {
  schema["x-kubernetes-validations"] = [...(schema["x-kubernetes-validations"] ?? []), { rule, message }];
}

function enumValue(schema: StructuralSchema, text: string): JsonValue {
  if (text === "") throw new Error("an enum has no empty values");
  if (schema.type === "string") return text;
  if (schema.type === "integer") return wholeNumber(text);
  throw new Error(`enum is for type string and integer, not for ${schema.type ?? "any"}`);
}

function json(schema: StructuralSchema, text: string): JsonValue {
  if (schema.type === "integer") return wholeNumber(text);
  if (schema.type === "number") return number(text);
  if (schema.type === "boolean") return boolean(text);
  try {
    return parseJson(text);
  } catch (error) {
    throw new Error(`default=${text} is no JSON: ${errorText(error)}`);
  }
}

function boolean(text: string): boolean {
  if (["true", "True", "TRUE", "t", "T", "1"].includes(text)) return true;
  if (["false", "False", "FALSE", "f", "F", "0"].includes(text)) return false;
  throw new Error(`${JSON.stringify(text)} is neither true nor false`);
}

function number(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new Error(`${JSON.stringify(text)} is no number`);
  return value;
}

function wholeNumber(text: string): number {
  if (!/^[+-]?\d+$/.test(text) || !Number.isSafeInteger(Number(text))) {
    throw new Error(`${JSON.stringify(text)} is no whole number`);
  }
  return Number(text);
}
