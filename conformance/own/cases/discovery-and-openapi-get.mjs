// What the server publishes of itself and of custom resources: discovery and OpenAPI.
import { anything, crd, group, install, objectSchema, test } from "./_lib.mjs";

const clusterScoped = { namespace: false };

const withoutHash = ({ storageVersionHash, ...r }) => r;

const resources = { pick: (b) => (b.resources ? { ...b, resources: b.resources.map(withoutHash) } : b) };

const v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const groupOnly = (g) => ({ accept: v2, pick: (b) => b.items?.filter((i) => i.metadata?.name === g) });

const withoutDescriptions = (v) =>
  Array.isArray(v)
    ? v.map(withoutDescriptions)
    : v && typeof v === "object"
      ? Object.fromEntries(
          Object.entries(v)
            .filter(([k, x]) => !(k === "description" && typeof x === "string" && !/^own/.test(x)))
            .map(([k, x]) => [k, withoutDescriptions(x)]),
        )
      : v;

// The definitions of the group's own kinds, and the paths, without the descriptions that all kinds share.
const widgetSchemas = {
  until: (b) => Object.keys(b?.components?.schemas ?? {}).some((k) => k.endsWith(".Widget")),
  pick: (b) => ({
    openapi: b.openapi,
    schemas: withoutDescriptions(
      Object.fromEntries(Object.entries(b.components?.schemas ?? {}).filter(([k]) => /Widget/.test(k))),
    ),
    paths: Object.entries(b.paths ?? {})
      .map(([p, item]) => [
        p,
        Object.entries(item)
          .filter(([m]) => m !== "parameters")
          .sort(([x], [y]) => (x < y ? -1 : 1))
          .map(([m, op]) => [
            m,
            op["x-kubernetes-action"],
            (op.parameters ?? []).length,
            Object.keys(op.requestBody?.content ?? {}),
            Object.entries(op.responses ?? {}).map(([c, r]) => [c, Object.keys(r.content ?? {})]),
          ]),
      ])
      .sort(([x], [y]) => (x < y ? -1 : 1)),
  }),
};

// Of all definitions there may be, those of this case.
const ownDefinitions = (b) =>
  Object.entries(b?.definitions ?? {}).filter(([, v]) => JSON.stringify(v).includes("own old words"));

const openApiV2 = {
  until: (b) => ownDefinitions(b).length > 0,
  pick: (b) => withoutDescriptions(ownDefinitions(b).map(([, v]) => v)),
};

const publish = (name, schema, over, version) =>
  test(name, (t) =>
    install(t, crd(schema, over, version)).get(`/openapi/v3/apis/${group}/v1`, {
      ...widgetSchemas,
      timeoutMs: 20_000,
    }),
  );

const specSchema = (properties, over) => objectSchema({ spec: objectSchema(properties, over) });

function withoutHashes(item) {
  return JSON.parse(JSON.stringify(item, (k, v) => (k === "storageVersionHash" ? undefined : v)));
}

