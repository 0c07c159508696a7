/** Objects as the server would return them, for tests of decisions. */
import type { ObjectOf, OwnerReference, Stored } from "@keelson/core";
import type {
  DaemonSet,
  Deployment,
  Job,
  Node,
  Pod,
  ReplicaSet,
  Service,
  StatefulSet,
} from "@keelson/core/kinds";

export const start = Date.parse("2026-01-01T00:00:00Z");

export function at(seconds: number): string {
  return new Date(start + seconds * 1000).toISOString().replace(".000", "");
}

let count = 0;

export interface Meta {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly owner?: Pick<Stored, "kind" | "metadata">;
  readonly finalizers?: string[];
  readonly deleted?: boolean;
  readonly createdAt?: number;
  readonly generation?: number;
}

function metadata(meta: Meta): Stored["metadata"] {
  count++;
  const { owner } = meta;
  const ownerReferences: OwnerReference[] | undefined = owner && [
    {
      apiVersion: owner.kind === "Pod" ? "v1" : "apps/v1",
      kind: owner.kind,
      name: owner.metadata.name,
      uid: owner.metadata.uid,
      controller: true,
      blockOwnerDeletion: true,
    },
  ];
  return {
    name: meta.name ?? `object-${count}`,
    namespace: meta.namespace ?? "default",
    uid: meta.uid ?? `uid-${count}`,
    resourceVersion: String(count),
    creationTimestamp: at(meta.createdAt ?? 0),
    generation: meta.generation ?? 1,
    ...(meta.labels ? { labels: meta.labels } : {}),
    ...(meta.annotations ? { annotations: meta.annotations } : {}),
    ...(ownerReferences ? { ownerReferences } : {}),
    ...(meta.finalizers ? { finalizers: meta.finalizers } : {}),
    ...(meta.deleted ? { deletionTimestamp: at(0), deletionGracePeriodSeconds: 30 } : {}),
  };
}

export interface PodOptions extends Meta {
  readonly phase?: "Pending" | "Running" | "Succeeded" | "Failed";
  readonly ready?: boolean;
  readonly readyAt?: number;
  readonly node?: string;
  readonly restarts?: number;
  readonly exitCode?: number;
  readonly finishedAt?: number;
  readonly spec?: Partial<ObjectOf<typeof Pod>["spec"]>;
}

export function pod(options: PodOptions = {}): ObjectOf<typeof Pod> {
  const { phase = options.ready ? "Running" : "Pending", ready = false, exitCode, finishedAt = 0 } = options;
  const terminated =
    exitCode === undefined ? undefined : { terminated: { exitCode, finishedAt: at(finishedAt) } };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: metadata(options),
    spec: {
      containers: [{ name: "main", image: "app" }],
      ...(options.node ? { nodeName: options.node } : {}),
      ...options.spec,
    },
    status: {
      phase,
      conditions: [
        { type: "Ready", status: ready ? "True" : "False", lastTransitionTime: at(options.readyAt ?? 0) },
      ],
      containerStatuses: [
        {
          name: "main",
          image: "app",
          imageID: "",
          ready,
          restartCount: options.restarts ?? 0,
          ...(terminated ? { state: terminated } : {}),
        },
      ],
    },
  } as ObjectOf<typeof Pod>;
}

type Partially<T extends { spec: object; status?: object }> = {
  readonly spec?: Partial<T["spec"]>;
  readonly status?: Partial<T["status"]>;
};

const template = {
  metadata: { labels: { app: "a" } },
  spec: { containers: [{ name: "main", image: "app:1" }] },
};
const selector = { matchLabels: { app: "a" } };

export function replicaSet(
  options: Meta & Partially<ObjectOf<typeof ReplicaSet>> = {},
): ObjectOf<typeof ReplicaSet> {
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: metadata(options),
    spec: { replicas: 1, selector, template, ...options.spec },
    status: { replicas: 0, ...options.status },
  } as ObjectOf<typeof ReplicaSet>;
}

export function deployment(
  options: Meta & Partially<ObjectOf<typeof Deployment>> = {},
): ObjectOf<typeof Deployment> {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: metadata(options),
    spec: {
      replicas: 1,
      selector,
      template,
      progressDeadlineSeconds: 600,
      revisionHistoryLimit: 10,
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } },
      ...options.spec,
    },
    ...(options.status ? { status: options.status } : {}),
  } as ObjectOf<typeof Deployment>;
}

export function statefulSet(
  options: Meta & Partially<ObjectOf<typeof StatefulSet>> = {},
): ObjectOf<typeof StatefulSet> {
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: metadata({ name: "s", ...options }),
    spec: {
      replicas: 3,
      serviceName: "s",
      selector,
      template,
      podManagementPolicy: "OrderedReady",
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } },
      ...options.spec,
    },
    ...(options.status ? { status: options.status } : {}),
  } as ObjectOf<typeof StatefulSet>;
}

export function daemonSet(
  options: Meta & Partially<ObjectOf<typeof DaemonSet>> = {},
): ObjectOf<typeof DaemonSet> {
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: metadata(options),
    spec: {
      selector,
      template,
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
      ...options.spec,
    },
    ...(options.status ? { status: options.status } : {}),
  } as ObjectOf<typeof DaemonSet>;
}

export function job(options: Meta & Partially<ObjectOf<typeof Job>> = {}): ObjectOf<typeof Job> {
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: metadata({ name: "j", ...options }),
    spec: { completions: 1, parallelism: 1, backoffLimit: 6, selector, template, ...options.spec },
    ...(options.status ? { status: options.status } : {}),
  } as ObjectOf<typeof Job>;
}

export function node(options: Meta & Partially<ObjectOf<typeof Node>> = {}): ObjectOf<typeof Node> {
  const { namespace: _, ...own } = metadata(options);
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { ...own, labels: { "kubernetes.io/hostname": own.name, ...options.labels } },
    spec: { ...options.spec },
    status: {
      allocatable: { cpu: "4", memory: "8Gi", pods: "110" },
      conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: at(0), lastTransitionTime: at(0) }],
      ...options.status,
    },
  } as ObjectOf<typeof Node>;
}

export function service(options: Meta & Partially<ObjectOf<typeof Service>> = {}): ObjectOf<typeof Service> {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: metadata({ name: "svc", ...options }),
    spec: {
      clusterIP: "10.0.0.9",
      ipFamilies: ["IPv4"],
      selector: { app: "a" },
      ports: [{ name: "web", port: 80, targetPort: 8080, protocol: "TCP" }],
      ...options.spec,
    },
  } as ObjectOf<typeof Service>;
}
