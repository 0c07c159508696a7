/** Label and field selectors: parse, match, print, in the API server's grammar and with its messages. */

import { CoreError } from "./errors.ts";
import { goQuote } from "./go-quote.ts";
import { compareBytes } from "./json.ts";
import { lookupTable } from "./lookup-table.ts";
import { validateLabelValue, validateQualifiedName } from "./names.ts";

/** Operators of label selectors. */
export type LabelOperator = "=" | "==" | "!=" | "in" | "notin" | "exists" | "!" | "gt" | "lt";

/** One term of a label selector. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  /** Without duplicates; in byte order when parsed from text. */
  readonly values: readonly string[];
}

/** All requirements must hold; none means everything. `nothing` matches no object at all. */
export interface LabelSelector {
  readonly requirements: readonly LabelRequirement[];
  readonly nothing?: true;
}

/** A label selector as it stands in an object. */
export interface LabelSelectorObject {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

/** The selector that matches every object. */
export const everything: LabelSelector = Object.freeze({ requirements: [] });
/** The selector that matches no object. */
export const nothing: LabelSelector = Object.freeze({ requirements: [], nothing: true });

type Labels = Readonly<Record<string, string | undefined>> | null | undefined;
type Token = { readonly kind: string; readonly text: string };

const binaryOperators = "in, notin, =, ==, !=, gt, lt";
const specials = new Set(["=", "!", "(", ")", ",", ">", "<"]);
const symbols = new Set([")", ",", "!", "==", "=", ">", "<", "!=", "("]);
const operatorOf: Record<string, LabelOperator> = lookupTable({
  "=": "=",
  "==": "==",
  "!=": "!=",
  in: "in",
  notin: "notin",
  ">": "gt",
  "<": "lt",
});

function fail(message: string): never {
  throw new CoreError("InvalidSelector", message);
}

function isSpace(character: string): boolean {
  return character === " " || character === "\t" || character === "\r" || character === "\n";
}

/** A NUL ends the text, as it does for the API server's scanner. */
function scan(text: string): Token[] {
  const tokens: Token[] = [];
  const end = text.includes("\0") ? text.indexOf("\0") : text.length;
  let at = 0;
  while (at < end) {
    const character = text[at] as string;
    if (isSpace(character)) {
      at++;
      continue;
    }
    let word = "";
    if (specials.has(character)) {
      let best = "";
      while (at < end && specials.has(text[at] as string)) {
        word += text[at];
        if (symbols.has(word)) best = word;
        else if (best !== "") break;
        at++;
      }
      tokens.push(
        best === ""
          ? { kind: "error", text: `error expected: keyword found '${word}'` }
          : { kind: best, text: best },
      );
      continue;
    }
    while (at < end && !specials.has(text[at] as string) && !isSpace(text[at] as string)) word += text[at++];
    tokens.push({ kind: word === "in" || word === "notin" ? word : "identifier", text: word });
  }
  tokens.push({ kind: "end", text: "" });
  return tokens;
}

class LabelParser {
  readonly #tokens: Token[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = scan(text);
  }

  parse(): LabelRequirement[] {
    const requirements: LabelRequirement[] = [];
    for (;;) {
      const token = this.#peek();
      if (token.kind === "end") return requirements;
      if (token.kind !== "identifier" && token.kind !== "!") {
        fail(`found '${token.text}', expected: !, identifier, or 'end of string'`);
      }
      requirements.push(this.#requirement());
      const next = this.#take();
      if (next.kind === "end") return requirements;
      if (next.kind !== ",") fail(`found '${next.text}', expected: ',' or 'end of string'`);
      const after = this.#peek();
      if (after.kind !== "identifier" && after.kind !== "!") {
        fail(`found '${after.text}', expected: identifier after ','`);
      }
    }
  }

  /** `in` and `notin` are words where a key or a value is due. */
  #peek(): Token {
    const token = this.#tokens[Math.min(this.#at, this.#tokens.length - 1)] as Token;
    return token.kind === "in" || token.kind === "notin" ? { kind: "identifier", text: token.text } : token;
  }

