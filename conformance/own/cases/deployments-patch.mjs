// Patches with directives and edge cases, on deployments and other kinds.
import {
  apps,
  cm,
  crd,
  deployment,
  install,
  ns,
  object,
  objectSchema,
  silent,
  strict,
  test,
  widget,
  widgets,
} from "./_lib.mjs";

const configMapPath = `${ns}/configmaps/a`;
const configMaps = `${ns}/configmaps`;
const deploymentPath = `${apps}/deployments/d`;

const content = { pick: (b) => (b.kind === "Status" ? b : (b.data ?? b.spec ?? b)) };

const podSpecOnly = { pick: (b) => (b.kind === "Status" ? b : b.spec.template.spec) };

const newDeployment = () =>
  deployment("d", {
    template: {
      metadata: { labels: { app: "d" } },
      spec: {
        containers: [
          {
            name: "main",
            image: "i",
            env: [
              { name: "A", value: "1" },
              { name: "B", value: "2" },
            ],
            ports: [{ containerPort: 80, name: "http" }, { containerPort: 81 }],
            args: ["x", "y"],
            volumeMounts: [{ name: "v", mountPath: "/v" }],
          },
          { name: "side", image: "s" },
        ],
        volumes: [
          { name: "v", emptyDir: {} },
          { name: "w", configMap: { name: "c" } },
        ],
        tolerations: [{ key: "a", operator: "Exists" }],
        imagePullSecrets: [{ name: "p" }],
        hostAliases: [{ ip: "1.1.1.1", hostnames: ["h"] }],
        nodeSelector: { a: "b" },
      },
    },
  });

const strategic = (name, ...patches) =>
  test(name, (t) => {
    t.post(`${apps}/deployments`, newDeployment(), silent);
    for (const p of patches) t.strategic(deploymentPath, p, podSpecOnly);
  });

const podSpec = (s) => ({ spec: { template: { spec: s } } });

