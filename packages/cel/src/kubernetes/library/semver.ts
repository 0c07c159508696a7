/** Semantic versions: `semver("1.2.3")`, their parts and order. */
import { goQuote } from "@keelson/core/internal";
import { type FunctionDecl, type Library, member, overload } from "../../check/functions.ts";
import { noSuchOverload } from "../../values/compare.ts";
import { fixed } from "../../values/cost-range.ts";
import { compareInt, type Int, uintFromDecimal } from "../../values/numbers.ts";
import { type CelType, objectType, types } from "../../values/types.ts";
import { type CelValue, Fault, fault, Opaque } from "../../values/values.ts";
import { parseCost, unitCost } from "./costs.ts";

const { bool, int, string } = types;

const semverType: CelType = { ...objectType("kubernetes.Semver"), equalityCost: () => fixed(1) };

interface Version {
  readonly numbers: readonly [major: Int, minor: Int, patch: Int];
  /** The identifiers of a pre-release; build metadata does not count and is not kept. */
  readonly pre: readonly (Int | string)[];
}

class SemverValue extends Opaque {
  readonly type = semverType;
  readonly version: Version;

  constructor(version: Version) {
    super();
    this.version = version;
  }

  equals(other: CelValue): boolean | Fault {
    return other instanceof SemverValue ? compareVersions(this.version, other.version) === 0 : noSuchOverload;
  }
}

const digits = /^\d*$/;
const identifier = /^[0-9A-Za-z-]+$/;

function splitThree(text: string): string[] {
  const parts = text.split(".");
  return parts.length <= 3 ? parts : [parts[0] ?? "", parts[1] ?? "", parts.slice(2).join(".")];
}

function parseVersion(text: string): Version | Fault {
  if (text === "") return fault("Version string empty");
  const [majorText, minorText, rest] = splitThree(text);
  if (majorText === undefined || minorText === undefined || rest === undefined) {
    return fault("No Major.Minor.Patch elements found");
  }
  const plus = rest.indexOf("+");
  const build = plus < 0 ? [] : rest.slice(plus + 1).split(".");
  const core = plus < 0 ? rest : rest.slice(0, plus);
  const dash = core.indexOf("-");
  const preTexts = dash < 0 ? [] : core.slice(dash + 1).split(".");
  const numbers: Int[] = [];
  const texts = { Major: majorText, Minor: minorText, Patch: dash < 0 ? core : core.slice(0, dash) };
  for (const [name, value] of Object.entries(texts)) {
    const number = parseNumber(name, value);
    if (number instanceof Fault) return number;
    numbers.push(number);
  }
  const pre: (Int | string)[] = [];
  for (const part of preTexts) {
    const parsed = parsePre(part);
    if (parsed instanceof Fault) return parsed;
    pre.push(parsed);
  }
  for (const part of build) {
    if (part === "") return fault("Build meta data is empty");
    if (!identifier.test(part)) {
      return fault(`Invalid character(s) found in build meta data ${goQuote(part)}`);
    }
  }
  return { numbers: numbers as [Int, Int, Int], pre };
}

function parseNumber(name: string, text: string): Int | Fault {
  if (!digits.test(text)) {
    return fault(`Invalid character(s) found in ${name.toLowerCase()} number ${goQuote(text)}`);
  }
  if (text.length > 1 && text.startsWith("0")) {
    return fault(`${name} number must not contain leading zeroes ${goQuote(text)}`);
  }
  const problem = text === "" ? "invalid syntax" : "value out of range";
  return uintFromDecimal(text) ?? fault(`strconv.ParseUint: parsing ${goQuote(text)}: ${problem}`);
}

function parsePre(text: string): Int | string | Fault {
  if (text === "") return fault("Prerelease is empty");
  if (/^\d+$/.test(text)) {
    if (text.length > 1 && text.startsWith("0")) {
      return fault(`Numeric PreRelease version must not contain leading zeroes ${goQuote(text)}`);
    }
    return uintFromDecimal(text) ?? fault(`strconv.ParseUint: parsing ${goQuote(text)}: value out of range`);
  }
  return identifier.test(text) ? text : fault(`Invalid character(s) found in prerelease ${goQuote(text)}`);
}

