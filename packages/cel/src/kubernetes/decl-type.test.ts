import { describe, expect, test } from "vitest";
import { checkRules } from "./check-rules.ts";
import { compileNode } from "./compile-rule.ts";
import { declTypeOf, maxCardinality } from "./decl-type.ts";
import type { RuleSchema } from "./types.ts";

const unboundedString: RuleSchema = { type: "string" };
const shortStrings: RuleSchema = { type: "array", maxItems: 5, items: { type: "string", maxLength: 3 } };
const nestedLists: RuleSchema = {
  type: "array",
  maxItems: 3,
  items: { type: "array", maxItems: 4, items: { type: "integer" } },
};
const datedEntries: RuleSchema = {
  type: "object",
  required: ["a"],
  properties: {
    a: { type: "string" },
    b: {
      type: "array",
      items: { type: "object", required: ["n"], properties: { n: { type: "string", format: "date-time" } } },
    },
  },
};

/** Schema, rule, the highest cost Kubernetes 1.36 estimates, and how often it expects the value in an object. */
const recorded: [schema: RuleSchema, rule: string, maxCost: number, cardinality: number][] = [
  [unboundedString, "self == 'x' + self", 629148, 1048576],
  [{ type: "string", maxLength: 10 }, "self.matches('^[a-z]+$')", 11, 1048576],
  [{ type: "string", enum: ["a", "bcd"] }, "self.contains('b')", 2, 1048576],
  [{ type: "array", items: { type: "string", maxLength: 5 } }, "self.all(x, x == 'a')", 5242877, 1048576],
  [
    { type: "array", maxItems: 10, items: { type: "string", maxLength: 5 } },
    "self.all(x, x == 'abcdefghijklmnopqrstuvwxyz')",
    62,
    1048576,
  ],
  [{ type: "array", items: { type: "integer" } }, "self.exists(x, x > 1)", 9437180, 1048576],
  [
    { type: "object", additionalProperties: { type: "string" } },
    "self.all(k, self[k] == 'a')",
    2752507,
    1048576,
  ],
  [
    { type: "object", maxProperties: 7, additionalProperties: { type: "boolean" } },
    "self.exists(k, v, v)",
    37,
    1048576,
  ],
  [datedEntries, "self.b.all(x, x.n > timestamp('2020-01-01T00:00:00Z'))", 759314, 314572],
  [{ "x-kubernetes-int-or-string": true, maxLength: 8 }, "string(self) == 'x'", 6, 1572864],
  [{ type: "string", format: "byte", maxLength: 9 }, "self == b'abc'", 2, 1048576],
  [{ type: "string", format: "duration" }, "self > duration('1s')", 3, 786432],
  [nestedLists, "self.all(r, r.all(c, c > 0))", 77, 1048576],
  [shortStrings, "self.join(',').size() < 10", 10, 1048576],
  [shortStrings, "self.isSorted() && self.indexOf('a') == 0", 33, 1048576],
  [{ type: "string", maxLength: 20 }, "isIP(self) && ip(self).family() == 4", 20, 1048576],
  [{ type: "string", maxLength: 20 }, "url(self) == url('https://x')", 11, 1048576],
  [{ type: "string", maxLength: 6 }, "self.replace('a', 'bb').split(',').size() < 3", 18, 1048576],
];

describe("the declared type of a schema", () => {
  test.each(recorded)("%j bounds the cost of %s", (schema, rule, maxCost, cardinality) => {
    const decl = declTypeOf(schema, false, "selfType");
    if (decl === undefined) throw new Error("the schema has no type");
    const [compiled] = compileNode([{ rule }], schema, decl);
    expect({ maxCost: compiled?.maxCost, cardinality: maxCardinality(decl.minBytes) }).toEqual({
      maxCost,
      cardinality,
    });
  });

  test("a rule below a list without maxItems is charged for as many elements as a request can carry", () => {
    const rules = [{ rule: "self.contains('b') && self.contains('c') && self.contains('d')" }];
    const list = (maxItems?: number): RuleSchema => ({
      type: "array",
      ...(maxItems === undefined ? {} : { maxItems }),
      items: { type: "string", maxLength: 100, "x-kubernetes-validations": rules },
    });
    expect(checkRules(list(1000), "spec", false)).toEqual([]);
    const details = checkRules(list(), "spec", false).map((error) => `${error.field}: ${error.detail}`);
    expect(details[0]).toMatch(
      /^spec\.items\.x-kubernetes-validations\[0\]\.rule: estimated rule cost exceeds budget/,
    );
  });
});
