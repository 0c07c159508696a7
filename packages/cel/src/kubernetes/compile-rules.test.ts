import { describe, expect, test } from "vitest";
import { compileRules } from "./compile-rules.ts";
import { errorText } from "./run-rules.ts";
import type { RuleSchema, ValidateRulesInput, ValidationRule } from "./types.ts";

type Rules = readonly (string | ValidationRule)[];

function withRules(schema: RuleSchema, ...rules: Rules): RuleSchema {
  return {
    ...schema,
    "x-kubernetes-validations": rules.map((rule) => (typeof rule === "string" ? { rule } : rule)),
  };
}

function object(properties: Record<string, RuleSchema>, ...rules: Rules): RuleSchema {
  const schema: RuleSchema = { type: "object", properties };
  return rules.length === 0 ? schema : withRules(schema, ...rules);
}

const integer: RuleSchema = { type: "integer" };
const string: RuleSchema = { type: "string" };

/** Validates a resource whose spec has a schema; says what the API server would. */
function validate(spec: RuleSchema, input: ValidateRulesInput): string[] {
  const old = input.oldSelf === undefined ? {} : { oldSelf: { spec: input.oldSelf } };
  const { errors } = compileRules(object({ spec })).validate({
    ...input,
    self: { spec: input.self },
    ...old,
  });
  return errors.map(errorText);
}

/** Why the API server would refuse a CRD whose spec has a schema. */
function complaints(spec: RuleSchema): string[] {
  return compileRules(object({ spec }), { path: "schema" }).errors.map((error) => errorText(error));
}

describe("a rule that fails", () => {
  test("is reported at its node, with its message or its text", () => {
    const spec = object(
      { min: integer, max: integer },
      { rule: "self.min <= self.max", message: " min must not exceed max " },
      "self.max < 100",
    );
    expect(validate(spec, { self: { min: 500, max: 200 } })).toEqual([
      "spec: Invalid value: min must not exceed max",
      "spec: Invalid value: failed rule: self.max < 100",
    ]);
    expect(validate(spec, { self: { min: 1, max: 2 } })).toEqual([]);
  });

  test("shows a simple value but not an object", () => {
    expect(validate(object({ n: withRules(integer, "self > 1") }), { self: { n: 0 } })).toEqual([
      "spec.n: Invalid value: 0: failed rule: self > 1",
    ]);
  });

  test("names another field and reason when it says so", () => {
    const spec = object(
      { a: string, m: { type: "object", additionalProperties: string } },
      { rule: "self.a == 'x'", reason: "FieldValueForbidden", fieldPath: ".a", message: "no" },
      { rule: "self.a == 'x'", reason: "FieldValueRequired", fieldPath: ".m['k']" },
      { rule: "self.a == 'x'", reason: "FieldValueDuplicate", fieldPath: ".a" },
    );
    expect(validate(spec, { self: { a: "b" } })).toEqual([
      "spec.a: Forbidden: no",
      "spec.m[k]: Required value: failed rule: self.a == 'x'",
      "spec.a: Duplicate value",
    ]);
  });

  test("takes its message from an expression, and falls back when that gives none", () => {
    const rule = (messageExpression: string): RuleSchema =>
      object({ n: withRules(integer, { rule: "self > 1", messageExpression, message: "fallback" }) });
    const self = { n: 0 };
    expect(validate(rule("'got ' + string(self)"), { self })).toEqual(["spec.n: Invalid value: 0: got 0"]);
    expect(validate(rule("'two\\nlines'"), { self })).toEqual(["spec.n: Invalid value: 0: fallback"]);
    expect(validate(rule("string(1 / self)"), { self })).toEqual(["spec.n: Invalid value: 0: fallback"]);
  });
});

describe("a rule that cannot be evaluated", () => {
  test("is reported with the error", () => {
    const spec = object({ a: integer, b: integer }, { rule: "self.a < self.b", message: "order" });
    expect(validate(spec, { self: { a: 1 } })).toEqual([
      'spec: Invalid value: "object": no such key: b evaluating rule: order',
    ]);
  });

  test("says so when types only known at run time do not fit", () => {
    const spec = object({ p: { "x-kubernetes-int-or-string": true } }, "self.p > 5");
    expect(validate(spec, { self: { p: "x" } })).toEqual([
      "spec: Invalid value: \"object\": 'no such overload': call arguments did not match a supported operator, " +
        "function or macro signature for rule: self.p > 5",
    ]);
  });
});

