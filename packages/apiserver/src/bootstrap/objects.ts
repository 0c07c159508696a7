/** What exists in every cluster from the beginning. */
import { formatTime } from "@keelson/core";
import type { ApiObject } from "../contracts/object.ts";
import { builtinApiServices } from "./api-services.ts";

const namespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

export interface BootstrapOptions {
  /** Address and port under which clients inside the cluster reach the server. */
  readonly advertise: { readonly address: string; readonly port: number };
  /** First address of the service range: that of the `kubernetes` service. */
  readonly serviceAddress: string;
  readonly nowMs: number;
  /** The user as which the server itself calls kubelets. */
  readonly kubeletClient?: string;
}

/** Complete as they are: they are stored without passing through decoding, defaults or validation. */
export function bootstrapObjects(options: BootstrapOptions): ApiObject[] {
  return [
    ...builtinApiServices(options.nowMs),
    ...namespaces.map(namespace),
    tokenTracking(options),
    kubernetesService(options),
    kubernetesEndpoints(options),
    kubernetesEndpointSlice(options),
    ...(options.kubeletClient === undefined ? [] : [kubeletAccess(options.kubeletClient)]),
  ];
}

function kubeletAccess(user: string): ApiObject {
  const group = "rbac.authorization.k8s.io";
  return object(
    `${group}/v1`,
    "ClusterRoleBinding",
    { name: `keelson:${user}` },
    {
      roleRef: { apiGroup: group, kind: "ClusterRole", name: "system:kubelet-api-admin" },
      subjects: [{ apiGroup: group, kind: "User", name: user }],
    },
  );
}

function namespace(name: string): ApiObject {
  const labels = { "kubernetes.io/metadata.name": name };
  return object(
    "v1",
    "Namespace",
    { name, labels },
    { spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } },
  );
}

function object(apiVersion: string, kind: string, metadata: ApiObject["metadata"], rest = {}): ApiObject {
  return { apiVersion, kind, metadata, ...rest };
}

/** Since when the use of tokens in secrets is noted. */
function tokenTracking({ nowMs }: BootstrapOptions): ApiObject {
  const name = "kube-apiserver-legacy-service-account-token-tracking";
  const since = formatTime(nowMs).slice(0, "2026-01-01".length);
  return object("v1", "ConfigMap", { name, namespace: "kube-system" }, { data: { since } });
}

const serverLabels = { component: "apiserver", provider: "kubernetes" };

function kubernetesService({ serviceAddress, advertise }: BootstrapOptions): ApiObject {
  return object(
    "v1",
    "Service",
    { name: "kubernetes", namespace: "default", labels: serverLabels },
    {
      spec: {
        type: "ClusterIP",
        clusterIP: serviceAddress,
        clusterIPs: [serviceAddress],
        ipFamilies: ["IPv4"],
        ipFamilyPolicy: "SingleStack",
        internalTrafficPolicy: "Cluster",
        sessionAffinity: "None",
        ports: [{ name: "https", protocol: "TCP", port: 443, targetPort: advertise.port }],
      },
      status: { loadBalancer: {} },
    },
  );
}

function kubernetesEndpoints({ advertise }: BootstrapOptions): ApiObject {
  const labels = { "endpointslice.kubernetes.io/skip-mirror": "true" };
  return object(
    "v1",
    "Endpoints",
    { name: "kubernetes", namespace: "default", labels },
    {
      subsets: [
        {
          addresses: [{ ip: advertise.address }],
          ports: [{ name: "https", port: advertise.port, protocol: "TCP" }],
        },
      ],
    },
  );
}

function kubernetesEndpointSlice({ advertise }: BootstrapOptions): ApiObject {
  const labels = { "kubernetes.io/service-name": "kubernetes" };
  return object(
    "discovery.k8s.io/v1",
    "EndpointSlice",
    { name: "kubernetes", namespace: "default", labels },
    {
      addressType: "IPv4",
      endpoints: [{ addresses: [advertise.address], conditions: { ready: true } }],
      ports: [{ name: "https", port: advertise.port, protocol: "TCP" }],
    },
  );
}
