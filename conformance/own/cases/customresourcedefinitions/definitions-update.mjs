// Changes of definitions, and their deletion.
import { install, test, widget, widgets } from "../_lib.mjs";
import { definition, definitionPath, widgetPath } from "./_builders.mjs";

export default [
  test("CustomResourceDefinition update: fields that may change", (t) => {
    install(t, definition());
    for (const p of [
      { spec: { group: "x.y" } },
      { spec: { scope: "Cluster" } },
      { spec: { names: { kind: "Other" } } },
      { spec: { names: { plural: "others" } } },
      { spec: { names: { singular: "wid", shortNames: ["wd"], categories: ["all"] } } },
      { spec: { names: { listKind: "WL" } } },
      { spec: { preserveUnknownFields: true } },
      { spec: { versions: null } },
      { metadata: { name: "x" } },
      { status: { storedVersions: ["zz"] } },
      { metadata: { labels: { a: "b" } } },
      { spec: { conversion: null } },
    ])
      t.merge(definitionPath, p);
    t.get(definitionPath);
  }),
  test("CustomResourceDefinition delete: objects with finalizers", (t) => {
    install(t, definition());
    t.post(widgets, widget("w", {}, { finalizers: ["a.b/c"] }))
      .post(widgets, widget("x"))
      .del(definitionPath)
      .wait(1500)
      .get(definitionPath, {
        pick: (b) => ({ ...b.status, f: b.metadata?.finalizers, d: Boolean(b.metadata?.deletionTimestamp) }),
      })
      .get(widgetPath)
      .get(`${widgets}/x`)
      .post(widgets, widget("y"))
      .merge(widgetPath, { metadata: { labels: { a: "b" } } })
      .list(widgets)
      .merge(widgetPath, { metadata: { finalizers: null } })
      .get(widgetPath);
  }),
];
