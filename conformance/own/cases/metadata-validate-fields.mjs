// Which fields of invalid metadata each kind reports, and how often.
import { collection, test } from "./_lib.mjs";

const causeFields = { pick: (b) => b.details?.causes?.map((c) => c.field).sort() ?? [b.kind, b.message] };

const objectOf = (apiVersion, kind, rest = {}) => ({
  apiVersion,
  kind,
  metadata: { name: "x-$ID" },
  ...rest,
});

const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "a", image: "b" }] } };

const kinds = [
  [
    "v1",
    "PersistentVolume",
    "persistentvolumes",
    1,
    { spec: { capacity: { storage: "1" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/a" } } },
  ],
  ["storage.k8s.io/v1", "CSINode", "csinodes", 1, { spec: { drivers: [] } }],
  ["storage.k8s.io/v1", "CSIDriver", "csidrivers", 1, { spec: {} }],
  [
    "storage.k8s.io/v1",
    "VolumeAttachment",
    "volumeattachments",
    1,
    { spec: { attacher: "a", nodeName: "n", source: { persistentVolumeName: "p" } } },
  ],
  ["storage.k8s.io/v1", "CSIStorageCapacity", "csistoragecapacities", 0, { storageClassName: "a" }],
  [
    "storage.k8s.io/v1",
    "VolumeAttributesClass",
    "volumeattributesclasses",
    1,
    { driverName: "a.b", parameters: { a: "b" } },
  ],
  ["storage.k8s.io/v1", "StorageClass", "storageclasses", 1, { provisioner: "a/b" }],
  [
    "rbac.authorization.k8s.io/v1",
    "ClusterRoleBinding",
    "clusterrolebindings",
    1,
    { roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "r" } },
  ],
  [
    "networking.k8s.io/v1",
    "IPAddress",
    "ipaddresses",
    1,
    {
      metadata: { name: "192.168.55.1" },
      spec: { parentRef: { resource: "services", name: "x", namespace: "y" } },
    },
  ],
  ["networking.k8s.io/v1", "ServiceCIDR", "servicecidrs", 1, { spec: { cidrs: ["192.168.0.0/24"] } }],
  ["networking.k8s.io/v1", "IngressClass", "ingressclasses", 1, { spec: { controller: "a.b/c" } }],
  [
    "networking.k8s.io/v1",
    "Ingress",
    "ingresses",
    0,
    { spec: { defaultBackend: { service: { name: "s", port: { number: 1 } } } } },
  ],
  ["networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", 0, { spec: { podSelector: {} } }],
  [
    "admissionregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    1,
    {},
  ],
  ["admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", 1, {}],
  [
    "admissionregistration.k8s.io/v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    1,
    {
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: ["x.y"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["z"] },
          ],
        },
        validations: [{ expression: "true" }],
      },
    },
  ],
  [
    "admissionregistration.k8s.io/v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    1,
    { spec: { policyName: "no", validationActions: ["Deny"] } },
  ],
  [
    "admissionregistration.k8s.io/v1",
    "MutatingAdmissionPolicy",
    "mutatingadmissionpolicies",
    1,
    {
      spec: {
        reinvocationPolicy: "Never",
        matchConstraints: {
          resourceRules: [
            { apiGroups: ["x.y"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["z"] },
          ],
        },
        mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: "[]" } }],
      },
    },
  ],
  [
    "admissionregistration.k8s.io/v1",
    "MutatingAdmissionPolicyBinding",
    "mutatingadmissionpolicybindings",
    1,
    { spec: { policyName: "no" } },
  ],
  [
    "flowcontrol.apiserver.k8s.io/v1",
    "FlowSchema",
    "flowschemas",
    1,
    { spec: { priorityLevelConfiguration: { name: "x" }, rules: [] } },
  ],
  [
    "flowcontrol.apiserver.k8s.io/v1",
    "PriorityLevelConfiguration",
    "prioritylevelconfigurations",
    1,
    { spec: { type: "Limited", limited: { limitResponse: { type: "Reject" } } } },
  ],
  ["certificates.k8s.io/v1", "CertificateSigningRequest", "certificatesigningrequests", 1, {}],
  [
    "apiextensions.k8s.io/v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    1,
    {
      metadata: { name: "as.x-$ID.example.com" },
      spec: {
        group: "x-$ID.example.com",
        scope: "Cluster",
        names: { plural: "as", kind: "A" },
        versions: [
          { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
        ],
      },
    },
  ],
  [
    "apiregistration.k8s.io/v1",
    "APIService",
    "apiservices",
    1,
    {
      metadata: { name: "v1.x-$ID.example.com" },
      spec: {
        group: "x-$ID.example.com",
        version: "v1",
        groupPriorityMinimum: 10,
        versionPriority: 10,
        service: { namespace: "default", name: "no" },
      },
    },
  ],
  ["resource.k8s.io/v1", "ResourceClaim", "resourceclaims", 0, { spec: { devices: {} } }],
  ["resource.k8s.io/v1", "DeviceClass", "deviceclasses", 1, { spec: {} }],
  ["resource.k8s.io/v1", "ResourceClaimTemplate", "resourceclaimtemplates", 0, { spec: { spec: {} } }],
  [
    "resource.k8s.io/v1",
    "ResourceSlice",
    "resourceslices",
    1,
    { spec: { driver: "a.b", nodeName: "n", pool: { name: "p", resourceSliceCount: 1 } } },
  ],
  ["coordination.k8s.io/v1", "Lease", "leases", 0, { spec: {} }],
  ["discovery.k8s.io/v1", "EndpointSlice", "endpointslices", 0, { addressType: "IPv4", endpoints: [] }],
  ["node.k8s.io/v1", "RuntimeClass", "runtimeclasses", 1, { handler: "h" }],
  ["scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", 1, { value: 1 }],
  ["policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", 0, { spec: {} }],
  [
    "autoscaling/v2",
    "HorizontalPodAutoscaler",
    "horizontalpodautoscalers",
    0,
    { spec: { maxReplicas: 1, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "b" } } },
  ],
  [
    "apps/v1",
    "ReplicaSet",
    "replicasets",
    0,
    { spec: { selector: { matchLabels: { a: "b" } }, template: template } },
  ],
  [
    "apps/v1",
    "DaemonSet",
    "daemonsets",
    0,
    { spec: { selector: { matchLabels: { a: "b" } }, template: template } },
  ],
  ["v1", "Pod", "pods", 0, { spec: { containers: [{ name: "a", image: "b" }] } }],
  ["v1", "PodTemplate", "podtemplates", 0, { template: template }],
  ["v1", "LimitRange", "limitranges", 0, { spec: { limits: [] } }],
  ["v1", "ResourceQuota", "resourcequotas", 0, { spec: {} }],
  ["v1", "Endpoints", "endpoints", 0, {}],
  ["v1", "Event", "events", 0, { involvedObject: { namespace: "$NS" } }],
  [
    "events.k8s.io/v1",
    "Event",
    "events",
    0,
    {
      regarding: { namespace: "$NS" },
      action: "a",
      reason: "r",
      type: "Normal",
      reportingController: "a.b/c",
      reportingInstance: "i",
      eventTime: "2024-01-01T00:00:00.000000Z",
    },
  ],
];

