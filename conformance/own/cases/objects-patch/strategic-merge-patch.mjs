// Strategic merge patches.
import { cm, ns, pod, silent, strict, test } from "../_lib.mjs";
import { configMapPath, createDeployment, deploymentPath } from "./_builders.mjs";

const servicePath = `${ns}/services/s`;
const podPath = `${ns}/pods/p`;

const strategicPatches = (name, patches) =>
  test(name, (t) => {
    createDeployment(t);
    for (const p of patches) t.strategic(deploymentPath, p);
  });

const podSpec = (spec) => ({ spec: { template: { spec } } });

export default [
  strategicPatches("Deployment strategic merge patch: lists by key, with directives", [
    podSpec({ containers: [{ name: "a", image: "z" }] }),
    podSpec({ containers: [{ name: "c", image: "n" }] }),
    podSpec({ containers: [{ image: "n" }] }),
    podSpec({ containers: [{ name: "a", env: [{ name: "A", $patch: "delete" }] }] }),
    podSpec({ containers: [{ name: "zzz", $patch: "delete" }] }),
    podSpec({ containers: [{ $patch: "delete" }] }),
    podSpec({ containers: [{ $patch: "replace" }, { name: "only", image: "i" }] }),
    podSpec({
      containers: [{ name: "only", ports: [{ containerPort: 80 }, { containerPort: 81, name: "q" }] }],
    }),
    podSpec({ containers: null }),
    podSpec({ containers: [] }),
    podSpec({ containers: "x" }),
    podSpec({ containers: { name: "a" } }),
    podSpec({ containers: [1] }),
    podSpec({ containers: [null] }),
    podSpec({ tolerations: [{ key: "b", operator: "Exists" }] }),
    podSpec({ tolerations: null }),
    podSpec({ nodeSelector: { y: "2", z: null } }),
    podSpec({ nodeSelector: { $patch: "replace", k: "v" } }),
    podSpec({ nodeSelector: { $patch: "delete" } }),
    podSpec({ nodeSelector: { $patch: "bogus" } }),
    podSpec({ $patch: "bogus" }),
    podSpec({ containers: [{ $patch: "bogus", name: "a" }] }),
  ]),
  strategicPatches("Deployment strategic merge patch: $retainKeys in volumes and strategy", [
    podSpec({ volumes: [{ name: "v", emptyDir: null, hostPath: { path: "/x" } }] }),
    podSpec({ volumes: [{ name: "w", $retainKeys: ["name", "emptyDir"], emptyDir: {} }] }),
    podSpec({ volumes: [{ name: "w", hostPath: { path: "/y" } }] }),
    podSpec({
      volumes: [{ $retainKeys: ["name", "secret"], name: "v", secret: { secretName: "s" }, emptyDir: {} }],
    }),
    podSpec({ $retainKeys: ["containers"], containers: [{ name: "a", image: "k" }] }),
    { spec: { strategy: { $retainKeys: ["type"], type: "Recreate" } } },
    { spec: { strategy: { type: "Recreate" } } },
    { spec: { strategy: { $retainKeys: "x" } } },
    { spec: { strategy: { $retainKeys: ["type"], type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } } } },
  ]),
  strategicPatches("Deployment strategic merge patch: $setElementOrder, also malformed", [
    podSpec({ $setElementOrder: 1 }),
    podSpec({ "$setElementOrder/containers": [{ name: "b" }, { name: "a" }] }),
    podSpec({
      "$setElementOrder/containers": [{ name: "b" }, { name: "a" }, { name: "new" }],
      containers: [{ name: "new", image: "i" }],
    }),
    podSpec({ "$setElementOrder/containers": [{ name: "b" }], containers: [{ name: "zz", image: "i" }] }),
    podSpec({ "$setElementOrder/containers": "x" }),
    podSpec({ "$setElementOrder/containers": [1] }),
    podSpec({
      "$setElementOrder/volumes": [{ name: "w" }, { name: "v" }],
      volumes: [{ name: "v", $patch: "delete" }, { name: "w" }],
    }),
    podSpec({
      containers: [
        {
          name: "a",
          "$setElementOrder/env": [{ name: "B" }, { name: "A" }, { name: "C" }],
          env: [{ name: "C", value: "3" }],
        },
      ],
    }),
    podSpec({
      "$setElementOrder/hostAliases": [{ ip: "2.2.2.2" }, { ip: "1.1.1.1" }],
      hostAliases: [{ ip: "2.2.2.2", hostnames: ["x"] }],
    }),
  ]),
  test("ConfigMap strategic merge patch: lists of strings and directives", (t) => {
    t.post(`${ns}/configmaps`, cm("c", {}, { finalizers: ["a.b/c", "d.e/f"] }), silent);
    for (const p of [
      { metadata: { finalizers: ["g.h/i"] } },
      { metadata: { "$deleteFromPrimitiveList/finalizers": ["a.b/c"] } },
      { metadata: { "$deleteFromPrimitiveList/finalizers": ["zzz"] } },
      { metadata: { "$deleteFromPrimitiveList/finalizers": "a" } },
      { metadata: { "$deleteFromPrimitiveList/labels": ["a"] } },
      { metadata: { "$setElementOrder/finalizers": ["g.h/i", "d.e/f"] } },
      { metadata: { finalizers: ["g.h/i", "g.h/i"] } },
      { metadata: { "$setElementOrder/finalizers": ["g.h/i"], finalizers: ["n.e/w"] } },
      { metadata: { finalizers: null } },
      { metadata: { labels: { $patch: "replace", a: "b" } } },
      { metadata: { labels: { c: "d" } } },
      { metadata: { $patch: "delete" } },
      { $patch: "delete" },
      { $patch: "replace", apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: { z: "1" } },
      { $patch: "merge", data: { y: "1" } },
      { data: { y: null } },
      { data: null },
      [],
      null,
      "x",
      5,
      { data: { n: 5 } },
      { data: "x" },
      { bogus: 1 },
      { kind: "Secret" },
      { metadata: { name: "q" } },
    ])
      t.strategic(configMapPath, p);
    t.strategic(configMapPath, { bogus: 1 }, strict)
      .strategic(configMapPath, '{"data":{"a":"1","a":"2"}}')
      .strategic(configMapPath, '{"data":{"a":"1","a":"2"}}', strict)
      .strategic(configMapPath, "{")
      .strategic(configMapPath, "")
      .strategic(configMapPath, {
        metadata: {
          ownerReferences: [
            { uid: "11111111-1111-1111-1111-111111111111", apiVersion: "v1", kind: "Node", name: "n" },
          ],
        },
      })
      .strategic(configMapPath, {
        metadata: {
          ownerReferences: [
            { uid: "22222222-2222-2222-2222-222222222222", apiVersion: "v1", kind: "Node", name: "m" },
          ],
        },
      })
      .strategic(configMapPath, {
        metadata: { ownerReferences: [{ uid: "11111111-1111-1111-1111-111111111111", $patch: "delete" }] },
      });
  }),
  test("Service strategic merge patch: ports by port", (t) => {
    t.post(
      `${ns}/services`,
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "s" },
        spec: {
          selector: { a: "b" },
          ports: [
            { port: 80, name: "a" },
            { port: 81, name: "b" },
            { port: 80, protocol: "UDP", name: "u" },
          ],
        },
      },
      silent,
    );
    for (const p of [
      { spec: { ports: [{ port: 80, targetPort: 8080 }] } },
      { spec: { ports: [{ port: 82, name: "c" }] } },
      { spec: { ports: [{ port: 81, $patch: "delete" }] } },
      { spec: { ports: [{ name: "x" }] } },
      { spec: { selector: { c: "d" } } },
      { spec: { selector: null } },
      { spec: { ports: [{ port: "80" }] } },
      { spec: { type: "ExternalName", externalName: "a.b" } },
      { spec: { type: "NodePort" } },
      { spec: { type: "ClusterIP" } },
      { spec: { clusterIP: null } },
      { spec: { clusterIP: "None" } },
      { spec: { sessionAffinity: "ClientIP" } },
      { spec: { sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } } },
      { spec: { sessionAffinity: "None" } },
    ])
      t.strategic(servicePath, p, { ignoreBody: JSON.stringify(p).includes("NodePort") });
  }),
  test(
    "ServiceAccount strategic merge patch: and Pod, Node and other kinds",
    (t) =>
      t
        .post(
          `${ns}/serviceaccounts`,
          {
            apiVersion: "v1",
            kind: "ServiceAccount",
            metadata: { name: "x" },
            secrets: [{ name: "a" }],
            imagePullSecrets: [{ name: "p" }],
          },
          silent,
        )
        .strategic(`${ns}/serviceaccounts/x`, { secrets: [{ name: "b" }], imagePullSecrets: [{ name: "q" }] })
        .strategic(`${ns}/serviceaccounts/x`, { secrets: [{ name: "a", $patch: "delete" }] })
        .post(`${ns}/pods`, pod("p"), silent)
        .strategic(`${podPath}/status`, { status: { conditions: [{ type: "Ready", status: "True" }] } })
        .strategic(`${podPath}/status`, {
          status: {
            conditions: [
              { type: "X", status: "True" },
              { type: "Ready", status: "False" },
            ],
          },
        })
        .strategic(`${podPath}/status`, {
          status: { conditions: [{ type: "Ready", $patch: "delete" }], podIPs: [{ ip: "1.2.3.4" }] },
        })
        .strategic(podPath, { spec: { containers: [{ name: "main", image: "example/app:2" }] } })
        .strategic(podPath, { spec: { tolerations: [{ key: "z", operator: "Exists" }] } })
        .strategic(podPath, { spec: { activeDeadlineSeconds: 5 } })
        .strategic(podPath, { spec: { activeDeadlineSeconds: 9 } })
        .strategic(podPath, { spec: { nodeName: "x" } })
        .post(
          `${ns}/endpoints`,
          {
            apiVersion: "v1",
            kind: "Endpoints",
            metadata: { name: "e" },
            subsets: [{ addresses: [{ ip: "1.2.3.4" }], ports: [{ port: 80 }] }],
          },
          silent,
        )
        .strategic(`${ns}/endpoints/e`, {
          subsets: [{ addresses: [{ ip: "1.2.3.5" }], ports: [{ port: 80 }] }],
        })
        .post(
          `/apis/networking.k8s.io/v1/namespaces/$NS/ingresses`,
          {
            apiVersion: "networking.k8s.io/v1",
            kind: "Ingress",
            metadata: { name: "i" },
            spec: {
              rules: [
                {
                  host: "a.b",
                  http: {
                    paths: [
                      {
                        path: "/",
                        pathType: "Prefix",
                        backend: { service: { name: "s", port: { number: 80 } } },
                      },
                    ],
                  },
                },
              ],
            },
          },
          silent,
        )
        .strategic(`/apis/networking.k8s.io/v1/namespaces/$NS/ingresses/i`, {
          spec: { rules: [{ host: "c.d" }] },
        })
        .strategic(`/apis/networking.k8s.io/v1/namespaces/$NS/ingresses/i`, {
          spec: { tls: [{ hosts: ["x.y"] }] },
        }),
    { account: true },
  ),
];
