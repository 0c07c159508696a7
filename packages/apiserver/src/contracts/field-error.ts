/** Errors about one field of an object, worded as kube-apiserver words them. */
import { isRawNumber, type JsonValue, type StatusCause } from "@keelson/core";
import { lookupTable } from "@keelson/core/internal";

export type FieldErrorType =
  | "FieldValueNotFound"
  | "FieldValueRequired"
  | "FieldValueDuplicate"
  | "FieldValueInvalid"
  | "FieldValueNotSupported"
  | "FieldValueForbidden"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "FieldValueTooFew"
  | "FieldValueTypeInvalid"
  | "FieldValueTooShort"
  | "InternalError";

/** `value` appears in the message of the types that show it; `undefined` leaves it out. */
export interface FieldError {
  readonly type: FieldErrorType;
  /** As `spec.ports[0].name`; a map key stands in brackets. */
  readonly field: string;
  readonly value?: JsonValue | undefined;
  readonly detail: string;
}

const phrases: Record<FieldErrorType, string> = {
  FieldValueNotFound: "Not found",
  FieldValueRequired: "Required value",
  FieldValueDuplicate: "Duplicate value",
  FieldValueInvalid: "Invalid value",
  FieldValueNotSupported: "Unsupported value",
  FieldValueForbidden: "Forbidden",
  FieldValueTooLong: "Too long",
  FieldValueTooMany: "Too many",
  FieldValueTooFew: "Too few",
  FieldValueTypeInvalid: "Invalid value",
  FieldValueTooShort: "Too short",
  InternalError: "Internal error",
};

const withoutValue: ReadonlySet<FieldErrorType> = new Set<FieldErrorType>([
  "FieldValueRequired",
  "FieldValueForbidden",
  "FieldValueTooLong",
  "FieldValueTooShort",
  "InternalError",
]);

/** The message without the field's name, as it stands in a Status cause. */
export function errorBody(error: FieldError): string {
  let text = phrases[error.type];
  if (!withoutValue.has(error.type) && error.value !== undefined) text += `: ${formatValue(error.value)}`;
  return error.detail ? `${text}: ${error.detail}` : text;
}

export function errorText(error: FieldError): string {
  return `${error.field}: ${errorBody(error)}`;
}

export function causeOf(error: FieldError): StatusCause {
  return { reason: error.type, message: errorBody(error), field: error.field };
}

/** Several errors as one sentence: alone as it is, otherwise `[a, b]`, each once. */
export function aggregateText(errors: readonly FieldError[]): string {
  const texts = [...new Set(errors.map(errorText))];
  return texts.length === 1 ? (texts[0] as string) : `[${texts.join(", ")}]`;
}

function formatValue(value: JsonValue): string {
  return typeof value === "string" ? goQuote(value) : goJson(value);
}

/** JSON as Go writes it, which spares readers of HTML. */
function goJson(value: JsonValue): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

const escapes: Record<string, string> = lookupTable({
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  '"': '\\"',
  "\\": "\\\\",
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\v": "\\v",
});

/** A string in double quotes, escaped the way Go's %q does it. */
export function goQuote(text: string): string {
  let out = '"';
  for (const char of text) {
    const code = char.codePointAt(0) as number;
    const escaped = escapes[char];
    if (escaped) out += escaped;
    else if (code < 0x20 || code === 0x7f) out += `\\x${code.toString(16).padStart(2, "0")}`;
    else if ((code >= 0x80 && code < 0xa0) || code === 0xad || code === 0x2028 || code === 0x2029)
      out += `\\u${code.toString(16).padStart(4, "0")}`;
    else out += char;
  }
  return `${out}"`;
}

export function requiredField(field: string, detail = ""): FieldError {
  return { type: "FieldValueRequired", field, value: "", detail };
}
export function invalidField(field: string, value: JsonValue | undefined, detail: string): FieldError {
  return { type: "FieldValueInvalid", field, value, detail };
}
export function typeInvalidField(field: string, value: JsonValue | undefined, detail: string): FieldError {
  return { type: "FieldValueTypeInvalid", field, value, detail };
}
export function duplicateField(field: string, value: JsonValue | undefined): FieldError {
  return { type: "FieldValueDuplicate", field, value, detail: "" };
}
export function notFoundField(field: string, value: JsonValue | undefined): FieldError {
  return { type: "FieldValueNotFound", field, value, detail: "" };
}
export function notSupportedField(
  field: string,
  value: JsonValue | undefined,
  supported: readonly string[],
): FieldError {
  const detail = supported.length > 0 ? `supported values: ${supported.map(goQuote).join(", ")}` : "";
  return { type: "FieldValueNotSupported", field, value, detail };
}
export function forbiddenField(field: string, detail: string): FieldError {
  return { type: "FieldValueForbidden", field, value: "", detail };
}
export function tooLongField(field: string, maxLength: number): FieldError {
  const detail =
    maxLength >= 0
      ? `may not be more than ${maxLength} ${maxLength === 1 ? "byte" : "bytes"}`
      : "value is too long";
  return { type: "FieldValueTooLong", field, detail };
}
export function tooManyField(field: string, actual: number, max: number): FieldError {
  const detail = max >= 0 ? `must have at most ${max} ${max === 1 ? "item" : "items"}` : "has too many items";
  return { type: "FieldValueTooMany", field, value: actual >= 0 ? actual : undefined, detail };
}
export function internalField(field: string, detail: string): FieldError {
  return { type: "InternalError", field, detail };
}

/** A value as Go prints it: `map[a:1 b:[x y]]`. */
export function goValue(value: JsonValue): string {
  if (value === null) return "<nil>";
  if (typeof value !== "object" || isRawNumber(value))
    return String(isRawNumber(value) ? value.rawJSON : value);
  if (Array.isArray(value)) return `[${value.map(goValue).join(" ")}]`;
  const entries = Object.keys(value).sort();
  return `map[${entries.map((key) => `${key}:${goValue(value[key] as JsonValue)}`).join(" ")}]`;
}
