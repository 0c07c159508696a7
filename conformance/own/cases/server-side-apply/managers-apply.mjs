// Field managers: many of them, cleared, edited, and their conflicts.
import { cm, fieldManager, ns, silent, test } from "../_lib.mjs";
import { configMapPath, deploymentPath, fullDeployment, podTemplate } from "./_builders.mjs";

export default [
  test("ConfigMap patch: more managers than managedFields keeps apart", (t) => {
    t.post(`${ns}/configmaps`, cm("c", {}));
    for (let i = 0; i < 13; i++)
      t.merge(
        configMapPath,
        { data: { [`k${i}`]: "v" } },
        { query: { fieldManager: `m${i}` }, silent: i < 8 },
      );
    t.apply(configMapPath, cm("c", { k1: "x" }), "zz").apply(configMapPath, cm("c", { k12: "x" }), "zz");
  }),
  test("ConfigMap update: managedFields are cleared", (t) =>
    t
      .apply(configMapPath, cm("c", { a: "1" }), "a")
      .merge(configMapPath, { metadata: { managedFields: [{}] } })
      .apply(configMapPath, cm("c", { b: "1" }), "a")
      .apply(configMapPath, cm("c", { c: "1" }), "a")
      .put(configMapPath, cm("c", { x: "y" }, { managedFields: [] }))
      .put(configMapPath, cm("c", { x: "z" }, { managedFields: null }))
      .json(configMapPath, [{ op: "replace", path: "/metadata/managedFields", value: [{}] }])
      .json(configMapPath, [{ op: "replace", path: "/metadata/managedFields", value: [] }])
      .merge(configMapPath, { data: { l: "m" } })),
  test("ConfigMap patch: managedFields are edited", (t) =>
    t
      .apply(configMapPath, cm("c", { a: "1", b: "2" }), "a")
      .json(configMapPath, [{ op: "replace", path: "/metadata/managedFields/0/manager", value: "zed" }])
      .apply(configMapPath, cm("c", { a: "2" }), "a")
      .json(configMapPath, [{ op: "replace", path: "/metadata/managedFields/0/operation", value: "Update" }])
      .json(configMapPath, [{ op: "replace", path: "/metadata/managedFields/0/operation", value: "Bogus" }])
      .json(configMapPath, [{ op: "replace", path: "/metadata/managedFields/0/apiVersion", value: "v9" }])
      .json(configMapPath, [
        { op: "replace", path: "/metadata/managedFields/0/fieldsType", value: "FieldsV2" },
      ])
      .json(configMapPath, [
        { op: "replace", path: "/metadata/managedFields/0/fieldsV1", value: { "f:data": { "f:a": {} } } },
      ])
      .json(configMapPath, [
        { op: "replace", path: "/metadata/managedFields/0/fieldsV1", value: { bogus: {} } },
      ])
      .json(configMapPath, [{ op: "remove", path: "/metadata/managedFields/0" }])),
  test("ConfigMap apply: owners of labels, finalizers and owner references", (t) =>
    t
      .apply(
        configMapPath,
        cm(
          "c",
          {},
          {
            labels: { a: "1" },
            annotations: { x: "1" },
            finalizers: ["a.b/c"],
            ownerReferences: [
              { apiVersion: "v1", kind: "Node", name: "n", uid: "11111111-1111-1111-1111-111111111111" },
            ],
          },
        ),
        "a",
      )
      .apply(
        configMapPath,
        cm(
          "c",
          {},
          {
            labels: { b: "1" },
            finalizers: ["d.e/f"],
            ownerReferences: [
              { apiVersion: "v1", kind: "Node", name: "m", uid: "22222222-2222-2222-2222-222222222222" },
            ],
          },
        ),
        "b",
      )
      .apply(
        configMapPath,
        cm(
          "c",
          {},
          {
            ownerReferences: [
              {
                apiVersion: "v1",
                kind: "Node",
                name: "x",
                uid: "11111111-1111-1111-1111-111111111111",
                controller: true,
              },
            ],
          },
        ),
        "b",
      )
      .apply(configMapPath, cm("c", {}, { labels: { a: "2" } }), "b")
      .apply(configMapPath, cm("c", {}, { generateName: "q-" }), "b")
      .apply(configMapPath, cm("c"), "a")
      .apply(configMapPath, cm("c", {}, { labels: null, annotations: {} }), "a")
      .merge(configMapPath, { metadata: { finalizers: null } })),
  test("Deployment apply: nothing changes", (t) =>
    t
      .apply(deploymentPath, fullDeployment({ replicas: 2 }), "a", {
        save: { RV: (b) => b.metadata.resourceVersion },
      })
      .apply(deploymentPath, fullDeployment({ replicas: 2 }), "a", silent)
      .merge(deploymentPath, { metadata: { resourceVersion: "$RV", labels: { x: "1" } } })
      .apply(deploymentPath, fullDeployment({ replicas: 2 }), "b")
      .apply(deploymentPath, fullDeployment({ replicas: 2 }), "b")
      .put(deploymentPath, fullDeployment({ replicas: 2 }))
      .get(deploymentPath)),
  test("Deployment apply: what a conflict says", (t) =>
    t
      .apply(deploymentPath, fullDeployment({ replicas: 2, minReadySeconds: 1, paused: false }), "a")
      .apply(deploymentPath, fullDeployment({ replicas: 2 }), "b")
      .apply(
        deploymentPath,
        fullDeployment({
          replicas: 3,
          minReadySeconds: 5,
          template: podTemplate({ containers: [{ name: "a", image: "z" }] }),
        }),
        "c",
      )
      .merge(deploymentPath, { spec: { replicas: 7 } }, fieldManager("d"))
      .apply(deploymentPath, fullDeployment({ replicas: 9, minReadySeconds: 4 }), "c")
      .merge(`${deploymentPath}/status`, { status: { replicas: 1 } }, fieldManager("e"))
      .apply(
        `${deploymentPath}/status`,
        { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "d" }, status: { replicas: 4 } },
        "f",
      )),
  test("ConfigMap create: the manager that a user agent names", (t) => {
    for (const userAgent of [
      "kubectl/v1.33.1 (linux/amd64)",
      "Mozilla/5.0 x",
      "",
      "a b c/1",
      "x".repeat(200),
      "é/1",
    ])
      t.put(configMapPath, cm("c", { a: `${userAgent.length}` }), {
        headers: { "user-agent": userAgent },
      }).post(`${ns}/configmaps`, cm(`c-${userAgent.length}`, {}), { headers: { "user-agent": userAgent } });
  }),
];
