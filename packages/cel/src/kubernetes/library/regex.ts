/** What a pattern finds in a string: find and findAll. */

import { regexCost, regexLengthFactor, sizeOf, stringTraversalFactor } from "../../check/cost.ts";
import { type CostModel, type Library, member } from "../../check/functions.ts";
import { noSuchOverload } from "../../values/compare.ts";
import { fixed, plus, scale, times } from "../../values/cost-range.ts";
import { EffortExceeded, matchBudget } from "../../values/effort.ts";
import { compilePattern } from "../../values/regex.ts";
import { listType, types } from "../../values/types.ts";
import { ArrayList, type CelValue, Fault, fault } from "../../values/values.ts";

const { int, string } = types;

/** At most `limit` matches, all when negative. */
function matchesOf(text: string, pattern: string, limit: number): string[] | Fault {
  const compiled = compilePattern(pattern);
  if (compiled instanceof Fault) return fault(`Illegal regex: ${compiled.message}`);
  const found = matchBudget().find(compiled, text, limit);
  if (found === undefined) throw new EffortExceeded();
  return found;
}

function find([text, pattern]: readonly CelValue[]): CelValue {
  if (typeof text !== "string" || typeof pattern !== "string") return noSuchOverload;
  const found = matchesOf(text, pattern, 1);
  return found instanceof Fault ? found : (found[0] ?? "");
}

function findAll([text, pattern, limit = -1]: readonly CelValue[]): CelValue {
  if (typeof text !== "string" || typeof pattern !== "string") return noSuchOverload;
  const found = matchesOf(text, pattern, Number(limit));
  return found instanceof Fault ? found : new ArrayList(found);
}

const cost: CostModel = {
  before: (args) => regexCost(args[0] as CelValue, sizeOf(args[1] as CelValue)),
  estimate: ({ target, args, size }) => {
    if (target === undefined || args[0] === undefined) return undefined;
    const text = size(target);
    const own = times(
      scale(plus(text, fixed(1)), stringTraversalFactor),
      scale(size(args[0]), regexLengthFactor),
    );
    // At worst every character is a match of its own.
    return { ...own, resultSize: { min: 0, max: text.max } };
  },
};

export const regexLibrary: Library = {
  name: "kubernetes.regex",
  functions: [
    { name: "find", cost, overloads: [member("string_find_string", [string, string], string, find)] },
    {
      name: "findAll",
      cost,
      overloads: [
        member("string_find_all_string", [string, string], listType(string), findAll),
        member("string_find_all_string_int", [string, string, int], listType(string), findAll),
      ],
    },
  ],
};
