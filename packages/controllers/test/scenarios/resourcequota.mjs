// Resource quotas: what is counted and refused.
import {
  deployment,
  job,
  pod,
  scenario,
  service,
} from "../../../../conformance/controllers/scenarios/_lib.mjs";
import { claim, note, requests } from "./_objects.mjs";

const quota = (name, spec) => ({ apiVersion: "v1", kind: "ResourceQuota", metadata: { name }, spec });

export default [
  scenario("ResourceQuota: many resources, counted and released", async (s) => {
    await s.apply({
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "q" },
      spec: {
        hard: {
          "requests.cpu": "2",
          "limits.memory": "1Gi",
          services: "3",
          "count/deployments.apps": "5",
          persistentvolumeclaims: "2",
          "requests.storage": "10Gi",
          secrets: "10",
          configmaps: "10",
        },
      },
    });
    await s.apply(
      deployment("d", 2, {
        pod: {
          containers: [
            {
              name: "main",
              image: "x",
              resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "1", memory: "128Mi" } },
            },
          ],
        },
      }),
    );
    await s.apply(service("d"));
    await s.apply({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "c" },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "manual",
        resources: { requests: { storage: "3Gi" } },
      },
    });
    await s.settle(3000);
    await s.shot("counted");
    await s.remove("Deployment", "d");
    await s.settle(3000);
    await s.shot("given back");
  }),
  scenario("ResourceQuota: the scopes BestEffort and NotBestEffort", async (s) => {
    await s.apply({
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "b" },
      spec: { hard: { pods: "5" }, scopes: ["BestEffort"] },
    });
    await s.apply({
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "n" },
      spec: { hard: { pods: "5" }, scopes: ["NotBestEffort"] },
    });
    await s.apply(deployment("d", 2));
    await s.settle(3000);
    await s.shot("scoped");
  }),
  scenario("ResourceQuota: refuses, then allows", async (s) => {
    await s.apply(quota("q", { hard: { "count/replicasets.apps": "3", pods: "1", services: "1" } }));
    await s.settle(3000);
    await s.apply(deployment("d", 2));
    await s.apply(service("d"));
    await s.settle(3000);
    await s.shot("one pod");
    await s.apply(quota("q", { hard: { "count/replicasets.apps": "3", pods: "4", services: "1" } }));
    await s.patch("Deployment", "d", { metadata: { annotations: { touch: "1" } } });
    await s.apply(deployment("d", 3));
    await s.settle(3000);
    await s.shot("all");
  }),
  scenario("ResourceQuota: requests and claims", async (s) => {
    await s.apply(
      quota("q", {
        hard: {
          "requests.cpu": "2",
          "limits.memory": "2Gi",
          persistentvolumeclaims: "3",
          "requests.storage": "5Gi",
        },
      }),
    );
    await s.create({
      ...pod("p", {
        pod: {
          containers: [
            {
              name: "main",
              image: "x",
              resources: { requests: { cpu: "500m", memory: "64Mi" }, limits: { cpu: "1", memory: "128Mi" } },
            },
          ],
        },
      }),
    });
    await s.create({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "c" },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "manual",
        resources: { requests: { storage: "1Gi" } },
      },
    });
    await s.settle(3000);
    await s.shot("counted");
    await s.remove("Pod", "p");
    await s.settle(3000);
    await s.shot("given back");
  }),
  scenario("ResourceQuota: stops a rollout in the middle", async (s) => {
    await s.apply(quota("q", { hard: { pods: "2", "requests.cpu": "1" } }));
    await s.settle();
    await s.apply(deployment("d", 3, { pod: requests("400m") }));
    await s.settle(3000);
    await s.shot("two of three");
    await s.apply(quota("q", { hard: { pods: "4", "requests.cpu": "2" } }));
    await s.apply(deployment("d", 2, { pod: requests("400m") }));
    await s.settle(3000);
    await s.shot("two");
  }),
  scenario("ResourceQuota: scopes by quality of service and lifetime", async (s) => {
    await s.apply(quota("best", { hard: { pods: "5" }, scopes: ["BestEffort"] }));
    await s.apply(quota("rest", { hard: { pods: "5", "requests.cpu": "2" }, scopes: ["NotBestEffort"] }));
    await s.apply(quota("short", { hard: { pods: "5" }, scopes: ["Terminating"] }));
    await s.apply(quota("long", { hard: { pods: "5" }, scopes: ["NotTerminating"] }));
    await s.settle();
    const cpu = { containers: [{ name: "main", image: "x", resources: { requests: { cpu: "500m" } } }] };
    await s.create(pod("a"));
    await s.create(pod("b", { pod: cpu }));
    await s.create(pod("c", { pod: { ...cpu, activeDeadlineSeconds: 600 } }));
    await s.settle(4000);
    await s.shot("counted");
    await s.remove("Pod", "b");
    await s.settle(4000);
    await s.shot("one less");
  }),
  scenario("ResourceQuota: scope by priority, and a finished pod", async (s) => {
    const system = {
      scopeSelector: {
        matchExpressions: [
          { scopeName: "PriorityClass", operator: "In", values: ["system-cluster-critical", "none"] },
        ],
      },
    };
    await s.apply(quota("critical", { hard: { pods: "2" }, ...system }));
    await s.apply(quota("all", { hard: { pods: "9", "count/pods": "9" } }));
    await s.settle();
    await s.create(pod("a", { behave: "succeed" }));
    await s.create(pod("b"));
    await s.settle(4000);
    await s.shot("one of two counts");
  }),
  scenario("ResourceQuota: services, claims and workloads", async (s) => {
    const hard = {
      "services.nodeports": "1",
      "count/deployments.apps": "2",
      "count/jobs.batch": "2",
      "requests.storage": "5Gi",
      "manual.storageclass.storage.k8s.io/requests.storage": "2Gi",
      persistentvolumeclaims: "3",
    };
    await s.apply(quota("q", { hard }));
    await s.settle();
    await s.apply(service("n", { type: "NodePort" }));
    await s.apply(deployment("d", 0));
    await s.apply(job("j"));
    await s.create(claim("c", { storageClassName: "manual" }));
    await s.settle(5000);
    await s.shot("counted");
    const { status, body } = await s.call(
      "POST",
      s.pathOf("PersistentVolumeClaim", s.ns),
      claim("d", {
        storageClassName: "manual",
        resources: { requests: { storage: "1500Mi" } },
      }),
    );
    await note(s, "refusal", [status, body.message]);
    await s.shot("refused");
  }),
];
