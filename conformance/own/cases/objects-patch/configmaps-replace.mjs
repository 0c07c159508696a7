// Replacement, and media types of patches and replacements.
import { cm, ns, test } from "../_lib.mjs";
import { configMapPath, createConfigMap } from "./_builders.mjs";

export default [
  test("ConfigMap patch: media types", (t) => {
    createConfigMap(t);
    for (const type of [
      "application/json",
      "application/yaml",
      "text/plain",
      "application/json-patch+json; charset=utf-8",
      "application/merge-patch+json;x=y",
      "application/vnd.kubernetes.protobuf",
      "application/apply-patch+json",
      "*/*",
      "",
    ])
      t.step({ method: "PATCH", path: configMapPath, body: {}, type });
    for (const type of [
      "application/json; charset=utf-8",
      "application/yaml",
      "text/yaml",
      "application/x-yaml",
      "text/plain",
      "*/*",
      "application/*",
      "application/json, application/yaml",
    ])
      t.step({ method: "PUT", path: configMapPath, body: cm("c", { a: type }), type });
  }),
  test("ConfigMap update: bodies that are malformed", (t) => {
    createConfigMap(t);
    for (const b of [
      {},
      [],
      "x",
      null,
      { kind: "ConfigMap" },
      { apiVersion: "v1" },
      { apiVersion: "v1", kind: "ConfigMap" },
      { apiVersion: "v1", kind: "ConfigMap", metadata: null },
      { apiVersion: "v1", kind: "ConfigMap", metadata: {} },
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "" } },
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c", namespace: "x" } },
      { apiVersion: 5, kind: "ConfigMap" },
      { apiVersion: "v1", kind: 7 },
      { apiVersion: "v1", kind: "ConfigMap", metadata: "x" },
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: 5 } },
      { apiVersion: "a/b/c", kind: "ConfigMap" },
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: 5 },
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c", labels: "x" } },
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c", creationTimestamp: "x" } },
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c", generation: "x" } },
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c", ownerReferences: [{ uid: 5 }] } },
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, binaryData: { x: "***" } },
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, immutable: "yes" },
    ]) {
      t.put(configMapPath, b);
      t.post(`${ns}/configmaps`, b);
    }
  }),
];
