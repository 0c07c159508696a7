// Server-side apply on other kinds: conflicts, force, removal, subresources, migration from updates.
import {
  anything,
  apps,
  batch,
  cm,
  crd,
  deployment,
  fieldManager,
  force,
  install,
  ns,
  object,
  objectSchema,
  pod,
  silent,
  strict,
  test,
  widget,
  widgets,
} from "./_lib.mjs";

const kinds = [
  [
    `${ns}/services`,
    object("v1", "Service", { spec: { selector: { a: "b" }, ports: [{ port: 80, name: "http" }] } }),
    object("v1", "Service", {
      spec: {
        ports: [
          { port: 81, name: "more" },
          { port: 80, protocol: "TCP", targetPort: 8080 },
        ],
      },
    }),
    object("v1", "Service", { spec: { ports: [{ port: 80, name: "other" }], selector: { a: "c" } } }),
  ],
  [
    `${apps}/statefulsets`,
    object("apps/v1", "StatefulSet", {
      spec: {
        serviceName: "s",
        replicas: 2,
        selector: { matchLabels: { a: "b" } },
        template: {
          metadata: { labels: { a: "b" } },
          spec: {
            containers: [
              {
                name: "m",
                image: "i",
                env: [{ name: "A", value: "1" }],
                volumeMounts: [{ name: "v", mountPath: "/v" }],
              },
            ],
            volumes: [{ name: "v", emptyDir: {} }],
          },
        },
        volumeClaimTemplates: [
          {
            metadata: { name: "d" },
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
          },
        ],
      },
    }),
    object("apps/v1", "StatefulSet", {
      spec: {
        template: {
          spec: {
            containers: [
              { name: "m", env: [{ name: "B", value: "2" }], ports: [{ containerPort: 80 }] },
              { name: "side", image: "s" },
            ],
            tolerations: [{ key: "k", operator: "Exists" }],
          },
        },
      },
    }),
    object("apps/v1", "StatefulSet", {
      spec: { replicas: 5, template: { spec: { containers: [{ name: "m", image: "j" }] } } },
    }),
  ],
  [
    `${batch}/jobs`,
    object("batch/v1", "Job", {
      spec: {
        suspend: true,
        parallelism: 1,
        template: { spec: { restartPolicy: "Never", containers: [{ name: "m", image: "i" }] } },
      },
    }),
    object("batch/v1", "Job", { spec: { ttlSecondsAfterFinished: 5 } }),
    object("batch/v1", "Job", { spec: { parallelism: 3, suspend: false } }),
  ],
  [
    "/apis/networking.k8s.io/v1/namespaces/$NS/ingresses",
    object("networking.k8s.io/v1", "Ingress", {
      spec: {
        rules: [
          {
            host: "a.b",
            http: {
              paths: [
                { path: "/", pathType: "Prefix", backend: { service: { name: "s", port: { number: 1 } } } },
              ],
            },
          },
        ],
      },
    }),
    object("networking.k8s.io/v1", "Ingress", { spec: { tls: [{ hosts: ["a.b"] }] } }),
    object("networking.k8s.io/v1", "Ingress", {
      spec: {
        rules: [
          {
            host: "c.d",
            http: {
              paths: [
                { path: "/", pathType: "Prefix", backend: { service: { name: "s", port: { number: 1 } } } },
              ],
            },
          },
        ],
      },
    }),
  ],
  [
    "/apis/rbac.authorization.k8s.io/v1/namespaces/$NS/roles",
    object("rbac.authorization.k8s.io/v1", "Role", {
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
    }),
    object("rbac.authorization.k8s.io/v1", "Role", {}, { labels: { l: "m" } }),
    object("rbac.authorization.k8s.io/v1", "Role", {
      rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["list"] }],
    }),
  ],
  [
    `${ns}/secrets`,
    object("v1", "Secret", { data: { a: "YQ==" }, type: "Opaque" }),
    object("v1", "Secret", { stringData: { b: "b" } }),
    object("v1", "Secret", { data: { a: "Yg==" } }),
  ],
  [
    "/apis/networking.k8s.io/v1/namespaces/$NS/networkpolicies",
    object("networking.k8s.io/v1", "NetworkPolicy", {
      spec: { podSelector: { matchLabels: { a: "b" } }, ingress: [{ ports: [{ port: 80 }] }] },
    }),
    object("networking.k8s.io/v1", "NetworkPolicy", { spec: { podSelector: {}, policyTypes: ["Ingress"] } }),
    object("networking.k8s.io/v1", "NetworkPolicy", { spec: { podSelector: { matchLabels: { a: "c" } } } }),
  ],
  [
    `${ns}/serviceaccounts`,
    object("v1", "ServiceAccount", { imagePullSecrets: [{ name: "a" }], secrets: [{ name: "s" }] }),
    object("v1", "ServiceAccount", {
      imagePullSecrets: [{ name: "b" }],
      automountServiceAccountToken: false,
    }),
    object("v1", "ServiceAccount", { automountServiceAccountToken: true }),
  ],
  [
    "/apis/autoscaling/v2/namespaces/$NS/horizontalpodautoscalers",
    object("autoscaling/v2", "HorizontalPodAutoscaler", {
      spec: {
        maxReplicas: 3,
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
        metrics: [
          {
            type: "Resource",
            resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } },
          },
        ],
      },
    }),
    object("autoscaling/v2", "HorizontalPodAutoscaler", {
      spec: {
        minReplicas: 2,
        maxReplicas: 3,
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
      },
    }),
    object("autoscaling/v2", "HorizontalPodAutoscaler", {
      spec: { maxReplicas: 9, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" } },
    }),
  ],
  [
    "/apis/policy/v1/namespaces/$NS/poddisruptionbudgets",
    object("policy/v1", "PodDisruptionBudget", {
      spec: { minAvailable: 1, selector: { matchLabels: { a: "b" } } },
    }),
    object("policy/v1", "PodDisruptionBudget", { spec: { selector: { matchLabels: { c: "d" } } } }),
    object("policy/v1", "PodDisruptionBudget", { spec: { minAvailable: "50%" } }),
  ],
  [
    `${ns}/limitranges`,
    object("v1", "LimitRange", { spec: { limits: [{ type: "Container", max: { cpu: "1" } }] } }),
    object("v1", "LimitRange", {}, { annotations: { a: "b" } }),
    object("v1", "LimitRange", { spec: { limits: [{ type: "Container", max: { cpu: "2" } }] } }),
  ],
  [
    "/apis/discovery.k8s.io/v1/namespaces/$NS/endpointslices",
    object("discovery.k8s.io/v1", "EndpointSlice", {
      addressType: "IPv4",
      endpoints: [{ addresses: ["1.1.1.1"] }],
      ports: [{ port: 80, name: "a" }],
    }),
    object("discovery.k8s.io/v1", "EndpointSlice", { addressType: "IPv4" }),
    object("discovery.k8s.io/v1", "EndpointSlice", {
      addressType: "IPv4",
      endpoints: [{ addresses: ["1.1.1.2"] }],
    }),
  ],
  [
    `${ns}/persistentvolumeclaims`,
    object("v1", "PersistentVolumeClaim", {
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    }),
    object("v1", "PersistentVolumeClaim", {}, { labels: { a: "b" } }),
    object("v1", "PersistentVolumeClaim", { spec: { resources: { requests: { storage: "2Gi" } } } }),
  ],
  [
    `${batch}/cronjobs`,
    object("batch/v1", "CronJob", {
      spec: {
        schedule: "* * * * *",
        jobTemplate: {
          spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "m", image: "i" }] } } },
        },
      },
    }),
    object("batch/v1", "CronJob", {
      spec: {
        suspend: true,
        jobTemplate: { spec: { template: { spec: { containers: [{ name: "n", image: "j" }] } } } },
      },
    }),
    object("batch/v1", "CronJob", { spec: { schedule: "1 * * * *" } }),
  ],
];

