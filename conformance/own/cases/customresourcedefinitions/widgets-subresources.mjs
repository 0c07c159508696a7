// Status, scale, selectable fields and columns of custom resources.
import { crd, fieldManager, group, install, objectSchema, silent, test, widget, widgets } from "../_lib.mjs";
import { specSchema, widgetPath, withoutHashes } from "./_builders.mjs";

export default [
  test("Widget status update: spec and metadata are ignored", (t) => {
    install(
      t,
      crd(
        objectSchema({
          spec: { type: "object", properties: { a: { type: "integer" } } },
          status: { type: "object", properties: { b: { type: "integer" } } },
        }),
        {},
        { subresources: { status: {} } },
      ),
    );
    t.post(widgets, widget("w", { spec: { a: 1 }, status: { b: 1 } }))
      .put(`${widgetPath}/status`, widget("w", { spec: { a: 2 }, status: { b: 2 } }))
      .merge(`${widgetPath}/status`, { status: { b: 3 } })
      .merge(`${widgetPath}/status`, { status: { b: "x" } })
      .merge(`${widgetPath}/status`, { spec: { a: "x" }, status: { b: 5 } })
      .merge(widgetPath, { status: { b: 9 }, spec: { a: 5 } })
      .get(`${widgetPath}/status`)
      .merge(`${widgetPath}/status`, { metadata: { finalizers: ["a.b/c"], annotations: { x: "y" } } })
      .json(`${widgetPath}/status`, [{ op: "remove", path: "/status" }])
      .post(`${widgetPath}/status`, {})
      .del(`${widgetPath}/status`)
      .get(`${widgets}/none/status`)
      .merge(`${widgets}/none/status`, {})
      .get(`${widgetPath}/scale`)
      .get(`${widgetPath}/bogus`);
  }),
  test("Widget scale update: paths, limits and bodies", (t) => {
    install(
      t,
      crd(
        objectSchema({
          spec: {
            type: "object",
            properties: {
              replicas: { type: "integer" },
              n: { type: "object", properties: { r: { type: "integer" } } },
            },
          },
          status: { type: "object", properties: { replicas: { type: "integer" }, sel: { type: "string" } } },
        }),
        {},
        {
          subresources: {
            status: {},
            scale: {
              specReplicasPath: ".spec.replicas",
              statusReplicasPath: ".status.replicas",
              labelSelectorPath: ".status.sel",
            },
          },
        },
      ),
    );
    t.post(widgets, widget("w", {}))
      .get(`${widgetPath}/scale`)
      .merge(`${widgetPath}/status`, { status: { replicas: 3, sel: "a=b" } })
      .get(`${widgetPath}/scale`)
      .put(`${widgetPath}/scale`, {
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: { name: "w" },
        spec: { replicas: 5 },
      })
      .get(widgetPath)
      .merge(`${widgetPath}/scale`, { spec: { replicas: -1 } })
      .merge(`${widgetPath}/scale`, { spec: { replicas: null } })
      .merge(`${widgetPath}/scale`, { spec: { replicas: 7 } }, fieldManager("sc"))
      .get(widgetPath)
      .merge(widgetPath, { spec: { replicas: -3 } })
      .merge(widgetPath, { spec: { replicas: 3000000000 } })
      .put(`${widgetPath}/scale`, {
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: { name: "w", resourceVersion: "1" },
        spec: { replicas: 5 },
      })
      .put(`${widgetPath}/scale`, {
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: { name: "x" },
        spec: { replicas: 5 },
      })
      .put(`${widgetPath}/scale`, { apiVersion: "autoscaling/v1", kind: "Scale", spec: { replicas: 5 } })
      .put(`${widgetPath}/scale`, {
        apiVersion: "extensions/v1beta1",
        kind: "Scale",
        metadata: { name: "w" },
        spec: { replicas: 5 },
      })
      .get(`${widgets}/no/scale`);
  }),
  test("Widget list: selectable fields", (t) => {
    install(
      t,
      crd(
        specSchema({
          a: { type: "string" },
          i: { type: "integer" },
          b: { type: "boolean" },
          n: { type: "object", properties: { x: { type: "string" } } },
        }),
        {},
        {
          selectableFields: [
            { jsonPath: ".spec.a" },
            { jsonPath: ".spec.i" },
            { jsonPath: ".spec.b" },
            { jsonPath: ".spec.n.x" },
          ],
        },
      ),
    );
    t.post(widgets, widget("w", { spec: { a: "x", i: 1, b: true, n: { x: "q" } } }), silent).post(
      widgets,
      widget("v", {}),
      silent,
    );
    for (const f of [
      "spec.a=x",
      "spec.a!=x",
      "spec.i=1",
      "spec.b=true",
      "spec.n.x=q",
      "spec.a=",
      "spec.zzz=1",
      "spec.a=x,spec.i=1",
      "spec.a=x,metadata.name=w",
      "metadata.name=v",
      "metadata.namespace=$NS",
      "metadata.labels.a=b",
      "spec.a in (x)",
      "spec.a==x",
      "=x",
      "spec.a",
    ])
      t.list(widgets, { fieldSelector: f });
    t.step({ method: "DELETE", path: widgets, query: { fieldSelector: "spec.a=x" } })
      .list(widgets, {})
      .get(`/apis/${group}/v1`, withoutHashes);
  }),
  test("Widget table: printer columns", (t) => {
    install(
      t,
      crd(
        specSchema({
          a: { type: "string" },
          i: { type: "integer" },
          f: { type: "number" },
          b: { type: "boolean" },
          d: { type: "string", format: "date-time" },
          l: { type: "array", items: { type: "string" } },
          o: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
          c: {
            type: "array",
            items: { type: "object", properties: { type: { type: "string" }, status: { type: "string" } } },
          },
        }),
        {},
        {
          additionalPrinterColumns: [
            { name: "A", type: "string", jsonPath: ".spec.a", description: "da", priority: 1 },
            { name: "I", type: "integer", format: "int32", jsonPath: ".spec.i" },
            { name: "F", type: "number", jsonPath: ".spec.f" },
            { name: "B", type: "boolean", jsonPath: ".spec.b" },
            { name: "D", type: "date", jsonPath: ".spec.d" },
            { name: "L", type: "string", jsonPath: ".spec.l" },
            { name: "L0", type: "string", jsonPath: ".spec.l[0]" },
            { name: "LS", type: "string", jsonPath: ".spec.l[*]" },
            { name: "O", type: "string", jsonPath: ".spec.o" },
            { name: "C", type: "string", jsonPath: '.spec.c[?(@.type=="Ready")].status' },
            { name: "IS", type: "integer", jsonPath: ".spec.a" },
            { name: "M", type: "string", jsonPath: ".metadata.labels.x" },
            { name: "K", type: "string", jsonPath: ".metadata.annotations['a\\.b/c']" },
          ],
        },
      ),
    );
    const table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    t.post(
      widgets,
      widget(
        "w",
        {
          spec: {
            a: "s",
            i: 5,
            f: 1.5,
            b: true,
            d: "2020-01-01T00:00:00Z",
            l: ["p", "q"],
            o: { x: 1 },
            c: [
              { type: "Ready", status: "True" },
              { type: "X", status: "False" },
            ],
          },
        },
        { labels: { x: "y" }, annotations: { "a.b/c": "ann" } },
      ),
      silent,
    )
      .post(widgets, widget("z", { spec: { c: [], l: [], d: "bogus" } }), silent)
      .post(widgets, widget("e"), silent)
      .list(
        widgets,
        {},
        {
          accept: table,
          pick: (b) => ({
            c: b.columnDefinitions,
            r: b.rows?.map((r) => r.cells.map((x) => (typeof x === "string" && /^\d+y/.test(x) ? "Y" : x))),
          }),
        },
      )
      .get(widgetPath, { accept: table, pick: (b) => b.rows?.length })
      .list(widgets, { includeObject: "None" }, { accept: table, pick: (b) => b.rows?.map((r) => r.object) });
  }),
];
