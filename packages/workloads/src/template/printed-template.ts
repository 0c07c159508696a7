/**
 * A pod template as the upstream controllers print it before they hash it: every field with its type, in the order of
 * its struct. The hash is part of names and labels that people and other programs compare.
 */
import { Quantity } from "@keelson/core";
import { compareBytes, lookupTable } from "@keelson/core/internal";
import type { PodTemplateSpec } from "@keelson/core/kinds";
import { templateTypes } from "./template-types.generated.ts";

interface Field {
  readonly goName: string;
  /** Empty for a struct whose fields stand in its parent's JSON. */
  readonly jsonName: string;
  readonly type: string;
}

const structs = new Map<string, readonly Field[]>();

function fieldsOf(type: string): readonly Field[] | undefined {
  const definition = templateTypes[type];
  if (!definition?.startsWith("{")) return undefined;
  let fields = structs.get(type);
  if (!fields) {
    fields = definition
      .slice(1, -1)
      .split(" ")
      .filter((field) => field !== "")
      .map((field) => {
        const [goName = "", jsonName = "", ...rest] = field.split(":");
        return { goName, jsonName, type: rest.join(":") };
      });
    structs.set(type, fields);
  }
  return fields;
}

export function printedTemplate(template: PodTemplateSpec): string {
  return withType("v1.PodTemplateSpec", template);
}

function withType(type: string, value: unknown): string {
  if (!type.startsWith("*")) return `(${type})${body(type, value)}`;
  return value === undefined || value === null ? `(${type})<nil>` : `(${type})${body(type.slice(1), value)}`;
}

function body(type: string, value: unknown): string {
  const fields = fieldsOf(type);
  if (fields) return struct(fields, value);
  const base = templateTypes[type];
  if (base !== undefined) return body(base, value);
  if (type.startsWith("[]")) return list(type.slice(2), value);
  if (type.startsWith("map[")) return map(type, value);
  switch (type) {
    case "string":
    case "types.UID":
      return String(value ?? "");
    case "bool":
      return String(value ?? false);
    case "resource.Quantity":
      return quantity(value as string | number | undefined);
    case "intstr.IntOrString":
      return intOrString(value as string | number | undefined);
    case "v1.Time":
      // A template has no times of its own.
      return "{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}";
    default:
      return String(value ?? 0);
  }
}

function struct(fields: readonly Field[], value: unknown): string {
  const object = (value ?? {}) as Readonly<Record<string, unknown>>;
  const printed = fields.map(({ goName, jsonName, type }) => {
    return `${goName}:${withType(type, jsonName === "" ? object : object[jsonName])}`;
  });
  return `{${printed.join(" ")}}`;
}

/** Empty lists and maps do not survive the way through storage. */
function list(type: string, value: unknown): string {
  const items = (value ?? []) as readonly unknown[];
  return items.length === 0 ? "<nil>" : `[${items.map((item) => body(type, item)).join(" ")}]`;
}

function map(type: string, value: unknown): string {
  const close = type.indexOf("]");
  const entries = Object.entries((value ?? {}) as Readonly<Record<string, unknown>>);
  if (entries.length === 0) return "<nil>";
  const printed = entries
    .sort(([a], [b]) => compareBytes(a, b))
    .map(([key, item]) => `${key}:${body(type.slice(close + 1), item)}`);
  return `map[${printed.join(" ")}]`;
}

function intOrString(value: string | number | undefined): string {
  const [kind, number, text] = typeof value === "string" ? [1, 0, value] : [0, value ?? 0, ""];
  return `{Type:(intstr.Type)${kind} IntVal:(int32)${number} StrVal:(string)${text}}`;
}

const decimalSuffix: Readonly<Record<string, number>> = lookupTable({
  n: -9,
  u: -6,
  m: -3,
  "": 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
});
const binarySuffix: Readonly<Record<string, number>> = lookupTable({
  Ki: 10,
  Mi: 20,
  Gi: 30,
  Ti: 40,
  Pi: 50,
  Ei: 60,
});

/** A quantity by its parts: amount, power of ten, and the text where it was kept from parsing. */
function quantity(value: string | number | undefined): string {
  const text = value === undefined ? "" : Quantity.from(value).toString();
  const match = /^(-?)(\d*)(?:\.(\d*))?([a-zA-Z]*)(?:e([+-]?\d+))?$/.exec(text);
  const [, sign = "", whole = "", fraction = "", suffix = "", exponent] = match ?? [];
  const power = binarySuffix[suffix];
  const scale = power === undefined ? Number(exponent ?? decimalSuffix[suffix] ?? 0) - fraction.length : 0;
  const digits = `${whole}${fraction}`.replace(/^0+(?=\d)/, "");
  const amount = BigInt(`${sign}${digits || "0"}`) * (power === undefined ? 1n : 1n << BigInt(power));
  const format =
    text === "" ? "" : power !== undefined ? "BinarySI" : exponent ? "DecimalExponent" : "DecimalSI";
  const isKept =
    text === "0" ||
    (power === undefined
      ? scale % 3 === 0 && !digits.endsWith("000") && !digits.startsWith("0")
      : (BigInt(digits || "0") & 7n) !== 0n);
  return (
    `{i:(resource.int64Amount){value:(int64)${amount} scale:(resource.Scale)${scale}} ` +
    "d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>} " +
    `s:(string)${isKept ? text : ""} Format:(resource.Format)${format}}`
  );
}
