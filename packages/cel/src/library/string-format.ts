/**
 * `"…%s…".format([…])`.
 *
 * Two editions exist: `classic` is the one Kubernetes has (grouped digits, `×10³`, quoted text in lists),
 * `plain` the one the language now specifies.
 */

import { goQuote } from "@keelson/core/internal";
import type { CheckedExpr } from "../check/checker.ts";
import type { CallExpr, Expr, ListExpr } from "../syntax/ast.ts";
import { walk } from "../syntax/ast.ts";
import { compareStrings } from "../values/compare.ts";
import { toText } from "../values/convert.ts";
import { effort } from "../values/effort.ts";
import { fixedDecimal, scientific } from "../values/go-numbers.ts";
import { maxLength } from "../values/operators.ts";
import { formatInSeconds, formatTimestamp, plainDecimal } from "../values/time.ts";
import type { CelType, TypeKind } from "../values/types.ts";
import {
  CelList,
  CelMap,
  type CelValue,
  Double,
  Duration,
  Fault,
  fault,
  isInt,
  Timestamp,
  TypeValue,
  typeOf,
  Uint,
} from "../values/values.ts";

export type FormatEdition = "classic" | "plain";

type Verb = "s" | "d" | "f" | "e" | "b" | "x" | "X" | "o";

interface Clause {
  readonly verb: Verb;
  /** Undefined when the text gives none. */
  readonly precision: number | undefined;
}

type Piece = string | Clause;

/** More digits than any double has; beyond, the request is a mistake. */
const maxPrecision = 4096;
const defaultPrecision = 6;

/** Splits a format text, or says what is wrong with it; `argCount` says how many clauses can be served. */
function parseFormat(text: string, argCount: number): Piece[] | string {
  const pieces: Piece[] = [];
  let used = 0;
  let plain = "";
  for (let i = 0; i < text.length; ) {
    if (text[i] !== "%") {
      plain += text[i++];
      continue;
    }
    if (text[i + 1] === "%") {
      plain += "%";
      i += 2;
      continue;
    }
    if (i + 1 >= text.length) return "unexpected end of string";
    if (used >= argCount) return `index ${used} out of range`;
    const clause = parseClause(text, i + 1);
    if (typeof clause === "string") return `could not parse formatting clause: ${clause}`;
    if (plain !== "") pieces.push(plain);
    plain = "";
    pieces.push(clause);
    used++;
    i = clause.end;
  }
  if (plain !== "") pieces.push(plain);
  return pieces;
}

function parseClause(text: string, at: number): (Clause & { end: number }) | string {
  let i = at;
  let precision: number | undefined;
  if (text[i] === ".") {
    const digits = /^\d*/.exec(text.slice(i + 1))?.[0] ?? "";
    i += 1 + digits.length;
    if (i >= text.length) return "error while parsing precision: could not find end of precision specifier";
    if (digits === "") {
      return (
        "error while parsing precision: error while converting precision to integer: " +
        'strconv.Atoi: parsing "": invalid syntax'
      );
    }
    precision = Number(digits);
  }
  const verb = text[i] ?? "";
  if (!"sdfebxXo".includes(verb)) return `unrecognized formatting clause "${verb}"`;
  return { verb: verb as Verb, precision, end: i + 1 };
}

export function formatString(text: string, args: CelList, edition: FormatEdition): CelValue {
  const pieces = parseFormat(text, args.size);
  if (typeof pieces === "string") return fault(pieces);
  let out = "";
  let next = 0;
  for (const piece of pieces) {
    if (typeof piece === "string") {
      out += piece;
      continue;
    }
    const value = args.at(next++);
    const shown = value instanceof Fault ? value : formatClause(piece, value, edition);
    if (shown instanceof Fault) return fault(`error during formatting: ${shown.message}`);
    out += shown;
    if (out.length > maxLength) return fault("result exceeds the maximum length");
  }
  return out;
}

