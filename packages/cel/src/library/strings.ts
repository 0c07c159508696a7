/** The string functions beyond the standard ones: charAt, split, join, format and the rest. */
import { byteLength, lookupTable } from "@keelson/core/internal";
import { sizeOf, stringTraversalFactor, traversal } from "../check/cost.ts";
import {
  type CostModel,
  type FunctionDecl,
  type Library,
  member,
  type Overload,
  overload,
} from "../check/functions.ts";
import { codePointLength, codePoints, joinPoints } from "../values/code-points.ts";
import { noSuchOverload } from "../values/compare.ts";
import { fixed, plus, type SizeRange, scale, times, unbounded } from "../values/cost-range.ts";
import { maxLength, tooLong } from "../values/operators.ts";
import { listType, types } from "../values/types.ts";
import { ArrayList, CelList, type CelValue, Fault, fault } from "../values/values.ts";
import { collectionCost, elementOf } from "./list-cost.ts";
import { editions, type FormatEdition, formatString } from "./string-format.ts";

const { dyn, int, string } = types;
const strings = listType(string);

type Args = readonly CelValue[];

function outOfRange(index: CelValue): CelValue {
  return fault(`index out of range: ${String(index)}`);
}

function charAt([text, at]: Args): CelValue {
  if (typeof text !== "string") return noSuchOverload;
  const points = codePoints(text);
  const index = Number(at);
  if (index < 0 || index > points.length) return outOfRange(at as CelValue);
  return points[index] ?? "";
}

function indexOf([text, part, from]: Args): CelValue {
  if (typeof text !== "string" || typeof part !== "string") return noSuchOverload;
  const offset = from ?? 0;
  if (part === "") return offset;
  const [haystack, needle] = [codePoints(text), codePoints(part)];
  const start = Number(offset);
  if (start < 0) return outOfRange(offset);
  for (let i = start; i <= haystack.length - needle.length; i++) if (startsAt(haystack, needle, i)) return i;
  return -1;
}

function lastIndexOf([text, part, from]: Args): CelValue {
  if (typeof text !== "string" || typeof part !== "string") return noSuchOverload;
  const [haystack, needle] = [codePoints(text), codePoints(part)];
  if (part === "") return from ?? haystack.length;
  if (from === undefined && byteLength(text) < byteLength(part)) return -1;
  const start = from === undefined ? haystack.length - 1 : Number(from);
  if (start < 0) return outOfRange(from ?? start);
  if (start >= haystack.length) return -1;
  for (let i = Math.min(start, haystack.length - needle.length); i >= 0; i--) {
    if (startsAt(haystack, needle, i)) return i;
  }
  return -1;
}

function startsAt(haystack: string | string[], needle: string | string[], at: number): boolean {
  for (let i = 0; i < needle.length; i++) if (haystack[at + i] !== needle[i]) return false;
  return true;
}

function substring([text, from, to]: Args): CelValue {
  if (typeof text !== "string") return noSuchOverload;
  const points = codePoints(text);
  const start = Number(from);
  const end = to === undefined ? points.length : Number(to);
  if (to !== undefined && start > end) {
    return fault(`invalid substring range. start: ${String(from)}, end: ${String(to)}`);
  }
  if (start < 0 || start > points.length) return outOfRange(from as CelValue);
  if (end < 0 || end > points.length) return outOfRange(to as CelValue);
  return joinPoints(points.slice(start, end));
}

function replace([text, old, by, limit]: Args): CelValue {
  if (typeof text !== "string" || typeof old !== "string" || typeof by !== "string") return noSuchOverload;
  const most = limit === undefined ? -1 : Number(limit);
  if (most === 0 || old === by) return text;
  const pieces = splitAt(text, old, most < 0 ? Number.POSITIVE_INFINITY : most);
  if (text.length + (pieces.length - 1) * (by.length - old.length) > maxLength) return tooLong;
  return pieces.join(by);
}

/** The parts between at most `cuts` occurrences; the empty text occurs before every character and at the end. */
function splitAt(text: string, separator: string, cuts: number): string[] {
  if (separator === "") {
    const points = codePoints(text);
    const parts: string[] = [""];
    let i = 0;
    for (; i < points.length && parts.length <= cuts - 1; i++) parts.push(points[i] as string);
    const rest = joinPoints(points.slice(i));
    if (parts.length <= cuts) parts.push(rest);
    else parts[parts.length - 1] += rest;
    return parts;
  }
  if (cuts === Number.POSITIVE_INFINITY) return text.split(separator);
  const parts: string[] = [];
  let at = 0;
  while (parts.length < cuts) {
    const next = text.indexOf(separator, at);
    if (next < 0) break;
    parts.push(text.slice(at, next));
    at = next + separator.length;
  }
  parts.push(text.slice(at));
  return parts;
}

