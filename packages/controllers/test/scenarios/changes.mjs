import {
  claims,
  daemonSet,
  deployment,
  job,
  pod,
  replicaSet,
  scenario,
  service,
  statefulSet,
} from "../../../../conformance/controllers/scenarios/_lib.mjs";
import { evict, pdb, quota } from "./_objects.mjs";

const del = (s, kind, name, o) => s.remove(kind, name, o);
const cm = (name, owners, extra = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    name,
    ...extra,
    ...(owners
      ? {
          ownerReferences: owners.map(([o, e]) => ({
            apiVersion: o.apiVersion ?? "v1",
            kind: o.kind ?? "ConfigMap",
            name: o.metadata.name,
            uid: o.metadata.uid,
            ...e,
          })),
        }
      : {}),
  },
});
export default [
  scenario("recreate when new pods never become ready", async (s) => {
    await s.apply(deployment("d", 2, { spec: { strategy: { type: "Recreate" } } }));
    await s.settle();
    await s.apply(
      deployment("d", 2, {
        image: "example/app:2",
        behave: "never",
        spec: { strategy: { type: "Recreate" } },
      }),
    );
    await s.settle();
    await s.shot("waiting");
    await s.apply(deployment("d", 2, { image: "example/app:3", spec: { strategy: { type: "Recreate" } } }));
    await s.settle();
    await s.shot("third");
  }),
  scenario("deployment scaled to zero, rolled, scaled up", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    await s.apply(deployment("d", 0));
    await s.settle();
    await s.apply(deployment("d", 0, { image: "example/app:2" }));
    await s.settle();
    await s.shot("zero");
    await s.apply(deployment("d", 3, { image: "example/app:2" }));
    await s.settle();
    await s.shot("three");
  }),
  scenario("changed while paused, then resumed", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    await s.apply(deployment("d", 2, { spec: { paused: true } }));
    await s.apply(deployment("d", 2, { image: "example/app:2", spec: { paused: true } }));
    await s.settle();
    await s.shot("paused");
    await s.apply(deployment("d", 2, { image: "example/app:2", spec: { paused: false } }));
    await s.settle();
    await s.shot("resumed");
  }),
  scenario("no history", async (s) => {
    const o = { spec: { revisionHistoryLimit: 0 } };
    await s.apply(deployment("d", 1, o));
    await s.settle();
    await s.apply(deployment("d", 1, { ...o, image: "example/app:2" }));
    await s.settle();
    await s.shot("only one");
  }),
  scenario("all unavailable at once", async (s) => {
    const o = {
      spec: { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 0, maxUnavailable: "100%" } } },
    };
    await s.apply(deployment("d", 3, o));
    await s.settle();
    await s.apply(deployment("d", 3, { ...o, image: "example/app:2", behave: "never" }));
    await s.settle();
    await s.shot("stuck");
  }),
  scenario("rollout with slow pods", async (s) => {
    await s.apply(deployment("d", 3, { behave: "slow" }));
    await s.settle();
    await s.apply(deployment("d", 3, { behave: "slow", image: "example/app:2" }));
    await s.settle();
    await s.shot("done");
  }),
  scenario("replica set of a deployment is deleted", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    const rs = (await s.call("GET", s.pathOf("ReplicaSet", s.ns))).body.items[0];
    await del(s, "ReplicaSet", rs.metadata.name);
    await s.settle();
    await s.shot("again");
  }),
  scenario("deployment adopts a replica set", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    await del(s, "Deployment", "d", { propagationPolicy: "Orphan" });
    await s.settle();
    await s.shot("orphans");
    await s.apply(deployment("d", 2));
    await s.settle();
    await s.shot("adopted");
  }),
  scenario("deployment switches strategy", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    await s.call(
      "PATCH",
      s.pathOf("Deployment", s.ns, "d"),
      { spec: { strategy: { $retainKeys: ["type"], type: "Recreate" } } },
      "application/strategic-merge-patch+json",
    );
    await s.settle();
    await s.shot("recreate");
  }),
  scenario("replica set with minReadySeconds", async (s) => {
    await s.apply(replicaSet("r", 2, { spec: { minReadySeconds: 3600 } }));
    await s.settle();
    await s.shot("not available");
    await s.apply(replicaSet("r", 1, { spec: { minReadySeconds: 3600 } }));
    await s.settle();
    await s.shot("one");
  }),
  scenario("replica set prefers to delete cheap pods", async (s) => {
    await s.apply(replicaSet("r", 3));
    await s.settle();
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, {
      metadata: { annotations: { "controller.kubernetes.io/pod-deletion-cost": "100", keep: "me" } },
    });
    await s.apply(replicaSet("r", 1));
    await s.settle();
    await s.shot("the dear one");
  }),
  scenario("two replica sets with one selector", async (s) => {
    await s.apply(replicaSet("r", 1));
    await s.settle();
    await s.apply({ ...replicaSet("r", 1), metadata: { name: "r2" } });
    await s.settle();
    await s.shot("each its own");
  }),
  scenario("a pod becomes unready", async (s) => {
    await s.apply(service("d"));
    await s.apply(deployment("d", 2));
    await s.settle();
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, { metadata: { labels: { behave: "never" } } });
    await s.settle();
    await s.shot("one unready");
  }),
  scenario("a pod fails", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, { metadata: { labels: { behave: "fail" } } });
    await s.settle();
    await s.shot("replaced");
  }),
  scenario("a pod succeeds in a replica set", async (s) => {
    await s.apply(replicaSet("r", 2));
    await s.settle();
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, { metadata: { labels: { behave: "succeed" } } });
    await s.settle();
    await s.shot("replaced");
  }),
  scenario("stateful set pod fails", async (s) => {
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.patch("Pod", "s-0", { metadata: { labels: { behave: "fail" } } });
    await s.settle();
    await s.shot("again");
  }),
  scenario("stateful set scales down past a pod that is not ready", async (s) => {
    await s.apply(statefulSet("s", 3));
    await s.settle();
    await s.patch("Pod", "s-0", { metadata: { labels: { behave: "never" } } });
    await s.settle();
    await s.apply(statefulSet("s", 1));
    await s.settle();
    await s.shot("waits");
  }),
  scenario("stateful set scales to nothing and back", async (s) => {
    await s.apply(statefulSet("s", 2, { spec: { volumeClaimTemplates: claims } }));
    await s.settle();
    await s.apply(statefulSet("s", 0, { spec: { volumeClaimTemplates: claims } }));
    await s.settle();
    await s.shot("none");
    await s.apply(statefulSet("s", 1, { spec: { volumeClaimTemplates: claims } }));
    await s.settle();
    await s.shot("one");
  }),
  scenario("stateful set partition lowered step by step", async (s) => {
    const o = (partition, image) => ({
      image,
      spec: { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition } } },
    });
    await s.apply(statefulSet("s", 3, o(3, "example/app:1")));
    await s.settle();
    await s.apply(statefulSet("s", 3, o(3, "example/app:2")));
    await s.settle();
    await s.shot("none");
    await s.apply(statefulSet("s", 3, o(1, "example/app:2")));
    await s.settle();
    await s.shot("two");
    await s.apply(statefulSet("s", 3, o(0, "example/app:2")));
    await s.settle();
    await s.shot("all");
  }),
  scenario("stateful set foreground", async (s) => {
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await del(s, "StatefulSet", "s", { propagationPolicy: "Foreground" });
    await s.settle();
    await s.shot("gone");
  }),
  scenario("stateful set of pods with a foreign pod in its way", async (s) => {
    await s.create(pod("s-0", { labels: { app: "other" } }));
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.shot("blocked");
    await del(s, "Pod", "s-0");
    await s.settle();
    await s.shot("free");
  }),
  scenario("stateful set changes its retention", async (s) => {
    const o = (whenDeleted, whenScaled) => ({
      spec: {
        volumeClaimTemplates: claims,
        persistentVolumeClaimRetentionPolicy: { whenDeleted, whenScaled },
      },
    });
    await s.apply(statefulSet("s", 2, o("Delete", "Retain")));
    await s.settle();
    await s.shot("owned by the set");
    await s.apply(statefulSet("s", 2, o("Retain", "Retain")));
    await s.settle();
    await s.shot("owned by nobody");
  }),
  scenario("daemon set whose pods fail", async (s) => {
    await s.apply(daemonSet("ds"));
    await s.settle();
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, { metadata: { labels: { behave: "fail" } } });
    await s.settle();
    await s.shot("again");
  }),
  scenario("daemon set deleted orphaning and adopted", async (s) => {
    await s.apply(daemonSet("ds"));
    await s.settle();
    await del(s, "DaemonSet", "ds", { propagationPolicy: "Orphan" });
    await s.settle();
    await s.shot("orphans");
    await s.apply(daemonSet("ds"));
    await s.settle();
    await s.shot("adopted");
  }),
  scenario("daemon set with max unavailable 2", async (s) => {
    const o = { spec: { updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 2 } } } };
    await s.apply(daemonSet("ds", o));
    await s.settle();
    await s.apply(daemonSet("ds", { ...o, behave: "never", image: "example/app:2" }));
    await s.settle();
    await s.shot("two stuck");
  }),
  scenario("job parallelism changes as it runs", async (s) => {
    await s.apply(job("j", { behave: "never", spec: { parallelism: 1, completions: 4 } }));
    await s.settle();
    await s.patch("Job", "j", { spec: { parallelism: 3 } });
    await s.settle();
    await s.shot("three");
    await s.patch("Job", "j", { spec: { parallelism: 1 } });
    await s.settle();
    await s.shot("one");
  }),
  scenario("job replaces only failed pods", async (s) => {
    await s.apply(job("j", { behave: "never", spec: { podReplacementPolicy: "Failed", backoffLimit: 2 } }));
    await s.settle();
    const [p] = await s.pods();
    await del(s, "Pod", p.metadata.name);
    await s.settle();
    await s.shot("after deletion");
  }),
  scenario("job grows its completions while indexed", async (s) => {
    await s.apply(job("j", { spec: { completionMode: "Indexed", completions: 2, parallelism: 2 } }));
    await s.settle();
    await s.shot("done");
  }),
  scenario("elastic indexed job", async (s) => {
    await s.apply(
      job("j", { behave: "never", spec: { completionMode: "Indexed", completions: 2, parallelism: 2 } }),
    );
    await s.settle();
    await s.patch("Job", "j", { spec: { completions: 3, parallelism: 3 } });
    await s.settle();
    await s.shot("three");
    await s.patch("Job", "j", { spec: { completions: 1, parallelism: 1 } });
    await s.settle();
    await s.shot("one");
  }),
  scenario("job managed by another", async (s) => {
    await s.apply(job("j", { spec: { managedBy: "example.com/other" } }));
    await s.settle();
    await s.shot("untouched");
  }),
  scenario("job deleted in the foreground while it runs", async (s) => {
    await s.apply(job("j", { behave: "never" }));
    await s.settle();
    await del(s, "Job", "j", { propagationPolicy: "Foreground" });
    await s.settle();
    await s.shot("gone");
  }),
  scenario("job with a deadline, suspended", async (s) => {
    await s.apply(job("j", { behave: "never", spec: { suspend: true, activeDeadlineSeconds: 2 } }));
    await s.settle(4000);
    await s.shot("still suspended");
    await s.patch("Job", "j", { spec: { suspend: false } });
    await s.settle(5000);
    await s.shot("too late");
  }),
  scenario("failure policy on exit codes counts", async (s) => {
    await s.apply(
      job("j", {
        behave: "fail",
        labels: { code: "42" },
        spec: {
          backoffLimit: 0,
          podFailurePolicy: { rules: [{ action: "Count", onExitCodes: { operator: "In", values: [42] } }] },
        },
      }),
    );
    await s.settle();
    await s.shot("failed");
  }),
  scenario("failure policy not in", async (s) => {
    await s.apply(
      job("j", {
        behave: "fail",
        labels: { code: "3" },
        spec: {
          backoffLimit: 6,
          podFailurePolicy: {
            rules: [
              { action: "FailJob", onExitCodes: { containerName: "main", operator: "NotIn", values: [42] } },
            ],
          },
        },
      }),
    );
    await s.settle();
    await s.shot("failed");
  }),
  scenario("service with numbered target port", async (s) => {
    await s.apply(
      service("d", {
        ports: [
          { port: 80, targetPort: 8080 },
          { name: "two", port: 81, targetPort: 9090, protocol: "UDP" },
        ].map((p, i) => ({ name: `p${i}`, ...p })),
      }),
    );
    await s.apply(deployment("d", 2));
    await s.settle();
    await s.shot("numbered");
  }),
  scenario("service by an external name", async (s) => {
    await s.apply({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "x" },
      spec: { type: "ExternalName", externalName: "example.com" },
    });
    await s.settle();
    await s.shot("nothing");
  }),
  scenario("headless service of a stateful set", async (s) => {
    await s.apply(service("s", { clusterIP: "None" }));
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.shot("hostnames");
    await s.remove("Service", "s");
    await s.settle(3000);
    await s.shot("slices gone");
  }),
  scenario("service turns headless labels and annotations", async (s) => {
    await s.apply({
      ...service("d"),
      metadata: { name: "d", labels: { a: "b" }, annotations: { note: "x" } },
    });
    await s.apply(deployment("d", 1));
    await s.settle();
    await s.shot("with labels");
    await s.apply({ ...service("d"), metadata: { name: "d", labels: { c: "d" } } });
    await s.settle();
    await s.shot("changed");
  }),
  scenario("a child with a finalizer in the foreground", async (s) => {
    const a = await s.create(cm("a"));
    await s.create(cm("b", [[a, { blockOwnerDeletion: true }]], { finalizers: ["example.com/hold"] }));
    await del(s, "ConfigMap", "a", { propagationPolicy: "Foreground" });
    await s.settle(3000);
    await s.shot("held");
    await s.patch("ConfigMap", "b", { metadata: { finalizers: null } });
    await s.settle(3000);
    await s.shot("gone");
  }),
  scenario("a chain deleted orphaning in the middle", async (s) => {
    const a = await s.create(cm("a"));
    const b = await s.create(cm("b", [[a]]));
    await s.create(cm("c", [[b]]));
    await del(s, "ConfigMap", "b", { propagationPolicy: "Orphan" });
    await s.settle(3000);
    await s.shot("c alone");
    await del(s, "ConfigMap", "a");
    await s.settle(3000);
    await s.shot("c stays");
  }),
  scenario("a pod owned by a config map", async (s) => {
    const a = await s.create(cm("a"));
    await s.create({
      ...pod("p"),
      metadata: {
        name: "p",
        labels: { app: "p" },
        ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "a", uid: a.metadata.uid }],
      },
    });
    await s.settle();
    await del(s, "ConfigMap", "a");
    await s.settle(3000);
    await s.shot("gone");
  }),
  scenario("budget refuses an eviction", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    await s.apply(pdb("b", { minAvailable: 2, selector: { matchLabels: { app: "d" } } }));
    await s.settle();
    const [p] = await s.pods();
    const r = await evict(s, p.metadata.name);
    if (r.status !== 429) throw new Error(`eviction ${r.status}`);
    await s.settle();
    await s.shot("refused");
    await s.apply(pdb("b", { minAvailable: 1, selector: { matchLabels: { app: "d" } } }));
    await s.settle();
    await evict(s, p.metadata.name);
    await s.settle();
    await s.shot("allowed");
  }),
  scenario("budget over unhealthy pods", async (s) => {
    await s.apply(deployment("d", 2, { behave: "never" }));
    await s.settle();
    await s.apply(
      pdb("b", {
        maxUnavailable: 1,
        unhealthyPodEvictionPolicy: "AlwaysAllow",
        selector: { matchLabels: { app: "d" } },
      }),
    );
    await s.settle();
    await s.shot("counts");
    const [p] = await s.pods();
    const r = await evict(s, p.metadata.name);
    if (r.status !== 201) throw new Error(`eviction ${r.status}`);
    await s.settle();
    await s.shot("evicted");
  }),
  scenario("budget over a deployment that scales", async (s) => {
    await s.apply(deployment("d", 4));
    await s.settle();
    await s.apply(pdb("b", { maxUnavailable: "50%", selector: { matchLabels: { app: "d" } } }));
    await s.settle();
    await s.shot("of four");
    await s.apply(deployment("d", 1));
    await s.settle();
    await s.shot("of one");
  }),
  scenario("quota refuses, then allows", async (s) => {
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
  scenario("quota on requests and claims", async (s) => {
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
    await del(s, "Pod", "p");
    await s.settle(3000);
    await s.shot("given back");
  }),
  scenario("more anti-affine pods than nodes", async (s) => {
    await s.apply(
      deployment("d", 4, {
        pod: {
          affinity: {
            podAntiAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [
                { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "d" } } },
              ],
            },
          },
        },
      }),
    );
    await s.settle();
    await s.shot("one waits");
  }),
  scenario("host ports", async (s) => {
    await s.apply(
      deployment("d", 4, {
        pod: { containers: [{ name: "main", image: "x", ports: [{ containerPort: 80, hostPort: 30080 }] }] },
      }),
    );
    await s.settle();
    await s.shot("one waits");
  }),
  scenario("node affinity that prefers", async (s) => {
    await s.create(
      pod("p", {
        pod: {
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["b"] }] }],
              },
            },
          },
        },
      }),
    );
    await s.create(
      pod("q", {
        pod: {
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: [
                  { matchExpressions: [{ key: "zone", operator: "NotIn", values: ["a", "b"] }] },
                ],
              },
            },
          },
        },
      }),
    );
    await s.settle();
    await s.shot("p in b, q nowhere");
  }),
  scenario("a priority that does not exist, and a scheduler", async (s) => {
    await s.create(pod("p", { pod: { schedulerName: "other" } }));
    await s.settle();
    await s.shot("left alone");
  }),
  scenario("a gate is taken away", async (s) => {
    await s.create(pod("p", { pod: { schedulingGates: [{ name: "example.com/wait" }] } }));
    await s.settle();
    await s.patch("Pod", "p", { spec: { schedulingGates: [] } });
    await s.settle();
    await s.shot("runs");
  }),
];
