// Patches of custom resources.
import { crd, group, install, objectSchema, strict, test, widget, widgets } from "../_lib.mjs";

const widgetPath = `${widgets}/w`;

const widgetSchema = objectSchema({
  spec: objectSchema({
    size: { type: "integer", default: 3 },
    name: { type: "string" },
    list: { type: "array", items: { type: "string" } },
    m: { type: "object", additionalProperties: { type: "string" } },
  }),
});

export default [
  test("Widget patch: all forms, valid and invalid", (t) => {
    install(t, crd(widgetSchema));
    t.post(widgets, widget("w", { spec: { name: "n", list: ["a", "b"], m: { a: "1" } } }));
    for (const p of [
      { spec: { size: null } },
      { spec: { name: null } },
      { spec: { m: { a: null, b: "2" } } },
      { spec: { list: ["c"] } },
      { spec: null },
      { spec: { size: "x" } },
      { spec: { size: 1.5 } },
      { spec: { bogus: 1 } },
      { kind: "Other" },
      { apiVersion: "v1" },
      { apiVersion: `${group}/v9` },
      { metadata: { name: "z" } },
      { metadata: { labels: { a: 1 } } },
      { metadata: "x" },
      [],
      null,
      "x",
    ])
      t.merge(widgetPath, p);
    for (const o of [
      [{ op: "add", path: "/spec/name", value: "q" }],
      [{ op: "remove", path: "/spec/name" }],
      [{ op: "add", path: "/spec/list/-", value: "z" }],
      [{ op: "add", path: "/spec/list/0", value: 5 }],
      [{ op: "remove", path: "/spec/none" }],
      [{ op: "test", path: "/spec/size", value: 3 }],
      [{ op: "replace", path: "/spec", value: "x" }],
      [{ op: "remove", path: "/spec" }],
      [{ op: "replace", path: "/kind", value: "x" }],
      [{ op: "remove", path: "/apiVersion" }],
      [{ op: "remove", path: "/metadata/resourceVersion" }],
    ])
      t.json(widgetPath, o);
    t.strategic(widgetPath, {})
      .merge(widgetPath, { spec: { bogus: 1 } }, strict)
      .json(widgetPath, [{ op: "add", path: "/spec/bogus", value: 1 }], strict)
      .merge(widgetPath, { metadata: { resourceVersion: "1" } })
      .merge(`${widgets}/none`, {})
      .merge(widgetPath, {}, { type: "application/json" })
      .step({ method: "PATCH", path: widgetPath, body: {}, type: "text/plain" })
      .step({ method: "PATCH", path: widgetPath, body: {}, type: "application/apply-patch+cbor" });
  }),
];