export default [
  test("ConfigMap JSON patch: each operation, valid and invalid", (t) => {
    t.post(configMaps, cm("a", { x: "1", "y/z": "2", "t~u": "3" }), silent);
    for (const p of [
      [{ op: "add", path: "/data/n", value: "v" }],
      [{ op: "replace", path: "/data/x", value: "9" }],
      [{ op: "remove", path: "/data/none" }],
      [{ op: "replace", path: "/data/none", value: "1" }],
      [{ op: "move", from: "/data/x", path: "/data/moved" }],
      [{ op: "copy", from: "/data/moved", path: "/data/copied" }],
      [{ op: "test", path: "/data/copied", value: "wrong" }],
      [{ op: "test", path: "/data/copied", value: "9" }],
      [{ op: "test", path: "/data/none", value: null }],
      [{ op: "replace", path: "/data/y~1z", value: "slash" }],
      [{ op: "replace", path: "/data/t~0u", value: "tilde" }],
      [{ op: "add", path: "/data", value: { all: "new" } }],
      [{ op: "add", path: "", value: { kind: "x" } }],
      [{ op: "remove", path: "" }],
      [{ op: "bogus", path: "/data" }],
      [{ op: "add", path: "data/x", value: "1" }],
      [{ op: "add", path: "/data/x" }],
      [{ op: "add" }],
      [{}],
      [],
      {},
      [1],
      "text",
      null,
      [{ op: "move", path: "/data/x" }],
      [{ op: "copy", from: "/none", path: "/data/x" }],
      [
        { op: "add", path: "/metadata/labels", value: { a: "b" } },
        { op: "add", path: "/metadata/labels/c", value: "d" },
      ],
      [
        { op: "add", path: "/metadata/finalizers", value: [] },
        { op: "add", path: "/metadata/finalizers/-", value: "a.b/c" },
        { op: "add", path: "/metadata/finalizers/0", value: "a.b/d" },
      ],
      [{ op: "add", path: "/metadata/finalizers/9", value: "a.b/e" }],
      [{ op: "remove", path: "/metadata/finalizers/-1" }],
      [{ op: "replace", path: "/metadata/finalizers", value: [] }],
      [{ op: "replace", path: "/metadata/name", value: "b" }],
      [{ op: "replace", path: "/kind", value: "Secret" }],
      [{ op: "replace", path: "/apiVersion", value: "v2" }],
      [{ op: "remove", path: "/metadata" }],
      [{ op: "replace", path: "/data/all", value: 5 }],
      [{ op: "add", path: "/bogus", value: 1 }],
    ])
      t.json(configMapPath, p, {
        pick: (b) => (b.kind === "Status" ? b : [b.data, b.metadata.labels, b.metadata.finalizers]),
      });
  }),
  test("ConfigMap JSON patch: strict field validation", (t) =>
    t
      .post(configMaps, cm("a", { x: "1" }), silent)
      .json(configMapPath, [{ op: "add", path: "/bogus", value: 1 }], strict)
      .json(configMapPath, '[{"op":"add","path":"/data/x","value":"1","value":"2"}]', strict)
      .json(configMapPath, '[{"op":"add","path":"/data/x","value":"1","bogus":"2"}]', strict)
      .json(configMapPath, '[{"op":"add","path":"/data/q","value":"1","value":"2"}]')),
  test("ConfigMap merge patch: each field, valid and invalid", (t) => {
    t.post(configMaps, cm("a", { x: "1", y: "2" }, { labels: { l: "m" }, annotations: { n: "o" } }), silent);
    for (const p of [
      {},
      null,
      [],
      "x",
      1,
      true,
      { data: null },
      { data: { x: "1" } },
      { data: { x: null } },
      { data: {} },
      { data: [] },
      { data: "x" },
      { metadata: null },
      { metadata: { labels: null } },
      { metadata: { annotations: { n: null, p: "q" } } },
      { metadata: { finalizers: ["a.b/c"] } },
      { metadata: { finalizers: [null] } },
      { metadata: { finalizers: null } },
      { metadata: { name: null } },
      { metadata: { name: "b" } },
      { metadata: { namespace: "zz" } },
      { metadata: { uid: null } },
      { metadata: { resourceVersion: "1" } },
      { metadata: { resourceVersion: null } },
      { metadata: { creationTimestamp: null } },
      { metadata: { deletionTimestamp: "2024-01-01T00:00:00Z" } },
      { metadata: { generation: 5 } },
      { kind: null },
      { kind: "Secret" },
      { bogus: 1 },
      { immutable: false },
      { immutable: "x" },
      { binaryData: { b: "aGk=" } },
      { binaryData: { b: "%%" } },
    ])
      t.merge(configMapPath, p, {
        pick: (b) =>
          b.kind === "Status"
            ? b
            : [
                b.data,
                b.binaryData,
                b.immutable,
                b.metadata.labels,
                b.metadata.annotations,
                b.metadata.finalizers,
              ],
      });
    t.merge(configMapPath, "{")
      .merge(configMapPath, "")
      .merge(configMapPath, '{"data":{"k":"1","k":"2"}}')
      .merge(configMapPath, '{"data":{"k":"1","k":"2"}}', strict)
      .merge(`${ns}/configmaps/none`, {})
      .merge(`${ns}/configmaps/none`, "{");
  }),
  strategic(
    "Deployment strategic merge patch: containers",
    podSpec({ containers: [{ name: "main", image: "j" }] }),
    podSpec({ containers: [{ name: "new", image: "n" }] }),
    podSpec({ containers: [{ name: "side", $patch: "delete" }] }),
    podSpec({ containers: [{ name: "main", $patch: "replace", image: "only" }] }),
    podSpec({ containers: [{ $patch: "replace" }, { name: "solo", image: "s" }] }),
    podSpec({ containers: [{ image: "noname" }] }),
    podSpec({ containers: null }),
    podSpec({ containers: [] }),
    podSpec({ containers: "x" }),
    podSpec({ containers: [{ name: "solo", $patch: "bogus" }] }),
  ),
  strategic(
    "Deployment strategic merge patch: lists inside a container",
    podSpec({
      containers: [
        {
          name: "main",
          env: [
            { name: "A", value: "9" },
            { name: "C", value: "3" },
          ],
        },
      ],
    }),
    podSpec({ containers: [{ name: "main", env: [{ name: "B", $patch: "delete" }] }] }),
    podSpec({ containers: [{ name: "main", env: [{ $patch: "replace" }, { name: "Z", value: "1" }] }] }),
    podSpec({ containers: [{ name: "main", env: null }] }),
    podSpec({ containers: [{ name: "main", ports: [{ containerPort: 80, name: "web" }] }] }),
    podSpec({ containers: [{ name: "main", ports: [{ containerPort: 82 }] }] }),
    podSpec({ containers: [{ name: "main", ports: [{ containerPort: 81, $patch: "delete" }] }] }),
    podSpec({ containers: [{ name: "main", args: ["z"] }] }),
    podSpec({ containers: [{ name: "main", volumeMounts: [{ mountPath: "/v", readOnly: true }] }] }),
    podSpec({ containers: [{ name: "main", volumeMounts: [{ mountPath: "/v", $patch: "delete" }] }] }),
    podSpec({ containers: [{ name: "main", resources: { limits: { cpu: "1" } } }] }),
    podSpec({ containers: [{ name: "main", resources: { $patch: "replace", requests: { cpu: "1" } } }] }),
    podSpec({ containers: [{ name: "main", livenessProbe: { exec: { command: ["a"] } } }] }),
    podSpec({ containers: [{ name: "main", livenessProbe: { exec: null, httpGet: { port: 80 } } }] }),
  ),
  strategic(
    "Deployment strategic merge patch: volumes and other fields of the pod spec",
    podSpec({ volumes: [{ name: "v", hostPath: { path: "/x" } }] }),
    podSpec({ volumes: [{ name: "v", emptyDir: null, hostPath: { path: "/x" } }] }),
    podSpec({ volumes: [{ name: "w", $retainKeys: ["name", "secret"], secret: { secretName: "s" } }] }),
    podSpec({ volumes: [{ name: "w", $patch: "delete" }] }),
    podSpec({ tolerations: [{ key: "b", operator: "Exists" }] }),
    podSpec({ imagePullSecrets: [{ name: "q" }] }),
    podSpec({ imagePullSecrets: [{ name: "p", $patch: "delete" }] }),
    podSpec({ hostAliases: [{ ip: "1.1.1.1", hostnames: ["i"] }] }),
    podSpec({ nodeSelector: { $patch: "replace", c: "d" } }),
    podSpec({ nodeSelector: { c: null } }),
    podSpec({ securityContext: { runAsUser: 5 } }),
    podSpec({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "k", operator: "Exists" }] }],
          },
        },
      },
    }),
    podSpec({
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "z", whenUnsatisfiable: "DoNotSchedule" }],
    }),
    podSpec({
      topologySpreadConstraints: [{ maxSkew: 2, topologyKey: "z", whenUnsatisfiable: "DoNotSchedule" }],
    }),
    { spec: { strategy: { $retainKeys: ["type"], type: "Recreate" } } },
    { spec: { template: { $patch: "delete" } } },
    { $patch: "delete" },
    { spec: { $patch: "replace", replicas: 1 } },
    { spec: { selector: { matchLabels: { app: "e" } } } },
  ),
  strategic(
    "Deployment strategic merge patch: $setElementOrder",
    podSpec({
      "$setElementOrder/containers": [{ name: "side" }, { name: "main" }],
      containers: [{ name: "main", image: "z" }],
    }),
    podSpec({
      "$setElementOrder/containers": [{ name: "main" }, { name: "third" }, { name: "side" }],
      containers: [{ name: "third", image: "t" }],
    }),
    podSpec({ "$setElementOrder/containers": [{ name: "main" }] }),
    podSpec({
      "$setElementOrder/containers": [{ name: "main" }],
      containers: [{ name: "side", image: "q" }],
    }),
    podSpec({
      containers: [
        {
          name: "main",
          "$setElementOrder/env": [{ name: "B" }, { name: "A" }],
          env: [{ name: "A", value: "0" }],
        },
      ],
    }),
  ),
  test("ConfigMap strategic merge patch: finalizers, and Service, ServiceAccount, Ingress, Role", (t) => {
    t.post(configMaps, cm("a", { x: "1" }, { finalizers: ["a.b/c", "a.b/d"] }), silent);
    const finalizers = { pick: (b) => (b.kind === "Status" ? b : (b.metadata.finalizers ?? null)) };
    t.strategic(configMapPath, { metadata: { finalizers: ["a.b/e"] } }, finalizers)
      .strategic(
        configMapPath,
        { metadata: { "$deleteFromPrimitiveList/finalizers": ["a.b/c"] } },
        finalizers,
      )
      .strategic(
        configMapPath,
        { metadata: { "$setElementOrder/finalizers": ["a.b/e", "a.b/d"] } },
        finalizers,
      )
      .strategic(configMapPath, { metadata: { "$deleteFromPrimitiveList/finalizers": "x" } }, finalizers)
      .strategic(configMapPath, { metadata: { finalizers: [1] } }, finalizers)
      .strategic(configMapPath, { metadata: { finalizers: null } }, finalizers);
    t.strategic(
      configMapPath,
      { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "A", name: "n", uid: "1" }] } },
      { pick: (b) => b.metadata?.ownerReferences ?? b },
    )
      .strategic(
        configMapPath,
        {
          metadata: {
            ownerReferences: [
              { uid: "1", name: "m" },
              { apiVersion: "v1", kind: "B", name: "o", uid: "2" },
            ],
          },
        },
        { pick: (b) => b.metadata?.ownerReferences ?? b },
      )
      .strategic(
        configMapPath,
        { metadata: { ownerReferences: [{ uid: "1", $patch: "delete" }] } },
        { pick: (b) => b.metadata?.ownerReferences ?? b },
      );
    t.post(
      `${ns}/services`,
      object("v1", "Service", {
        spec: {
          clusterIP: "None",
          ports: [
            { port: 80, name: "a" },
            { port: 81, name: "b" },
          ],
        },
      }),
      silent,
    )
      .strategic(
        `${ns}/services/x`,
        {
          spec: {
            ports: [
              { port: 80, name: "z" },
              { port: 82, name: "c" },
            ],
          },
        },
        { pick: (b) => b.spec?.ports ?? b },
      )
      .strategic(
        `${ns}/services/x`,
        { spec: { ports: [{ port: 81, $patch: "delete" }] } },
        { pick: (b) => b.spec?.ports ?? b },
      )
      .strategic(
        `${ns}/services/x`,
        { spec: { selector: { a: "b" } } },
        { pick: (b) => b.spec?.selector ?? b },
      );
    t.post(
      `${ns}/serviceaccounts`,
      object("v1", "ServiceAccount", { secrets: [{ name: "a" }], imagePullSecrets: [{ name: "p" }] }),
      silent,
    )
      .strategic(
        `${ns}/serviceaccounts/x`,
        { secrets: [{ name: "b" }], imagePullSecrets: [{ name: "q" }] },
        { pick: (b) => [b.secrets, b.imagePullSecrets] },
      )
      .strategic(
        `${ns}/serviceaccounts/x`,
        { secrets: [{ name: "a", $patch: "delete" }] },
        { pick: (b) => b.secrets ?? b },
      );
    t.post(
      "/apis/networking.k8s.io/v1/namespaces/$NS/ingresses",
      object("networking.k8s.io/v1", "Ingress", {
        spec: { rules: [{ host: "a.b" }], defaultBackend: { service: { name: "s", port: { number: 1 } } } },
      }),
      silent,
    )
      .strategic(
        "/apis/networking.k8s.io/v1/namespaces/$NS/ingresses/x",
        { spec: { rules: [{ host: "c.d" }] } },
        content,
      )
      .strategic(
        "/apis/networking.k8s.io/v1/namespaces/$NS/ingresses/x",
        { spec: { defaultBackend: { service: { port: { name: "n" } } } } },
        content,
      );
    t.post(
      "/apis/rbac.authorization.k8s.io/v1/namespaces/$NS/roles",
      object("rbac.authorization.k8s.io/v1", "Role", {
        rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
      }),
      silent,
    ).strategic(
      "/apis/rbac.authorization.k8s.io/v1/namespaces/$NS/roles/x",
      { rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }] },
      { pick: (b) => b.rules ?? b },
    );
    t.strategic(configMapPath, { data: { x: null, y: "1" } }, content)
      .strategic(configMapPath, { data: { $patch: "replace", z: "1" } }, content)
      .strategic(configMapPath, { data: { $patch: "delete" } }, content)
      .strategic(configMapPath, { data: "x" })
      .strategic(configMapPath, [])
      .strategic(configMapPath, "{")
      .strategic(configMapPath, { bogus: 1 }, content)
      .strategic(configMapPath, { bogus: 1 }, strict)
      .strategic(configMapPath, { kind: "Secret", apiVersion: "v9" }, content);
  }),
  test("Widget patch: merge and JSON patches against a schema", (t) => {
    install(
      t,
      crd(
        objectSchema({
          spec: objectSchema({
            n: { type: "integer" },
            l: { type: "array", items: { type: "string" } },
            m: { type: "object", additionalProperties: { type: "string" } },
          }),
        }),
      ),
    );
    const widgetPath = `${widgets}/w`;
    t.post(widgets, widget("w", { spec: { n: 1, l: ["a", "b"], m: { x: "y" } } }), silent)
      .merge(widgetPath, { spec: { n: 2, l: null, m: { x: null } } })
      .merge(widgetPath, { spec: { n: "x" } })
      .merge(widgetPath, { spec: { bogus: 1 } })
      .merge(widgetPath, { spec: { bogus: 1 } }, strict)
      .merge(widgetPath, { spec: null })
      .json(widgetPath, [{ op: "add", path: "/spec", value: { l: ["z"] } }])
      .json(widgetPath, [
        { op: "add", path: "/spec/l/-", value: "q" },
        { op: "remove", path: "/spec/l/0" },
      ])
      .json(widgetPath, [{ op: "add", path: "/spec/l/-", value: 5 }])
      .json(widgetPath, [{ op: "test", path: "/spec/l/0", value: "no" }])
      .merge(widgetPath, { metadata: { resourceVersion: "1" } })
      .merge(widgetPath, { metadata: { labels: { "bad key!": "x" } } })
      .merge(widgetPath, { status: { a: 1 } })
      .merge(`${widgetPath}/status`, { status: { a: 1 } })
      .merge(`${widgets}/none`, {})
      .json(widgetPath, [{ op: "replace", path: "/metadata/name", value: "z" }])
      .strategic(widgetPath, { spec: { n: 3 } });
  }),
];
