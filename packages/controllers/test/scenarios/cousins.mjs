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
import { pdb, quota, v2 } from "./_objects.mjs";

const requests = (cpu, more = {}) => ({
  containers: [{ name: "main", image: "example/app:1", resources: { requests: { cpu }, ...more } }],
});

export default [
  scenario("scaled and changed in one", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    await s.apply(deployment("d", 5, v2));
    await s.settle();
    await s.shot("five new ones");
    await s.apply(deployment("d", 1, { image: "example/app:3" }));
    await s.settle();
    await s.shot("one");
  }),
  scenario("a rollout of slow pods", async (s) => {
    await s.apply(deployment("d", 3, { behave: "slow" }));
    await s.settle(3000);
    await s.apply(deployment("d", 3, { ...v2, behave: "slow" }));
    await s.settle(4000);
    await s.shot("rolled");
  }),
  scenario("a stuck rollout is taken back", async (s) => {
    await s.apply(deployment("d", 4));
    await s.settle();
    await s.apply(deployment("d", 4, { ...v2, behave: "never" }));
    await s.settle();
    await s.apply(deployment("d", 4));
    await s.settle();
    await s.shot("back");
  }),
  scenario("half unavailable at most", async (s) => {
    const spec = { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: "50%" } } };
    await s.apply(deployment("d", 4, { spec }));
    await s.settle();
    await s.apply(deployment("d", 4, { ...v2, behave: "never", spec }));
    await s.settle();
    await s.shot("stuck");
  }),
  scenario("created paused, then released", async (s) => {
    await s.apply(deployment("d", 2, { spec: { paused: true } }));
    await s.settle();
    await s.shot("nothing");
    await s.apply(deployment("d", 2, { spec: { paused: false } }));
    await s.settle();
    await s.shot("two");
  }),
  scenario("labels and annotations of a deployment change", async (s) => {
    const marked = (labels, annotations, o) => {
      const d = deployment("d", 1, o);
      return { ...d, metadata: { ...d.metadata, labels, annotations } };
    };
    await s.apply(marked({ tier: "a" }, { team: "blue" }));
    await s.settle();
    await s.apply(marked({ tier: "b" }, { team: "red", extra: "1" }));
    await s.settle();
    await s.shot("changed");
    await s.apply(marked({}, {}, v2));
    await s.settle();
    await s.shot("removed and rolled");
  }),
  scenario("a deployment without replicas", async (s) => {
    const d = deployment("d", 0);
    await s.apply(d);
    await s.settle();
    await s.shot("none");
    await s.remove("Deployment", "d", { propagationPolicy: "Foreground" });
    await s.settle();
    await s.shot("gone");
  }),
  scenario("orphaned replica set is taken by a new deployment", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    await s.remove("Deployment", "d", { propagationPolicy: "Orphan" });
    await s.settle();
    await s.apply(deployment("d", 3));
    await s.settle();
    await s.shot("adopted");
    await s.apply(deployment("d", 3, v2));
    await s.settle();
    await s.shot("rolled");
  }),
  scenario("replica set to nothing and away in the foreground", async (s) => {
    await s.apply(replicaSet("r", 3));
    await s.settle();
    await s.apply(replicaSet("r", 0));
    await s.settle();
    await s.shot("none");
    await s.apply(replicaSet("r", 2));
    await s.settle();
    await s.remove("ReplicaSet", "r", { propagationPolicy: "Foreground" });
    await s.settle();
    await s.shot("gone");
  }),
  scenario("template of a replica set changes, pods do not", async (s) => {
    await s.apply(replicaSet("r", 2));
    await s.settle();
    await s.apply(replicaSet("r", 3, v2));
    await s.settle();
    await s.shot("one new of three");
  }),

  scenario("set scaled while it rolls", async (s) => {
    await s.apply(statefulSet("s", 3));
    await s.settle();
    await s.apply(statefulSet("s", 4, v2));
    await s.settle();
    await s.shot("four");
    await s.apply(statefulSet("s", 2, { image: "example/app:3" }));
    await s.settle();
    await s.shot("two");
  }),
  scenario("slow set comes up", async (s) => {
    await s.apply(statefulSet("s", 2, { behave: "slow" }));
    await s.settle(4000);
    await s.shot("up");
  }),
  scenario("slow parallel set rolls", async (s) => {
    const spec = { podManagementPolicy: "Parallel" };
    await s.apply(statefulSet("s", 3, { behave: "slow", spec }));
    await s.settle(3000);
    await s.apply(statefulSet("s", 3, { ...v2, behave: "slow", spec }));
    await s.settle(4000);
    await s.shot("rolled");
  }),
  scenario("claims kept when it shrinks, gone when it goes", async (s) => {
    const spec = {
      podManagementPolicy: "Parallel",
      volumeClaimTemplates: claims,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Retain" },
    };
    await s.apply(statefulSet("s", 2, { behave: "never", spec }));
    await s.settle();
    await s.apply(statefulSet("s", 1, { behave: "never", spec }));
    await s.settle();
    await s.shot("two claims");
    await s.remove("StatefulSet", "s");
    await s.settle();
    await s.shot("after");
  }),
  scenario("partition in the middle with a pod deleted on each side", async (s) => {
    const spec = { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } } };
    await s.apply(statefulSet("s", 3, { spec }));
    await s.settle();
    await s.apply(statefulSet("s", 3, { ...v2, spec }));
    await s.settle();
    await s.remove("Pod", "s-0");
    await s.settle();
    await s.remove("Pod", "s-2");
    await s.settle();
    await s.shot("one old, two new");
  }),
  scenario("set deleted orphaning", async (s) => {
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.remove("StatefulSet", "s", { propagationPolicy: "Orphan" });
    await s.settle();
    await s.shot("pods alone");
  }),

  scenario("one after the other", async (s) => {
    await s.apply(job("j", { spec: { completions: 3, parallelism: 1 } }));
    await s.settle();
    await s.shot("complete");
  }),
  scenario("indexed one at a time, some fail", async (s) => {
    const spec = { completions: 2, parallelism: 1, completionMode: "Indexed", backoffLimit: 0 };
    await s.apply(job("j", { behave: "fail", spec }));
    await s.settle(3000);
    await s.shot("failed");
  }),
  scenario("a failed job is cleaned up", async (s) => {
    await s.apply(job("j", { behave: "fail", spec: { backoffLimit: 0, ttlSecondsAfterFinished: 1 } }));
    await s.settle(5000);
    await s.shot("nothing");
  }),
  scenario("suspended job is deleted", async (s) => {
    await s.apply(job("j", { spec: { suspend: true, completions: 2 } }));
    await s.settle();
    await s.remove("Job", "j", { propagationPolicy: "Foreground" });
    await s.settle();
    await s.shot("nothing");
  }),
  scenario("parallelism to nothing and up again", async (s) => {
    const of = (parallelism) => job("j", { behave: "never", spec: { completions: 4, parallelism } });
    await s.apply(of(2));
    await s.settle();
    await s.apply(of(0));
    await s.settle(3000);
    await s.shot("none");
    await s.apply(of(3));
    await s.settle(3000);
    await s.shot("three");
  }),
  scenario("exit codes that fail the job, among others", async (s) => {
    const rules = [
      { action: "Ignore", onExitCodes: { containerName: "main", operator: "In", values: [1] } },
      { action: "FailJob", onExitCodes: { containerName: "main", operator: "NotIn", values: [1, 2] } },
    ];
    const spec = { backoffLimit: 3, podFailurePolicy: { rules } };
    await s.apply(job("j", { behave: "fail", labels: { code: "7" }, spec }));
    await s.settle(3000);
    await s.shot("failed");
  }),
  scenario("job with its own selector", async (s) => {
    const j = job("j", { spec: { manualSelector: true, selector: { matchLabels: { app: "j" } } } });
    await s.apply(j);
    await s.settle(3000);
    await s.shot("complete");
  }),

  scenario("daemon set with half unavailable", async (s) => {
    const spec = { updateStrategy: { rollingUpdate: { maxUnavailable: "50%" } } };
    await s.apply(daemonSet("d", { spec }));
    await s.settle();
    await s.apply(daemonSet("d", { ...v2, behave: "never", spec }));
    await s.settle();
    await s.shot("two of three");
  }),
  scenario("daemon set for no node, gone in the foreground", async (s) => {
    await s.apply(daemonSet("d", { node: { zone: "nowhere" } }));
    await s.settle();
    await s.shot("none");
    await s.apply(daemonSet("d"));
    await s.settle();
    await s.remove("DaemonSet", "d", { propagationPolicy: "Foreground" });
    await s.settle();
    await s.shot("gone");
  }),
  scenario("daemon set keeps little history", async (s) => {
    for (const v of [1, 2, 3]) {
      await s.apply(
        daemonSet("d", {
          image: `example/app:${v}`,
          node: { zone: "b" },
          spec: { revisionHistoryLimit: 1 },
        }),
      );
      await s.settle();
    }
    await s.shot("two revisions");
  }),
  scenario("daemon set beside a pod that takes the room", async (s) => {
    await s.create(pod("p", { pod: { ...requests("6"), nodeName: "play-3" } }));
    await s.settle();
    await s.apply(daemonSet("d", { pod: requests("4") }));
    await s.settle();
    await s.shot("two run, one waits");
  }),

  scenario("two services and a pod that leaves one", async (s) => {
    await s.apply(service("d"));
    await s.apply(service("both", { selector: { app: "d", role: "x" } }));
    await s.apply(deployment("d", 1, { labels: { role: "x" } }));
    await s.settle();
    await s.shot("in both");
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, { metadata: { labels: { role: "y" } } });
    await s.settle();
    await s.shot("in one");
  }),
  scenario("ports of a service change", async (s) => {
    await s.apply(service("d"));
    await s.apply(deployment("d", 1));
    await s.settle();
    await s.apply(
      service("d", {
        ports: [
          { name: "web", port: 81, targetPort: "web" },
          { name: "more", port: 82, targetPort: 9999 },
        ],
      }),
    );
    await s.settle();
    await s.shot("two ports");
  }),
  scenario("slow pods become endpoints", async (s) => {
    await s.apply(service("d", { sessionAffinity: "ClientIP", trafficDistribution: "PreferClose" }));
    await s.apply(deployment("d", 2, { behave: "slow" }));
    await s.settle(3000);
    await s.shot("ready");
    await s.apply(deployment("d", 0, { behave: "slow" }));
    await s.settle();
    await s.shot("none");
  }),

  scenario("budget of a replica set, changed and removed", async (s) => {
    await s.apply(replicaSet("r", 4));
    await s.settle();
    const selector = { matchLabels: { app: "r" } };
    await s.apply(pdb("b", { maxUnavailable: "25%", selector }));
    await s.settle();
    await s.shot("one may go");
    await s.apply(pdb("b", { maxUnavailable: 3, selector }));
    await s.settle();
    await s.shot("three may go");
    await s.remove("ReplicaSet", "r");
    await s.settle();
    await s.shot("nobody left");
  }),
  scenario("budget by expressions over two workloads", async (s) => {
    await s.apply(deployment("d", 2));
    await s.apply(statefulSet("s", 1));
    await s.settle();
    const selector = { matchExpressions: [{ key: "app", operator: "In", values: ["d", "s"] }] };
    await s.apply(pdb("b", { minAvailable: "67%", selector }));
    await s.settle();
    await s.shot("of three");
  }),
  scenario("quota stops pods in the middle", async (s) => {
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
  scenario("pods beside each other, and apart where it can be", async (s) => {
    const term = { topologyKey: "zone", labelSelector: { matchLabels: { app: "base" } } };
    await s.create(pod("base", { node: { zone: "b" } }));
    await s.settle();
    const together = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    const apart = {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: term }],
      },
    };
    await s.apply(deployment("near", 2, { pod: { affinity: together } }));
    await s.settle();
    await s.apply(deployment("far", 1, { pod: { affinity: apart } }));
    await s.settle();
    const where = (await s.pods()).map((p) => [p.metadata.labels.app, p.spec.nodeName === "play-3"]);
    const value = JSON.stringify(where.sort());
    await s.create({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "note", annotations: { value } },
    });
    await s.shot("placed");
  }),
];
