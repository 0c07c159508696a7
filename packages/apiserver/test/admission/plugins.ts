/** The plug-ins that complete and limit what is created. */
import { mergePatch } from "../validation/players.ts";
import type { Story } from "../validation/story.ts";

type Json = Record<string, unknown>;

const pod = (name: string, spec: Json = {}, metadata: Json = {}): Json => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "c", image: "i" }], ...spec },
});

const withResources = (name: string, ...resources: (Json | undefined)[]): Json =>
  pod(name, {
    containers: resources.map((own, i) => ({ name: `c${i}`, image: "i", ...(own && { resources: own }) })),
  });

const claim = (name: string, storage: string, spec: Json = {}): Json => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } }, ...spec },
});

const service = (name: string, type = "ClusterIP"): Json => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { type, ports: [{ port: 1 }] },
});

const pods = (namespace: string) => `/api/v1/namespaces/${namespace}/pods`;
const claims = (namespace: string) => `/api/v1/namespaces/${namespace}/persistentvolumeclaims`;

async function limits(story: Story): Promise<void> {
  await story.namespace("limited");
  await story.do("POST", "/api/v1/namespaces/limited/limitranges", {
    apiVersion: "v1",
    kind: "LimitRange",
    metadata: { name: "limits" },
    spec: {
      limits: [
        {
          type: "Container",
          max: { cpu: "1", memory: "1Gi" },
          min: { cpu: "50m" },
          default: { cpu: "500m" },
          defaultRequest: { cpu: "100m" },
          maxLimitRequestRatio: { cpu: "10" },
        },
        { type: "Pod", max: { memory: "2Gi", cpu: "2" } },
        { type: "PersistentVolumeClaim", max: { storage: "5Gi" }, min: { storage: "1Gi" } },
      ],
    },
  });
  await story.settle();
  const most = { limits: { cpu: "1", memory: "1Gi" } };
  const cases: readonly (readonly [string, ...(Json | undefined)[]])[] = [
    ["none", undefined],
    ["big", { limits: { cpu: "2", memory: "100Mi" } }],
    ["small", { requests: { cpu: "10m" }, limits: { cpu: "100m", memory: "1Mi" } }],
    ["ratio", { requests: { cpu: "50m" }, limits: { cpu: "1", memory: "1Gi" } }],
    ["unlimited", { limits: { cpu: "1" } }],
    ["sum", most, most, most],
  ];
  for (const [name, ...resources] of cases)
    await story.tell(`limit range: ${name}`, "POST", pods("limited"), withResources(name, ...resources));
  for (const size of ["10Gi", "1Mi", "2Gi"])
    await story.tell(
      `limit range: claim of ${size}`,
      "POST",
      claims("limited"),
      claim(size.toLowerCase(), size),
    );
}

async function quotas(story: Story): Promise<void> {
  await story.namespace("rationed");
  const hard = {
    pods: "2",
    "requests.cpu": "1",
    "limits.memory": "1Gi",
    configmaps: "1",
    "count/deployments.apps": "1",
    services: "1",
    "services.loadbalancers": "0",
    "requests.storage": "5Gi",
  };
  const path = "/api/v1/namespaces/rationed/resourcequotas";
  await story.do("POST", path, {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: "q" },
    spec: { hard },
  });
  const used = Object.fromEntries(Object.keys(hard).map((name) => [name, "0"]));
  await story.do("PATCH", `${path}/q/status`, { status: { hard, used } }, { type: mergePatch });
  await story.settle();
  const cases: readonly (readonly [string, Json | undefined])[] = [
    ["silent", undefined],
    ["first", { requests: { cpu: "500m" }, limits: { memory: "500Mi" } }],
    ["greedy", { requests: { cpu: "600m" }, limits: { memory: "10Mi" } }],
    ["second", { requests: { cpu: "100m" }, limits: { memory: "10Mi" } }],
    ["third", { requests: { cpu: "1m" }, limits: { memory: "1Mi" } }],
  ];
  for (const [name, resources] of cases)
    await story.tell(`quota: ${name} pod`, "POST", pods("rationed"), withResources(name, resources));
  for (const name of ["one", "two"]) {
    const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
    await story.tell(
      `quota: config map ${name}`,
      "POST",
      "/api/v1/namespaces/rationed/configmaps",
      configMap,
    );
    await story.tell(`quota: deployment ${name}`, "POST", "/apis/apps/v1/namespaces/rationed/deployments", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name },
      spec: {
        selector: { matchLabels: { a: "b" } },
        template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } },
      },
    });
  }
  const services = "/api/v1/namespaces/rationed/services";
  await story.tell("quota: load balancer", "POST", services, service("balanced", "LoadBalancer"));
  await story.tell("quota: service one", "POST", services, service("one"));
  await story.tell("quota: service two", "POST", services, service("two"));
  await story.tell("quota: claim", "POST", claims("rationed"), claim("large", "6Gi"));
  await story.tell("quota: trial", "POST", `${claims("rationed")}?dryRun=All`, claim("trial", "1Gi"));
  await story.settle();
  await story.tell("quota: status", "GET", `${path}/q`);
}

