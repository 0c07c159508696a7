// Changes of objects against a schema and its rules.
import { crd, install, objectSchema, silent, test, widget, widgets } from "../_lib.mjs";
import { definitionPath, specSchema, validations, widgetPath } from "./_builders.mjs";

const updateWidget = (name, schema, steps, ver = {}) =>
  test(name, (t) => {
    install(t, crd(schema, {}, ver));
    t.post(widgets, widget("w", steps[0]));
    for (const s of steps.slice(1)) t.merge(widgetPath, s);
  });

export default [
  updateWidget(
    "Widget update: transition rules",
    objectSchema({
      spec: {
        type: "object",
        properties: {
          im: { type: "string", ...validations([{ rule: "self == oldSelf", message: "immutable" }]) },
          grow: { type: "integer", ...validations(["self >= oldSelf"]) },
          opt: {
            type: "integer",
            ...validations([
              { rule: "!oldSelf.hasValue() || self > oldSelf.value()", optionalOldSelf: true },
            ]),
          },
          l: {
            type: "array",
            maxItems: 5,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            items: {
              type: "object",
              required: ["k"],
              properties: {
                k: { type: "string", maxLength: 5 },
                n: { type: "integer", ...validations(["self >= oldSelf"]) },
              },
            },
          },
          at: { type: "array", maxItems: 5, items: { type: "integer" } },
          m: {
            type: "object",
            maxProperties: 5,
            additionalProperties: { type: "integer", ...validations(["self >= oldSelf"]) },
          },
        },
        ...validations([{ rule: "!has(oldSelf.im) || has(self.im)", message: "im required once set" }]),
      },
    }),
    [
      { spec: { im: "a", grow: 1, opt: 1, l: [{ k: "a", n: 1 }], m: { a: 1 } } },
      { spec: { im: "b" } },
      { spec: { im: null } },
      { spec: { grow: 0 } },
      { spec: { grow: 2 } },
      { spec: { opt: 1 } },
      { spec: { opt: 0 } },
      { spec: { opt: 2 } },
      {
        spec: {
          l: [
            { k: "b", n: 0 },
            { k: "a", n: 0 },
          ],
        },
      },
      { spec: { l: [{ k: "b", n: 0 }] } },
      { spec: { m: { a: 0 } } },
      { spec: { m: { a: null, b: 0 } } },
      { spec: null },
    ],
  ),
  test("Widget update: values that were valid before the schema changed", (t) => {
    install(
      t,
      crd(
        specSchema({
          a: { type: "string" },
          b: { type: "string" },
          l: {
            type: "array",
            items: { type: "object", properties: { x: { type: "string" }, y: { type: "string" } } },
            "x-kubernetes-list-type": "atomic",
          },
          k: {
            type: "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["id"],
            items: {
              type: "object",
              required: ["id"],
              properties: { id: { type: "string" }, v: { type: "string" } },
            },
          },
        }),
      ),
    );
    t.post(
      widgets,
      widget("w", {
        spec: {
          a: "long enough",
          b: "x",
          l: [{ x: "bad value" }],
          k: [
            { id: "1", v: "bad value" },
            { id: "2", v: "ok" },
          ],
        },
      }),
      silent,
    );
    t.json(
      definitionPath,
      [
        {
          op: "replace",
          path: "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a",
          value: { type: "string", maxLength: 3, "x-kubernetes-validations": [{ rule: "self.size() < 4" }] },
        },
        {
          op: "add",
          path: "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/l/items/properties/x/maxLength",
          value: 3,
        },
        {
          op: "add",
          path: "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/k/items/properties/v/maxLength",
          value: 3,
        },
        { op: "add", path: "/spec/versions/0/schema/openAPIV3Schema/properties/spec/required", value: ["z"] },
      ],
      { ignoreBody: true },
    )
      .wait(800)
      .merge(widgetPath, { spec: { b: "y" } })
      .merge(widgetPath, { metadata: { labels: { a: "b" } } })
      .merge(widgetPath, { spec: { a: "also long" } })
      .merge(widgetPath, { spec: { a: "ok" } })
      .merge(widgetPath, { spec: { l: [{ x: "bad value", y: "q" }] } })
      .merge(widgetPath, { spec: { l: [{ x: "worse value" }] } })
      .merge(widgetPath, {
        spec: {
          k: [
            { id: "2", v: "okk" },
            { id: "1", v: "bad value" },
          ],
        },
      })
      .merge(widgetPath, { spec: { k: [{ id: "1", v: "bad valueX" }] } })
      .merge(widgetPath, { spec: { z: "1" } });
  }),
];