/** Drops a leading `v` and leading zeros, and fills in missing numbers. */
function normalize(text: string): string | Fault {
  const parts = splitThree(text.startsWith("v") ? text.slice(1) : text).map((part) => {
    if (part.length < 2) return part;
    const trimmed = part.replace(/^0+/, "");
    return /^\d/.test(trimmed) ? trimmed : `0${trimmed}`;
  });
  if (parts.length < 3 && /[+-]/.test(parts[parts.length - 1] ?? "")) {
    return fault("short version cannot contain PreRelease/Build meta data");
  }
  while (parts.length < 3) parts.push("0");
  return parts.join(".");
}

function compareVersions(a: Version, b: Version): -1 | 0 | 1 {
  for (const [i, number] of a.numbers.entries()) {
    const order = compareInt(number, b.numbers[i] as Int);
    if (order !== 0) return order;
  }
  // A version with a pre-release comes before the one without.
  if (a.pre.length === 0 || b.pre.length === 0) return compareInt(b.pre.length, a.pre.length);
  for (let i = 0; i < Math.min(a.pre.length, b.pre.length); i++) {
    const order = comparePre(a.pre[i] as Int | string, b.pre[i] as Int | string);
    if (order !== 0) return order;
  }
  return compareInt(a.pre.length, b.pre.length);
}

function comparePre(a: Int | string, b: Int | string): -1 | 0 | 1 {
  const [textA, textB] = [typeof a === "string", typeof b === "string"];
  if (textA !== textB) return textA ? 1 : -1;
  return a < b ? -1 : a > b ? 1 : 0;
}

type Args = readonly CelValue[];

function read([text, normalized = false]: Args): Version | Fault {
  if (typeof text !== "string" || typeof normalized !== "boolean") return noSuchOverload;
  const source = normalized ? normalize(text) : text;
  return source instanceof Fault ? source : parseVersion(source);
}

function toSemver(args: Args): CelValue {
  const version = read(args);
  return version instanceof Fault ? version : new SemverValue(version);
}

function isSemver(args: Args): CelValue {
  return !(read(args) instanceof Fault);
}

function part(name: string, index: 0 | 1 | 2): FunctionDecl {
  const impl = ([value]: Args): CelValue =>
    value instanceof SemverValue ? value.version.numbers[index] : noSuchOverload;
  return { name, cost: unitCost, overloads: [member(`semver_${name}`, [semverType], int, impl)] };
}

function comparison(
  name: string,
  id: string,
  result: CelType,
  run: (order: number) => CelValue,
): FunctionDecl {
  const impl = ([a, b]: Args): CelValue =>
    a instanceof SemverValue && b instanceof SemverValue
      ? run(compareVersions(a.version, b.version))
      : noSuchOverload;
  return { name, cost: unitCost, overloads: [member(id, [semverType, semverType], result, impl)] };
}

export const semverLibrary: Library = {
  name: "kubernetes.semver",
  functions: [
    {
      name: "semver",
      cost: parseCost,
      overloads: [
        overload("string_to_semver", [string], semverType, toSemver),
        overload("string_bool_to_semver", [string, bool], semverType, toSemver),
      ],
    },
    {
      name: "isSemver",
      cost: parseCost,
      overloads: [
        overload("is_semver_string", [string], bool, isSemver),
        overload("is_semver_string_bool", [string, bool], bool, isSemver),
      ],
    },
    comparison("isGreaterThan", "semver_is_greater_than", bool, (order) => order > 0),
    comparison("isLessThan", "semver_is_less_than", bool, (order) => order < 0),
    comparison("compareTo", "semver_compare_to", int, (order) => order),
    part("major", 0),
    part("minor", 1),
    part("patch", 2),
  ],
};
