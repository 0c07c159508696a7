// How often each kind reports invalid metadata.
import { apps, batch, deployment, ns, pod, silent, test } from "./_lib.mjs";

const invalidLabels = { metadata: { labels: { a: "Not Valid!" } } };

const causeCount = { pick: (b) => b.details?.causes?.length ?? b };

const objects = [
  [`${ns}/pods`, pod("p")],
  [`${apps}/deployments`, deployment("p")],
  [
    `${apps}/daemonsets`,
    {
      ...deployment("p"),
      kind: "DaemonSet",
      spec: {
        selector: { matchLabels: { a: "b" } },
        template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "a", image: "b" }] } },
      },
    },
  ],
  [`${apps}/statefulsets`, { ...deployment("p"), kind: "StatefulSet" }],
  [`${apps}/replicasets`, { ...deployment("p"), kind: "ReplicaSet" }],
  [
    `${batch}/jobs`,
    {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "p" },
      spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "b" }] } } },
    },
  ],
  [
    `${batch}/cronjobs`,
    {
      apiVersion: "batch/v1",
      kind: "CronJob",
      metadata: { name: "p" },
      spec: {
        schedule: "* * * * *",
        jobTemplate: {
          spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "b" }] } } },
        },
      },
    },
  ],
  [
    `${ns}/services`,
    { apiVersion: "v1", kind: "Service", metadata: { name: "p" }, spec: { ports: [{ port: 1 }] } },
  ],
  [`${ns}/resourcequotas`, { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "p" }, spec: {} }],
  [
    `${ns}/persistentvolumeclaims`,
    {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "p" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1" } } },
    },
  ],
  [
    "/api/v1/persistentvolumes",
    {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name: "p-$ID" },
      spec: { capacity: { storage: "1" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/a" } },
    },
  ],
  ["/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "p-$ID" } }],
  ["/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "p-$ID" } }],
  [
    `${ns}/replicationcontrollers`,
    {
      apiVersion: "v1",
      kind: "ReplicationController",
      metadata: { name: "p" },
      spec: {
        selector: { a: "b" },
        template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "a", image: "b" }] } },
      },
    },
  ],
  [
    "/apis/policy/v1/namespaces/$NS/poddisruptionbudgets",
    { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name: "p" }, spec: {} },
  ],
  [
    "/apis/networking.k8s.io/v1/namespaces/$NS/ingresses",
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "p" },
      spec: { defaultBackend: { service: { name: "s", port: { number: 1 } } } },
    },
  ],
  [`${ns}/configmaps`, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "p" } }],
  [`${ns}/secrets`, { apiVersion: "v1", kind: "Secret", metadata: { name: "p" } }],
  [`${ns}/serviceaccounts`, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "p" } }],
  [`${ns}/endpoints`, { apiVersion: "v1", kind: "Endpoints", metadata: { name: "p" } }],
  [
    `${ns}/limitranges`,
    { apiVersion: "v1", kind: "LimitRange", metadata: { name: "p" }, spec: { limits: [] } },
  ],
  [
    `${ns}/podtemplates`,
    {
      apiVersion: "v1",
      kind: "PodTemplate",
      metadata: { name: "p" },
      template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "a", image: "b" }] } },
    },
  ],
  [
    `${ns}/events`,
    { apiVersion: "v1", kind: "Event", metadata: { name: "p" }, involvedObject: { namespace: "$NS" } },
  ],
  [
    "/apis/coordination.k8s.io/v1/namespaces/$NS/leases",
    { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "p" }, spec: {} },
  ],
  [
    "/apis/discovery.k8s.io/v1/namespaces/$NS/endpointslices",
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: "p" },
      addressType: "IPv4",
      endpoints: [],
    },
  ],
  [
    "/apis/networking.k8s.io/v1/namespaces/$NS/networkpolicies",
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: "p" },
      spec: { podSelector: {} },
    },
  ],
  [
    "/apis/rbac.authorization.k8s.io/v1/namespaces/$NS/roles",
    { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", metadata: { name: "p" }, rules: [] },
  ],
  [
    "/apis/rbac.authorization.k8s.io/v1/namespaces/$NS/rolebindings",
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: "p" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "x" },
    },
  ],
  [
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "p-$ID" },
      rules: [],
    },
  ],
  [
    "/apis/storage.k8s.io/v1/storageclasses",
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "p-$ID" },
      provisioner: "a/b",
    },
  ],
  [
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name: "p-$ID" }, value: 1 },
  ],
  [
    "/apis/node.k8s.io/v1/runtimeclasses",
    { apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", metadata: { name: "p-$ID" }, handler: "h" },
  ],
  [
    "/apis/networking.k8s.io/v1/ingressclasses",
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "IngressClass",
      metadata: { name: "p-$ID" },
      spec: { controller: "a.b/c" },
    },
  ],
  [
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      metadata: { name: "p-$ID" },
    },
  ],
  [
    "/apis/autoscaling/v2/namespaces/$NS/horizontalpodautoscalers",
    {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "p" },
      spec: { maxReplicas: 1, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "b" } },
    },
  ],
  [
    "/apis/storage.k8s.io/v1/csidrivers",
    { apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: { name: "p-$ID" }, spec: {} },
  ],
  [
    "/apis/apps/v1/namespaces/$NS/controllerrevisions",
    {
      apiVersion: "apps/v1",
      kind: "ControllerRevision",
      metadata: { name: "p" },
      data: { a: 1 },
      revision: 1,
    },
  ],
];

export default objects.map(([p, o]) =>
  test(
    `${o.kind} update: how often invalid metadata is reported`,
    (t) =>
      t
        .post(p, o, silent)
        .merge(`${p}/${o.metadata.name}`, invalidLabels, causeCount)
        .merge(`${p}/${o.metadata.name}/status`, invalidLabels, causeCount)
        .merge(`${p}/${o.metadata.name}`, { metadata: { annotations: { "bad key": "x" } } }, causeCount)
        .merge(`${p}/${o.metadata.name}`, { metadata: { ownerReferences: [{ uid: "x" }] } }, causeCount)
        .merge(`${p}/${o.metadata.name}`, { metadata: { finalizers: ["Not Valid!"] } }, causeCount)
        .merge(`${p}/${o.metadata.name}/status`, { metadata: { finalizers: ["Not Valid!"] } }, causeCount),
    { account: true },
  ),
);