function formatClause({ verb, precision }: Clause, value: CelValue, edition: FormatEdition): string | Fault {
  const digits = precision ?? defaultPrecision;
  if (digits > maxPrecision) return fault(`precision ${digits} is too large`);
  switch (verb) {
    case "s":
      return edition === "classic" ? classicText(value) : plainText(value);
    case "d":
      return decimal(value, edition);
    case "f":
      return floating(value, edition, refusals.f[edition], (number) =>
        edition === "classic" ? grouped(fixedDecimal(number, digits)) : fixedDecimal(number, digits),
      );
    case "e":
      return floating(value, edition, refusals.e[edition], (number) =>
        edition === "classic"
          ? superscript(number).padStart(precision ?? defaultPrecision)
          : scientific(number, Math.min(digits, 100)),
      );
    case "b":
      if (typeof value === "boolean") return value ? "1" : "0";
      return inBase(value, 2) ?? refuse(value, refusals.b[edition]);
    case "o":
      return inBase(value, 8) ?? refuse(value, refusals.o[edition]);
    case "x":
      return hex(value, edition);
    case "X": {
      const lower = hex(value, edition);
      return typeof lower === "string" ? lower.toUpperCase() : lower;
    }
  }
}

const textRefusal =
  "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, " +
  "and timestamps";
const refusals = {
  s: { classic: textRefusal, plain: textRefusal },
  d: {
    classic: "decimal clause can only be used on integers",
    plain: "decimal clause can only be used on ints, uints, and doubles",
  },
  f: {
    classic: "fixed-point clause can only be used on doubles",
    plain: "fixed-point clause can only be used on ints, uints, and doubles",
  },
  e: {
    classic: "scientific clause can only be used on doubles",
    plain: "scientific clause can only be used on ints, uints, and doubles",
  },
  b: {
    classic: "only integers and bools can be formatted as binary",
    plain: "only ints, uints, and bools can be formatted as binary",
  },
  x: {
    classic: "only integers, byte buffers, and strings can be formatted as hex",
    plain: "only ints, uints, bytes, and strings can be formatted as hex",
  },
  o: {
    classic: "octal clause can only be used on integers",
    plain: "octal clause can only be used on ints and uints",
  },
} as const;

function refuse(value: CelValue, what: string): Fault {
  return fault(`${what}, was given ${typeOf(value).name}`);
}

function decimal(value: CelValue, edition: FormatEdition): string | Fault {
  const whole = inBase(value, 10);
  if (whole !== undefined) return whole;
  if (edition === "plain" && value instanceof Double) return plainDouble(value.value);
  return refuse(value, refusals.d[edition]);
}

function floating(
  value: CelValue,
  edition: FormatEdition,
  refusal: string,
  show: (value: number) => string,
): string | Fault {
  let number: number;
  if (value instanceof Double) number = value.value;
  else if (edition === "plain" && isInt(value)) number = Number(value);
  else if (edition === "plain" && value instanceof Uint) number = Number(value.value);
  else if (edition === "classic" && value === "NaN") number = Number.NaN;
  else if (edition === "classic" && value === "Infinity") number = Number.POSITIVE_INFINITY;
  else if (edition === "classic" && value === "-Infinity") number = Number.NEGATIVE_INFINITY;
  else return refuse(value, refusal);
  if (Number.isNaN(number)) return "NaN";
  if (!Number.isFinite(number)) {
    return (number < 0 ? "-" : "") + (edition === "classic" ? "\u221e" : "Infinity");
  }
  return show(number);
}

function grouped(text: string): string {
  const [whole = "", fraction] = text.split(".");
  const first = whole.length % 3 || 3;
  const groups = [whole.slice(0, first)];
  for (let at = first; at < whole.length; at += 3) groups.push(whole.slice(at, at + 3));
  const spaced = groups.join(",");
  return fraction === undefined ? spaced : `${spaced}.${fraction}`;
}

const superscripts = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079";

function superscript(value: number): string {
  const [mantissa = "", power = ""] = scientific(value, defaultPrecision).split("e");
  const digits = [...power.slice(1)].map((digit) => superscripts[Number(digit)]).join("");
  return `${mantissa}\u00d710${power.startsWith("-") ? "\u207b" : ""}${digits}`;
}

function inBase(value: CelValue, base: number): string | undefined {
  if (isInt(value)) return value.toString(base);
  return value instanceof Uint ? value.value.toString(base) : undefined;
}