export default [
  test(
    "Discovery get: the resources of every built-in group version",
    (t) => {
      for (const groupVersion of [
        "api/v1",
        "apis/apps/v1",
        "apis/batch/v1",
        "apis/autoscaling/v1",
        "apis/autoscaling/v2",
        "apis/policy/v1",
        "apis/networking.k8s.io/v1",
        "apis/rbac.authorization.k8s.io/v1",
        "apis/storage.k8s.io/v1",
        "apis/admissionregistration.k8s.io/v1",
        "apis/apiextensions.k8s.io/v1",
        "apis/apiregistration.k8s.io/v1",
        "apis/authentication.k8s.io/v1",
        "apis/authorization.k8s.io/v1",
        "apis/certificates.k8s.io/v1",
        "apis/coordination.k8s.io/v1",
        "apis/discovery.k8s.io/v1",
        "apis/events.k8s.io/v1",
        "apis/flowcontrol.apiserver.k8s.io/v1",
        "apis/node.k8s.io/v1",
        "apis/scheduling.k8s.io/v1",
        "apis/resource.k8s.io/v1",
      ])
        t.get(`/${groupVersion}`, resources);
    },
    clusterScoped,
  ),
  test(
    "Discovery get: groups one by one",
    (t) => {
      for (const g of [
        "apps",
        "batch",
        "autoscaling",
        "policy",
        "networking.k8s.io",
        "rbac.authorization.k8s.io",
        "storage.k8s.io",
        "events.k8s.io",
        "bogus.example.com",
        "v1",
      ])
        t.get(`/apis/${g}`);
    },
    clusterScoped,
  ),
  test(
    "Discovery get: the aggregated form",
    (t) =>
      t
        .get("/api", { accept: v2, pick: (b) => b.items?.map((i) => withoutHashes(i)) })
        .get("/apis", {
          accept: v2,
          pick: (b) =>
            b.items?.filter((i) => !/conformance/.test(i.metadata.name)).map((i) => withoutHashes(i)),
        })
        .get("/apis", {
          accept: "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
          pick: (b) => [b.kind, b.apiVersion],
        })
        .get("/apis", {
          accept: "application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList",
          pick: (b) => [b.kind, b.apiVersion, b.code],
        })
        .get("/apis", {
          accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
          pick: (b) => b.kind,
        })
        .get("/api/v1", { accept: v2, pick: (b) => [b.kind, b.code] }),
    clusterScoped,
  ),
  test(
    "Discovery get: root paths, health, version, OpenID",
    (t) =>
      t
        .get("/", {
          pick: (b) =>
            ["/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"].map(
              (p) => b.paths?.includes(p),
            ),
        })
        .get("/healthz/ping")
        .get("/healthz/etcd")
        .get("/livez/ping")
        .get("/livez/bogus", { ignoreBody: true })
        .get("/readyz/ping")
        .get("/version/", { pick: (b) => b.major })
        .get("/api", { pick: (b) => [b.kind, b.versions] })
        .get("/openapi", { ignoreBody: true })
        .get("/.well-known/openid-configuration", { pick: (b) => Object.keys(b).sort() })
        .get("/openid/v1/jwks", { pick: (b) => b.keys?.map((k) => Object.keys(k).sort()) })
        .get("/bogus", { ignoreBody: true })
        .get("/metrics", { pick: () => 1 }),
    clusterScoped,
  ),
  test("Discovery get: a custom resource with several versions", (t) =>
    install(
      t,
      crd(anything, {
        names: {
          plural: "widgets",
          singular: "widget",
          kind: "Widget",
          listKind: "WidgetList",
          shortNames: ["wd", "wdg"],
          categories: ["all", "toys"],
        },
        versions: [
          {
            name: "v1beta1",
            served: true,
            storage: false,
            deprecated: true,
            schema: { openAPIV3Schema: anything },
          },
          {
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: anything },
            subresources: {
              status: {},
              scale: { specReplicasPath: ".spec.n", statusReplicasPath: ".status.n" },
            },
          },
          { name: "v2alpha1", served: true, storage: false, schema: { openAPIV3Schema: anything } },
          { name: "v3", served: false, storage: false, schema: { openAPIV3Schema: anything } },
        ],
      }),
    )
      .get(`/apis/${group}`)
      .get(`/apis/${group}/v1`, resources)
      .get(`/apis/${group}/v1beta1`, resources)
      .get(`/apis/${group}/v2alpha1`, resources)
      .get(`/apis/${group}/v3`, { ignoreBody: true })
      .get("/apis", {
        ...groupOnly(group),
        until: (b) => b.items?.some((i) => i.metadata?.name === group),
        pick: (b) => b.items?.filter((i) => i.metadata?.name === group).map(withoutHashes),
      })
      .get("/apis", { pick: (b) => b.groups?.filter((g) => g.name === group) })),
  publish(
    "OpenAPI v3 get: a custom resource with scalars",
    specSchema(
      {
        a: { type: "string", description: "own words", minLength: 1, pattern: "^a" },
        i: { type: "integer", format: "int32", minimum: 0, default: 3 },
        b: { type: "boolean", nullable: true },
      },
      { required: ["a"], description: "own spec" },
    ),
  ),
  publish(
    "OpenAPI v3 get: a custom resource with lists and maps",
    specSchema({
      l: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        items: objectSchema({ k: { type: "string" } }, { required: ["k"] }),
      },
      s: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
      m: { type: "object", additionalProperties: { type: "integer" } },
      mt: { type: "object", "x-kubernetes-map-type": "atomic", properties: { x: { type: "string" } } },
    }),
  ),
  publish(
    "OpenAPI v3 get: a custom resource with int-or-string, embedded and untyped fields",
    specSchema({
      ios: { "x-kubernetes-int-or-string": true },
      free: anything,
      emb: {
        type: "object",
        "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true,
      },
      any: { type: "string", anyOf: [{ minLength: 1 }, { maxLength: 3 }] },
      not: { type: "string", not: { enum: ["x"] } },
      e: { type: "string", enum: ["a", "b"] },
      r: { type: "string", "x-kubernetes-validations": [{ rule: "self != 'q'", message: "no q" }] },
    }),
  ),
  publish("OpenAPI v3 get: a custom resource without a structure", anything),
  publish(
    "OpenAPI v3 get: a cluster-scoped custom resource with status and scale",
    objectSchema({
      spec: objectSchema({ n: { type: "integer" } }),
      status: objectSchema({ n: { type: "integer" } }),
      metadata: objectSchema({ name: { type: "string", maxLength: 5 } }),
    }),
    { scope: "Cluster" },
    { subresources: { status: {}, scale: { specReplicasPath: ".spec.n", statusReplicasPath: ".status.n" } } },
  ),
  test("OpenAPI v2 get: a custom resource", (t) =>
    install(
      t,
      crd(
        specSchema({
          a: { type: "string", description: "own old words", nullable: true },
          ios: { "x-kubernetes-int-or-string": true },
          free: anything,
          any: { type: "string", anyOf: [{ minLength: 1 }], not: { enum: ["x"] } },
          d: { type: "integer", default: 4 },
          l: {
            type: "array",
            items: objectSchema({ x: anything, y: { type: "string", oneOf: [{ minLength: 1 }] } }),
          },
        }),
      ),
    ).get("/openapi/v2", { ...openApiV2, timeoutMs: 25_000 })),
  test(
    "OpenAPI v3 get: the index and the core group",
    (t) =>
      t
        .get("/openapi/v3", {
          pick: (b) =>
            Object.entries(b.paths ?? {})
              .filter(([p]) => !/conformance/.test(p))
              .map(([p, v]) => [p, v.serverRelativeURL.replace(/hash=.*/, "hash=")])
              .sort(),
        })
        .get("/openapi/v3/api/v1", {
          pick: (b) => [
            b.openapi,
            b.info?.title,
            Object.keys(b.paths ?? {}).length,
            Object.keys(b.components ?? {}),
          ],
        })
        .get("/openapi/v3/version", { pick: (b) => Object.keys(b.paths ?? {}) }),
    clusterScoped,
  ),
];