describe("values are read through their schema", () => {
  test("formats become durations, times and bytes", () => {
    const spec = object(
      {
        d: { type: "string", format: "duration" },
        t: { type: "string", format: "date-time" },
        day: { type: "string", format: "date" },
        b: { type: "string", format: "byte" },
      },
      "self.d == duration('336h') && self.t.getFullYear() == 2024 && self.day.getDate() == 29 && self.b == b'hi'",
    );
    const self = { d: "2 weeks", t: "2024-01-02T03:04:05Z", day: "2024-02-29", b: "aGk=" };
    expect(validate(spec, { self })).toEqual([]);
  });

  test("names that expressions cannot spell are escaped", () => {
    const spec = object(
      { "a-b": integer, "c.d/e": integer, if: integer, under__score: integer },
      "self.a__dash__b + self.c__dot__d__slash__e + self.__if__ + self.under__underscores__score == 10",
    );
    expect(validate(spec, { self: { "a-b": 1, "c.d/e": 2, if: 3, under__score: 4 } })).toEqual([]);
  });

  test("a reserved word names its property without an escape too", () => {
    const spec = object({ if: integer, namespace: integer }, "self.if + self.namespace == 3 && has(self.if)");
    expect(validate(spec, { self: { if: 1, namespace: 2 } })).toEqual([]);
  });

  test("a null field is absent, a null element is null", () => {
    const spec = object(
      {
        n: { type: "string", nullable: true },
        l: { type: "array", items: { type: "string", nullable: true } },
      },
      "!has(self.n) && self.l.exists(x, dyn(x) == null)",
    );
    expect(validate(spec, { self: { n: null, l: [null] } })).toEqual([]);
  });

  test("integers keep every digit", () => {
    const spec = object({ n: integer }, "self.n == 9007199254740993");
    const json = JSON as unknown as { rawJSON(digits: string): unknown };
    expect(validate(spec, { self: { n: json.rawJSON("9007199254740993") } })).toEqual([]);
  });

  test("sets and keyed lists are compared without regard to order", () => {
    const keyed: RuleSchema = {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
      items: object({ k: string, v: integer }),
    };
    const spec = object(
      { s: { type: "array", "x-kubernetes-list-type": "set", items: string }, m: keyed },
      "self == oldSelf",
      "(self.s + ['a', 'c']).size() == 3",
      "(self.m + oldSelf.m).size() == 2",
    );
    const self = {
      s: ["a", "b"],
      m: [
        { k: "x", v: 1 },
        { k: "y", v: 2 },
      ],
    };
    const oldSelf = {
      s: ["b", "a"],
      m: [
        { k: "y", v: 2 },
        { k: "x", v: 1 },
      ],
    };
    expect(validate(spec, { self, oldSelf })).toEqual([]);
  });

  test("a resource has its name and kind whatever its schema says", () => {
    const rules = compileRules(object({}, "self.metadata.name.startsWith('a') && self.kind == 'Widget'"));
    const self = { apiVersion: "v1", kind: "Widget", metadata: { name: "b" } };
    expect(rules.validate({ self }).errors.map(errorText)).toEqual([
      "<nil>: Invalid value: failed rule: self.metadata.name.startsWith('a') && self.kind == 'Widget'",
    ]);
  });
});

describe("transition rules", () => {
  const immutable = object({ zone: withRules(string, { rule: "self == oldSelf", message: "immutable" }) });

  test("run only where there is an old value", () => {
    expect(validate(immutable, { self: { zone: "a" } })).toEqual([]);
    expect(validate(immutable, { self: { zone: "a" }, oldSelf: {} })).toEqual([]);
    expect(validate(immutable, { self: { zone: "b" }, oldSelf: { zone: "a" } })).toEqual([
      'spec.zone: Invalid value: "b": immutable',
    ]);
  });

  test("run always when the old value is optional", () => {
    const rule = { rule: "oldSelf.hasValue() || self == 'first'", optionalOldSelf: true };
    const spec = object({ s: withRules(string, rule) });
    expect(validate(spec, { self: { s: "second" } })).toHaveLength(1);
    expect(validate(spec, { self: { s: "second" }, oldSelf: { s: "x" } })).toEqual([]);
  });

  test("pair the elements of keyed lists by their keys", () => {
    const item = withRules(object({ k: string, v: integer }), "self.v >= oldSelf.v");
    const spec = object({
      l: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        items: { ...item, required: ["k"] },
      },
    });
    const oldSelf = {
      l: [
        { k: "a", v: 5 },
        { k: "b", v: 1 },
      ],
    };
    expect(
      validate(spec, {
        self: {
          l: [
            { k: "b", v: 2 },
            { k: "a", v: 4 },
            { k: "c", v: 0 },
          ],
        },
        oldSelf,
      }),
    ).toEqual(["spec.l[1]: Invalid value: failed rule: self.v >= oldSelf.v"]);
  });

  test("are refused where old and new cannot be paired", () => {
    const spec = object({ l: { type: "array", maxItems: 5, items: withRules(string, "self == oldSelf") } });
    expect(complaints(spec)).toEqual([
      'schema.properties[spec].properties[l].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": ' +
        "oldSelf cannot be used on the uncorrelatable portion of the schema within schema.properties[spec].properties[l]",
    ]);
  });
});