function split([text, separator, limit]: Args): CelValue {
  if (typeof text !== "string" || typeof separator !== "string") return noSuchOverload;
  const most = limit === undefined ? -1 : Number(limit);
  if (most === 0) return new ArrayList([]);
  if (separator === "") return new ArrayList(characters(text, most));
  return new ArrayList(splitAt(text, separator, most < 0 ? Number.POSITIVE_INFINITY : most - 1));
}

function characters(text: string, most: number): string[] {
  const points = [...text];
  if (most < 0 || most >= points.length) return points;
  return [...points.slice(0, most - 1), points.slice(most - 1).join("")];
}

const whiteSpace = /\p{White_Space}/u;

function trim([text]: Args): CelValue {
  if (typeof text !== "string") return noSuchOverload;
  // White space as Unicode has it; a byte order mark, which JavaScript trims too, is none.
  let start = 0;
  let end = text.length;
  while (start < end && whiteSpace.test(text[start] as string)) start++;
  while (end > start && whiteSpace.test(text[end - 1] as string)) end--;
  return text.slice(start, end);
}

function lowerAscii([text]: Args): CelValue {
  return typeof text === "string" ? text.replace(/[A-Z]+/g, (part) => part.toLowerCase()) : noSuchOverload;
}

function upperAscii([text]: Args): CelValue {
  return typeof text === "string" ? text.replace(/[a-z]+/g, (part) => part.toUpperCase()) : noSuchOverload;
}

function reverse([text]: Args): CelValue {
  return typeof text === "string" ? [...text].reverse().join("") : noSuchOverload;
}

function join([list, separator = ""]: Args): CelValue {
  if (!(list instanceof CelList) || typeof separator !== "string") return noSuchOverload;
  const parts: string[] = [];
  let length = 0;
  for (const part of list) {
    if (typeof part !== "string") return fault(`join: invalid input: ${String(part)}`);
    length += part.length + separator.length;
    if (length > maxLength) return tooLong;
    parts.push(part);
  }
  return parts.join(separator);
}

const quoted: Readonly<Record<string, string>> = lookupTable({
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
});

function quote([text]: Args): CelValue {
  if (typeof text !== "string") return noSuchOverload;
  let out = "";
  for (const character of text.toWellFormed()) out += quoted[character] ?? character;
  return `"${out}"`;
}

/** One pass over the string, which the result resembles in size. */
const onePass: CostModel = {
  before: (args) => traversal(args[0] as CelValue),
  estimate: ({ target, size }) => {
    if (target === undefined) return undefined;
    const resultSize = size(target);
    return { ...scale(resultSize, stringTraversalFactor), resultSize };
  },
};

const replaced: CostModel = {
  before: (args) => traversal(args[0] as CelValue, 2),
  estimate: ({ target, args, size }) => {
    const [old, by] = args;
    if (target === undefined || old === undefined || by === undefined) return undefined;
    const whole = size(target);
    return {
      ...scale(whole, 2 * stringTraversalFactor),
      resultSize: replacedSize(whole, size(old), size(by)),
    };
  },
};

/** The bounds of a string in which some text was replaced by another. */
function replacedSize(whole: SizeRange, old: SizeRange, by: SizeRange): SizeRange {
  let [mostReplaced, mostKept] = [0, 0];
  if (old.min === 0) {
    // Nothing is found everywhere: between all characters, and at both ends.
    mostReplaced = Math.min(whole.max + 1, unbounded);
    mostKept = whole.max;
  } else if (by.max <= old.min) mostKept = whole.max;
  else mostReplaced = Math.ceil(whole.max / old.min);
  let [leastReplaced, leastKept] = [0, 0];
  if (old.max === 0) {
    leastReplaced = Math.min(whole.min + 1, unbounded);
    leastKept = whole.min;
  } else if (old.max <= by.min) leastKept = whole.min;
  else leastReplaced = Math.ceil(whole.min / old.max);
  return plus(times({ min: leastReplaced, max: mostReplaced }, by), { min: leastKept, max: mostKept });
}

const splitCost: CostModel = {
  before: (args) => traversal(args[0] as CelValue, 2),
  estimate: ({ target, args, size }) => {
    if (target === undefined) return undefined;
    const whole = size(target);
    const limit = args[1]?.expr;
    const given = limit?.kind === "literal" && typeof limit.value === "number" ? limit.value : whole.max;
    return {
      ...scale(whole, 2 * stringTraversalFactor),
      resultSize: { min: 0, max: given < 0 ? unbounded : given },
    };
  },
};

