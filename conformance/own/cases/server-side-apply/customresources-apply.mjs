// Apply to custom resources: lists, maps, untyped fields, status, versions.
import {
  crd,
  crdPath,
  force,
  group,
  install,
  objectSchema,
  silent,
  strict,
  test,
  widget,
  widgets,
} from "../_lib.mjs";

const widgetPath = `${widgets}/w`;

const widgetSchema = objectSchema({
  spec: objectSchema({
    size: { type: "integer" },
    name: { type: "string" },
    on: { type: "boolean" },
    m: { type: "object", additionalProperties: { type: "string" } },
    atomicMap: {
      type: "object",
      additionalProperties: { type: "string" },
      "x-kubernetes-map-type": "atomic",
    },
    set: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
    plain: { type: "array", items: { type: "string" } },
    ports: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["port", "proto"],
      items: {
        type: "object",
        required: ["port"],
        properties: {
          port: { type: "integer" },
          proto: { type: "string", default: "TCP" },
          name: { type: "string" },
          opts: { type: "object", properties: { a: { type: "string" }, b: { type: "integer", default: 7 } } },
        },
      },
    },
    any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    ios: { "x-kubernetes-int-or-string": true },
    nul: { type: "string", nullable: true },
    nested: {
      type: "object",
      properties: { x: { type: "object", properties: { y: { type: "integer" }, z: { type: "integer" } } } },
    },
    nums: { type: "array", items: { type: "number" }, "x-kubernetes-list-type": "set" },
  }),
  status: {
    type: "object",
    properties: {
      ready: { type: "integer" },
      phase: { type: "string" },
      conditions: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        items: {
          type: "object",
          required: ["type"],
          properties: { type: { type: "string" }, status: { type: "string" } },
        },
      },
    },
  },
});

const installWidgets = (t, over = {}, ver = {}) => install(t, crd(widgetSchema, over, ver));

const withStatus = { subresources: { status: {} } };

const widgetWith = (spec, meta) => widget("w", spec === undefined ? {} : { spec }, meta);