const configMapPath = `${ns}/configmaps/a`;
const deploymentPath = `${apps}/deployments/d`;

export default [
  ...kinds.map(([path, first, second, conflicting]) =>
    test(`${first.kind} apply: two managers, a conflict, force and removal`, (t) => {
      const objectPath = `${path}/x`;
      t.apply(objectPath, first, "m1")
        .apply(objectPath, second, "m2")
        .apply(objectPath, conflicting, "m2")
        .apply(objectPath, conflicting, "m2", force)
        .apply(objectPath, first, "m1")
        .apply(objectPath, { apiVersion: first.apiVersion, kind: first.kind, metadata: { name: "x" } }, "m2")
        .apply(objectPath, { ...second, bogus: 1 }, "m3", strict)
        .get(objectPath);
    }),
  ),
  ...kinds.slice(0, 8).map(([path, first, second]) =>
    test(`${first.kind} apply: after updates by other managers`, (t) => {
      const objectPath = `${path}/x`;
      t.post(path, first, fieldManager("creator"))
        .apply(objectPath, second, "m2")
        .merge(objectPath, { metadata: { labels: { q: "r" } } }, fieldManager("patcher"))
        .apply(objectPath, first, "creator")
        .apply(objectPath, first, "creator", force)
        .merge(objectPath, { metadata: { labels: null } }, fieldManager("patcher"))
        .put(objectPath, first, {
          query: { fieldManager: "putter" },
          pick: (b) => b.metadata?.managedFields ?? b,
        });
    }),
  ),
  test("ConfigMap apply: fields that managers share and give up", (t) =>
    t
      .apply(configMapPath, cm("a", { x: "1", y: "1" }), "m1")
      .apply(configMapPath, cm("a", { x: "1" }), "m2")
      .apply(configMapPath, cm("a", { y: "1" }), "m1")
      .apply(configMapPath, cm("a", {}), "m2")
      .apply(configMapPath, cm("a", { y: "2" }), "m3", force)
      .apply(configMapPath, cm("a", { z: "1" }), "m1")
      .get(configMapPath)),
  test("ConfigMap update: managedFields written by hand", (t) =>
    t
      .apply(configMapPath, cm("a", { x: "1" }), "m1")
      .merge(configMapPath, { metadata: { managedFields: [] } })
      .merge(configMapPath, { metadata: { managedFields: [{}] } })
      .apply(configMapPath, cm("a", { x: "2" }), "m2")
      .put(
        configMapPath,
        cm(
          "a",
          { x: "3" },
          {
            managedFields: [
              {
                manager: "fake",
                operation: "Update",
                apiVersion: "v1",
                fieldsType: "FieldsV1",
                fieldsV1: { "f:data": { "f:x": {} } },
              },
            ],
          },
        ),
      )
      .put(
        configMapPath,
        cm(
          "a",
          { x: "4" },
          {
            managedFields: [
              { manager: "bad", operation: "Bogus", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1: {} },
            ],
          },
        ),
      )
      .put(
        configMapPath,
        cm(
          "a",
          { x: "5" },
          {
            managedFields: [
              { manager: "bad", operation: "Update", apiVersion: "v1", fieldsType: "FieldsV2", fieldsV1: {} },
            ],
          },
        ),
      )
      .put(
        configMapPath,
        cm(
          "a",
          { x: "6" },
          {
            managedFields: [
              {
                manager: "odd",
                operation: "Update",
                apiVersion: "v9",
                fieldsType: "FieldsV1",
                fieldsV1: { "f:data": { "f:q": {} } },
              },
            ],
          },
        ),
      )
      .json(configMapPath, [{ op: "remove", path: "/metadata/managedFields" }])
      .get(configMapPath)),
  test("ConfigMap apply: kubectl's last-applied annotation", (t) =>
    t
      .post(
        `${ns}/configmaps`,
        cm(
          "a",
          { x: "1", y: "1" },
          {
            annotations: {
              "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify(cm("a", { x: "1", y: "1" })),
            },
          },
        ),
        fieldManager("kubectl-client-side-apply"),
      )
      .apply(configMapPath, cm("a", { x: "2" }), "kubectl")
      .apply(configMapPath, cm("a", { x: "3" }), "other", force)
      .apply(configMapPath, cm("a", { x: "3" }), "kubectl")),
  test("Deployment apply: nested lists of a container", (t) => {
    const withContainers = (...containers) => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "d" },
      spec: { template: { spec: { containers } } },
    });
    t.apply(deploymentPath, deployment("d"), "m1", silent)
      .apply(
        deploymentPath,
        withContainers({
          name: "main",
          env: [
            { name: "A", value: "1" },
            { name: "B", value: "2" },
          ],
          ports: [{ containerPort: 80 }, { containerPort: 80, protocol: "UDP" }],
          volumeMounts: [{ name: "v", mountPath: "/v" }],
          resources: { limits: { cpu: "1" } },
          args: ["a", "b"],
        }),
        "m2",
      )
      .apply(
        deploymentPath,
        withContainers({
          name: "main",
          env: [
            { name: "B", value: "2" },
            { name: "A", value: "1" },
          ],
        }),
        "m2",
      )
      .apply(deploymentPath, withContainers({ name: "main", args: ["c"] }), "m3")
      .apply(
        deploymentPath,
        withContainers({
          name: "main",
          env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
        }),
        "m2",
      )
      .apply(
        deploymentPath,
        withContainers({
          name: "main",
          env: [
            { name: "A", value: "1" },
            { name: "A", value: "2" },
          ],
        }),
        "m4",
      )
      .apply(deploymentPath, withContainers({ image: "x" }), "m5")
      .apply(deploymentPath, withContainers({ name: "main", ports: [{ protocol: "TCP" }] }), "m6")
      .get(deploymentPath);
  }),
  test("Deployment status apply: several managers, and spec that is ignored", (t) => {
    const withStatus = (status) => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "d" },
      status,
    });
    t.apply(deploymentPath, deployment("d"), "m1", silent)
      .apply(
        `${deploymentPath}/status`,
        withStatus({ replicas: 1, conditions: [{ type: "Available", status: "True" }] }),
        "ctl",
      )
      .apply(
        `${deploymentPath}/status`,
        withStatus({ conditions: [{ type: "Progressing", status: "True" }] }),
        "other",
      )
      .apply(`${deploymentPath}/status`, withStatus({ replicas: 2 }), "other")
      .apply(
        `${deploymentPath}/status`,
        { ...withStatus({ replicas: 2 }), spec: { replicas: 9 } },
        "other",
        force,
      )
      .apply(deploymentPath, { ...deployment("d"), status: { replicas: 7 } }, "m1")
      .apply(
        `${ns}/pods/none/status`,
        { apiVersion: "v1", kind: "Pod", metadata: { name: "none" }, status: {} },
        "m",
      );
  }),
  test(
    "Pod apply: fields that cannot change, and status",
    (t) => {
      const podPath = `${ns}/pods/p`;
      t.apply(podPath, pod("p"), "m1")
        .apply(podPath, pod("p", { tolerations: [{ key: "a", operator: "Exists" }] }), "m1")
        .apply(
          podPath,
          {
            apiVersion: "v1",
            kind: "Pod",
            metadata: { name: "p" },
            spec: { containers: [{ name: "main", image: "new" }] },
          },
          "m2",
        )
        .apply(
          podPath,
          {
            apiVersion: "v1",
            kind: "Pod",
            metadata: { name: "p" },
            spec: { containers: [{ name: "main", image: "new" }] },
          },
          "m2",
          force,
        )
        .apply(
          `${podPath}/status`,
          {
            apiVersion: "v1",
            kind: "Pod",
            metadata: { name: "p" },
            status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
          },
          "kubelet",
        )
        .get(podPath);
    },
    { account: true },
  ),
  test("Widget apply: nested maps, sets and lists with keys", (t) => {
    install(
      t,
      crd(
        objectSchema({
          spec: objectSchema({
            m: {
              type: "object",
              additionalProperties: objectSchema({
                a: { type: "string" },
                l: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
              }),
            },
            two: {
              type: "array",
              "x-kubernetes-list-type": "map",
              "x-kubernetes-list-map-keys": ["a", "b"],
              items: objectSchema(
                { a: { type: "string" }, b: { type: "integer", default: 1 }, c: { type: "string" } },
                { required: ["a"] },
              ),
            },
            any: anything,
            deep: {
              type: "array",
              "x-kubernetes-list-type": "map",
              "x-kubernetes-list-map-keys": ["k"],
              items: objectSchema(
                {
                  k: { type: "string" },
                  inner: {
                    type: "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    items: objectSchema(
                      { k: { type: "string" }, v: { type: "integer" } },
                      { required: ["k"] },
                    ),
                  },
                },
                { required: ["k"] },
              ),
            },
          }),
        }),
      ),
    );
    const widgetPath = `${widgets}/w`,
      widgetWith = (spec) => widget("w", { spec });
    t.apply(
      widgetPath,
      widgetWith({
        m: { x: { a: "1", l: ["p"] } },
        two: [{ a: "1" }, { a: "1", b: 2 }],
        any: { free: [1, { z: 2 }] },
        deep: [{ k: "a", inner: [{ k: "i", v: 1 }] }],
      }),
      "m1",
    )
      .apply(
        widgetPath,
        widgetWith({
          m: { x: { l: ["q"] }, y: {} },
          two: [{ a: "1", b: 2, c: "z" }],
          any: { other: 1 },
          deep: [{ k: "a", inner: [{ k: "j", v: 2 }] }, { k: "b" }],
        }),
        "m2",
      )
      .apply(
        widgetPath,
        widgetWith({ any: { free: [2] }, deep: [{ k: "a", inner: [{ k: "i", v: 5 }] }] }),
        "m2",
      )
      .apply(widgetPath, widgetWith({ m: { x: { a: "1" } } }), "m1")
      .merge(widgetPath, { spec: { two: [{ a: "9" }] } }, fieldManager("p"))
      .apply(widgetPath, widgetWith({ two: [{ a: "1" }, { a: "1", b: 1 }] }), "m3")
      .get(widgetPath);
  }),
];
