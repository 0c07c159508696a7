// The smallest valid object of each kind, and who owns its fields.
import { collection, test } from "./_lib.mjs";

const objectOf = (apiVersion, kind, rest = {}, meta = {}) => ({
  apiVersion,
  kind,
  metadata: { name: "x-$ID", ...meta },
  ...rest,
});

const kinds = [
  ["v1", "Pod", "pods"],
  ["v1", "Service", "services"],
  ["v1", "ConfigMap", "configmaps"],
  ["v1", "Secret", "secrets"],
  ["v1", "ServiceAccount", "serviceaccounts"],
  ["v1", "Endpoints", "endpoints"],
  ["v1", "Event", "events"],
  ["v1", "LimitRange", "limitranges"],
  ["v1", "ResourceQuota", "resourcequotas"],
  ["v1", "PersistentVolumeClaim", "persistentvolumeclaims"],
  ["v1", "PodTemplate", "podtemplates"],
  ["v1", "ReplicationController", "replicationcontrollers"],
  ["v1", "Namespace", "namespaces", 1],
  ["v1", "Node", "nodes", 1],
  ["v1", "PersistentVolume", "persistentvolumes", 1],
  ["apps/v1", "Deployment", "deployments"],
  ["apps/v1", "ReplicaSet", "replicasets"],
  ["apps/v1", "DaemonSet", "daemonsets"],
  ["apps/v1", "StatefulSet", "statefulsets"],
  ["apps/v1", "ControllerRevision", "controllerrevisions"],
  ["batch/v1", "Job", "jobs"],
  ["batch/v1", "CronJob", "cronjobs"],
  ["policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"],
  ["coordination.k8s.io/v1", "Lease", "leases"],
  ["discovery.k8s.io/v1", "EndpointSlice", "endpointslices"],
  ["networking.k8s.io/v1", "Ingress", "ingresses"],
  ["networking.k8s.io/v1", "NetworkPolicy", "networkpolicies"],
  ["networking.k8s.io/v1", "IngressClass", "ingressclasses", 1],
  ["networking.k8s.io/v1", "IPAddress", "ipaddresses", 1],
  ["networking.k8s.io/v1", "ServiceCIDR", "servicecidrs", 1],
  ["autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"],
  ["autoscaling/v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers"],
  ["storage.k8s.io/v1", "StorageClass", "storageclasses", 1],
  ["storage.k8s.io/v1", "CSIDriver", "csidrivers", 1],
  ["storage.k8s.io/v1", "CSINode", "csinodes", 1],
  ["storage.k8s.io/v1", "VolumeAttachment", "volumeattachments", 1],
  ["storage.k8s.io/v1", "CSIStorageCapacity", "csistoragecapacities"],
  ["storage.k8s.io/v1", "VolumeAttributesClass", "volumeattributesclasses", 1],
  ["scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", 1],
  ["node.k8s.io/v1", "RuntimeClass", "runtimeclasses", 1],
  ["rbac.authorization.k8s.io/v1", "Role", "roles"],
  ["rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings"],
  ["rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", 1],
  ["rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", 1],
  ["admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", 1],
  ["admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", 1],
  ["admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", 1],
  [
    "admissionregistration.k8s.io/v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    1,
  ],
  ["admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", "mutatingadmissionpolicies", 1],
  ["admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", 1],
  ["flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "flowschemas", 1],
  ["flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration", "prioritylevelconfigurations", 1],
  ["certificates.k8s.io/v1", "CertificateSigningRequest", "certificatesigningrequests", 1],
  ["apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", 1],
  ["apiregistration.k8s.io/v1", "APIService", "apiservices", 1],
  ["events.k8s.io/v1", "Event", "events"],
  ["resource.k8s.io/v1", "ResourceClaim", "resourceclaims"],
  ["resource.k8s.io/v1", "DeviceClass", "deviceclasses", 1],
  ["resource.k8s.io/v1", "ResourceClaimTemplate", "resourceclaimtemplates"],
  ["resource.k8s.io/v1", "ResourceSlice", "resourceslices", 1],
];

const required = {
  Role: { rules: [] },
  ClusterRole: { rules: [] },
  EndpointSlice: { addressType: "IPv4" },
  RoleBinding: { roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" } },
  StorageClass: { provisioner: "a/b" },
  PriorityClass: { value: 1 },
  RuntimeClass: { handler: "h" },
  Lease: { spec: {} },
  Secret: { data: {} },
  ConfigMap: { data: {}, binaryData: {} },
  ClusterRoleBinding: {
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "r" },
    subjects: [],
  },
  ControllerRevision: { revision: 1, data: { a: [] } },
  CSINode: { spec: { drivers: [] } },
  Endpoints: { subsets: [] },
  Event: { involvedObject: { namespace: "$NS" } },
  PersistentVolume: {
    spec: { capacity: { storage: "1" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/a" } },
  },
  PersistentVolumeClaim: {
    spec: { resources: { requests: { storage: "1" } }, accessModes: ["ReadWriteOnce"] },
  },
  Service: { spec: { ports: [{ port: 1 }] } },
  NetworkPolicy: { spec: {} },
  IngressClass: { spec: {} },
  PodDisruptionBudget: { spec: {} },
  ServiceAccount: { secrets: [], imagePullSecrets: [] },
  CSIDriver: { spec: {} },
  CSIStorageCapacity: { storageClassName: "a" },
  LimitRange: { spec: { limits: [] } },
  ResourceQuota: { spec: {} },
  PodTemplate: { template: {} },
  ValidatingWebhookConfiguration: { webhooks: [] },
  MutatingWebhookConfiguration: { webhooks: [] },
  DeviceClass: { spec: {} },
  ResourceClaim: { spec: { devices: {} } },
  ResourceClaimTemplate: { spec: { spec: {} } },
  Node: { spec: {} },
  Namespace: { spec: {} },
  VolumeAttributesClass: { driverName: "a.b" },
};

export default kinds.flatMap(([v, kind, r, c]) => [
  test(
    `${kind} ${v} create: metadata only, and apply`,
    (t) =>
      t
        .post(collection(v, r, c), objectOf(v, kind))
        .get(`${collection(v, r, c)}/x-$ID`)
        .apply(`${collection(v, r, c)}/y-$ID`, { apiVersion: v, kind, metadata: { name: "y-$ID" } }, "m")
        .apply(`${collection(v, r, c)}/x-$ID`, { apiVersion: v, kind, metadata: { name: "x-$ID" } }, "m")
        .cleanup({ method: "DELETE", path: `${collection(v, r, c)}/x-$ID` }),
    { account: true },
  ),
  ...(required[kind]
    ? [
        test(
          `${kind} ${v} create: the smallest valid object, update and apply`,
          (t) =>
            t
              .post(collection(v, r, c), objectOf(v, kind, required[kind]))
              .get(`${collection(v, r, c)}/x-$ID`)
              .put(`${collection(v, r, c)}/x-$ID`, objectOf(v, kind, required[kind]))
              .put(`${collection(v, r, c)}/x-$ID`, objectOf(v, kind, required[kind], { labels: { a: "b" } }))
              .apply(
                `${collection(v, r, c)}/x-$ID`,
                objectOf(v, kind, required[kind], { labels: { a: "b" } }),
                "m",
              )
              .apply(
                `${collection(v, r, c)}/y-$ID`,
                objectOf(v, kind, required[kind], { name: "y-$ID" }),
                "m",
              )
              .apply(`${collection(v, r, c)}/y-$ID`, objectOf(v, kind, {}, { name: "y-$ID" }), "m")
              .cleanup({ method: "DELETE", path: `${collection(v, r, c)}/x-$ID` })
              .cleanup({ method: "DELETE", path: `${collection(v, r, c)}/y-$ID` }),
          { account: true },
        ),
      ]
    : []),
]);