export default [
  test("Widget apply: sets, atomic lists and lists with two keys", (t) =>
    installWidgets(t)
      .apply(
        widgetPath,
        widgetWith({
          ports: [{ port: 1 }, { port: 1, proto: "UDP", name: "u" }],
          set: ["a", "b"],
          plain: ["x"],
        }),
        "a",
      )
      .apply(
        widgetPath,
        widgetWith({ ports: [{ port: 1, proto: "TCP", name: "t" }], set: ["b", "c"], plain: ["x"] }),
        "b",
      )
      .apply(widgetPath, widgetWith({ ports: [{ port: 1, name: "q" }], plain: ["y"] }), "c")
      .apply(widgetPath, widgetWith({ ports: [{ port: 1, name: "q" }], plain: ["y"] }), "c", force)
      .apply(widgetPath, widgetWith({ set: ["z"] }), "a")
      .apply(widgetPath, widgetWith({ set: ["c", "b"] }), "b")
      .apply(widgetPath, widgetWith({ set: ["a", "a"] }), "b")
      .apply(
        widgetPath,
        widgetWith({
          ports: [
            { port: 2, opts: {} },
            { port: 3, opts: { a: "x" } },
          ],
        }),
        "a",
      )
      .apply(widgetPath, widgetWith({ ports: [{ port: 3 }] }), "a")
      .apply(widgetPath, widgetWith({}), "a")
      .apply(widgetPath, widgetWith(), "b")),
  test("Widget apply: granular, atomic and nested maps", (t) =>
    installWidgets(t)
      .apply(widgetPath, widgetWith({ m: { a: "1" }, atomicMap: { a: "1" }, nested: { x: { y: 1 } } }), "a")
      .apply(widgetPath, widgetWith({ m: { b: "1" }, nested: { x: { z: 2 } } }), "b")
      .apply(widgetPath, widgetWith({ atomicMap: { b: "1" } }), "b")
      .apply(widgetPath, widgetWith({ atomicMap: { a: "1" } }), "b")
      .merge(widgetPath, { spec: { atomicMap: { q: "1" }, m: { a: null } } })
      .apply(widgetPath, widgetWith({ nested: {} }), "a")
      .apply(widgetPath, widgetWith({ nested: { x: {} } }), "b")
      .apply(widgetPath, widgetWith({ m: {} }), "b")
      .apply(widgetPath, widgetWith({ m: { "a.b/c": "x", "f:y": "z", "": "e" } }), "c")),
  test("Widget apply: fields without a schema, int-or-string, nullable", (t) =>
    installWidgets(t)
      .apply(widgetPath, widgetWith({ any: { a: 1, b: { c: [1, 2] }, d: [{ name: "x", v: 1 }] } }), "a")
      .apply(widgetPath, widgetWith({ any: { b: { c: [1, 2, 3] } } }), "b")
      .apply(widgetPath, widgetWith({ any: { b: { e: 1 } } }), "b")
      .apply(widgetPath, widgetWith({ any: { a: { now: "map" } } }), "b", force)
      .apply(widgetPath, widgetWith({ any: { a: [1] } }), "a", force)
      .apply(widgetPath, widgetWith({ any: null }), "a")
      .apply(widgetPath, widgetWith({ ios: 5 }), "c")
      .apply(widgetPath, widgetWith({ ios: "5" }), "d")
      .apply(widgetPath, widgetWith({ nums: [1, 1.5, 2] }), "e")
      .apply(widgetPath, widgetWith({ nums: [1.0, 2] }), "f")
      .apply(widgetPath, widgetWith({ nul: null }), "g")
      .apply(widgetPath, widgetWith({ nul: "x" }), "h")),
  test("Widget apply: values of the wrong type", (t) =>
    installWidgets(t)
      .apply(widgetPath, widgetWith({ size: "x" }), "a")
      .apply(widgetPath, widgetWith({ size: 1.5 }), "a")
      .apply(widgetPath, widgetWith({ ports: {} }), "a")
      .apply(widgetPath, widgetWith({ ports: [{ name: "x" }] }), "a")
      .apply(widgetPath, widgetWith({ ports: [null] }), "a")
      .apply(widgetPath, widgetWith({ ports: ["x"] }), "a")
      .apply(widgetPath, widgetWith({ set: "a" }), "a")
      .apply(widgetPath, widgetWith({ set: [1] }), "a")
      .apply(widgetPath, widgetWith({ m: "x" }), "a")
      .apply(widgetPath, widgetWith({ m: { a: 1 } }), "a")
      .apply(widgetPath, widgetWith("str"), "a")
      .apply(widgetPath, widgetWith({ nope: 1 }), "a")
      .apply(widgetPath, widgetWith({ nope: 1 }), "a", strict)
      .apply(widgetPath, widgetWith({ on: "yes" }), "a")
      .apply(widgetPath, widgetWith({ nested: { x: 5 } }), "a")),
  test("Widget status apply: with a status subresource", (t) =>
    installWidgets(t, {}, withStatus)
      .apply(widgetPath, { ...widgetWith({ size: 1 }), status: { ready: 1 } }, "a")
      .apply(
        `${widgetPath}/status`,
        { ...widgetWith(), status: { ready: 2, conditions: [{ type: "A", status: "T" }] } },
        "ctl",
      )
      .apply(
        `${widgetPath}/status`,
        {
          ...widgetWith({ size: 5 }, { labels: { x: "y" } }),
          status: { conditions: [{ type: "B", status: "T" }] },
        },
        "ctl2",
      )
      .apply(
        `${widgetPath}/status`,
        { ...widgetWith(), status: { conditions: [{ type: "A", status: "F" }] } },
        "ctl2",
      )
      .put(`${widgetPath}/status`, { ...widgetWith({ size: 9 }, { resourceVersion: "1" }), status: {} })
      .merge(`${widgetPath}/status`, {
        metadata: { labels: { no: "no" }, annotations: { a: "b" } },
        spec: { size: 8 },
        status: { phase: "P" },
      })
      .apply(widgetPath, { ...widgetWith({ size: 2 }), status: { phase: "Q" } }, "a")
      .apply(`${widgetPath}/status`, widgetWith(), "ctl")
      .get(widgetPath)),
  test("Widget apply: status without a status subresource", (t) =>
    installWidgets(t)
      .apply(widgetPath, { ...widgetWith({ size: 1 }), status: { ready: 1 } }, "a")
      .apply(widgetPath, { ...widgetWith({}), status: { ready: 2 } }, "b")
      .apply(`${widgetPath}/status`, { ...widgetWith(), status: { ready: 2 } }, "b")
      .merge(widgetPath, { status: { phase: "x" } })),
  test("Widget apply: two served versions", (t) =>
    t
      .post(
        crdPath,
        crd(widgetSchema, {
          versions: [
            { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: widgetSchema } },
            { name: "v2", served: true, storage: false, schema: { openAPIV3Schema: widgetSchema } },
          ],
        }),
        silent,
      )
      .get(`${crdPath}/widgets.${group}`, {
        silent: true,
        until: (b) => b?.status?.conditions?.some((c) => c.type === "Established" && c.status === "True"),
      })
      .get(widgets, { silent: true, until: (_, s) => s === 200 })
      .get(widgets.replace("/v1/", "/v2/"), { silent: true, until: (_, s) => s === 200 })
      .apply(widgetPath, widgetWith({ size: 1, name: "x" }), "a")
      .apply(
        widgetPath.replace("/v1/", "/v2/"),
        { ...widgetWith({ size: 1, name: "x" }), apiVersion: `${group}/v2` },
        "a",
      )
      .apply(
        widgetPath.replace("/v1/", "/v2/"),
        { ...widgetWith({ size: 2 }), apiVersion: `${group}/v2` },
        "b",
      )
      .merge(widgetPath.replace("/v1/", "/v2/"), { spec: { size: 3 } })
      .apply(widgetPath, widgetWith({ size: 4 }), "b")
      .apply(widgetPath, widgetWith({ size: 4 }), "b", force)
      .apply(widgetPath.replace("/v1/", "/v2/"), { ...widgetWith({}), apiVersion: `${group}/v2` }, "a")
      .get(widgetPath)
      .cleanup({ method: "DELETE", path: `${crdPath}/widgets.${group}` })),
];
