// Rules in CEL that do not compile or cost too much.
import { crd, crdPath, dryRun, objectSchema, test } from "../_lib.mjs";

const ruleSchema = (
  r,
  props = {
    a: { type: "integer" },
    s: { type: "string" },
    l: { type: "array", maxItems: 10, items: { type: "string", maxLength: 10 } },
    m: { type: "object", maxProperties: 5, additionalProperties: { type: "string" } },
  },
) =>
  objectSchema({
    spec: {
      type: "object",
      properties: props,
      "x-kubernetes-validations": [typeof r === "string" ? { rule: r } : r],
    },
  });

const compileRules = (name, rules, props) =>
  test(name, (t) => {
    for (const r of rules) t.post(crdPath, crd(ruleSchema(r, props)), dryRun);
  });

export default [
  compileRules("CustomResourceDefinition create: syntax and types of rules", [
    "self.a >",
    "self..a",
    "1 +",
    "(",
    "self.a > 1 1",
    "'x",
    "",
    " ",
    "\n",
    "self.a == 'x'",
    "self.s > 1",
    "self.a",
    "self.s",
    "1",
    "'x' == 1",
    "foo",
    "foo()",
    "self.foo",
    "self.a.b",
    "self.s.foo()",
    "size(self.a) > 1",
    "has(self.a)",
    "has(self)",
    "has(self.zzz)",
    "self.l.all(x, x > 1)",
    "self.l.all(x)",
    "self.m['a'] == 'b'",
    "self.m.a == 'b'",
    "self.l[0] == 'a'",
    "self.l['x'] == 'a'",
    "self.l.exists(x, y, x == 1)",
    "type(self.a) == int",
    "int(self.s) > 1",
    "self.metadata.name == 'x'",
    "oldSelf.a == self.a",
    "self.a in [1,2]",
    "self.s in self.l",
    "self.l.map(x, x)",
    "self.s.matches('(')",
    "self.s.matches(self.s)",
    "true ? 1 : 'x'",
    "self.a / 0 == 1",
    "!self.a",
    "-self.s == 'x'",
    "self == self",
    "self.a != null",
    "dyn(self.a) == 'x'",
    "[1, 'x'] == [1]",
    "{'a': 1}.a == 1",
    "self.a && true",
    "self.s + 1 == 'x'",
    "duration('1h') > duration('x')",
    "timestamp(self.s) > timestamp('2020-01-01T00:00:00Z')",
  ]),
  compileRules("CustomResourceDefinition create: the other fields of a rule", [
    { rule: "self.a > 1", message: "" },
    { rule: "self.a > 1", message: " " },
    { rule: "self.a > 1", message: "a\nb" },
    { rule: "self.a\n> 1" },
    { rule: "self.a > 1", messageExpression: "1" },
    { rule: "self.a > 1", messageExpression: "'x' + self.s" },
    { rule: "self.a > 1", messageExpression: "self.zzz" },
    { rule: "self.a > 1", messageExpression: "" },
    { rule: "self.a > 1", messageExpression: "  " },
    { rule: "self.a > 1", reason: "Bogus" },
    { rule: "self.a > 1", reason: "FieldValueForbidden" },
    { rule: "self.a > 1", fieldPath: ".a" },
    { rule: "self.a > 1", fieldPath: "a" },
    { rule: "self.a > 1", fieldPath: ".zzz" },
    { rule: "self.a > 1", fieldPath: ".l[0]" },
    { rule: "self.a > 1", fieldPath: ".m.x" },
    { rule: "self.a > 1", fieldPath: "" },
    { rule: "self.a > 1", fieldPath: ".a.b" },
    { rule: "self.a > 1", fieldPath: "['a']" },
    { rule: "self.a > 1", optionalOldSelf: true },
    { rule: "oldSelf.a.value() > 1", optionalOldSelf: true },
    { rule: "oldSelf.hasValue() || self.a > 1", optionalOldSelf: true },
    { rule: "oldSelf.a > 1", optionalOldSelf: true },
    { message: "x" },
  ]),
  compileRules(
    "CustomResourceDefinition create: escaped names in rules",
    [
      "self.__if__ > 1",
      "self.a__dash__b > 1",
      "self.a__dot__b > 1",
      "self.__namespace__ > 1",
      "self.x__underscores__y > 1",
      "self.true__ > 1",
      "self.`a-b` > 1",
    ],
    {
      if: { type: "integer" },
      "a-b": { type: "integer" },
      "a.b": { type: "integer" },
      namespace: { type: "integer" },
      x__y: { type: "integer" },
      "1bad": { type: "integer" },
    },
  ),
  compileRules(
    "CustomResourceDefinition create: the cost of rules on unbounded values",
    [
      "self.l.all(x, self.l.all(y, x == y))",
      "self.u.all(x, x.size() > 1)",
      "self.u.all(x, self.u.all(y, x == y))",
      "self.u.all(x, self.u.all(y, self.u.all(z, x == y)))",
      "self.s.matches('a.*b')",
      "self.us.contains(self.us)",
      "self.u.exists(x, x.matches('^(a|b)*$'))",
      "self.um.all(k, self.um.all(j, k == j))",
      "self.u.isSorted()",
      "self.us.split(',').all(x, x.size() > 2)",
    ],
    {
      l: { type: "array", items: { type: "string" } },
      s: { type: "string" },
      u: { type: "array", items: { type: "string" } },
      us: { type: "string" },
      um: { type: "object", additionalProperties: { type: "string" } },
    },
  ),
  test("CustomResourceDefinition create: the cost of rules in nested lists", (t) =>
    t
      .post(
        crdPath,
        crd(
          objectSchema({
            spec: {
              type: "object",
              properties: {
                l: {
                  type: "array",
                  items: {
                    type: "object",
                    properties: {
                      m: {
                        type: "array",
                        items: {
                          type: "string",
                          "x-kubernetes-validations": [
                            { rule: "self.contains('x') || self.matches('^abc')" },
                          ],
                        },
                      },
                    },
                  },
                },
              },
            },
          }),
        ),
        dryRun,
      )
      .post(
        crdPath,
        crd(
          objectSchema({
            spec: {
              type: "object",
              properties: {
                l: {
                  type: "array",
                  maxItems: 1000,
                  items: {
                    type: "array",
                    maxItems: 1000,
                    items: { type: "integer", "x-kubernetes-validations": [{ rule: "self > 1" }] },
                  },
                },
              },
            },
          }),
        ),
        dryRun,
      )
      .post(
        crdPath,
        crd(
          objectSchema({
            spec: {
              type: "object",
              properties: {
                l: {
                  type: "array",
                  items: {
                    type: "string",
                    "x-kubernetes-validations": Array.from({ length: 40 }, (_, i) => ({
                      rule: `self.contains('${i}')`,
                    })),
                  },
                },
              },
            },
          }),
        ),
        dryRun,
      )),
];
