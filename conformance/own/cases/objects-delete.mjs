// Deletion: options, finalizers, grace, collections, namespaces, evictions and bindings.
import {
  anything,
  apps,
  batch,
  cm,
  crd,
  deployment,
  dryRun,
  install,
  ns,
  objectSchema,
  pod,
  silent,
  test,
  widget,
  widgets,
} from "./_lib.mjs";

const configMapPath = `${ns}/configmaps/c`;
const deploymentPath = `${apps}/deployments/d`;
const podPath = `${ns}/pods/p`;

const createConfigMap = (t, meta) =>
  t.post(`${ns}/configmaps`, cm("c", { a: "1" }, meta), {
    silent: true,
    save: { UID: (b) => b.metadata?.uid, RV: (b) => b.metadata?.resourceVersion },
  });

const deleteOptions = (o) => ({ body: { kind: "DeleteOptions", apiVersion: "v1", ...o } });

export default [
  ...[
    ["propagationPolicy Background", { propagationPolicy: "Background" }],
    ["propagationPolicy Foreground", { propagationPolicy: "Foreground" }],
    ["propagationPolicy Orphan", { propagationPolicy: "Orphan" }],
    ["orphanDependents true", { orphanDependents: true }],
    ["orphanDependents false", { orphanDependents: false }],
    [
      "orphanDependents and propagationPolicy together",
      { orphanDependents: true, propagationPolicy: "Orphan" },
    ],
    ["an unknown propagationPolicy", { propagationPolicy: "Bogus" }],
    ["an empty propagationPolicy", { propagationPolicy: "" }],
    ["gracePeriodSeconds 0", { gracePeriodSeconds: 0 }],
    ["gracePeriodSeconds 30", { gracePeriodSeconds: 30 }],
    ["gracePeriodSeconds -1", { gracePeriodSeconds: -1 }],
    ["gracePeriodSeconds as a string", { gracePeriodSeconds: "x" }],
    ["dryRun All", { dryRun: ["All"] }],
    ["an unknown dryRun", { dryRun: ["x"] }],
    ["dryRun as a string", { dryRun: "All" }],
    ["precondition with another uid", { preconditions: { uid: "11111111-1111-1111-1111-111111111111" } }],
    ["precondition with the uid", { preconditions: { uid: "$UID" } }],
    ["precondition with another resourceVersion", { preconditions: { resourceVersion: "1" } }],
    ["precondition with the resourceVersion", { preconditions: { resourceVersion: "$RV" } }],
    [
      "precondition with the uid and another resourceVersion",
      { preconditions: { uid: "$UID", resourceVersion: "1" } },
    ],
    ["an unknown option", { bogus: 1 }],
    [
      "ignoreStoreReadErrorWithClusterBreakingPotential",
      { ignoreStoreReadErrorWithClusterBreakingPotential: true },
    ],
  ].map(([n, o]) =>
    test(`ConfigMap delete: ${n}`, (t) =>
      createConfigMap(t)
        .del(configMapPath, deleteOptions(o))
        .get(configMapPath)
        .del(configMapPath, deleteOptions({}))
        .get(configMapPath)),
  ),
  test("ConfigMap delete: bodies and queries, valid and invalid", (t) => {
    createConfigMap(t, { finalizers: ["a.b/c"] });
    for (const b of [
      {},
      [],
      "x",
      "",
      { kind: "Foo" },
      { apiVersion: "v2", kind: "DeleteOptions" },
      { apiVersion: "meta.k8s.io/v1", kind: "DeleteOptions" },
      { apiVersion: "policy/v1", kind: "DeleteOptions" },
      { propagationPolicy: 5 },
      { preconditions: "x" },
      { kind: "DeleteOptions" },
      { apiVersion: "v1" },
      "null",
    ])
      t.del(configMapPath, { body: b });
    t.del(configMapPath, { query: { propagationPolicy: "Orphan" } })
      .del(configMapPath, { query: { gracePeriodSeconds: "5" } })
      .del(configMapPath, { query: { gracePeriodSeconds: "-5" } })
      .del(configMapPath, { query: { orphanDependents: "true" } })
      .del(configMapPath, { query: { orphanDependents: "x" } })
      .del(configMapPath, dryRun)
      .del(configMapPath, { body: {}, type: "text/plain" })
      .del(configMapPath, { body: "kind: DeleteOptions\napiVersion: v1\n", type: "application/yaml" })
      .del(configMapPath, { query: { propagationPolicy: "Bogus" }, body: {} });
  }),
  test("ConfigMap delete: finalizers may only be removed afterwards", (t) => {
    createConfigMap(t, { finalizers: ["a.b/c", "d.e/f"] });
    t.del(configMapPath)
      .del(configMapPath, deleteOptions({ propagationPolicy: "Foreground" }))
      .del(configMapPath, deleteOptions({ propagationPolicy: "Orphan" }))
      .merge(configMapPath, { metadata: { finalizers: ["a.b/c", "x.y/z"] } })
      .merge(configMapPath, { metadata: { finalizers: ["d.e/f", "a.b/c"] } })
      .merge(configMapPath, { metadata: { finalizers: ["a.b/c"] } })
      .merge(configMapPath, { data: { q: "1" } })
      .put(configMapPath, cm("c", { z: "1" }))
      .get(configMapPath);
  }),
  test("ConfigMap update: without finalizers, the deleted object goes", (t) => {
    createConfigMap(t, { finalizers: ["a.b/c"] });
    t.del(configMapPath)
      .put(configMapPath, cm("c", { z: "1" }))
      .get(configMapPath)
      .post(`${ns}/configmaps`, cm("c", {}));
  }),
  test("ConfigMap create: the name of an object that is being deleted", (t) => {
    createConfigMap(t, { finalizers: ["a.b/c"] });
    t.del(configMapPath)
      .post(`${ns}/configmaps`, cm("c", {}))
      .merge(configMapPath, { metadata: { finalizers: [] } })
      .post(`${ns}/configmaps`, cm("c", {}));
  }),
  test("ConfigMap delete: the propagation policy changes during deletion", (t) => {
    createConfigMap(t);
    t.del(configMapPath, deleteOptions({ propagationPolicy: "Foreground" }))
      .del(configMapPath, deleteOptions({ propagationPolicy: "Background" }))
      .get(configMapPath)
      .del(configMapPath, deleteOptions({ propagationPolicy: "Orphan" }))
      .get(configMapPath)
      .merge(configMapPath, { metadata: { finalizers: null } })
      .get(configMapPath);
  }),
  test("ConfigMap create: valid and invalid finalizer names", (t) => {
    for (const f of [
      "x",
      "",
      "a.b/",
      "/x",
      "a.b/c/d",
      "foregroundDeletion",
      "orphan",
      "kubernetes",
      "A.b/C",
      "a_b/c",
      "a.b/c d",
      "x".repeat(300),
    ])
      t.post(`${ns}/configmaps`, cm("c", {}, { finalizers: [f] }), dryRun);
    t.post(`${ns}/configmaps`, cm("c", {}, { finalizers: ["orphan", "foregroundDeletion"] }));
  }),
  test("Deployment delete: writes during foreground deletion", (t) => {
    t.post(`${apps}/deployments`, deployment("d"), silent)
      .del(deploymentPath, deleteOptions({ propagationPolicy: "Foreground" }))
      .merge(deploymentPath, { spec: { replicas: 3 } })
      .merge(`${deploymentPath}/status`, { status: { replicas: 1 } })
      .del(deploymentPath)
      .merge(deploymentPath, { metadata: { finalizers: null } })
      .get(deploymentPath);
  }),
  test("Job delete: default propagation of each workload kind", (t) =>
    t
      .post(
        `${batch}/jobs`,
        {
          apiVersion: "batch/v1",
          kind: "Job",
          metadata: { name: "j" },
          spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "b" }] } } },
        },
        silent,
      )
      .del(`${batch}/jobs/j`, {
        pick: (b) => ({ k: b.kind, f: b.metadata.finalizers, g: b.metadata.generation }),
      })
      .post(
        `${ns}/replicationcontrollers`,
        {
          apiVersion: "v1",
          kind: "ReplicationController",
          metadata: { name: "r" },
          spec: {
            selector: { a: "b" },
            template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "a", image: "b" }] } },
          },
        },
        silent,
      )
      .del(`${ns}/replicationcontrollers/r`)
      .post(
        `${apps}/replicasets`,
        {
          apiVersion: "apps/v1",
          kind: "ReplicaSet",
          metadata: { name: "r" },
          spec: {
            selector: { matchLabels: { a: "b" } },
            template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "a", image: "b" }] } },
          },
        },
        silent,
      )
      .del(`${apps}/replicasets/r`)
      .post(
        `${apps}/statefulsets`,
        {
          apiVersion: "apps/v1",
          kind: "StatefulSet",
          metadata: { name: "r" },
          spec: {
            selector: { matchLabels: { a: "b" } },
            template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "a", image: "b" }] } },
          },
        },
        silent,
      )
      .del(`${apps}/statefulsets/r`)
      .post(
        `${ns}/services`,
        { apiVersion: "v1", kind: "Service", metadata: { name: "s" }, spec: { ports: [{ port: 1 }] } },
        silent,
      )
      .del(`${ns}/services/s`)
      .post(
        `${ns}/persistentvolumeclaims`,
        {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          metadata: { name: "p" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1" } } },
        },
        silent,
      )
      .del(`${ns}/persistentvolumeclaims/p`)
      .post(
        `${ns}/serviceaccounts`,
        { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "s" } },
        silent,
      )
      .del(`${ns}/serviceaccounts/s`)
      .post(
        `${ns}/secrets`,
        { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, stringData: { a: "b" } },
        silent,
      )
      .del(`${ns}/secrets/s`)),
  test(
    "Pod delete: grace periods that shorten",
    (t) => {
      t.post(`${ns}/pods`, pod("p", { nodeName: "n1", terminationGracePeriodSeconds: 20 }), silent)
        .del(podPath, deleteOptions({ dryRun: ["All"] }))
        .del(podPath)
        .del(podPath)
        .del(podPath, deleteOptions({ gracePeriodSeconds: 50 }))
        .del(podPath, deleteOptions({ gracePeriodSeconds: 5 }))
        .get(podPath)
        .merge(podPath, { metadata: { labels: { a: "b" } } })
        .merge(podPath, { metadata: { deletionGracePeriodSeconds: 3 } })
        .del(podPath, deleteOptions({ gracePeriodSeconds: 0 }))
        .get(podPath);
    },
    { account: true },
  ),
  test(
    "Pod delete: grace period and finalizer",
    (t) => {
      t.post(`${ns}/pods`, pod("p", { nodeName: "n1" }, { finalizers: ["a.b/c"] }), silent)
        .del(podPath)
        .del(podPath, deleteOptions({ gracePeriodSeconds: 0 }))
        .get(podPath)
        .merge(podPath, { metadata: { finalizers: null } })
        .get(podPath);
    },
    { account: true },
  ),
  test(
    "Pod delete: pods without grace, finished, unscheduled, with finalizers",
    (t) => {
      t.post(`${ns}/pods`, pod("p", { nodeName: "n1", terminationGracePeriodSeconds: 0 }), silent)
        .del(podPath)
        .get(podPath)
        .post(`${ns}/pods`, pod("q", { nodeName: "n1" }), silent)
        .merge(`${ns}/pods/q/status`, { status: { phase: "Succeeded" } }, silent)
        .del(`${ns}/pods/q`)
        .post(`${ns}/pods`, pod("r", { nodeName: "n1" }), silent)
        .del(`${ns}/pods/r`, deleteOptions({ gracePeriodSeconds: 0 }))
        .post(`${ns}/pods`, pod("s", { nodeName: "n1" }), silent)
        .del(`${ns}/pods/s`, deleteOptions({ gracePeriodSeconds: -5 }))
        .post(`${ns}/pods`, pod("u"), silent)
        .del(`${ns}/pods/u`, deleteOptions({ gracePeriodSeconds: 30 }))
        .get(`${ns}/pods/u`)
        .post(`${ns}/pods`, pod("v", {}, { finalizers: ["x.y/z"] }), silent)
        .del(`${ns}/pods/v`)
        .get(`${ns}/pods/v`);
    },
    { account: true },
  ),
  test("ConfigMap deletecollection: selectors, limits and options", (t) => {
    for (let i = 0; i < 5; i++)
      t.post(
        `${ns}/configmaps`,
        cm(`c${i}`, {}, { labels: { p: String(i % 2) }, ...(i === 4 ? { finalizers: ["a.b/c"] } : {}) }),
        silent,
      );
    const configMaps = `${ns}/configmaps`;
    t.step({ method: "DELETE", path: configMaps, query: { labelSelector: "p=1", dryRun: "All" } })
      .step({ method: "DELETE", path: configMaps, query: { labelSelector: "p in (" } })
      .step({ method: "DELETE", path: configMaps, query: { fieldSelector: "bogus=1" } })
      .step({ method: "DELETE", path: configMaps, query: { fieldSelector: "metadata.name=c0" } })
      .step({ method: "DELETE", path: configMaps, query: { limit: "1" } })
      .list(configMaps)
      .step({ method: "DELETE", path: configMaps, query: { labelSelector: "p=1" } })
      .list(configMaps)
      .step({
        method: "DELETE",
        path: configMaps,
        body: { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Foreground" },
      })
      .list(configMaps)
      .step({ method: "DELETE", path: configMaps, body: { preconditions: { uid: "x" } } })
      .step({ method: "DELETE", path: configMaps, query: { propagationPolicy: "x" } })
      .step({ method: "DELETE", path: "/api/v1/configmaps" })
      .step({ method: "DELETE", path: "/api/v1/namespaces" })
      .step({ method: "DELETE", path: "/api/v1/nodes", query: { labelSelector: "zz=zz" } });
  }),
  test("Object delete: what does not exist", (t) =>
    t
      .del(configMapPath)
      .del(`${ns}/pods/none`)
      .del(`${ns}/nothings/none`)
      .del("/api/v1/namespaces/none-$ID")
      .del("/api/v1/namespaces/none-$ID/configmaps/x")
      .del("/apis/x.y/v1/z/n")
      .step({ method: "DELETE", path: "/api/v1/namespaces/none-$ID/configmaps" })),
  test("Namespace delete: phases and the finalize subresource", (t) => {
    const namespacePath = "/api/v1/namespaces/x-$ID";
    t.post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "x-$ID" } })
      .merge(namespacePath, { spec: { finalizers: [] } })
      .merge(namespacePath, { spec: { finalizers: ["a.b/c"] } })
      .merge(`${namespacePath}/status`, { status: { phase: "Terminating" } })
      .del(namespacePath, deleteOptions({ dryRun: ["All"] }))
      .del(namespacePath)
      .del(namespacePath)
      .get(namespacePath)
      .post(`${namespacePath}/configmaps`, cm("c"))
      .merge(namespacePath, { metadata: { labels: { a: "b" } } })
      .put(`${namespacePath}/finalize`, {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: "x-$ID" },
        spec: { finalizers: ["bad"] },
      })
      .put(`${namespacePath}/finalize`, {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: "x-$ID" },
        spec: { finalizers: ["kubernetes", "c.d/e"] },
      })
      .put(`${namespacePath}/finalize`, {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: "x-$ID" },
        spec: {},
      })
      .get(namespacePath)
      .del("/api/v1/namespaces/default")
      .del("/api/v1/namespaces/kube-system", deleteOptions({ dryRun: ["All"] }))
      .del("/api/v1/namespaces/kube-public", deleteOptions({ dryRun: ["All"] }));
  }),
  test("Namespace delete: finalizers of metadata and of spec", (t) => {
    const namespacePath = "/api/v1/namespaces/y-$ID";
    t.post(
      "/api/v1/namespaces",
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "y-$ID", finalizers: ["a.b/c"] } },
      silent,
    )
      .del(namespacePath)
      .put(`${namespacePath}/finalize`, {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: "y-$ID" },
        spec: {},
      })
      .get(namespacePath)
      .merge(namespacePath, { metadata: { finalizers: null } })
      .get(namespacePath);
  }),
  test(
    "Eviction create: disruption budgets and preconditions",
    (t) => {
      const eviction = (n, o = {}) => ({
        apiVersion: "policy/v1",
        kind: "Eviction",
        metadata: { name: n, namespace: "$NS" },
        ...o,
      });
      t.post(`${ns}/pods`, pod("p", { nodeName: "n" }, { labels: { a: "b" } }), silent)
        .post(`${podPath}/eviction`, eviction("p", { deleteOptions: { dryRun: ["All"] } }))
        .post(`${podPath}/eviction`, eviction("q"))
        .post(`${podPath}/eviction`, {})
        .post(
          `${podPath}/eviction`,
          eviction("p", {
            deleteOptions: { preconditions: { uid: "11111111-1111-1111-1111-111111111111" } },
          }),
        )
        .post(
          `/apis/policy/v1/namespaces/$NS/poddisruptionbudgets`,
          {
            apiVersion: "policy/v1",
            kind: "PodDisruptionBudget",
            metadata: { name: "b" },
            spec: { minAvailable: 1, selector: { matchLabels: { a: "b" } } },
          },
          silent,
        )
        .post(`${podPath}/eviction`, eviction("p"))
        .merge(
          `/apis/policy/v1/namespaces/$NS/poddisruptionbudgets/b/status`,
          {
            status: {
              observedGeneration: 1,
              disruptionsAllowed: 0,
              currentHealthy: 1,
              desiredHealthy: 1,
              expectedPods: 1,
            },
          },
          silent,
        )
        .post(`${podPath}/eviction`, eviction("p"))
        .merge(
          `${podPath}/status`,
          { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } },
          silent,
        )
        .post(`${podPath}/eviction`, eviction("p"), { headersOf: ["retry-after"] })
        .merge(
          `/apis/policy/v1/namespaces/$NS/poddisruptionbudgets/b/status`,
          { status: { disruptionsAllowed: 1 } },
          silent,
        )
        .post(`${podPath}/eviction`, eviction("p"))
        .get(podPath)
        .get(`/apis/policy/v1/namespaces/$NS/poddisruptionbudgets/b`)
        .post(`${ns}/pods/none/eviction`, eviction("none"))
        .post(`${podPath}/eviction`, { ...eviction("p"), apiVersion: "policy/v1beta1" });
    },
    { account: true },
  ),
  test(
    "Binding create: targets, gates and pods that have a node",
    (t) => {
      const binding = (n, o = {}) => ({
        apiVersion: "v1",
        kind: "Binding",
        metadata: { name: n },
        target: { kind: "Node", name: "node1" },
        ...o,
      });
      t.post(`${ns}/pods`, pod("p"), silent)
        .post(`${podPath}/binding`, binding("q"))
        .post(`${podPath}/binding`, binding("p", { target: {} }))
        .post(`${podPath}/binding`, binding("p", { target: { kind: "Pod", name: "x" } }))
        .post(
          `${podPath}/binding`,
          binding("p", {
            metadata: { name: "p", annotations: { z: "y" }, uid: "11111111-1111-1111-1111-111111111111" },
          }),
        )
        .post(
          `${podPath}/binding`,
          binding("p", { metadata: { name: "p", annotations: { z: "y" }, labels: { l: "m" } } }),
        )
        .get(podPath)
        .post(`${podPath}/binding`, binding("p"))
        .post(`${ns}/bindings`, binding("p"))
        .post(`${ns}/pods/none/binding`, binding("none"))
        .post(`${ns}/pods`, pod("g", { schedulingGates: [{ name: "a.b/c" }] }), silent)
        .post(`${ns}/pods/g/binding`, binding("g"));
    },
    { account: true },
  ),
  test("Widget delete: finalizers, grace and collections", (t) => {
    install(t, crd(objectSchema({ spec: anything })));
    const widgetPath = `${widgets}/w`;
    t.post(widgets, widget("w", {}, { finalizers: ["a.b/c"] }), silent)
      .del(widgetPath, deleteOptions({ propagationPolicy: "Foreground" }))
      .del(widgetPath)
      .merge(widgetPath, { metadata: { finalizers: ["x"] } })
      .merge(widgetPath, { metadata: { finalizers: null } })
      .get(widgetPath)
      .post(widgets, widget("w"), silent)
      .del(widgetPath, deleteOptions({ gracePeriodSeconds: 10 }))
      .get(widgetPath)
      .post(widgets, widget("a"), silent)
      .post(widgets, widget("b"), silent)
      .step({ method: "DELETE", path: widgets, query: { labelSelector: "!zz" } })
      .list(widgets);
  }),
];
