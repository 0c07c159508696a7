/** What exists in every cluster from the beginning. */
import type { ApiObject } from "../hooks.ts";

const namespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

export interface BootstrapOptions {
  /** Address and port under which clients inside the cluster reach the server. */
  readonly advertise: { readonly address: string; readonly port: number };
  /** First address of the service range: that of the `kubernetes` service. */
  readonly serviceAddress: string;
}

export function bootstrapObjects(options: BootstrapOptions): ApiObject[] {
  return [
    ...namespaces.map((name) => object("v1", "Namespace", { name })),
    ...priorityClasses(),
    kubernetesService(options),
    kubernetesEndpoints(options),
    kubernetesEndpointSlice(options),
  ];
}

function object(apiVersion: string, kind: string, metadata: ApiObject["metadata"], rest = {}): ApiObject {
  return { apiVersion, kind, metadata, ...rest };
}

function priorityClasses(): ApiObject[] {
  return [
    priorityClass(
      "system-node-critical",
      2000001000,
      "Used for system critical pods that must not be moved from their current node.",
    ),
    priorityClass(
      "system-cluster-critical",
      2000000000,
      "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
  ];
}

function priorityClass(name: string, value: number, description: string): ApiObject {
  return object(
    "scheduling.k8s.io/v1",
    "PriorityClass",
    { name },
    {
      value,
      description,
      preemptionPolicy: "PreemptLowerPriority",
    },
  );
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
