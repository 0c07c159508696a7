// Rules that do not compile or cost too much.
import { crd, crdPath, dryRun, objectSchema, test } from "../_lib.mjs";
import { definitionWith, shortString, specSchema } from "./_builders.mjs";

const createDefinitions = (
  name,
  rules,
  properties = {
    a: shortString(),
    n: { type: "integer" },
    l: { type: "array", maxItems: 5, items: shortString() },
    m: { type: "object", maxProperties: 5, additionalProperties: shortString() },
  },
) =>
  test(name, (t) => {
    for (const rule of rules)
      t.post(crdPath, definitionWith([typeof rule === "string" ? { rule } : rule], properties), dryRun);
  });

export default [
  createDefinitions("CustomResourceDefinition create: rules that do not parse", [
    "",
    " ",
    "self.",
    "self.a ==",
    "self.a = 'x'",
    "(self.a",
    "self.a == 'x",
    "1 +",
    "self[",
    "self.a ? 1",
    "self.a ? 'a' : 'b'",
    "a b",
    'self.a == "\\q"',
    "// only a comment",
    "self.a matches 'x'",
    "self.a.size( > 1",
  ]),
  createDefinitions("CustomResourceDefinition create: rules of the wrong type", [
    "1",
    "'x'",
    "self.a",
    "self.n",
    "self.n > 'a'",
    "self.n == 'a'",
    "self.a + 1 == 'a'",
    "self.n + 1.0 > 2.0",
    "size(self.n) > 1",
    "self.a.foo()",
    "self.foo",
    "foo",
    "oldSelf2 == self",
    "self.l.all(x, x > 1)",
    "self.l.map(x, x)",
    "self.m.all(k, k)",
    "has(self)",
    "has(self.foo)",
    "self.l[0].a == 'x'",
    "self.m['a'] > 1",
    "!self.a",
    "-self.a == 'x'",
    "self.a && true",
    "self in self.l",
    "duration(self.n) > duration('1s')",
    "[1, 'a'].size() > 0",
    "{'a': 1, 2: 'b'}.size() > 0",
    "self.a.matches(self.n)",
    "dyn(self.a) > 1",
  ]),
  createDefinitions("CustomResourceDefinition create: rules with reserved words", [
    "self.if",
    "self.in",
    "self.for == 1",
    "self.let == 1",
    "self.null == 1",
    "self.true",
    "self.package == 'x'",
    "self.__if__ == 'x'",
    "if",
    "in",
    "self.while > 1",
    "var x",
    "as == 1",
    "self.namespace == 'x'",
    "self.const",
    "self.return",
  ]),
  createDefinitions(
    "CustomResourceDefinition create: rules on fields whose names are escaped",
    [
      { rule: "self.__dash__x == 'a'" },
      { rule: "self.a__dash__b == 'a'" },
      { rule: "self.a__dot__b == 'a'" },
      { rule: "self.a__slash__b == 'a'" },
      { rule: "self.a__underscores__b == 'a'" },
      { rule: "self.__namespace__ == 'a'" },
      { rule: "self.namespace == 'a'" },
      { rule: "self.__if__ == 'a'" },
      { rule: "self.if == 'a'" },
      { rule: "self.a-b == 'a'" },
      { rule: "self['a-b'] == 'a'" },
      { rule: "self.__in__ == 'a' && self.__for__ == 'b'" },
      { rule: "self.int == 'a'" },
      { rule: "self.string == 'a'" },
      { rule: "self.self == 'a'" },
      { rule: "self.oldSelf == 'a'" },
      { rule: "self.__true__ == 'a'" },
      { rule: "self.self__underscores__x == 'b'" },
    ],
    {
      "-x": shortString(),
      "a-b": shortString(),
      "a.b": shortString(),
      "a/b": shortString(),
      a__b: shortString(),
      namespace: shortString(),
      if: shortString(),
      in: shortString(),
      for: shortString(),
      int: shortString(),
      string: shortString(),
      self: shortString(),
      oldSelf: shortString(),
      true: shortString(),
      self__x: shortString(),
    },
  ),
  createDefinitions("CustomResourceDefinition create: message, reason and fieldPath of a rule", [
    { rule: "true", message: "" },
    { rule: "true", message: "a\nb" },
    { rule: "true", message: " " },
    { rule: "true", message: "x".repeat(3000) },
    { rule: "true", reason: "Other" },
    { rule: "true", reason: "FieldValueForbidden" },
    { rule: "true", reason: "" },
    { rule: "true", fieldPath: ".a" },
    { rule: "true", fieldPath: "a" },
    { rule: "true", fieldPath: ".b" },
    { rule: "true", fieldPath: ".l[0]" },
    { rule: "true", fieldPath: ".m['a']" },
    { rule: "true", fieldPath: ".m.a" },
    { rule: "true", fieldPath: "" },
    { rule: "true", fieldPath: "." },
    { rule: "true", messageExpression: "1" },
    { rule: "true", messageExpression: "self.b" },
    { rule: "true", messageExpression: "'a' +" },
    { rule: "true", messageExpression: " " },
    { rule: "true", messageExpression: "'ok ' + self.a" },
    { rule: "true", messageExpression: "oldSelf.a" },
    { rule: "true", optionalOldSelf: true },
    { rule: "oldSelf.hasValue()", optionalOldSelf: true },
    { rule: "oldSelf.a == self.a", optionalOldSelf: false },
    { rule: "true", unknown: 1 },
    { message: "x" },
  ]),
  createDefinitions(
    "CustomResourceDefinition create: a rule that costs too much",
    ["self.all(x, self.all(y, self.all(z, x == y && y == z)))"],
    { l: { type: "array", items: { type: "string" } } },
  ),
  test("CustomResourceDefinition create: the cost of a rule by the size of its values", (t) => {
    const unbounded = {
      type: "array",
      items: { type: "string" },
      "x-kubernetes-validations": [{ rule: "self.all(x, self.all(y, x == y))" }],
    };
    t.post(crdPath, crd(specSchema({ l: unbounded })), dryRun)
      .post(crdPath, crd(specSchema({ l: { ...unbounded, maxItems: 10 } })), dryRun)
      .post(crdPath, crd(specSchema({ l: { ...unbounded, maxItems: 10, items: shortString(10) } })), dryRun)
      .post(
        crdPath,
        crd(
          specSchema({
            l: {
              type: "array",
              items: objectSchema({
                s: { type: "string", "x-kubernetes-validations": [{ rule: "self.matches('^[a-z]+$')" }] },
              }),
            },
          }),
        ),
        dryRun,
      )
      .post(
        crdPath,
        crd(
          specSchema({
            m: {
              type: "object",
              additionalProperties: {
                type: "array",
                items: {
                  type: "string",
                  "x-kubernetes-validations": [
                    { rule: "self.contains('a') && self.startsWith('b') && self.matches('(a+)+')" },
                  ],
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
          specSchema({
            s: {
              type: "string",
              "x-kubernetes-validations": [
                { rule: "self.split(',').all(x, x.split(';').all(y, y.split('=').all(z, z.size() > 0)))" },
              ],
            },
          }),
        ),
        dryRun,
      );
  }),
  test("CustomResourceDefinition create: rules at every place of a schema", (t) =>
    t
      .post(
        crdPath,
        crd(
          objectSchema(
            { spec: objectSchema({}) },
            { "x-kubernetes-validations": [{ rule: "self.metadata.name.startsWith('a')" }] },
          ),
        ),
        dryRun,
      )
      .post(
        crdPath,
        crd(
          objectSchema(
            { spec: objectSchema({}) },
            { "x-kubernetes-validations": [{ rule: "self.metadata.labels.size() > 1" }] },
          ),
        ),
        dryRun,
      )
      .post(
        crdPath,
        crd(
          objectSchema(
            { spec: objectSchema({}) },
            {
              "x-kubernetes-validations": [
                { rule: "self.metadata.generateName == 'a' && self.kind == 'x' && self.apiVersion == 'y'" },
              ],
            },
          ),
        ),
        dryRun,
      )
      .post(
        crdPath,
        crd(
          specSchema({
            a: {
              "x-kubernetes-int-or-string": true,
              "x-kubernetes-validations": [{ rule: "type(self) == int ? self > 1 : self == 'x'" }],
            },
          }),
        ),
        dryRun,
      )
      .post(
        crdPath,
        crd(
          specSchema({
            a: {
              "x-kubernetes-preserve-unknown-fields": true,
              type: "object",
              "x-kubernetes-validations": [{ rule: "self.x == 1" }],
            },
          }),
        ),
        dryRun,
      )
      .post(
        crdPath,
        crd(
          specSchema({
            a: {
              "x-kubernetes-embedded-resource": true,
              "x-kubernetes-preserve-unknown-fields": true,
              type: "object",
              "x-kubernetes-validations": [{ rule: "self.kind == 'x' && self.metadata.name == 'y'" }],
            },
          }),
        ),
        dryRun,
      )
      .post(
        crdPath,
        crd(
          specSchema({
            a: {
              type: "array",
              items: { type: "integer", "x-kubernetes-validations": [{ rule: "self == oldSelf" }] },
            },
          }),
        ),
        dryRun,
      )
      .post(
        crdPath,
        crd(
          specSchema({
            a: {
              type: "array",
              "x-kubernetes-list-type": "set",
              items: { type: "integer", "x-kubernetes-validations": [{ rule: "self == oldSelf" }] },
            },
          }),
        ),
        dryRun,
      )
      .post(
        crdPath,
        crd(
          specSchema({
            a: {
              type: "array",
              "x-kubernetes-list-type": "map",
              "x-kubernetes-list-map-keys": ["k"],
              items: objectSchema(
                {
                  k: shortString(),
                  v: { type: "integer", "x-kubernetes-validations": [{ rule: "self == oldSelf" }] },
                },
                { required: ["k"] },
              ),
            },
          }),
        ),
        dryRun,
      )
      .post(
        crdPath,
        crd(
          specSchema({
            a: {
              type: "object",
              additionalProperties: {
                type: "integer",
                "x-kubernetes-validations": [{ rule: "self == oldSelf" }],
              },
            },
          }),
        ),
        dryRun,
      )
      .post(
        crdPath,
        crd(
          specSchema({
            a: { type: "string", anyOf: [{ minLength: 1, "x-kubernetes-validations": [{ rule: "true" }] }] },
          }),
        ),
        dryRun,
      )
      .post(crdPath, crd(specSchema({ a: { type: "string", "x-kubernetes-validations": "no" } })), dryRun)),
];
