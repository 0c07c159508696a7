/** Values as Go prints them in the messages of type errors. */
import { goQuote } from "../go-quote.ts";
import { compareBytes, isRawNumber } from "../json.ts";
import type { JsonObject, JsonValue } from "../object.ts";

type Value = JsonValue | undefined;

/** `%T` of a decoded value. */
export function goType(value: Value): string {
  if (value === null || value === undefined) return "<nil>";
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  if (isRawNumber(value)) return "int64";
  return Array.isArray(value) ? "[]interface {}" : "map[string]interface {}";
}

/** `%v` of a value in its wrapper: `&{[a b]}`. */
export function goValue(value: Value): string {
  return `&{${plain(value)}}`;
}

/** `%#v` of a value in its wrapper. */
export function goValueSyntax(value: Value): string {
  return `&value.valueUnstructured{Value:${syntax(value)}}`;
}

function entries(value: JsonObject): [string, JsonValue][] {
  return Object.entries(value).sort(([a], [b]) => compareBytes(a, b));
}

/** `%v` of a plain value. */
export function plain(value: Value): string {
  if (value === null || value === undefined) return "<nil>";
  if (isRawNumber(value)) return value.rawJSON;
  if (Array.isArray(value)) return `[${value.map(plain).join(" ")}]`;
  if (typeof value === "object") {
    return `map[${entries(value)
      .map(([key, item]) => `${key}:${plain(item)}`)
      .join(" ")}]`;
  }
  return String(value);
}

function syntax(value: Value): string {
  if (value === null || value === undefined) return "interface {}(nil)";
  if (typeof value === "string") return goQuote(value);
  if (isRawNumber(value)) return value.rawJSON;
  if (Array.isArray(value)) return `[]interface {}{${value.map(syntax).join(", ")}}`;
  if (typeof value === "object") {
    return `map[string]interface {}{${entries(value)
      .map(([key, item]) => `${goQuote(key)}:${syntax(item)}`)
      .join(", ")}}`;
  }
  return String(value);
}