describe("ratcheting", () => {
  const spec = object({ a: withRules(integer, "self < 5"), b: integer });

  test("lets an unchanged failure pass with a warning", () => {
    const rules = compileRules(object({ spec }));
    const result = rules.validate({ self: { spec: { a: 9, b: 2 } }, oldSelf: { spec: { a: 9, b: 1 } } });
    expect(result.errors).toEqual([]);
    expect(result.warnings).toEqual(["spec.a: Invalid value: 9: failed rule: self < 5"]);
  });

  test("does not excuse a change, a creation, or a caller who wants none", () => {
    expect(validate(spec, { self: { a: 8 }, oldSelf: { a: 9 } })).toHaveLength(1);
    expect(validate(spec, { self: { a: 9 } })).toHaveLength(1);
    expect(validate(spec, { self: { a: 9 }, oldSelf: { a: 9 }, ratcheting: false })).toHaveLength(1);
  });
});

describe("budgets", () => {
  const numbers: RuleSchema = { type: "array", items: integer };
  const cubic = object({ l: numbers }, "self.l.all(x, self.l.all(y, self.l.all(z, x + y + z > 0)))", "true");

  test("stop one expensive rule and everything behind it", () => {
    const self = { l: Array.from({ length: 300 }, (_, i) => i + 1) };
    expect(validate(cubic, { self })).toEqual([
      "spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation " +
        "rules will be run due to call cost exceeds limit for rule: self.l.all(x, self.l.all(y, self.l.all(z, x + y + z > 0)))",
    ]);
  });

  test("are shared by all rules of an object", () => {
    const spec = object({ l: numbers }, "self.l.all(x, x > 0)", "self.l.all(x, x > 0)");
    const rules = compileRules(object({ spec }));
    const result = rules.validate({ self: { spec: { l: [1, 2, 3] } }, costBudget: 25 });
    expect(result.remainingBudget).toBe(-1);
    expect(result.errors.map(errorText)).toEqual([
      'spec: Invalid value: "object": validation failed due to running out of cost budget, ' +
        "no further validation rules will be run",
    ]);
  });

  test("are checked before a CRD is accepted", () => {
    const hint =
      "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and " +
      "strings are declared)";
    const at = "schema.properties[spec].x-kubernetes-validations[0].rule";
    const list = (more: Partial<RuleSchema>): RuleSchema =>
      object({ l: { type: "array", items: string, ...more } }, "self.l.all(x, self.l.all(y, x == y))");
    expect(complaints(list({ maxItems: 10, items: { type: "string", maxLength: 10 } }))).toEqual([]);
    expect(complaints(list({ maxItems: 2000, items: { type: "string", maxLength: 1 } }))).toEqual([
      `${at}: Forbidden: estimated rule cost exceeds budget by factor of 2.4x ${hint}`,
    ]);
    expect(complaints(list({}))).toEqual([
      `${at}: Forbidden: estimated rule cost exceeds budget by factor of more than 100x ${hint}`,
      `${at}: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema`,
      "schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds " +
        `budget by factor of more than 100x ${hint}`,
    ]);
  });
});

describe("a CRD is refused", () => {
  const at = "schema.properties[spec].x-kubernetes-validations[0]";

  test("when a rule does not compile", () => {
    const shown =
      '{"Rule":"self.nothing > 1","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}';
    expect(complaints(object({ a: integer }, "self.nothing > 1"))).toEqual([
      `${at}.rule: Invalid value: ${shown}: compilation failed: ERROR: <input>:1:5: undefined field 'nothing'\n` +
        " | self.nothing > 1\n | ....^",
    ]);
  });

  test.each<[string, ValidationRule, string]>([
    ["is no condition", { rule: "self.a" }, "cel expression must evaluate to a bool"],
    ["is empty", { rule: " " }, "rule is not specified"],
    ["has an empty message", { rule: "true", message: " " }, "must be non-empty if specified"],
    ["has a message of two lines", { rule: "true", message: "a\nb" }, "must not contain line breaks"],
    [
      "has two lines and no message",
      { rule: "true\n&& true" },
      "message must be specified if rule contains line breaks",
    ],
    ["has an unknown reason", { rule: "true", reason: "Because" }, "supported values: "],
    ["names no field", { rule: "true", fieldPath: ".nowhere" }, "must be a valid path"],
    [
      "declares an old value it does not use",
      { rule: "true", optionalOldSelf: true },
      "may not be set if oldSelf is not used in rule",
    ],
    [
      "has a message that is no text",
      { rule: "true", messageExpression: "1" },
      "messageExpression must evaluate to a string",
    ],
  ])("when a rule %s", (_, rule, detail) => {
    expect(complaints(object({ a: integer }, rule)).join()).toContain(detail);
  });
});

test("rules inside allOf are run on the values they describe", () => {
  const spec: RuleSchema = {
    ...object({ a: integer }, "self.a > 0"),
    allOf: [{ properties: { a: withRules({}, "self > 10") } }],
  };
  expect(validate(spec, { self: { a: 5 } })).toEqual(["spec.a: Invalid value: 5: failed rule: self > 10"]);
});

test("a schema without rules has nothing to say", () => {
  const rules = compileRules(object({ spec: object({ a: integer }) }));
  expect(rules.hasRules).toBe(false);
  expect(rules.errors).toEqual([]);
  expect(rules.validate({ self: {} })).toEqual({ errors: [], warnings: [], remainingBudget: 10_000_000 });
});
