/** Named formats of strings: `format.dns1123Label().validate(s)` gives what is wrong with s, if anything. */
import {
  validateDns1035Label,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateLabelValue,
  validateQualifiedName,
} from "@keelson/core";
import { lookupTable, type NameRule, validateGenerateName } from "@keelson/core/internal";
import { regexCost, regexLengthFactor, stringTraversalFactor } from "../../check/cost.ts";
import { type CostModel, type FunctionDecl, type Library, member, overload } from "../../check/functions.ts";
import { noSuchOverload } from "../../values/compare.ts";
import { scale } from "../../values/cost-range.ts";
import { type CelType, listType, objectType, optionalType, types } from "../../values/types.ts";
import { ArrayList, type CelValue, type Fault, Opaque, Optional } from "../../values/values.ts";
import { unitCost } from "./costs.ts";
import { parseFormattedDate } from "./string-formats.ts";
import { checkRequestUri } from "./url-text.ts";

const { string } = types;

const maxNameBytes = 64;
const formatType: CelType = {
  ...objectType("kubernetes.NamedFormat"),
  equalityCost: () => scale({ min: 1, max: maxNameBytes }, stringTraversalFactor),
};

type Check = (text: string) => readonly string[];

class FormatValue extends Opaque {
  readonly type = formatType;
  readonly name: string;
  readonly check: Check;
  /** The length of the pattern that checking amounts to, for cost. */
  readonly patternLength: number;

  constructor(name: string, patternLength: number, check: Check) {
    super();
    this.name = name;
    this.patternLength = patternLength;
    this.check = check;
  }

  equals(other: CelValue): boolean | Fault {
    return other instanceof FormatValue ? this.name === other.name : noSuchOverload;
  }
}

function asPrefix(rule: NameRule): Check {
  return (text) => validateGenerateName(text, rule);
}

function satisfying(test: (text: string) => boolean, complaint: string): Check {
  return (text) => (test(text) ? [] : [complaint]);
}

const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/;
const timeOfDay = /^(\d{2}):(\d{2}):(\d{2})(?:.[0-9]+)?(?:z|[+-]\d{2}:\d{2})$/;

function isDateTime(text: string): boolean {
  const [date = "", time = ""] = text.toLowerCase().split("t");
  const match = timeOfDay.exec(time);
  if (parseFormattedDate(date) === undefined || match === null) return false;
  return (match[1] ?? "") <= "23" && (match[2] ?? "") <= "59" && (match[3] ?? "") <= "59";
}

const dateTimePatternLength = 71;

const formats: Readonly<Record<string, FormatValue>> = lookupTable({
  dns1123Label: new FormatValue("DNS1123Label", 30, validateDns1123Label),
  dns1123Subdomain: new FormatValue("DNS1123Subdomain", 60, validateDns1123Subdomain),
  dns1035Label: new FormatValue("DNS1035Label", 30, validateDns1035Label),
  qualifiedName: new FormatValue("QualifiedName", 60, validateQualifiedName),
  dns1123LabelPrefix: new FormatValue("DNS1123LabelPrefix", 30, asPrefix(validateDns1123Label)),
  dns1123SubdomainPrefix: new FormatValue("DNS1123SubdomainPrefix", 60, asPrefix(validateDns1123Subdomain)),
  dns1035LabelPrefix: new FormatValue("DNS1035LabelPrefix", 30, asPrefix(validateDns1035Label)),
  labelValue: new FormatValue("LabelValue", 40, validateLabelValue),
  uri: new FormatValue("URI", 1103, (text) => {
    const refused = checkRequestUri(text);
    return refused === undefined ? [] : [refused.message];
  }),
  uuid: new FormatValue(
    "uuid",
    70,
    satisfying((text) => uuid.test(text), "does not match the UUID format"),
  ),
  byte: new FormatValue(
    "byte",
    84,
    satisfying((text) => base64.test(text), "invalid base64"),
  ),
  date: new FormatValue(
    "date",
    dateTimePatternLength,
    satisfying((text) => parseFormattedDate(text) !== undefined, "invalid date"),
  ),
  datetime: new FormatValue("datetime", dateTimePatternLength, satisfying(isDateTime, "invalid datetime")),
});

/** The estimate does not know the format yet and takes a long pattern. */
const longPattern = 128;

const validateCost: CostModel = {
  before: ([format, text]) =>
    format instanceof FormatValue ? regexCost(text as CelValue, format.patternLength) : 1,
  estimate: ({ args, size }) => {
    if (args[0] === undefined) return undefined;
    return scale(scale(size(args[0]), stringTraversalFactor), longPattern * regexLengthFactor);
  },
};

const functions: FunctionDecl[] = [
  {
    name: "validate",
    cost: validateCost,
    overloads: [
      member(
        "format-validate",
        [formatType, string],
        optionalType(listType(string)),
        ([format, text]: readonly CelValue[]) => {
          if (!(format instanceof FormatValue) || typeof text !== "string") return noSuchOverload;
          const complaints = format.check(text);
          return complaints.length === 0 ? Optional.none : Optional.of(new ArrayList(complaints));
        },
      ),
    ],
  },
  {
    name: "format.named",
    cost: unitCost,
    overloads: [
      overload("format-named", [string], optionalType(formatType), ([name]) => {
        if (typeof name !== "string") return noSuchOverload;
        const format = Object.hasOwn(formats, name) ? formats[name] : undefined;
        return format === undefined ? Optional.none : Optional.of(format);
      }),
    ],
  },
  ...Object.entries(formats).map(([name, format]) => ({
    name: `format.${name}`,
    overloads: [overload(`format.${name}`, [], formatType, () => format)],
  })),
];

export const formatLibrary: Library = { name: "kubernetes.format", functions };
