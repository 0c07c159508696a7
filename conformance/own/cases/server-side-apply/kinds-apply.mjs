// Apply to other built-in kinds.
import { apps, batch, force, ns, test } from "../_lib.mjs";
import { deploymentPath, fullDeployment, podTemplate } from "./_builders.mjs";

export default [
  test("Secret apply: data and stringData", (t) => {
    const secretPath = `${ns}/secrets/c`,
      secret = (o) => ({ apiVersion: "v1", kind: "Secret", metadata: { name: "c" }, ...o });
    t.apply(secretPath, secret({ stringData: { a: "x" } }), "a")
      .apply(secretPath, secret({ data: { a: "eA==" } }), "a")
      .apply(secretPath, secret({ data: { a: "eQ==" }, stringData: { b: "z" } }), "b")
      .apply(secretPath, secret({ data: { a: "eQ==" }, stringData: { b: "z" } }), "b", force)
      .apply(secretPath, secret({ data: { a: "***" } }), "a")
      .apply(secretPath, secret({ type: "Opaque", stringData: {} }), "a")
      .apply(secretPath, secret({ immutable: true }), "a")
      .apply(secretPath, secret({ data: { q: "eA==" } }), "a");
  }),
  test("Deployment apply: quantities, strategies and values of the wrong type", (t) =>
    t
      .apply(
        deploymentPath,
        fullDeployment({
          template: podTemplate({
            containers: [
              {
                name: "a",
                image: "x",
                resources: { requests: { cpu: "1000m", memory: "1024Mi" }, limits: { cpu: 2 } },
              },
            ],
          }),
        }),
        "a",
      )
      .apply(
        deploymentPath,
        fullDeployment({
          template: podTemplate({
            containers: [{ name: "a", image: "x", resources: { requests: { cpu: "1", memory: "1Gi" } } }],
          }),
        }),
        "b",
      )
      .apply(
        deploymentPath,
        fullDeployment({
          template: podTemplate({
            containers: [{ name: "a", image: "x", resources: { requests: { cpu: "1.5" } } }],
          }),
        }),
        "b",
      )
      .apply(
        deploymentPath,
        fullDeployment({
          template: podTemplate({
            containers: [{ name: "a", image: "x", resources: { requests: { cpu: "abc" } } }],
          }),
        }),
        "b",
      )
      .apply(
        deploymentPath,
        fullDeployment({
          template: podTemplate({
            containers: [{ name: "a", image: "x", ports: [{ containerPort: "80" }] }],
          }),
        }),
        "b",
      )
      .apply(
        deploymentPath,
        fullDeployment({ strategy: { rollingUpdate: { maxSurge: "30%", maxUnavailable: 0 } } }),
        "c",
      )
      .apply(deploymentPath, fullDeployment({ strategy: { type: "Recreate" } }), "c")
      .apply(
        deploymentPath,
        fullDeployment({ strategy: { type: "Recreate", rollingUpdate: null } }),
        "c",
        force,
      )),
  test("NetworkPolicy apply: and Ingress, PodDisruptionBudget, CronJob, RoleBinding, Lease", (t) =>
    t
      .apply(
        `/apis/networking.k8s.io/v1/namespaces/$NS/networkpolicies/n`,
        {
          apiVersion: "networking.k8s.io/v1",
          kind: "NetworkPolicy",
          metadata: { name: "n" },
          spec: { podSelector: {}, ingress: [{ from: [{ podSelector: {} }] }] },
        },
        "a",
      )
      .apply(
        `/apis/networking.k8s.io/v1/namespaces/$NS/ingresses/n`,
        {
          apiVersion: "networking.k8s.io/v1",
          kind: "Ingress",
          metadata: { name: "n" },
          spec: {
            defaultBackend: { service: { name: "s", port: { number: 80 } } },
            rules: [
              {
                host: "a.b",
                http: {
                  paths: [
                    {
                      path: "/",
                      pathType: "Prefix",
                      backend: { service: { name: "s", port: { name: "x" } } },
                    },
                  ],
                },
              },
            ],
            tls: [{ hosts: ["a.b"] }],
          },
        },
        "a",
      )
      .apply(
        `/apis/policy/v1/namespaces/$NS/poddisruptionbudgets/n`,
        {
          apiVersion: "policy/v1",
          kind: "PodDisruptionBudget",
          metadata: { name: "n" },
          spec: { minAvailable: "50%", selector: { matchLabels: { a: "b" } } },
        },
        "a",
      )
      .apply(
        `/apis/policy/v1/namespaces/$NS/poddisruptionbudgets/n`,
        {
          apiVersion: "policy/v1",
          kind: "PodDisruptionBudget",
          metadata: { name: "n" },
          spec: { selector: { matchLabels: { a: "c" } } },
        },
        "b",
        force,
      )
      .apply(
        `${batch}/cronjobs/n`,
        {
          apiVersion: "batch/v1",
          kind: "CronJob",
          metadata: { name: "n" },
          spec: {
            schedule: "@daily",
            jobTemplate: {
              spec: {
                template: { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "b" }] } },
              },
            },
          },
        },
        "a",
      )
      .apply(
        `/apis/rbac.authorization.k8s.io/v1/namespaces/$NS/rolebindings/n`,
        {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: "RoleBinding",
          metadata: { name: "n" },
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
          subjects: [
            { kind: "User", name: "u" },
            { kind: "ServiceAccount", name: "s" },
          ],
        },
        "a",
      )
      .apply(
        `/apis/coordination.k8s.io/v1/namespaces/$NS/leases/n`,
        {
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          metadata: { name: "n" },
          spec: { holderIdentity: "h", leaseDurationSeconds: 3, renewTime: "2026-01-01T00:00:00.000000Z" },
        },
        "a",
      )
      .apply(
        `/apis/coordination.k8s.io/v1/namespaces/$NS/leases/n`,
        {
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          metadata: { name: "n" },
          spec: { renewTime: "2026-01-01T00:00:00Z" },
        },
        "b",
      )),
  test("Job apply: and StatefulSet, DaemonSet", (t) =>
    t
      .apply(
        `${batch}/jobs/n`,
        {
          apiVersion: "batch/v1",
          kind: "Job",
          metadata: { name: "n" },
          spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "b" }] } } },
        },
        "a",
        { pick: (b) => JSON.parse(JSON.stringify(b).replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "U")) },
      )
      .apply(
        `${apps}/statefulsets/n`,
        {
          apiVersion: "apps/v1",
          kind: "StatefulSet",
          metadata: { name: "n" },
          spec: {
            serviceName: "s",
            selector: { matchLabels: { a: "b" } },
            template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "a", image: "b" }] } },
            volumeClaimTemplates: [
              {
                metadata: { name: "d" },
                spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
              },
            ],
          },
        },
        "a",
      )
      .apply(
        `${apps}/statefulsets/n`,
        { apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "n" }, spec: { replicas: 2 } },
        "b",
      )
      .apply(
        `${apps}/statefulsets/n`,
        {
          apiVersion: "apps/v1",
          kind: "StatefulSet",
          metadata: { name: "n" },
          spec: { volumeClaimTemplates: [] },
        },
        "c",
      )
      .apply(
        `${apps}/daemonsets/n`,
        {
          apiVersion: "apps/v1",
          kind: "DaemonSet",
          metadata: { name: "n" },
          spec: {
            selector: { matchLabels: { a: "b" } },
            template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "a", image: "b" }] } },
          },
        },
        "a",
      )
      .apply(
        `${apps}/daemonsets/n`,
        {
          apiVersion: "apps/v1",
          kind: "DaemonSet",
          metadata: { name: "n" },
          spec: { template: { spec: { containers: [{ name: "a", image: "c" }] } } },
        },
        "b",
        force,
      )),
];
