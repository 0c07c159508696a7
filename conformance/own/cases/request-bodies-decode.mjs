// Bodies and answers in every form: YAML, protobuf, lists, broken JSON, media types, options.
import {
  cm,
  crd,
  force,
  group,
  install,
  ns,
  objectSchema,
  silent,
  strict,
  test,
  widget,
  widgets,
} from "./_lib.mjs";

const configMaps = `${ns}/configmaps`;

const postText = (body, o) => ({ method: "POST", path: configMaps, body, ...o });

const postYaml = (body, o) => postText(body, { type: "application/yaml", ...o });

const kindOnly = (accept, o) => ({
  accept,
  pick: (b) => (b.kind === "Status" ? b : [b.kind, b.apiVersion, typeof b.text]),
  ...o,
});

const yamlHead = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ";

export default [
  test("ConfigMap create: JSON bodies that are broken or of the wrong type", (t) => {
    for (const b of [
      "",
      " ",
      "null",
      "1",
      "[]",
      '"x"',
      "true",
      "{",
      "{}",
      '{"a"}',
      '{"kind":"ConfigMap"}',
      '{"apiVersion":"v1"}',
      '{"apiVersion":"v1","kind":"ConfigMap"} trailing',
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}{"x":1}',
      '{"apiVersion":1,"kind":"ConfigMap"}',
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":[]}',
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":"x"}',
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":1}}',
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"a":1}}}',
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":[]}}',
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","creationTimestamp":"x"}}',
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","generation":"x"}}',
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":null,"b":1}}',
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"immutable":"yes"}',
      '{"apiVersion":"v1","kind":"ConfigMap","Metadata":{"name":"a"}}',
      "{'apiVersion':'v1'}",
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"u\\u00e9\\ud83d\\ude00"}}',
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"ok"},"data":{"a":"\\u0000\\ud800"}}',
      '[{"apiVersion":"v1","kind":"ConfigMap"}]',
    ])
      t.step(postText(b));
  }),
  test("ConfigMap create: YAML bodies", (t) => {
    for (const b of [
      `${yamlHead}a\n`,
      `${yamlHead}b\ndata:\n  k: 1\n`,
      `${yamlHead}c\ndata:\n  k: yes\n`,
      `${yamlHead}d\ndata:\n  k: |\n    two\n    lines\n`,
      `${yamlHead}e\ndata: {a: "1", a: "2"}\n`,
      `---\n${yamlHead}f\n`,
      `${yamlHead}g\n---\n${yamlHead}h\n`,
      "a: [",
      "",
      "- 1",
      `${yamlHead}i\nbogus: 1\n`,
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"j"}}',
      `${yamlHead}k\n  labels: &l\n    a: b\n  annotations: *l\n`,
      `${yamlHead}m\ndata:\n  k: !!str 1\n`,
      `${yamlHead}n\n  creationTimestamp: null\n`,
      `${yamlHead}o\ndata:\n  1: "x"\n`,
    ])
      t.step(postYaml(b));
    t.step(postYaml(`${yamlHead}z\nbogus: 1\n`, strict))
      .step(postYaml(`${yamlHead}y\ndata:\n  a: "1"\n  a: "2"\n`, strict))
      .step(postText(`${yamlHead}x\n`, { type: "application/x-yaml" }))
      .step(postText(`${yamlHead}x\n`, { type: "text/yaml" }))
      .step(postText(`${yamlHead}x\n`))
      .step({
        method: "PUT",
        path: `${configMaps}/a`,
        body: `${yamlHead}a\ndata:\n  new: v\n`,
        type: "application/yaml",
      });
  }),
  test("ConfigMap create: media types of request bodies", (t) => {
    for (const type of [
      "application/json; charset=utf-8",
      "APPLICATION/JSON",
      "application/xml",
      "text/plain",
      "application/cbor",
      "application/vnd.kubernetes.protobuf",
      "application/json;x=",
      "*/*",
      "application/*",
      "application/merge-patch+json",
      "multipart/form-data",
      "application/json, application/yaml",
    ])
      t.step(postText(JSON.stringify(cm("a")), { type, query: { dryRun: "All" } }));
    for (const type of [
      "application/json",
      "application/strategic-merge-patch+json; charset=utf-8",
      "application/yaml",
      "application/apply-patch+json",
      "application/apply-patch+cbor",
      "text/plain",
      "",
    ])
      t.post(configMaps, cm("q"), silent).step({
        method: "PATCH",
        path: `${configMaps}/q`,
        body: "{}",
        type,
      });
  }),
  test("ConfigMap get: media types of answers", (t) => {
    t.post(configMaps, cm("a", { k: "v" }), silent);
    for (const accept of [
      "application/json",
      "application/yaml",
      "*/*",
      "application/*",
      "text/html",
      "application/xml, application/json;q=0.5",
      "application/json;q=0",
      "application/vnd.kubernetes.protobuf, application/json",
      "application/cbor",
      "application/cbor, application/json",
      "application/json;as=Table;v=v1;g=meta.k8s.io",
      "application/json;as=Table;v=v2;g=meta.k8s.io",
      "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
      "application/json;as=Bogus;v=v1;g=meta.k8s.io",
      "application/json;as=Bogus;v=v1;g=meta.k8s.io,application/json",
      "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
      "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
      "application/yaml;as=Table;v=v1;g=meta.k8s.io",
      "application/json;pretty=1",
      "application/json;stream=watch",
      "bogus",
      "",
      "application/json;g=meta.k8s.io",
    ])
      t.get(`${configMaps}/a`, kindOnly(accept)).get(
        configMaps,
        kindOnly(accept, { query: { labelSelector: "none=x" } }),
      );
    t.get(`${configMaps}/a`, { query: { pretty: "true" }, pick: (b) => b.kind }).get(`${configMaps}/none`, {
      accept: "application/yaml",
    });
  }),
  test("ConfigMap get: metadata only, as a table", (t) =>
    t
      .post(configMaps, cm("a", { k: "v" }, { labels: { x: "y" } }), silent)
      .get(`${configMaps}/a`, { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io" })
      .get(configMaps, {
        accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        query: { labelSelector: "x=y" },
      })
      .post(configMaps, cm("b", { k: "v" }), {
        accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
      })
      .merge(
        `${configMaps}/b`,
        { metadata: { labels: { z: "1" } } },
        { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io" },
      )
      .del(`${configMaps}/b`, { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io" })
      .post(configMaps, cm("c"), {
        accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
        pick: (b) => [b.kind, b.rows?.[0]?.cells?.slice(0, 2)],
      })),
  test("ConfigMap create: options in the query, valid and invalid", (t) => {
    for (const q of [
      { dryRun: "" },
      { dryRun: "all" },
      { dryRun: "All", fieldValidation: "Bogus" },
      { fieldManager: "" },
      { fieldManager: "x".repeat(200) },
      { fieldManager: "a\u0007b" },
      { fieldValidation: "strict" },
      { pretty: "true" },
      { bogus: "1" },
      { timeout: "x" },
      { timeout: "1s", dryRun: "All" },
      { timeoutSeconds: "1", dryRun: "All" },
    ])
      t.post(configMaps, cm("a"), { query: { ...q } });
    t.put(`${configMaps}/a`, cm("a", { x: "y" }), { query: { dryRun: "no" } })
      .merge(`${configMaps}/a`, {}, { query: { fieldValidation: "No" } })
      .merge(`${configMaps}/a`, {}, force)
      .apply(`${configMaps}/a`, cm("a"), "", {})
      .apply(`${configMaps}/a`, cm("a"), "m", { query: { force: "maybe" } })
      .del(`${configMaps}/a`, { query: { propagationPolicy: "Bogus" } })
      .del(`${configMaps}/a`, { query: { gracePeriodSeconds: "-1" } })
      .del(`${configMaps}/a`, { query: { gracePeriodSeconds: "x" } })
      .del(`${configMaps}/a`, { query: { orphanDependents: "true", propagationPolicy: "Orphan" } });
  }),
  test("ConfigMap delete: options in the body, valid and invalid", (t) => {
    const deleteWith = (body, o) => ({ method: "DELETE", path: `${configMaps}/a`, body, ...o });
    t.post(configMaps, cm("a"), silent);
    for (const b of [
      { kind: "Bogus", apiVersion: "v1" },
      { kind: "DeleteOptions", apiVersion: "v9" },
      { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1", dryRun: ["All"] },
      { kind: "DeleteOptions", apiVersion: "v1", dryRun: ["Some"] },
      { kind: "DeleteOptions", apiVersion: "apps/v1", dryRun: ["All"] },
      { gracePeriodSeconds: "x" },
      { propagationPolicy: "Bogus" },
      { preconditions: { uid: "" }, dryRun: ["All"] },
      { preconditions: { resourceVersion: "0" } },
      { orphanDependents: true, propagationPolicy: "Background" },
      { dryRun: ["All"], bogus: 1 },
      "not json",
      "[]",
      { dryRun: ["All"], gracePeriodSeconds: 0 },
    ])
      t.step(deleteWith(b));
    t.step(deleteWith("kind: DeleteOptions\napiVersion: v1\ndryRun: [All]\n", { type: "application/yaml" }))
      .step(deleteWith({ dryRun: ["All"] }, { query: { propagationPolicy: "Bogus" } }))
      .step({
        method: "DELETE",
        path: configMaps,
        body: { dryRun: ["All"] },
        query: { fieldSelector: "metadata.name=a" },
        pick: (b) => [b.kind, b.items?.length ?? b.status],
      });
  }),
  test("Object get: paths that lead nowhere", (t) => {
    for (const p of [
      "/api/v1/namespaces/$NS",
      "/api/v1/namespaces/$NS/",
      "/api/v1/configmaps/a",
      "/api/v1/namespaces/$NS/configmaps/a/b",
      "/api/v1/namespaces/$NS/configmaps/a/status/x",
      "/api/v1/namespaces/$NS/pods/a/bogus",
      "/api/v2/pods",
      "/apis/apps/v1/pods",
      "/apis/apps/v9/deployments",
      "/apis/bogus",
      "/apis/apps/",
      "/api/",
      "/api/v1/",
      "/apis/apps/v1/namespaces/$NS/deployments/a/scale/x",
      "/api/v1/namespaces/$NS/nodes",
      "/api/v1/nodes/none",
      "/api/v1/namespaces/Bad_Name/configmaps",
      "/api/v1/namespaces/$NS/configmaps/Bad Name",
      "/api/v1/namespaces/$NS/configmaps/a%2Fb",
      "/apis/apps/v1/watch/deployments/x/y/z",
      "/api/v1/namespaces/none-$ID/configmaps",
      "/api/v1/namespaces/none-$ID/configmaps/a",
    ])
      t.get(p, { pick: (b) => (b.kind === "Status" || b.text ? b : [b.kind, b.items?.length === 0]) });
    t.step({ method: "PATCH", path: configMaps, body: "{}", type: "application/merge-patch+json" })
      .step({
        method: "POST",
        path: "/api/v1/namespaces/$NS/nodes",
        body: { apiVersion: "v1", kind: "Node", metadata: { name: "x" } },
      })
      .step({ method: "HEAD", path: configMaps, ignoreBody: true })
      .step({ method: "OPTIONS", path: configMaps })
      .step({ method: "PUT", path: `${configMaps}/x/status`, body: cm("x") })
      .step({ method: "DELETE", path: "/api/v1/namespaces" })
      .post("/api/v1/configmaps", cm("a"))
      .post("/api/v1/configmaps", cm("a", {}, { namespace: "$NS" }));
  }),
  test("ConfigMap create: bodies that are too large", (t) =>
    t
      .post(configMaps, cm("big", { a: "x".repeat(1100000) }), { pick: (b) => ({ ...b, message: "" }) })
      .post(configMaps, cm("big", { a: "x".repeat(3300000) }), { pick: (b) => ({ ...b, message: "" }) })
      .post(configMaps, cm("ann", {}, { annotations: { a: "x".repeat(270000) } }), {
        pick: (b) => b.details ?? b,
      })
      .post(
        `${ns}/secrets`,
        {
          apiVersion: "v1",
          kind: "Secret",
          metadata: { name: "s" },
          data: { a: Buffer.alloc(1100000).toString("base64") },
        },
        { pick: (b) => b.details ?? b },
      )
      .json(
        `${configMaps}/none`,
        Array.from({ length: 10001 }, () => ({ op: "test", path: "/a", value: 1 })),
        { pick: (b) => [b.code, b.reason] },
      )),
  test("Widget create: broken bodies and media types", (t) => {
    install(t, crd(objectSchema({ spec: objectSchema({ a: { type: "integer" } }) })));
    for (const b of [
      "",
      "[]",
      "{",
      "{}",
      JSON.stringify({ apiVersion: "$ID.conformance.test/v1", kind: "Other", metadata: { name: "a" } }),
      JSON.stringify({ apiVersion: "v1", kind: "Widget", metadata: { name: "a" } }),
      JSON.stringify({ kind: "Widget", metadata: { name: "a" } }),
      JSON.stringify({ ...widget("a"), metadata: { name: "a", labels: { a: 1 } } }),
      JSON.stringify({ ...widget("a"), metadata: { name: "a", bogus: 1 } }),
      JSON.stringify({ ...widget("A_B") }),
      JSON.stringify({ ...widget("a"), spec: "x" }),
      JSON.stringify({ ...widget("a"), spec: null }),
      JSON.stringify({ ...widget("a", {}, { finalizers: ["Not Valid!"] }) }),
      JSON.stringify({ ...widget("a", {}, { finalizers: ["plain"] }) }),
      JSON.stringify({ ...widget("b", {}, { finalizers: ["dotted.name"] }) }),
    ])
      t.step({ method: "POST", path: widgets, body: b });
    t.step({
      method: "POST",
      path: widgets,
      body: `apiVersion: ${group}/v1\nkind: Widget\nmetadata:\n  name: y\nspec:\n  a: 1\n`,
      type: "application/yaml",
    })
      .get(`${widgets}/y`, kindOnly("application/vnd.kubernetes.protobuf"))
      .get(`${widgets}/y`, kindOnly("application/yaml"))
      .get(`${widgets}/y`, kindOnly("application/vnd.kubernetes.protobuf, application/json"))
      .strategic(`${widgets}/y`, { spec: { a: 2 } });
  }),
];
