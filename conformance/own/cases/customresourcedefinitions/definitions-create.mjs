// Names, versions, columns and subresources of definitions.
import { crdPath, dryRun, group, install, silent, test, widget, widgets } from "../_lib.mjs";
import { definition, definitionPath, withoutHashes } from "./_builders.mjs";

const named = (n) => ({
  names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList", ...n },
});

const invalidDefinitions = (name, list) =>
  test(name, (t) => {
    for (const d of list) t.post(crdPath, d, dryRun);
  });

const version = (n, o = {}) => ({
  name: n,
  served: true,
  storage: false,
  schema: { openAPIV3Schema: { type: "object" } },
  ...o,
});

export default [
  invalidDefinitions("CustomResourceDefinition create: invalid names, groups and conversions", [
    definition(named({ plural: "Widgets" })),
    definition(named({ singular: "Widget" })),
    definition(named({ kind: "widget" })),
    definition(named({ kind: "wid get" })),
    definition(named({ listKind: "Widget" })),
    definition(named({ listKind: "x y" })),
    definition(named({ plural: "" })),
    definition(named({ kind: "" })),
    definition(named({ singular: "", listKind: "" })),
    definition(named({ shortNames: ["W"] })),
    definition(named({ shortNames: ["w", "w"] })),
    definition(named({ categories: ["A B"] })),
    definition({ scope: "Bogus" }),
    definition({ scope: "" }),
    definition({ group: "" }),
    definition({ group: "Bad_Group" }),
    definition({ group: "nodots" }),
    { ...definition(), metadata: { name: "x.y" } },
    definition({ preserveUnknownFields: true }),
    definition({ conversion: { strategy: "Bogus" } }),
    definition({ conversion: { strategy: "Webhook" } }),
    definition({ conversion: { strategy: "None", webhook: {} } }),
    definition({
      conversion: { strategy: "Webhook", webhook: { conversionReviewVersions: ["v1"], clientConfig: {} } },
    }),
    definition({
      conversion: {
        strategy: "Webhook",
        webhook: { conversionReviewVersions: [], clientConfig: { url: "http://x" } },
      },
    }),
    definition({
      conversion: {
        strategy: "Webhook",
        webhook: { conversionReviewVersions: ["v9"], clientConfig: { url: "https://x.y/z?q" } },
      },
    }),
    definition({
      conversion: {
        strategy: "Webhook",
        webhook: {
          conversionReviewVersions: ["v1"],
          clientConfig: { url: "https://x.y", service: { name: "a", namespace: "b" } },
        },
      },
    }),
    definition({
      conversion: {
        strategy: "Webhook",
        webhook: {
          conversionReviewVersions: ["v1"],
          clientConfig: { service: { name: "", namespace: "", port: 0, path: "x" } },
        },
      },
    }),
    {
      ...definition(),
      metadata: { name: `widgets.k8s.io` },
      spec: { ...definition().spec, group: "k8s.io" },
    },
  ]),
  invalidDefinitions("CustomResourceDefinition create: invalid versions", [
    definition({ versions: [] }),
    definition({ versions: [version("v1")] }),
    definition({ versions: [version("v1", { storage: true }), version("v1", { storage: false })] }),
    definition({ versions: [version("v1", { storage: true }), version("v2", { storage: true })] }),
    definition({ versions: [version("V1", { storage: true })] }),
    definition({ versions: [version("", { storage: true })] }),
    definition({ versions: [version("v1", { storage: true, served: false })] }),
    definition({ versions: [version("v1", { storage: true, deprecationWarning: "x" })] }),
    definition({ versions: [version("v1", { storage: true, deprecated: true, deprecationWarning: "" })] }),
    definition({
      versions: [version("v1", { storage: true, deprecated: true, deprecationWarning: "x\ny" })],
    }),
    definition({
      versions: [version("v1", { storage: true, deprecated: true, deprecationWarning: "x".repeat(300) })],
    }),
    definition({ versions: [{ name: "v1", served: true, storage: true }] }),
    definition({ versions: [version("v1", { storage: true, schema: {} })] }),
  ]),
  invalidDefinitions("CustomResourceDefinition create: invalid columns, subresources and selectable fields", [
    definition({}, { additionalPrinterColumns: [{ name: "", type: "string", jsonPath: ".spec.a" }] }),
    definition({}, { additionalPrinterColumns: [{ name: "A", type: "bogus", jsonPath: ".spec.a" }] }),
    definition({}, { additionalPrinterColumns: [{ name: "A", type: "string", jsonPath: "spec.a" }] }),
    definition({}, { additionalPrinterColumns: [{ name: "A", type: "string", jsonPath: "" }] }),
    definition({}, { additionalPrinterColumns: [{ name: "A", type: "string", jsonPath: ".spec[" }] }),
    definition(
      {},
      { additionalPrinterColumns: [{ name: "A", type: "integer", format: "bogus", jsonPath: ".spec.a" }] },
    ),
    definition(
      {},
      {
        additionalPrinterColumns: [
          { name: "A", type: "string", jsonPath: ".a" },
          { name: "A", type: "string", jsonPath: ".b" },
        ],
      },
    ),
    definition({}, { subresources: { scale: {} } }),
    definition(
      {},
      { subresources: { scale: { specReplicasPath: ".status.a", statusReplicasPath: ".spec.b" } } },
    ),
    definition(
      {},
      {
        subresources: {
          scale: { specReplicasPath: ".spec.a", statusReplicasPath: ".status.b", labelSelectorPath: "x" },
        },
      },
    ),
    definition(
      {},
      { subresources: { scale: { specReplicasPath: ".spec.a[0]", statusReplicasPath: "status.b" } } },
    ),
    definition({}, { subresources: { scale: { specReplicasPath: ".spec", statusReplicasPath: ".status" } } }),
    definition({}, { subresources: { status: {} } }),
    definition({}, { selectableFields: [{ jsonPath: ".spec.a" }] }),
    definition({}, { selectableFields: [{ jsonPath: ".spec.zzz" }] }),
    definition({}, { selectableFields: [{ jsonPath: ".metadata.name" }] }),
    definition({}, { selectableFields: [{ jsonPath: ".spec" }] }),
    definition({}, { selectableFields: [{ jsonPath: "" }] }),
    definition({}, { selectableFields: [{ jsonPath: "spec.a" }] }),
    definition({}, { selectableFields: [{ jsonPath: ".spec.a" }, { jsonPath: ".spec.a" }] }),
    definition({}, { selectableFields: Array.from({ length: 9 }, (_, i) => ({ jsonPath: `.spec.a${i}` })) }),
  ]),
  test("CustomResourceDefinition get: served, deprecated and stored versions", (t) => {
    const fourVersions = definition({
      versions: [
        version("v1", { storage: true }),
        version("v2", { deprecated: true }),
        version("v1beta1", { served: false }),
        version("v10", { deprecated: true, deprecationWarning: "use v1" }),
      ],
    });
    const widgetsIn = (x) => widgets.replace("/v1/", `/${x}/`);
    install(t, fourVersions);
    t.get(widgetsIn("v2"), { silent: true, until: (_, s) => s === 200 })
      .post(widgetsIn("v2"), { ...widget("w"), apiVersion: `${group}/v2` })
      .get(`${widgetsIn("v10")}/w`)
      .get(`${widgetsIn("v1beta1")}/w`)
      .get(`${widgetsIn("v1")}/w`)
      .get(`/apis/${group}`)
      .get(`/apis/${group}/v10`, withoutHashes)
      .get(`/apis/${group}/v1beta1`, withoutHashes)
      .get(definitionPath, { pick: (b) => b.status })
      .merge(
        definitionPath,
        {
          spec: {
            versions: [
              { ...version("v1"), storage: false },
              { ...version("v2"), storage: true },
            ],
          },
        },
        { pick: (b) => b.status ?? b },
      )
      .get(definitionPath, { pick: (b) => b.status })
      .json(definitionPath, [
        { op: "replace", path: "/spec/versions", value: [version("v2", { storage: true })] },
      ])
      .json(`${definitionPath}/status`, [{ op: "replace", path: "/status/storedVersions", value: ["v2"] }], {
        pick: (b) => b.status ?? b,
      })
      .json(
        definitionPath,
        [{ op: "replace", path: "/spec/versions", value: [version("v2", { storage: true })] }],
        { pick: (b) => b.spec ?? b },
      )
      .json(`${definitionPath}/status`, [{ op: "replace", path: "/status/storedVersions", value: ["v9"] }]);
  }),
  test("CustomResourceDefinition create: names that another definition has", (t) =>
    t
      .post(crdPath, definition(named({ shortNames: ["wi"] })), silent)
      .get(definitionPath, {
        silent: true,
        until: (b) => b?.status?.conditions?.some((c) => c.type === "Established" && c.status === "True"),
      })
      .post(
        crdPath,
        {
          ...definition(),
          metadata: { name: `others.${group}` },
          spec: {
            ...definition().spec,
            names: {
              plural: "others",
              singular: "other",
              kind: "Widget",
              listKind: "OtherList",
              shortNames: ["wi"],
            },
          },
        },
        silent,
      )
      .wait(800)
      .get(`${crdPath}/others.${group}`, { pick: (b) => b.status })
      .get(`/apis/${group}/v1/others`)
      .get(`/apis/${group}/v1`, withoutHashes)
      .merge(`${crdPath}/others.${group}`, { spec: { names: { kind: "Other", shortNames: ["ot"] } } }, silent)
      .wait(800)
      .get(`${crdPath}/others.${group}`, { pick: (b) => b.status })
      .get(`/apis/${group}/v1`, withoutHashes)
      .cleanup({ method: "DELETE", path: definitionPath })
      .cleanup({ method: "DELETE", path: `${crdPath}/others.${group}` })),
];