export default kinds.map(([v, k, r, c, extra]) => {
  const object = objectOf(v, k, extra);
  const path = collection(v, r, c);
  const objectPath = `${path}/${object.metadata.name}`;
  const invalidFinalizer = { metadata: { finalizers: ["Not Valid!"] } };
  return test(
    `${k} ${v} update: the fields that invalid metadata is reported for`,
    (t) =>
      t
        .post(
          path,
          {
            ...object,
            metadata: { ...object.metadata, ...invalidFinalizer.metadata, labels: { a: "Not!" } },
          },
          causeFields,
        )
        .post(path, object, { pick: (b) => (b.kind === "Status" ? b.message : b.kind) })
        .merge(objectPath, invalidFinalizer, causeFields)
        .merge(objectPath, { metadata: { labels: { a: "Not Valid!" } } }, causeFields)
        .merge(objectPath, { metadata: { ownerReferences: [{ uid: "x" }] } }, causeFields)
        .merge(`${objectPath}/status`, invalidFinalizer, causeFields)
        .merge(`${objectPath}/status`, { metadata: { labels: { a: "Not Valid!" } } }, causeFields)
        .merge(objectPath, { metadata: { uid: "11111111-1111-1111-1111-111111111111" } }, causeFields)
        .cleanup({ method: "DELETE", path: objectPath }),
    { account: true },
  );
});