function hex(value: CelValue, edition: FormatEdition): string | Fault {
  const number = inBase(value, 16);
  if (number !== undefined) return number;
  if (typeof value === "string") return Buffer.from(value).toString("hex");
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  return refuse(value, refusals.x[edition]);
}

function classicText(value: CelValue): string | Fault {
  if (value === null) return "null";
  if (value instanceof CelList) return classicList(value);
  if (value instanceof CelMap) return classicMap(value);
  const text = toText(value);
  if (typeof text === "string") return text;
  return value instanceof Uint8Array && text instanceof Fault
    ? fault(`could not convert argument ${goQuote(text.message)} to string`)
    : refuse(value, textRefusal);
}

/** A value inside a list or map: text is quoted, so that it could be read back. */
function classicElement(value: CelValue): string | Fault {
  effort.steps += 2;
  if (value instanceof Fault) return value;
  if (value instanceof Timestamp) return `timestamp(${goQuote(formatTimestamp(value))})`;
  if (value instanceof Duration) return `duration(${goQuote(formatInSeconds(value))})`;
  if (value instanceof Double) {
    if (Number.isNaN(value.value)) return '"NaN"';
    if (!Number.isFinite(value.value)) return value.value < 0 ? '"-Inf"' : '"+Inf"';
    return fixedDecimal(value.value, defaultPrecision);
  }
  const known = value === null || typeof value !== "object" || isListed(value);
  if (!known) return fault(`no formatting function for ${typeOf(value).name}`);
  const text = classicText(value);
  if (text instanceof Fault) return text;
  if (typeof value === "string") return goQuote(text);
  return value instanceof Uint8Array ? `b${goQuote(text)}` : text;
}

function isListed(value: CelValue): boolean {
  return (
    value instanceof CelList ||
    value instanceof CelMap ||
    value instanceof Uint ||
    value instanceof Uint8Array ||
    value instanceof TypeValue
  );
}

function classicList(list: CelList): string | Fault {
  const parts: string[] = [];
  for (const element of list) {
    const text = classicElement(element);
    if (text instanceof Fault) return text;
    parts.push(text);
  }
  return `[${parts.join(", ")}]`;
}

function classicMap(map: CelMap): string | Fault {
  const entries: [string, string][] = [];
  for (const key of map.keys()) {
    if (typeof key === "object" && !(key instanceof Uint)) {
      return fault(`no formatting function for map key of type ${typeOf(key).name}`);
    }
    const keyText = classicElement(key);
    const value = map.find(key);
    if (value === undefined) return fault(`could not find key: ${goQuote(String(key))}`);
    const valueText = classicElement(value);
    if (keyText instanceof Fault) return keyText;
    if (valueText instanceof Fault) return valueText;
    entries.push([keyText, valueText]);
  }
  entries.sort((a, b) => compareStrings(a[0], b[0]));
  return `{${entries.map(([key, value]) => `${key}:${value}`).join(", ")}}`;
}

function plainDouble(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value < 0 ? "-Infinity" : "Infinity";
  return Object.is(value, -0) ? "-0" : plainDecimal(value);
}

function plainText(value: CelValue): string | Fault {
  effort.steps += 2;
  if (value === null) return "null";
  if (value instanceof Fault) return value;
  if (value instanceof Double) return plainDouble(value.value);
  if (value instanceof Timestamp) return formatTimestamp(value, 0);
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (value instanceof CelList) {
    const parts: string[] = [];
    for (const element of value) {
      const text = plainText(element);
      if (text instanceof Fault) return text;
      parts.push(text);
    }
    return `[${parts.join(", ")}]`;
  }
  if (value instanceof CelMap) return plainMap(value);
  const text = toText(value);
  return typeof text === "string" ? text : refuse(value, textRefusal);
}

function plainMap(map: CelMap): string | Fault {
  const entries: [string, string][] = [];
  for (const key of map.keys()) {
    const keyText = plainText(key);
    const valueText = plainText(map.find(key) ?? null);
    if (keyText instanceof Fault) return keyText;
    if (valueText instanceof Fault) return valueText;
    entries.push([keyText, valueText]);
  }
  entries.sort((a, b) => compareStrings(a[0], b[0]));
  return `{${entries.map(([key, value]) => `${key}: ${value}`).join(", ")}}`;
}

