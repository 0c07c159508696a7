// Deployments: rollouts, history, pauses, deadlines.
import { deployment, scenario } from "../../../../conformance/controllers/scenarios/_lib.mjs";
import { v2 } from "./_objects.mjs";

const rolling = (maxSurge, maxUnavailable) => ({
  strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } },
});

export default [
  scenario("Deployment: scaled in the middle of a stuck rollout", async (s) => {
    await s.apply(deployment("d", 4));
    await s.settle();
    await s.apply(deployment("d", 4, { image: "example/app:2", behave: "never" }));
    await s.settle();
    await s.apply(deployment("d", 8, { image: "example/app:2", behave: "never" }));
    await s.settle();
    await s.shot("eight");
    await s.apply(deployment("d", 3, { image: "example/app:2", behave: "never" }));
    await s.settle();
    await s.shot("three");
  }),
  scenario("Deployment: maxSurge and maxUnavailable in percent", async (s) => {
    const spec = {
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "50%", maxUnavailable: "25%" } },
    };
    await s.apply(deployment("d", 4, { spec }));
    await s.settle();
    await s.apply(deployment("d", 4, { spec, image: "example/app:2", behave: "never" }));
    await s.settle();
    await s.shot("stuck");
  }),
  scenario("Deployment: a rollout without surge", async (s) => {
    const spec = { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } };
    await s.apply(deployment("d", 2, { spec }));
    await s.settle();
    await s.apply(deployment("d", 2, { spec, image: "example/app:2" }));
    await s.settle();
    await s.shot("rolled");
  }),
  scenario("Deployment: a third template in the middle of a rollout", async (s) => {
    await s.apply(deployment("d", 3));
    await s.settle();
    await s.apply(deployment("d", 3, { image: "example/app:2", behave: "never" }));
    await s.settle();
    await s.apply(deployment("d", 3, { image: "example/app:3" }));
    await s.settle();
    await s.shot("third");
  }),
  scenario("Deployment: annotations and labels reach the ReplicaSet", async (s) => {
    const d = deployment("d", 1, { labels: { tier: "x" } });
    d.metadata.annotations = { note: "a" };
    d.metadata.labels = { team: "b" };
    await s.apply(d);
    await s.settle();
    d.metadata.annotations = { note: "c" };
    await s.apply(d);
    await s.settle();
    await s.shot("annotated");
  }),
  scenario("Deployment: no progress deadline", async (s) => {
    await s.apply(deployment("d", 1, { spec: { progressDeadlineSeconds: 2147483647 } }));
    await s.settle();
    await s.shot("up");
  }),
  scenario("Deployment: the progress deadline passes, then the rollout succeeds", async (s) => {
    await s.apply(deployment("d", 1, { behave: "never", spec: { progressDeadlineSeconds: 2 } }));
    await s.settle(4500);
    await s.shot("late");
    await s.apply(deployment("d", 1, { spec: { progressDeadlineSeconds: 2 } }));
    await s.settle();
    await s.shot("mended");
  }),
  scenario("Deployment: a quota stops it", async (s) => {
    await s.apply({
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "q" },
      spec: { hard: { pods: "1" } },
    });
    await s.settle();
    await s.apply(deployment("d", 3));
    await s.settle();
    await s.shot("one of three");
  }),
  scenario("Deployment: paused and scaled", async (s) => {
    await s.apply(deployment("d", 2, { spec: { paused: true } }));
    await s.settle();
    await s.shot("paused from the start");
    await s.apply(deployment("d", 2, { spec: { paused: false } }));
    await s.settle();
    await s.apply(deployment("d", 4, { image: "example/app:2", spec: { paused: true } }));
    await s.settle();
    await s.shot("scaled while paused");
  }),
  scenario("Deployment: minReadySeconds in a rollout", async (s) => {
    await s.apply(deployment("d", 2, { spec: { minReadySeconds: 1 } }));
    await s.settle(3000);
    await s.apply(deployment("d", 2, { image: "example/app:2", spec: { minReadySeconds: 1 } }));
    await s.settle(4000);
    await s.shot("rolled");
  }),
  scenario("Deployment: Recreate when new pods never become ready", async (s) => {
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
  scenario("Deployment: scaled to zero, rolled out, scaled up", async (s) => {
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
  scenario("Deployment: changed while paused, then resumed", async (s) => {
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
  scenario("Deployment: revisionHistoryLimit 0", async (s) => {
    const o = { spec: { revisionHistoryLimit: 0 } };
    await s.apply(deployment("d", 1, o));
    await s.settle();
    await s.apply(deployment("d", 1, { ...o, image: "example/app:2" }));
    await s.settle();
    await s.shot("only one");
  }),
  scenario("Deployment: all replicas unavailable at once", async (s) => {
    const o = {
      spec: { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 0, maxUnavailable: "100%" } } },
    };
    await s.apply(deployment("d", 3, o));
    await s.settle();
    await s.apply(deployment("d", 3, { ...o, image: "example/app:2", behave: "never" }));
    await s.settle();
    await s.shot("stuck");
  }),
  scenario("Deployment: a rollout whose pods become ready slowly", async (s) => {
    await s.apply(deployment("d", 3, { behave: "slow" }));
    await s.settle();
    await s.apply(deployment("d", 3, { behave: "slow", image: "example/app:2" }));
    await s.settle();
    await s.shot("done");
  }),
  scenario("Deployment: its ReplicaSet is deleted", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    const rs = (await s.call("GET", s.pathOf("ReplicaSet", s.ns))).body.items[0];
    await s.remove("ReplicaSet", rs.metadata.name);
    await s.settle();
    await s.shot("again");
  }),
  scenario("Deployment: adopts a ReplicaSet", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    await s.remove("Deployment", "d", { propagationPolicy: "Orphan" });
    await s.settle();
    await s.shot("orphans");
    await s.apply(deployment("d", 2));
    await s.settle();
    await s.shot("adopted");
  }),
  scenario("Deployment: the strategy changes", async (s) => {
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
  scenario("Deployment: scaled and changed in one write", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    await s.apply(deployment("d", 5, v2));
    await s.settle();
    await s.shot("five new ones");
    await s.apply(deployment("d", 1, { image: "example/app:3" }));
    await s.settle();
    await s.shot("one");
  }),
  scenario("Deployment: a rollout of slow pods", async (s) => {
    await s.apply(deployment("d", 3, { behave: "slow" }));
    await s.settle(3000);
    await s.apply(deployment("d", 3, { ...v2, behave: "slow" }));
    await s.settle(4000);
    await s.shot("rolled");
  }),
  scenario("Deployment: a stuck rollout is rolled back", async (s) => {
    await s.apply(deployment("d", 4));
    await s.settle();
    await s.apply(deployment("d", 4, { ...v2, behave: "never" }));
    await s.settle();
    await s.apply(deployment("d", 4));
    await s.settle();
    await s.shot("back");
  }),
  scenario("Deployment: maxUnavailable 50 % without surge", async (s) => {
    const spec = { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: "50%" } } };
    await s.apply(deployment("d", 4, { spec }));
    await s.settle();
    await s.apply(deployment("d", 4, { ...v2, behave: "never", spec }));
    await s.settle();
    await s.shot("stuck");
  }),
  scenario("Deployment: created paused, then resumed", async (s) => {
    await s.apply(deployment("d", 2, { spec: { paused: true } }));
    await s.settle();
    await s.shot("nothing");
    await s.apply(deployment("d", 2, { spec: { paused: false } }));
    await s.settle();
    await s.shot("two");
  }),
  scenario("Deployment: its labels and annotations change", async (s) => {
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
  scenario("Deployment: without replicas, deleted in the foreground", async (s) => {
    const d = deployment("d", 0);
    await s.apply(d);
    await s.settle();
    await s.shot("none");
    await s.remove("Deployment", "d", { propagationPolicy: "Foreground" });
    await s.settle();
    await s.shot("gone");
  }),
  scenario("Deployment: a new one adopts the orphaned ReplicaSet", async (s) => {
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
  scenario("Deployment: 25 % surge and unavailable of ten, stuck and scaled", async (s) => {
    await s.apply(deployment("d", 10, { spec: rolling("25%", "25%") }));
    await s.settle();
    await s.apply(deployment("d", 10, { ...v2, behave: "never", spec: rolling("25%", "25%") }));
    await s.settle();
    await s.shot("stuck");
    await s.apply(deployment("d", 15, { ...v2, behave: "never", spec: rolling("25%", "25%") }));
    await s.settle();
    await s.shot("fifteen");
    await s.apply(deployment("d", 5, { ...v2, behave: "never", spec: rolling("25%", "25%") }));
    await s.settle();
    await s.shot("five");
  }),
  scenario("Deployment: maxSurge 100 % and maxUnavailable 0", async (s) => {
    await s.apply(deployment("d", 3, { spec: rolling("100%", 0) }));
    await s.settle();
    await s.apply(deployment("d", 3, { ...v2, behave: "never", spec: rolling("100%", 0) }));
    await s.settle();
    await s.shot("twice as many");
    await s.apply(deployment("d", 3, { ...v2, spec: rolling("100%", 0) }));
    await s.settle();
    await s.shot("mended");
  }),
  scenario("Deployment: three templates at once, scaled in proportion", async (s) => {
    await s.apply(deployment("d", 6, { spec: rolling(2, 2) }));
    await s.settle();
    await s.apply(deployment("d", 6, { ...v2, behave: "never", spec: rolling(2, 2) }));
    await s.settle();
    await s.apply(deployment("d", 6, { image: "example/app:3", behave: "never", spec: rolling(2, 2) }));
    await s.settle();
    await s.shot("three");
    await s.apply(deployment("d", 12, { image: "example/app:3", behave: "never", spec: rolling(2, 2) }));
    await s.settle();
    await s.shot("doubled");
  }),
  scenario("Deployment: paused, changed and scaled, then resumed without surge", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    await s.apply(deployment("d", 4, { ...v2, spec: { paused: true, ...rolling(0, 1) } }));
    await s.settle();
    await s.shot("four old ones");
    await s.apply(deployment("d", 3, { ...v2, spec: { paused: false, ...rolling(0, 1) } }));
    await s.settle();
    await s.shot("three new ones");
  }),
  scenario("Deployment: change causes follow the revisions", async (s) => {
    const because = (text, o) => {
      const d = deployment("d", 1, o);
      return { ...d, metadata: { ...d.metadata, annotations: { "kubernetes.io/change-cause": text } } };
    };
    for (const [text, o] of [
      ["first", {}],
      ["second", v2],
      ["first again", {}],
      ["second again", v2],
    ]) {
      await s.apply(because(text, o));
      await s.settle();
    }
    await s.shot("four revisions in two sets");
  }),
  scenario("Deployment: a pod leaves by its label", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, { metadata: { labels: { app: "elsewhere" } } });
    await s.settle();
    await s.shot("three pods");
    await s.remove("Deployment", "d");
    await s.settle();
    await s.shot("one pod is left");
  }),
  scenario("Deployment: a lower revisionHistoryLimit removes history", async (s) => {
    for (const v of [1, 2, 3]) {
      await s.apply(deployment("d", 1, { image: `example/app:${v}` }));
      await s.settle();
    }
    await s.apply(deployment("d", 1, { image: "example/app:3", spec: { revisionHistoryLimit: 0 } }));
    await s.settle();
    await s.shot("one set");
  }),
  scenario("Deployment: Recreate waits for a pod with a finalizer", async (s) => {
    const recreate = { strategy: { type: "Recreate" } };
    await s.apply(deployment("d", 1, { spec: recreate }));
    await s.settle();
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, { metadata: { finalizers: ["example.com/hold"] } });
    await s.apply(deployment("d", 1, { ...v2, spec: recreate }));
    await s.settle();
    await s.shot("waits");
    await s.patch("Pod", p.metadata.name, { metadata: { finalizers: null } });
    await s.settle();
    await s.shot("goes on");
  }),
  scenario("Deployment: foreground deletion waits for a pod with a finalizer", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, { metadata: { finalizers: ["example.com/hold"] } });
    await s.remove("Deployment", "d", { propagationPolicy: "Foreground" });
    await s.settle();
    await s.shot("held");
    await s.patch("Pod", p.metadata.name, { metadata: { finalizers: null } });
    await s.settle();
    await s.shot("gone");
  }),
  scenario("Deployment: its ReplicaSet is scaled by hand", async (s) => {
    await s.apply(deployment("d", 3));
    await s.settle();
    const sets = (await s.call("GET", s.pathOf("ReplicaSet", s.ns))).body.items;
    await s.patch("ReplicaSet", sets[0].metadata.name, { spec: { replicas: 1 } });
    await s.settle();
    await s.shot("three again");
  }),
  scenario("Deployment: past its deadline, then scaled", async (s) => {
    await s.apply(deployment("d", 2, { behave: "never", spec: { progressDeadlineSeconds: 2 } }));
    await s.settle(4000);
    await s.apply(deployment("d", 3, { behave: "never", spec: { progressDeadlineSeconds: 2 } }));
    await s.settle(4000);
    await s.shot("late");
    await s.apply(deployment("d", 0, { behave: "never", spec: { progressDeadlineSeconds: 2 } }));
    await s.settle(3000);
    await s.shot("none");
  }),
];
