// Requests of every shape: names, metadata, bodies, paths, field validation, dry runs.
import {
  anything,
  apps,
  cm,
  crd,
  deployment,
  dryRun,
  group,
  install,
  ns,
  objectSchema,
  pod,
  silent,
  strict,
  test,
  widget,
  widgets,
} from "./_lib.mjs";

const configMaps = `${ns}/configmaps`;
const configMapPath = `${configMaps}/c`;
const yaml = "application/yaml";

export default [
  test("ConfigMap create: names, also of Service, Namespace and Role", (t) => {
    for (const n of [
      "A",
      "a_b",
      "a.",
      "-a",
      "a-",
      "a..b",
      "a/b",
      "..",
      "a%2fb",
      "x".repeat(254),
      "x".repeat(253),
      "1",
      "a.b-c",
      " ",
      "é",
    ])
      t.post(configMaps, cm(n), dryRun).post(
        `${ns}/services`,
        { apiVersion: "v1", kind: "Service", metadata: { name: n }, spec: { ports: [{ port: 1 }] } },
        { query: { dryRun: "All" }, pick: (b) => (b.kind === "Status" ? b : 1) },
      );
    for (const n of ["A", "x".repeat(64), "1", "a.b", "x".repeat(63)])
      t.post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: n } }, dryRun);
    for (const n of ["A:b", "a/b", "x%", ".."])
      t.post(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/$NS/roles",
        {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: "Role",
          metadata: { name: n },
          rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }],
        },
        dryRun,
      );
  }),
  test("ConfigMap create: generateName", (t) => {
    for (const g of ["a-", "A-", "x".repeat(60), "x".repeat(300), "-", "a_", ""])
      t.post(
        configMaps,
        { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: g } },
        {
          query: { dryRun: "All" },
          pick: (b) =>
            b.kind === "Status"
              ? { ...b, message: b.message.replace(/[bcdfghjklmnpqrstvwxz2456789]{5}"/g, 'R"'), details: 1 }
              : { n: b.metadata.name.slice(0, -5), l: b.metadata.name.length, g: b.metadata.generateName },
        },
      );
    t.post(configMaps, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { generateName: "a-", name: "b" },
    }).post(
      `${ns}/pods`,
      { ...pod("x"), metadata: { generateName: "p-" } },
      { pick: (b) => b.metadata?.generateName ?? b },
    );
  }),
  test("ConfigMap create: each field of metadata, valid and invalid", (t) => {
    for (const m of [
      { labels: { "": "x" } },
      { labels: { a: "x".repeat(64) } },
      { labels: { ["x".repeat(64)]: "a" } },
      { labels: { "a/b/c": "x" } },
      { labels: { "A.b/c": "x" } },
      { labels: { "/c": "x" } },
      { labels: { "a.b/": "x" } },
      { labels: { a: "b c" } },
      { labels: { a: "-b" } },
      { labels: { a: "" } },
      { labels: { "a_b.C-d": "X_y.z-0" } },
      { annotations: { "bad key": "x" } },
      { annotations: { a: "any thing\n" } },
      { annotations: { big: "x".repeat(262145) } },
      { annotations: { "UPPER/x": "y" } },
      { labels: { a: 1 } },
      { labels: [] },
      { annotations: "x" },
      { labels: null },
      { ownerReferences: [{}] },
      { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "u" }] },
      {
        ownerReferences: [
          { apiVersion: "v1", kind: "Pod", name: "p", uid: "u", controller: true },
          { apiVersion: "v1", kind: "Pod", name: "q", uid: "v", controller: true },
        ],
      },
      { ownerReferences: [{ apiVersion: "v1", kind: "Event", name: "p", uid: "u" }] },
      {
        ownerReferences: [
          { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" },
          { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" },
        ],
      },
      { namespace: "other" },
      { clusterName: "x" },
      { generation: 5 },
      { selfLink: "x" },
      { deletionTimestamp: "2020-01-01T00:00:00Z", deletionGracePeriodSeconds: 5 },
      { creationTimestamp: "2020-01-01T00:00:00Z" },
      { creationTimestamp: "yesterday" },
      { uid: "x" },
      { resourceVersion: "1" },
      { resourceVersion: "x" },
      { resourceVersion: "0" },
      { managedFields: [{ manager: "x" }] },
      {
        managedFields: [
          {
            manager: "x",
            operation: "Update",
            apiVersion: "v1",
            fieldsType: "FieldsV1",
            fieldsV1: { "f:data": {} },
          },
        ],
      },
      { managedFields: "x" },
      { finalizers: ["x"] },
      { finalizers: "x" },
      { generateName: 5 },
    ])
      t.post(configMaps, cm("c", {}, m), {
        query: { dryRun: "All" },
        pick: (b) => JSON.parse(JSON.stringify(b).replace(/x{500,}/g, "X")),
      });
  }),
  test("ConfigMap update: each field of metadata", (t) => {
    t.post(configMaps, cm("c", { a: "1" }, { labels: { a: "b" } }), silent);
    for (const m of [
      { uid: "11111111-1111-1111-1111-111111111111" },
      { creationTimestamp: "2020-01-01T00:00:00Z" },
      { creationTimestamp: null },
      { generation: 7 },
      { deletionTimestamp: "2020-01-01T00:00:00Z" },
      { deletionGracePeriodSeconds: 7 },
      { resourceVersion: "1" },
      { resourceVersion: "" },
      { resourceVersion: "x" },
      { resourceVersion: "0" },
      { labels: {} },
      { namespace: "" },
      { namespace: "other" },
      { name: "d" },
      { name: "" },
      { generateName: "zz-" },
      { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "u" }] },
      { ownerReferences: [] },
      { finalizers: ["a.b/c"] },
      { finalizers: [] },
    ])
      t.put(configMapPath, cm("c", { a: "1" }, m));
  }),
  test("ConfigMap create: unknown and duplicate fields by fieldValidation", (t) => {
    const bad = { ...cm("c", { a: "1" }), nope: 1, metadata: { name: "c", bogus: 2 } };
    for (const v of ["Strict", "Warn", "Ignore", "", "bogus"])
      t.post(configMaps, bad, { query: { fieldValidation: v, dryRun: "All" } }).post(
        `${apps}/deployments`,
        {
          ...deployment("d"),
          spec: {
            ...deployment("d").spec,
            foo: 1,
            template: {
              metadata: { labels: { app: "d" }, zip: 1 },
              spec: { containers: [{ name: "a", image: "b", imagee: "c", env: [{ name: "A", valu: "1" }] }] },
            },
          },
        },
        { query: { fieldValidation: v, dryRun: "All" }, pick: (b) => (b.kind === "Status" ? b : 1) },
      );
    t.post(
      configMaps,
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","name":"d"},"data":{"a":"1","a":"2"}}',
      strict,
    )
      .post(
        configMaps,
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","name":"d"},"data":{"a":"1","a":"2"}}',
        { query: { fieldValidation: "Warn" } },
      )
      .post(configMaps, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\n  name: z\n", {
        type: yaml,
        query: { fieldValidation: "Strict" },
      })
      .post(configMaps, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\n  name: z\nbogus: 1\n", {
        type: yaml,
      })
      .post(configMaps, {
        apiVersion: "v1",
        Kind: "ConfigMap",
        kind: "ConfigMap",
        metadata: { Name: "x", name: "y2" },
        Data: { a: "b" },
      });
  }),
  test("ConfigMap create: bodies in JSON and YAML that are malformed", (t) => {
    for (const [b, type] of [
      ["", undefined],
      ["   ", undefined],
      ["null", undefined],
      ["[]", undefined],
      ["{", undefined],
      ["{}", undefined],
      ['{"kind":"ConfigMap"}', undefined],
      ["apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a1}\n", yaml],
      ["apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: a\n", yaml],
      ["- a\n", yaml],
      ["a: b\n---\nc: d\n", yaml],
      ["apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a2}\ndata: {x: 1}\n", yaml],
      ['apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a3}\ndata: {x: yes, y: "no"}\n', yaml],
      ['apiVersion: v1\nkind: ConfigMap\nmetadata: &m {name: a4}\ndata: {x: "1"}\n', yaml],
      ["", yaml],
      ['{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a5"}} trailing', undefined],
      ['{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a6"}}{}', undefined],
      ['{"apiVersion":"v1","kind":"List","items":[]}', undefined],
      ['{"apiVersion":"v1","kind":"ConfigMapList","items":[]}', undefined],
      ['{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"}}', undefined],
      ['{"apiVersion":"v1","kind":"Nope","metadata":{"name":"x"}}', undefined],
      ["x", "text/plain"],
      ["{}", "application/xml"],
      ["k8s\u0000garbage", "application/vnd.kubernetes.protobuf"],
      ["{}", "application/json;charset=utf-8"],
      ["{}", "bad type"],
    ])
      t.post(configMaps, b, type ? { type } : {});
  }),
  test("Object get: paths and methods that do not exist", (t) => {
    for (const p of [
      "/api/v2",
      "/api/v1/nope",
      `${ns}/nope`,
      `${ns}/configmaps/c/nope`,
      `${ns}/pods/p/nope`,
      "/apis/nope",
      "/apis/apps",
      "/apis/apps/v9",
      "/apis/apps/v1/nope",
      "/nope",
      "/api/",
      "/apis/",
      "/api/v1/",
      "/apis/apps/v1/",
      "/api/v1/namespaces/$NS/",
      "/api/v1/configmaps/c",
      "/api/v1/namespaces/$NS/nodes",
      "/api/v1/nodes/n/status",
      "/apis/apps/v1/namespaces/$NS/deployments/d/scale",
      "/api/v1/namespaces/$NS/services/s:x/proxy",
      "/api/v1/proxy/x",
      "/api/v1/namespaces/$NS/configmaps/..",
      "/api/v1/namespaces/$NS/configmaps/%2e%2e",
      "/API/v1",
    ])
      t.get(p, { pick: (b) => (b.kind === "Status" || b.text ? b : (b.kind ?? 1)) });
    for (const [m, p] of [
      ["POST", configMapPath],
      ["PUT", configMaps],
      ["PATCH", configMaps],
      ["DELETE", "/api/v1"],
      ["POST", "/api"],
      ["PUT", "/version"],
      ["POST", "/healthz"],
      ["POST", "/api/v1/configmaps"],
      ["DELETE", "/api/v1/componentstatuses"],
      ["PUT", `${ns}/bindings`],
      ["TRACE", configMapPath],
      ["POST", "/openapi/v2"],
    ])
      t.step({
        method: m,
        path: p,
        ...(m === "DELETE" || m === "TRACE" ? {} : { body: {} }),
        pick: (b) => (b.kind === "Status" || b.text ? b : (b.kind ?? 1)),
      });
  }),
  test("Widget get: paths and methods that do not exist", (t) => {
    install(t, crd(objectSchema({ spec: anything })));
    const widgetPath = `${widgets}/w`;
    t.post(widgets, widget("w"), silent);
    for (const [m, p, b] of [
      ["POST", widgetPath, {}],
      ["PUT", widgets, {}],
      ["PATCH", widgets, {}],
      ["GET", `${widgetPath}/status`],
      ["GET", `${widgetPath}/scale`],
      ["GET", `${widgetPath}/nope`],
      ["HEAD", widgetPath],
      ["OPTIONS", widgetPath],
      ["POST", `/apis/${group}/v1/widgets`, widget("x")],
      ["GET", `/apis/${group}/v1/widgets/w`],
      ["GET", `/apis/${group}/v2/widgets`],
      ["GET", `/apis/${group}/v1/nope`],
      ["GET", `/apis/${group}/v1/namespaces/$NS/nope`],
      ["DELETE", `/apis/${group}/v1/widgets`],
      ["PUT", widgetPath, {}],
      ["PUT", widgetPath, widget("w")],
      ["PUT", widgetPath, widget("x")],
      ["PUT", widgetPath, { ...widget("w"), kind: "Other" }],
      ["PUT", widgetPath, { ...widget("w"), apiVersion: "v1" }],
      ["PUT", `${widgets}/none`, widget("none", {}, { resourceVersion: "1" })],
      ["POST", widgets, {}],
      ["POST", widgets, []],
      ["POST", widgets, "x"],
      ["POST", widgets, { ...widget("y"), kind: "Other" }],
      ["POST", widgets, { ...widget("y"), apiVersion: `${group}/v2` }],
      ["POST", widgets, { metadata: { name: "q" } }],
      ["POST", widgets, widget("A_b")],
      ["POST", widgets, widget("y", {}, { namespace: "other" })],
      ["POST", widgets, { ...widget("y"), metadata: "x" }],
      ["POST", widgets, { ...widget("y"), metadata: { name: "y", labels: { a: 5 } } }],
      ["POST", widgets, { ...widget("y"), metadata: { name: "y", creationTimestamp: "x" } }],
      ["POST", widgets, { ...widget("y"), metadata: { name: "y", unknown: "x" } }],
      ["POST", widgets, widget("y", { unknown: 1 })],
    ])
      t.step({
        method: m,
        path: p,
        ...(b === undefined ? {} : { body: b }),
        ...(m === "PATCH" ? { type: "application/merge-patch+json" } : {}),
        pick: (x) => (x.kind === "Status" || x.text ? x : (x.kind ?? 1)),
      });
    t.step({ method: "PUT", path: widgetPath, body: widget("w"), pick: (b) => b })
      .post(widgets, widget("w"))
      .post(widgets, widget("z", { unknown: 1 }), strict)
      .post(
        widgets,
        "apiVersion: $ID.conformance.test/v1\nkind: Widget\nmetadata: {name: yy}\nspec: {a: 1, b: [x]}\n",
        { type: yaml },
      )
      .get(widgetPath, { accept: "application/vnd.kubernetes.protobuf" })
      .get(widgetPath, { accept: "application/vnd.kubernetes.protobuf, application/json" });
  }),
  test("ConfigMap update: writes that change nothing keep the resourceVersion", (t) => {
    t.post(configMaps, cm("c", { a: "1" }), {
      silent: true,
      save: { RV: (b) => b.metadata.resourceVersion },
    });
    const same = (b) => (b.kind === "Status" ? b : "ok");
    t.put(configMapPath, cm("c", { a: "1" }, { resourceVersion: "$RV" }), { pick: same })
      .put(configMapPath, cm("c", { a: "1" }, { resourceVersion: "$RV" }), { pick: same })
      .merge(configMapPath, {}, { pick: same })
      .merge(configMapPath, { metadata: { resourceVersion: "$RV" }, data: { a: "1" } }, { pick: same })
      .json(configMapPath, [], { pick: same })
      .strategic(configMapPath, {}, { pick: same })
      .merge(configMapPath, { metadata: { resourceVersion: "$RV" }, data: { a: "2" } }, { pick: same })
      .merge(configMapPath, { metadata: { resourceVersion: "$RV" }, data: { a: "2" } }, { pick: same });
  }),
  test("ConfigMap create: dry runs of every verb", (t) => {
    const dry = { query: { dryRun: "All" } };
    t.post(configMaps, cm("c"), dry)
      .get(configMapPath)
      .put(configMapPath, cm("c"), dry)
      .merge(configMapPath, {}, dry)
      .del(configMapPath, dry)
      .apply(configMapPath, cm("c", { a: "1" }), "m", dry)
      .post(configMaps, cm("c"), silent)
      .put(configMapPath, cm("c", { b: "1" }), dry)
      .merge(configMapPath, { data: { x: "y" } }, dry)
      .del(configMapPath, dry)
      .get(configMapPath)
      .post(
        `${ns}/services`,
        {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: "s" },
          spec: { ports: [{ port: 1 }], type: "NodePort" },
        },
        { ...dry, pick: (b) => ({ ...b, spec: { ...b.spec, ports: 1 } }) },
      )
      .post(configMaps, cm("c"), dry)
      .post(`${ns}/pods`, pod("p"), dry)
      .step({ method: "DELETE", path: configMaps, ...dry })
      .get(configMapPath);
  }),
];