const accepted: Readonly<Record<FormatEdition, Readonly<Record<Lowercase<Verb>, readonly TypeKind[]>>>> = {
  classic: {
    s: [],
    d: ["int", "uint"],
    f: ["double", "string"],
    e: ["double", "string"],
    b: ["int", "uint", "bool"],
    x: ["int", "uint", "string", "bytes"],
    o: ["int", "uint"],
  },
  plain: {
    s: [],
    d: ["int", "uint", "double"],
    f: ["int", "uint", "double"],
    e: ["int", "uint", "double"],
    b: ["int", "uint", "bool"],
    x: ["int", "uint", "string", "bytes"],
    o: ["int", "uint"],
  },
};

const textual: ReadonlySet<TypeKind> = new Set<TypeKind>([
  "list",
  "map",
  "int",
  "uint",
  "double",
  "bool",
  "string",
  "timestamp",
  "bytes",
  "duration",
  "type",
  "null",
]);

/** Checks every call whose text and arguments are written out. */
export function validateFormatCalls(
  checked: CheckedExpr,
  report: (id: number, message: string) => void,
): void {
  const edition = editionOf(checked);
  if (edition === undefined) return;
  walk(checked.expr, (expr) => {
    const call = literalFormatCall(checked, expr);
    if (call !== undefined) validateCall(checked, call, edition, report);
  });
}

function editionOf(checked: CheckedExpr): FormatEdition | undefined {
  const overload = checked.environment.function("format")?.overloads.find(({ id }) => id === "string_format");
  if (overload === undefined) return undefined;
  return editions.get(overload) ?? "plain";
}

/** Which edition an environment's `format` is of. */
export const editions = new WeakMap<object, FormatEdition>();

interface LiteralCall {
  readonly call: CallExpr;
  readonly text: string;
  readonly args: ListExpr;
}

function literalFormatCall(checked: CheckedExpr, expr: Expr): LiteralCall | undefined {
  if (expr.kind !== "call" || expr.fn !== "format" || expr.target?.kind !== "literal") return undefined;
  const [args] = expr.args;
  const text = expr.target.value;
  if (typeof text !== "string" || args?.kind !== "list" || expr.args.length !== 1) return undefined;
  const reference = checked.reference(expr.id);
  if (reference?.kind !== "call" || !reference.overloads.some(({ id }) => id === "string_format")) {
    return undefined;
  }
  return { call: expr, text, args };
}

function validateCall(
  checked: CheckedExpr,
  { call, text, args }: LiteralCall,
  edition: FormatEdition,
  report: (id: number, message: string) => void,
): void {
  const pieces = parseFormat(text, args.elements.length);
  if (typeof pieces === "string") {
    report(call.id, pieces);
    return;
  }
  let next = 0;
  for (const piece of pieces) {
    if (typeof piece === "string") continue;
    const arg = args.elements[next++] as Expr;
    const verb = piece.verb.toLowerCase() as Lowercase<Verb>;
    const bad = verb === "s" ? unprintable(checked, arg) : wrongKind(checked, arg, accepted[edition][verb]);
    if (bad === undefined) continue;
    const given = checked.typeOf(bad).name;
    report(bad, `error during formatting: ${refusals[verb][edition]}, was given ${given}`);
    return;
  }
  if (args.elements.length > next) {
    report(
      call.id,
      `too many arguments supplied to string.format (expected ${next}, got ${args.elements.length})`,
    );
  }
}

function wrongKind(checked: CheckedExpr, arg: Expr, kinds: readonly TypeKind[]): number | undefined {
  const type: CelType = checked.typeOf(arg.id);
  return type.kind === "dyn" || kinds.includes(type.kind) ? undefined : arg.id;
}

function unprintable(checked: CheckedExpr, arg: Expr): number | undefined {
  const type = checked.typeOf(arg.id);
  if (type.kind !== "dyn" && !textual.has(type.kind)) return arg.id;
  const parts =
    arg.kind === "list"
      ? arg.elements
      : arg.kind === "map"
        ? arg.entries.flatMap((entry) => [entry.key, entry.value])
        : [];
  for (const part of parts) {
    const bad = unprintable(checked, part);
    if (bad !== undefined) return bad;
  }
  return undefined;
}
