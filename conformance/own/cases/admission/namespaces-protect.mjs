// Namespaces that are being deleted or cannot be, and owners that block deletion.
import { cm, silent, test } from "../_lib.mjs";
import { configMaps } from "./_builders.mjs";

export default [
  test("Namespace delete: a terminating namespace takes nothing new, a system namespace stays", (t) =>
    t
      .post(
        "/api/v1/namespaces",
        { apiVersion: "v1", kind: "Namespace", metadata: { name: "t-$ID" } },
        silent,
      )
      .post("/api/v1/namespaces/t-$ID/configmaps", cm("a", {}, { finalizers: ["x.y/z"] }), silent)
      .del("/api/v1/namespaces/t-$ID", { ignoreBody: true })
      .post("/api/v1/namespaces/t-$ID/configmaps", cm("b"))
      .merge("/api/v1/namespaces/t-$ID/configmaps/a", { data: { x: "y" } }, { ignoreBody: true })
      .get("/api/v1/namespaces/t-$ID", { pick: (b) => [b.status?.phase, b.spec] })
      .del("/api/v1/namespaces/t-$ID", { pick: (b) => b.status?.phase ?? b })
      .merge("/api/v1/namespaces/t-$ID/configmaps/a", { metadata: { finalizers: null } }, silent)
      .put(
        "/api/v1/namespaces/t-$ID/finalize",
        { apiVersion: "v1", kind: "Namespace", metadata: { name: "t-$ID" }, spec: { finalizers: [] } },
        { ignoreBody: true },
      )
      .get("/api/v1/namespaces/t-$ID", { ignoreBody: true })
      .del("/api/v1/namespaces/default")
      .del("/api/v1/namespaces/kube-system")
      .post("/api/v1/namespaces", {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: "u-$ID" },
        spec: { finalizers: ["bad finalizer"] },
      })
      .del("/api/v1/namespaces/nothing-$ID")),
  test("OwnerReference create: blockOwnerDeletion and two controllers", (t) =>
    t
      .post(configMaps, cm("o"), { save: { uid: (b) => b.metadata.uid }, silent: true })
      .post(
        configMaps,
        cm(
          "a",
          {},
          {
            ownerReferences: [
              { apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "$uid", blockOwnerDeletion: true },
            ],
          },
        ),
        { managed: false },
      )
      .post(
        configMaps,
        cm(
          "b",
          {},
          {
            ownerReferences: [
              { apiVersion: "v1", kind: "Nothing", name: "o", uid: "$uid", blockOwnerDeletion: true },
            ],
          },
        ),
        { managed: false },
      )
      .post(
        configMaps,
        cm(
          "c",
          {},
          {
            ownerReferences: [
              { apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "$uid", controller: true },
              { apiVersion: "v1", kind: "ConfigMap", name: "p", uid: "2", controller: true },
            ],
          },
        ),
      )),
];