  #take(): Token {
    const token = this.#peek();
    this.#at++;
    return token;
  }

  #requirement(): LabelRequirement {
    try {
      return this.#requirementUnwrapped();
    } catch (error) {
      if (!(error instanceof CoreError)) throw error;
      return fail(`unable to parse requirement: ${error.message}`);
    }
  }

  #requirementUnwrapped(): LabelRequirement {
    let token = this.#take();
    const negated = token.kind === "!";
    if (negated) token = this.#take();
    if (token.kind !== "identifier") fail(`found '${token.text}', expected: identifier`);
    const key = token.text;
    const problems = validateQualifiedName(key);
    if (problems.length > 0) fail(invalid("<nil>", key, problems));
    const next = this.#peek();
    // A word after `!key` stays unread: the caller then reports it as unexpected.
    if (negated) return labelRequirement(key, "!", []);
    if (next.kind === "end" || next.kind === ",") return labelRequirement(key, "exists", []);
    const raw = this.#tokens[Math.min(this.#at, this.#tokens.length - 1)] as Token;
    this.#at++;
    const operator = operatorOf[raw.kind];
    if (operator === undefined) fail(`found '${raw.text}', expected: ${binaryOperators}`);
    const values = operator === "in" || operator === "notin" ? this.#valueSet() : this.#exactValue();
    return labelRequirement(key, operator, [...new Set(values)].sort(compareBytes));
  }

  #valueSet(): string[] {
    const open = this.#take();
    if (open.kind !== "(") fail(`found '${open.text}' expected: '('`);
    const first = this.#peek();
    if (first.kind === ")") {
      this.#at++;
      return [""];
    }
    if (first.kind !== "identifier" && first.kind !== ",") {
      fail(`found '${first.text}', expected: ',', ')' or identifier`);
    }
    const values: string[] = [];
    for (;;) {
      const token = this.#take();
      if (token.kind === "identifier") {
        values.push(token.text);
        const next = this.#peek();
        if (next.kind === ")") break;
        if (next.kind !== ",") fail(`found '${next.text}', expected: ',' or ')'`);
      } else if (token.kind === ",") {
        if (values.length === 0) values.push("");
        const next = this.#peek();
        if (next.kind === ")" || next.kind === ",") values.push("");
        if (next.kind === ")") break;
      } else {
        fail(`found '${token.text}', expected: ',', or identifier`);
      }
    }
    this.#at++;
    return values;
  }

  #exactValue(): string[] {
    const next = this.#peek();
    if (next.kind === "end" || next.kind === ",") return [""];
    this.#at++;
    if (next.kind !== "identifier") fail(`found '${next.text}', expected: identifier`);
    return [next.text];
  }
}

function invalid(path: string, value: string | readonly string[], problems: readonly string[]): string {
  const shown =
    typeof value === "string" ? goQuote(value) : value.length === 0 ? "null" : JSON.stringify(value);
  return `${path}: Invalid value: ${shown}: ${problems.join("; ")}`;
}

const integer64 = /^[+-]?\d+$/;

function parseInt64(text: string): bigint | undefined {
  if (!integer64.test(text)) return undefined;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

/** A requirement, checked as the API server checks it. Throws a {@link CoreError} with its wording. */
export function labelRequirement(
  key: string,
  operator: LabelOperator,
  values: readonly string[],
): LabelRequirement {
  const problems: string[] = [];
  const keyProblems = validateQualifiedName(key);
  if (keyProblems.length > 0) problems.push(invalid("key", key, keyProblems));
  switch (operator) {
    case "in":
    case "notin":
      if (values.length === 0)
        problems.push(invalid("values", values, ["for 'in', 'notin' operators, values set can't be empty"]));
      break;
    case "=":
    case "==":
    case "!=":
      if (values.length !== 1)
        problems.push(invalid("values", values, ["exact-match compatibility requires one single value"]));
      break;
    case "exists":
    case "!":
      if (values.length !== 0)
        problems.push(invalid("values", values, ["values set must be empty for exists and does not exist"]));
      break;
    default:
      if (values.length !== 1)
        problems.push(invalid("values", values, ["for 'Gt', 'Lt' operators, exactly one value is required"]));
      values.forEach((value, i) => {
        if (parseInt64(value) === undefined)
          problems.push(
            invalid(`values[${i}]`, value, ["for 'Gt', 'Lt' operators, the value must be an integer"]),
          );
      });
  }
  values.forEach((value, i) => {
    const valueProblems = validateLabelValue(value);
    if (valueProblems.length > 0) problems.push(invalid(`values[${i}][${key}]`, value, valueProblems));
  });
  const distinct = [...new Set(problems)];
  if (distinct.length > 0) fail(distinct.length === 1 ? (distinct[0] as string) : `[${distinct.join(", ")}]`);
  return { key, operator, values };
}

function byKey(a: LabelRequirement, b: LabelRequirement): number {
  return compareBytes(a.key, b.key);
}

/** Parses `a=b,c!=d,e in (f,g),!h,i`. Throws a {@link CoreError} with the API server's message. */
export function parseLabelSelector(text: string): LabelSelector {
  return { requirements: new LabelParser(text).parse().sort(byKey) };
}

const objectOperators: Record<string, LabelOperator> = lookupTable({
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "!",
});

/** The selector an object carries. Absent means nothing, empty means everything. */
export function labelSelectorFrom(object: LabelSelectorObject | null | undefined): LabelSelector {
  if (object === null || object === undefined) return nothing;
  const requirements: LabelRequirement[] = [];
  for (const [key, value] of Object.entries(object.matchLabels ?? {})) {
    requirements.push(labelRequirement(key, "=", [value]));
  }
  for (const expression of object.matchExpressions ?? []) {
    const operator = objectOperators[expression.operator];
    if (operator === undefined) {
      fail(`${goQuote(expression.operator)} is not a valid label selector operator`);
    }
    requirements.push(labelRequirement(expression.key, operator, expression.values ?? []));
  }
  return { requirements: requirements.sort(byKey) };
}

/** A selector that requires exactly these labels. */
export function labelSelectorFromLabels(labels: Readonly<Record<string, string>>): LabelSelector {
  return {
    requirements: Object.entries(labels)
      .map(([key, value]): LabelRequirement => ({ key, operator: "=", values: [value] }))
      .sort(byKey),
  };
}

function requirementMatches(requirement: LabelRequirement, labels: Labels): boolean {
  const { key, operator, values } = requirement;
  const value = labels && Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "=":
    case "==":
    case "in":
      return value !== undefined && values.includes(value);
    case "!=":
    case "notin":
      return value === undefined || !values.includes(value);
    case "exists":
      return value !== undefined;
    case "!":
      return value === undefined;
    default: {
      const left = value === undefined ? undefined : parseInt64(value);
      const right = parseInt64(values[0] ?? "");
      if (left === undefined || right === undefined) return false;
      return operator === "gt" ? left > right : left < right;
    }
  }
}