async function priorities(story: Story): Promise<void> {
  const path = "/apis/scheduling.k8s.io/v1/priorityclasses";
  const made = (name: string, more: Json): Json => ({
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name },
    ...more,
  });
  await story.do("POST", path, made("high", { value: 1000, preemptionPolicy: "Never" }));
  await story.do("POST", path, made("usual", { value: 7, globalDefault: true }));
  await story.settle();
  const cases: Readonly<Record<string, Json>> = {
    high: { priorityClassName: "high" },
    none: {},
    unknown: { priorityClassName: "nope" },
    contradictory: { priorityClassName: "high", priority: 3 },
    system: { priorityClassName: "system-node-critical" },
    preempting: { priorityClassName: "high", preemptionPolicy: "PreemptLowerPriority" },
  };
  for (const [name, spec] of Object.entries(cases))
    await story.tell(`priority: ${name}`, "POST", pods("free"), pod(`priority-${name}`, spec));
  await story.tell(
    "priority: second default",
    "POST",
    path,
    made("other", { value: 8, globalDefault: true }),
  );
  await story.do("DELETE", `${path}/usual`);
}

async function storage(story: Story): Promise<void> {
  await story.do("POST", "/apis/storage.k8s.io/v1/storageclasses", {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "usual", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
    provisioner: "example.com/p",
    allowVolumeExpansion: true,
  });
  await story.settle();
  await story.tell("storage: default class", "POST", claims("free"), claim("usual", "1Gi"));
  await story.tell(
    "storage: no class",
    "POST",
    claims("free"),
    claim("classless", "1Gi", { storageClassName: "" }),
  );
  for (const name of ["usual", "classless"]) {
    const status = { status: { phase: "Bound", capacity: { storage: "1Gi" } } };
    await story.do("PATCH", `${claims("free")}/${name}/status`, status, { type: mergePatch });
    const larger = { spec: { resources: { requests: { storage: "2Gi" } } } };
    await story.tell(`storage: ${name} grows`, "PATCH", `${claims("free")}/${name}`, larger, {
      type: mergePatch,
    });
  }
}

async function runtimes(story: Story): Promise<void> {
  await story.do("POST", "/apis/node.k8s.io/v1/runtimeclasses", {
    apiVersion: "node.k8s.io/v1",
    kind: "RuntimeClass",
    metadata: { name: "boxed" },
    handler: "h",
    overhead: { podFixed: { cpu: "10m" } },
    scheduling: { nodeSelector: { a: "b" }, tolerations: [{ key: "t", operator: "Exists" }] },
  });
  await story.settle();
  const cases: Readonly<Record<string, Json>> = {
    known: { runtimeClassName: "boxed", nodeSelector: { c: "d" } },
    conflicting: { runtimeClassName: "boxed", nodeSelector: { a: "x" } },
    unknown: { runtimeClassName: "nope" },
    overloaded: { runtimeClassName: "boxed", overhead: { cpu: "5m" } },
  };
  for (const [name, spec] of Object.entries(cases))
    await story.tell(`runtime class: ${name}`, "POST", pods("free"), pod(`runtime-${name}`, spec));
}

async function accounts(story: Story): Promise<void> {
  await story.tell("account: missing", "POST", pods("free"), pod("lost", { serviceAccountName: "nope" }));
  await story.do("POST", "/api/v1/namespaces/free/serviceaccounts", {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "quiet" },
    automountServiceAccountToken: false,
    imagePullSecrets: [{ name: "registry" }],
  });
  await story.settle();
  await story.tell("account: no token", "POST", pods("free"), pod("quiet", { serviceAccountName: "quiet" }));
  await story.tell("account: token", "POST", pods("free"), pod("usual"));
  const mirror = { annotations: { "kubernetes.io/config.mirror": "x" } };
  const spec = { nodeName: "n", serviceAccountName: "default" };
  await story.tell("account: mirror pod", "POST", pods("free"), pod("mirror", spec, mirror));
}

async function lifecycles(story: Story): Promise<void> {
  const configMap = (name: string, metadata: Json = {}): Json => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, ...metadata },
  });
  await story.tell("namespace: missing", "POST", "/api/v1/namespaces/nope/configmaps", configMap("x"));
  await story.namespace("ending");
  await story.do(
    "POST",
    "/api/v1/namespaces/ending/configmaps",
    configMap("x", { finalizers: ["example.com/f"] }),
  );
  await story.do("DELETE", "/api/v1/namespaces/ending");
  await story.settle();
  await story.tell("namespace: ending", "POST", "/api/v1/namespaces/ending/configmaps", configMap("y"));
  await story.tell("namespace: default", "DELETE", "/api/v1/namespaces/default");
}

export async function plugins(story: Story): Promise<void> {
  await story.namespace("free");
  await story.settle();
  for (const part of [limits, quotas, priorities, storage, runtimes, accounts, lifecycles]) await part(story);
}
