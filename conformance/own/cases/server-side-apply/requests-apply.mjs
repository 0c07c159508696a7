// Apply requests whose body, path or options are invalid.
import { cm, fieldManager, force, ns, strict, test } from "../_lib.mjs";
import { configMapPath } from "./_builders.mjs";

export default [
  test("ConfigMap apply: bodies that do not match the path", (t) =>
    t
      .apply(configMapPath, cm("d", {}), "a")
      .apply(configMapPath, { ...cm("c", {}), metadata: { name: "c", namespace: "other" } }, "a")
      .apply(configMapPath, { data: {} }, "a")
      .apply(configMapPath, { apiVersion: "v1", kind: "Secret", metadata: { name: "c" } }, "a")
      .apply(configMapPath, { apiVersion: "v2", kind: "ConfigMap", metadata: { name: "c" } }, "a")
      .apply(configMapPath, { apiVersion: "v1", kind: "ConfigMap" }, "a")
      .apply(configMapPath, "[]", "a")
      .apply(configMapPath, "null", "a")
      .apply(configMapPath, "", "a")
      .apply(configMapPath, "{", "a")
      .apply(configMapPath, "a: b: c", "a")
      .apply(configMapPath, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: 1\n", "a")
      .apply(
        configMapPath,
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: 'x'\n  a: 'y'\n",
        "a",
      )
      .apply(
        configMapPath,
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: 'x'\n  a: 'y'\n",
        "a",
        strict,
      )
      .apply(configMapPath, { apiVersion: "v1", kind: "ConfigMap", metadata: {} }, "a")
      .apply(configMapPath, cm("c", {}), "a", { query: { force: "maybe" } })
      .apply(configMapPath, cm("c", {}), "a", { query: { dryRun: "Some" } })
      .merge(configMapPath, {}, force)
      .apply(configMapPath, cm("c", {}), "a\u0001")
      .apply(configMapPath, cm("c", {}, { creationTimestamp: null, resourceVersion: "0" }), "a")
      .apply(configMapPath, cm("c", { q: "1" }, { uid: "" }), "a")
      .apply(configMapPath, { ...cm("c", { q: "2" }), bogus: 1 }, "a")),
  test("ConfigMap create: invalid options in the query", (t) =>
    t
      .post(`${ns}/configmaps`, cm("c", {}), { query: { fieldManager: "x".repeat(129) } })
      .post(`${ns}/configmaps`, cm("c", {}), fieldManager("a\nb"))
      .post(`${ns}/configmaps`, cm("c", {}), { query: { dryRun: "all" } })
      .post(`${ns}/configmaps`, cm("c", {}), { query: { dryRun: ["All", "x"] } })
      .post(`${ns}/configmaps`, cm("c", {}), { query: { fieldValidation: "strict" } })
      .post(`${ns}/configmaps`, cm("c", {}), { query: { pretty: "true" } })
      .put(configMapPath, cm("c", {}), {
        query: { fieldManager: "x".repeat(129), dryRun: "x", fieldValidation: "y" },
      })
      .merge(
        configMapPath,
        {},
        { query: { fieldManager: "x".repeat(129), dryRun: "x", fieldValidation: "y", force: "true" } },
      )
      .del(configMapPath, { query: { dryRun: "x", propagationPolicy: "y", gracePeriodSeconds: "z" } })),
  test("ConfigMap apply: an object that is being deleted", (t) =>
    t
      .apply(configMapPath, cm("c", { a: "1" }, { finalizers: ["a.b/c"] }), "a")
      .del(configMapPath)
      .apply(configMapPath, cm("c", { a: "2" }, { finalizers: ["a.b/c"] }), "a")
      .apply(configMapPath, cm("c", { a: "2" }, { finalizers: ["a.b/c", "n.e/w"] }), "a")
      .apply(configMapPath, cm("c", { a: "3" }), "a")
      .get(configMapPath)),
];