/** Whether the labels match the selector. */
export function matchesLabels(selector: LabelSelector, labels: Labels): boolean {
  if (selector.nothing) return false;
  for (const requirement of selector.requirements) {
    if (!requirementMatches(requirement, labels)) return false;
  }
  return true;
}

function formatRequirement({ key, operator, values }: LabelRequirement): string {
  const list = values.length === 1 ? values[0] : [...values].sort(compareBytes).join(",");
  switch (operator) {
    case "!":
      return `!${key}`;
    case "exists":
      return key;
    case "in":
    case "notin":
      return `${key} ${operator} (${list})`;
    case "gt":
      return `${key}>${list}`;
    case "lt":
      return `${key}<${list}`;
    default:
      return `${key}${operator}${list}`;
  }
}

/** The selector as a query parameter; parsing it again gives the same selector. */
export function formatLabelSelector(selector: LabelSelector): string {
  return selector.requirements.map(formatRequirement).join(",");
}

/** The one value that the selector demands of a label, if it demands exactly one. */
export function requiredLabelValue(selector: LabelSelector, key: string): string | undefined {
  const requirement = selector.requirements.find((candidate) => candidate.key === key);
  if (requirement === undefined || requirement.values.length !== 1) return undefined;
  return requirement.operator === "=" || requirement.operator === "==" || requirement.operator === "in"
    ? requirement.values[0]
    : undefined;
}

/** One term of a field selector. */
export interface FieldRequirement {
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

/** All requirements must hold; none means everything. */
export interface FieldSelector {
  readonly requirements: readonly FieldRequirement[];
}

function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === ",") {
      terms.push(text.slice(start, i));
      start = i + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

function unescapeFieldValue(text: string): string {
  let out = "";
  for (let i = 0; i < text.length; i++) {
    const character = text[i] as string;
    if (character === "\\") {
      const next = [...text.slice(i + 1, i + 3)][0];
      if (next !== "\\" && next !== "," && next !== "=") {
        fail(`invalid field selector: invalid escape sequence: \\${next ?? ""}`);
      }
      out += next;
      i++;
    } else if (character === "," || character === "=") {
      fail(`invalid field selector: unescaped character in value: ${character.charCodeAt(0)}`);
    } else {
      out += character;
    }
  }
  return out;
}

/** A field value made safe for a field selector. */
export function escapeFieldValue(value: string): string {
  return value.replace(/[\\,=]/g, (character) => `\\${character}`);
}

/** Parses `metadata.name=x,status.phase!=y`; commas, equals signs and backslashes in values are escaped by a backslash. */
export function parseFieldSelector(text: string): FieldSelector {
  const requirements: FieldRequirement[] = [];
  for (const term of splitTerms(text).sort(compareBytes)) {
    if (term === "") continue;
    const split = /!=|==|=/.exec(term);
    if (split === null) fail(`invalid selector: '${text}'; can't understand '${term}'`);
    const field = term.slice(0, split.index);
    const value = unescapeFieldValue(term.slice(split.index + split[0].length));
    // A term with neither field nor value demands nothing.
    if (field === "" && value === "") continue;
    requirements.push({ field, operator: split[0] === "!=" ? "!=" : "=", value });
  }
  return { requirements };
}

/** Writes a field selector as the API reads it. */
export function formatFieldSelector(selector: FieldSelector): string {
  return selector.requirements
    .map(({ field, operator, value }) => `${field}${operator}${escapeFieldValue(value)}`)
    .join(",");
}

/** Whether an object matches; `get` reads a field by its path, and an absent field reads as the empty string. */
export function matchesFields(selector: FieldSelector, get: (field: string) => string | undefined): boolean {
  return selector.requirements.every(({ field, operator, value }) =>
    operator === "=" ? (get(field) ?? "") === value : (get(field) ?? "") !== value,
  );
}

/** The value that a selector demands of a field, if it demands one. */
export function requiredFieldValue(selector: FieldSelector, field: string): string | undefined {
  return selector.requirements.find((term) => term.field === field && term.operator === "=")?.value;
}