const joinCost: CostModel = {
  // What the result will cost is known from the parts, before it is built.
  before: ([list, separator]) => {
    if (!(list instanceof CelList) || separator instanceof Fault) return 1;
    let length = Math.max(0, list.size - 1) * sizeOf(separator ?? "");
    if (separator === undefined) length = 0;
    for (const part of list) length += typeof part === "string" ? codePointLength(part) : 0;
    return Math.ceil(length * 2 * stringTraversalFactor);
  },
  estimate: ({ target, args, size }) => {
    if (target === undefined) return undefined;
    const count = size(target);
    const element = elementOf(target);
    let resultSize: SizeRange = element === undefined ? fixed(0) : times(count, size(element));
    if (args[0] !== undefined) {
      const separators = { min: Math.max(0, count.min - 1), max: Math.max(0, count.max - 1) };
      resultSize = plus(resultSize, times(size(args[0]), separators));
    }
    return { ...scale(resultSize, stringTraversalFactor), resultSize };
  },
};

const formatCost: CostModel = {
  before: (args) => traversal(args[0] as CelValue),
  estimate: ({ target, size }) =>
    target === undefined ? undefined : scale(size(target), stringTraversalFactor),
};

const quoteCost: CostModel = {
  before: (args) => traversal(args[0] as CelValue),
  estimate: ({ args, size }) => {
    if (args[0] === undefined) return undefined;
    const whole = size(args[0]);
    // Without a bound the API server's sum of 64 bits wraps around to nothing; a bound is the only remedy there.
    const resultSize = { min: whole.min + 2, max: whole.max >= unbounded ? 0 : whole.max * 2 + 2 };
    return { ...scale(whole, stringTraversalFactor), resultSize };
  },
};

function formatOverload(edition: FormatEdition): Overload {
  const made = member(
    "string_format",
    [string, listType(dyn)],
    string,
    ([text, args]) =>
      typeof text === "string" && args instanceof CelList
        ? formatString(text, args, edition)
        : noSuchOverload,
    formatCost,
  );
  editions.set(made, edition);
  return made;
}

const common: readonly FunctionDecl[] = [
  { name: "charAt", overloads: [member("string_char_at_int", [string, int], string, charAt)] },
  {
    name: "indexOf",
    cost: collectionCost,
    overloads: [
      member("string_index_of_string", [string, string], int, indexOf),
      member("string_index_of_string_int", [string, string, int], int, indexOf),
    ],
  },
  {
    name: "lastIndexOf",
    cost: collectionCost,
    overloads: [
      member("string_last_index_of_string", [string, string], int, lastIndexOf),
      member("string_last_index_of_string_int", [string, string, int], int, lastIndexOf),
    ],
  },
  {
    name: "lowerAscii",
    cost: onePass,
    overloads: [member("string_lower_ascii", [string], string, lowerAscii)],
  },
  {
    name: "upperAscii",
    cost: onePass,
    overloads: [member("string_upper_ascii", [string], string, upperAscii)],
  },
  { name: "trim", cost: onePass, overloads: [member("string_trim", [string], string, trim)] },
  {
    name: "replace",
    cost: replaced,
    overloads: [
      member("string_replace_string_string", [string, string, string], string, replace),
      member("string_replace_string_string_int", [string, string, string, int], string, replace),
    ],
  },
  {
    name: "split",
    cost: splitCost,
    overloads: [
      member("string_split_string", [string, string], strings, split),
      member("string_split_string_int", [string, string, int], strings, split),
    ],
  },
  {
    name: "substring",
    cost: onePass,
    overloads: [
      member("string_substring_int", [string, int], string, substring),
      member("string_substring_int_int", [string, int, int], string, substring),
    ],
  },
  {
    name: "join",
    cost: joinCost,
    overloads: [
      member("list_join", [strings], string, join),
      member("list_join_string", [strings, string], string, join),
    ],
  },
  {
    name: "strings.quote",
    overloads: [overload("strings_quote", [string], string, quote, quoteCost)],
  },
];

/** Version 2, as Kubernetes has it. */
export const kubernetesStrings: Library = {
  name: "strings",
  functions: [...common, { name: "format", overloads: [formatOverload("classic")] }],
};

/** The newest version. */
export const stringsLibrary: Library = {
  name: "strings",
  functions: [
    ...common,
    { name: "format", overloads: [formatOverload("plain")] },
    { name: "reverse", overloads: [member("string_reverse", [string], string, reverse)] },
  ],
};
