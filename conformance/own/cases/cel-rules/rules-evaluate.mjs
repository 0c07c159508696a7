// Rules evaluated on objects.
import { crd, dryRun, install, objectSchema, test, widget, widgets } from "../_lib.mjs";
import { definitionWith, shortString, specSchema } from "./_builders.mjs";

const widgetPath = `${widgets}/w`;

const widgetWith = (spec) => widget("w", { spec });

const createWidgets = (name, properties, rules, ...specs) =>
  test(name, (t) => {
    install(
      t,
      definitionWith(
        rules.map((rule) => (typeof rule === "string" ? { rule } : rule)),
        properties,
      ),
    );
    for (const spec of specs) t.post(widgets, widgetWith(spec), dryRun);
  });

export default [
  createWidgets(
    "Widget create: rules on numbers and their limits",
    { n: { type: "integer" }, f: { type: "number" }, i: { type: "integer", format: "int64" } },
    [
      "!has(self.n) || self.n % 2 == 0",
      "!has(self.n) || 10 / self.n > 1",
      "!has(self.f) || self.f < 1.5",
      "!has(self.f) || double(int(self.f)) == self.f",
      { rule: "!has(self.i) || self.i + 9223372036854775807 > 0", message: "small" },
    ],
    { n: 3 },
    { n: 0 },
    { n: 4 },
    { n: 20, f: 1.25 },
    { f: 2 },
    { f: 1.0 },
    { i: 1 },
    { i: -1 },
  ),
  createWidgets(
    "Widget create: rules on strings",
    { s: shortString(60), t: shortString(60) },
    [
      { rule: "!has(self.s) || self.s.lowerAscii() == self.s", message: "lower" },
      "!has(self.s) || self.s.indexOf('x') < 2",
      "!has(self.s) || self.s.split('.').size() <= 2",
      {
        rule: "!has(self.s) || self.s.replace('a', 'b').substring(0, 1) != 'b'",
        messageExpression: "'starts with ' + self.s.substring(0, 1)",
      },
      "!has(self.t) || self.t.trim() == self.t",
      "!has(self.t) || ['a', 'b'].join('-') == self.t",
      "!has(self.t) || self.t.charAt(0) == 'a'",
    ],
    { s: "abc" },
    { s: "Zx" },
    { s: "" },
    { s: "c.d.e" },
    { t: " a-b" },
    { t: "a-b" },
    { t: "" },
  ),
  createWidgets(
    "Widget create: rules on lists and maps",
    {
      l: { type: "array", maxItems: 9, items: { type: "integer" } },
      m: { type: "object", maxProperties: 9, additionalProperties: shortString() },
    },
    [
      "!has(self.l) || self.l.sum() < 10",
      "!has(self.l) || self.l.isSorted()",
      "!has(self.l) || self.l.size() == 0 || self.l.min() > 0 && self.l.max() < 9",
      "!has(self.l) || self.l.exists_one(x, x == 1)",
      "!has(self.m) || 'a' in self.m",
      "!has(self.m) || self.m.exists(k, self.m[k] == 'x')",
      "!has(self.m) || self.m.all(k, v, k != v)",
      "!has(self.l) || self.l[0] == 1",
    ],
    { l: [1, 2] },
    { l: [2, 1] },
    { l: [] },
    { l: [1, 1, 9] },
    { m: {} },
    { m: { a: "x" } },
    { m: { a: "a" } },
  ),
  createWidgets(
    "Widget create: rules on times, quantities, addresses and versions",
    {
      d: { type: "string", format: "date-time" },
      u: { type: "string", format: "duration" },
      q: shortString(),
      c: shortString(),
      v: shortString(),
      k: shortString(),
    },
    [
      "!has(self.d) || self.d > timestamp('2020-01-01T00:00:00Z')",
      "!has(self.d) || self.d.getFullYear() < 2030",
      "!has(self.u) || self.u < duration('1h')",
      "!has(self.u) || self.u.getMinutes() > 0",
      "!has(self.q) || isQuantity(self.q) && quantity(self.q).asInteger() > 5",
      "!has(self.q) || quantity(self.q).compareTo(quantity('1k')) <= 0",
      "!has(self.c) || isCIDR(self.c) && cidr(self.c).containsIP('10.1.2.3')",
      "!has(self.v) || isSemver(self.v) && semver(self.v).isGreaterThan(semver('1.2.0'))",
      "!has(self.k) || !format.dns1123Label().validate(self.k).hasValue()",
    ],
    { d: "2019-01-01T00:00:00Z" },
    { d: "2024-01-01T00:00:00Z" },
    { u: "90m" },
    { u: "30s" },
    { u: "5m" },
    { q: "1" },
    { q: "10" },
    { q: "2k" },
    { q: "x" },
    { c: "10.0.0.0/8" },
    { c: "11.0.0.0/8" },
    { c: "zz" },
    { v: "1.3.0" },
    { v: "1.1.0" },
    { v: "v1" },
    { k: "ok" },
    { k: "Not OK" },
  ),
  createWidgets(
    "Widget create: rules with optional values",
    { a: shortString(), o: objectSchema({ b: shortString() }) },
    [
      "self.?a.orValue('x') != 'y'",
      "self.?o.?b.hasValue() ? self.o.b.size() > 1 : true",
      "optional.of(1).value() == 1",
      "cel.bind(x, self.?a, !x.hasValue() || x.value() != 'z')",
    ],
    {},
    { a: "y" },
    { a: "z" },
    { o: {} },
    { o: { b: "1" } },
    { o: { b: "22" } },
  ),
  createWidgets(
    "Widget create: what the refusal of a rule says",
    {
      a: shortString(),
      n: { type: "integer" },
      o: objectSchema(
        { x: shortString(), y: { type: "integer" } },
        {
          "x-kubernetes-validations": [
            { rule: "self.x.size() > self.y", reason: "FieldValueDuplicate", fieldPath: ".x" },
            { rule: "self.y < 5 && self.x > 'a'" },
          ],
        },
      ),
      l: {
        type: "array",
        maxItems: 3,
        items: objectSchema(
          { k: shortString() },
          { "x-kubernetes-validations": [{ rule: "self.k != 'bad'", reason: "FieldValueRequired" }] },
        ),
      },
      m: {
        type: "object",
        maxProperties: 3,
        additionalProperties: objectSchema(
          { z: { type: "integer" } },
          {
            "x-kubernetes-validations": [
              { rule: "self.z > 0", messageExpression: "'z is ' + string(self.z)" },
            ],
          },
        ),
      },
    },
    [
      { rule: "!has(self.a) || self.a != 'x'", reason: "FieldValueForbidden", fieldPath: ".a" },
      {
        rule: "!has(self.n) || self.n < 3 && self.n > 0",
        messageExpression: "self.n > 100 ? '' : 'n is ' + string(self.n)",
      },
      {
        rule: "!has(self.a) || self.a.size() < 5",
        message: "short, please",
        messageExpression: "string(1 / (self.a.size() - 6))",
      },
    ],
    { a: "x" },
    { n: 5 },
    { n: 500 },
    { a: "sixsix" },
    { a: "seven77" },
    { o: { x: "", y: 1 } },
    { o: { x: "abcdefgh", y: 7 } },
    { o: {} },
    { l: [{ k: "ok" }, { k: "bad" }] },
    { m: { "a b": { z: 0 }, c: { z: 1 } } },
    { m: { "x.y": {} } },
  ),
  test("Widget update: rules on changes, with oldSelf", (t) =>
    install(
      t,
      crd(
        specSchema(
          {
            set: {
              type: "array",
              "x-kubernetes-list-type": "set",
              maxItems: 5,
              items: shortString(),
              "x-kubernetes-validations": [{ rule: "oldSelf.all(x, x in self)", message: "only add" }],
            },
            items: {
              type: "array",
              "x-kubernetes-list-type": "map",
              "x-kubernetes-list-map-keys": ["k"],
              maxItems: 5,
              items: objectSchema(
                {
                  k: shortString(),
                  v: { type: "integer", "x-kubernetes-validations": [{ rule: "self >= oldSelf" }] },
                },
                { required: ["k"] },
              ),
            },
            map: {
              type: "object",
              maxProperties: 5,
              additionalProperties: {
                type: "integer",
                "x-kubernetes-validations": [{ rule: "self == oldSelf" }],
              },
            },
            phase: {
              type: "string",
              enum: ["a", "b", "c"],
              "x-kubernetes-validations": [{ rule: "!(oldSelf == 'c' && self != 'c')" }],
            },
          },
          {
            "x-kubernetes-validations": [
              { rule: "!has(oldSelf.phase) || has(self.phase)", message: "phase stays" },
            ],
          },
        ),
      ),
    )
      .post(widgets, widgetWith({ set: ["a"], items: [{ k: "x", v: 1 }], map: { p: 1 }, phase: "c" }))
      .merge(widgetPath, { spec: { set: ["b"] } })
      .merge(widgetPath, { spec: { set: ["b", "a"] } })
      .merge(widgetPath, {
        spec: {
          items: [
            { k: "y", v: 0 },
            { k: "x", v: 0 },
          ],
        },
      })
      .merge(widgetPath, { spec: { items: [{ k: "y", v: 0 }] } })
      .merge(widgetPath, { spec: { map: { p: 2 } } })
      .merge(widgetPath, { spec: { map: { q: 2 } } })
      .merge(widgetPath, { spec: { phase: "a" } })
      .merge(widgetPath, { spec: { phase: null } })
      .merge(widgetPath, { spec: null })
      .get(widgetPath)),
  test("Widget update: rules on the whole object and its status", (t) =>
    install(
      t,
      crd(
        objectSchema(
          {
            spec: objectSchema({ n: { type: "integer" } }),
            status: objectSchema({ n: { type: "integer" } }),
          },
          {
            "x-kubernetes-validations": [
              { rule: "self.metadata.name.size() < 5", message: "short names" },
              { rule: "!has(self.status) || !has(self.status.n) || self.status.n <= self.spec.n" },
            ],
          },
        ),
        {},
        { subresources: { status: {} } },
      ),
    )
      .post(widgets, widget("toolong", { spec: { n: 1 } }))
      .post(widgets, widgetWith({ n: 1 }))
      .merge(`${widgetPath}/status`, { status: { n: 5 } })
      .merge(`${widgetPath}/status`, { status: { n: 1 } })
      .merge(widgetPath, { spec: { n: 0 } })
      .merge(widgetPath, { metadata: { labels: { a: "b" } } })),
];
