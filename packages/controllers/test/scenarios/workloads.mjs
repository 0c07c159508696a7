import {
  claims,
  daemonSet,
  deployment,
  replicaSet,
  scenario,
  statefulSet,
} from "../../../../conformance/controllers/scenarios/_lib.mjs";
export default [
  scenario("scales in the middle of a stuck rollout", async (s) => {
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
  scenario("max surge and unavailable in percent", async (s) => {
    const spec = {
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "50%", maxUnavailable: "25%" } },
    };
    await s.apply(deployment("d", 4, { spec }));
    await s.settle();
    await s.apply(deployment("d", 4, { spec, image: "example/app:2", behave: "never" }));
    await s.settle();
    await s.shot("stuck");
  }),
  scenario("no surge", async (s) => {
    const spec = { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } };
    await s.apply(deployment("d", 2, { spec }));
    await s.settle();
    await s.apply(deployment("d", 2, { spec, image: "example/app:2" }));
    await s.settle();
    await s.shot("rolled");
  }),
  scenario("a third template in the middle of a rollout", async (s) => {
    await s.apply(deployment("d", 3));
    await s.settle();
    await s.apply(deployment("d", 3, { image: "example/app:2", behave: "never" }));
    await s.settle();
    await s.apply(deployment("d", 3, { image: "example/app:3" }));
    await s.settle();
    await s.shot("third");
  }),
  scenario("annotations and labels reach the replica set", async (s) => {
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
  scenario("no progress deadline", async (s) => {
    await s.apply(deployment("d", 1, { spec: { progressDeadlineSeconds: 2147483647 } }));
    await s.settle();
    await s.shot("up");
  }),
  scenario("the deadline passes and is mended", async (s) => {
    await s.apply(deployment("d", 1, { behave: "never", spec: { progressDeadlineSeconds: 2 } }));
    await s.settle(4500);
    await s.shot("late");
    await s.apply(deployment("d", 1, { spec: { progressDeadlineSeconds: 2 } }));
    await s.settle();
    await s.shot("mended");
  }),
  scenario("quota stops a deployment", async (s) => {
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
  scenario("paused and scaled", async (s) => {
    await s.apply(deployment("d", 2, { spec: { paused: true } }));
    await s.settle();
    await s.shot("paused from the start");
    await s.apply(deployment("d", 2, { spec: { paused: false } }));
    await s.settle();
    await s.apply(deployment("d", 4, { image: "example/app:2", spec: { paused: true } }));
    await s.settle();
    await s.shot("scaled while paused");
  }),
  scenario("minReadySeconds in a rollout", async (s) => {
    await s.apply(deployment("d", 2, { spec: { minReadySeconds: 1 } }));
    await s.settle(3000);
    await s.apply(deployment("d", 2, { image: "example/app:2", spec: { minReadySeconds: 1 } }));
    await s.settle(4000);
    await s.shot("rolled");
  }),
  scenario("replica set scales and is deleted orphaning", async (s) => {
    await s.apply(replicaSet("r", 3));
    await s.settle();
    await s.apply(replicaSet("r", 1));
    await s.settle();
    await s.shot("one");
    await s.remove("ReplicaSet", "r", { propagationPolicy: "Orphan" });
    await s.settle();
    await s.shot("orphan");
    await s.apply(replicaSet("r", 2));
    await s.settle();
    await s.shot("adopted again");
  }),
  scenario(
    "failed and succeeded pods of a replica set are replaced",
    async (s) => {
      await s.apply(replicaSet("r", 2));
      await s.settle();
      const [p] = await s.pods();
      await s.patch("Pod", p.metadata.name, { metadata: { labels: { behave: "fail" } } });
      await s.settle(3000, 6000);
      const n = (await s.pods()).length;
      await s.shot(`pods ${n > 2}`);
    },
    {},
  ),
  scenario("stateful set starts elsewhere", async (s) => {
    await s.apply(statefulSet("s", 2, { spec: { ordinals: { start: 5 } } }));
    await s.settle();
    await s.shot("five and six");
  }),
  scenario("stateful set with minReadySeconds", async (s) => {
    await s.apply(statefulSet("s", 2, { spec: { minReadySeconds: 1 } }));
    await s.settle(4000);
    await s.shot("up");
  }),
  scenario("stateful set back to an old template", async (s) => {
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.apply(statefulSet("s", 2, { image: "example/app:2" }));
    await s.settle();
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.shot("back");
  }),
  scenario("stateful set keeps little history", async (s) => {
    for (const v of [1, 2, 3, 4]) {
      await s.apply(statefulSet("s", 1, { image: `example/app:${v}`, spec: { revisionHistoryLimit: 1 } }));
      await s.settle();
    }
    await s.shot("history");
  }),
  scenario("stateful set rollout is stuck at the last", async (s) => {
    await s.apply(statefulSet("s", 3));
    await s.settle();
    await s.apply(statefulSet("s", 3, { image: "example/app:2", behave: "never" }));
    await s.settle();
    await s.shot("stuck");
  }),
  scenario("stateful set scales claims away", async (s) => {
    const spec = {
      podManagementPolicy: "Parallel",
      volumeClaimTemplates: claims,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Delete" },
    };
    await s.apply(statefulSet("s", 3, { behave: "never", spec }));
    await s.settle();
    await s.apply(statefulSet("s", 1, { behave: "never", spec }));
    await s.settle();
    await s.shot("one");
    await s.remove("StatefulSet", "s");
    await s.settle();
    await s.shot("gone");
  }),
  scenario("stateful set orphans its pods and takes them back", async (s) => {
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.remove("StatefulSet", "s", { propagationPolicy: "Orphan" });
    await s.settle();
    await s.shot("alone");
    await s.apply(statefulSet("s", 2));
    await s.settle();
    await s.shot("together");
  }),
  scenario("parallel stateful set rolls and scales", async (s) => {
    const spec = { podManagementPolicy: "Parallel" };
    await s.apply(statefulSet("s", 3, { spec }));
    await s.settle();
    await s.apply(statefulSet("s", 4, { spec, image: "example/app:2" }));
    await s.settle();
    await s.shot("four");
    await s.apply(statefulSet("s", 1, { spec, image: "example/app:2" }));
    await s.settle();
    await s.shot("one");
  }),
  scenario("daemon set rolls", async (s) => {
    await s.apply(daemonSet("d"));
    await s.settle();
    await s.apply(daemonSet("d", { image: "example/app:2" }));
    await s.settle();
    await s.shot("rolled");
  }),
  scenario("daemon set is stuck", async (s) => {
    await s.apply(daemonSet("d"));
    await s.settle();
    await s.apply(daemonSet("d", { image: "example/app:2", behave: "never" }));
    await s.settle();
    await s.shot("stuck");
  }),
  scenario("daemon set surges", async (s) => {
    const spec = {
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    };
    await s.apply(daemonSet("d", { spec }));
    await s.settle();
    await s.apply(daemonSet("d", { spec, image: "example/app:2", behave: "never" }));
    await s.settle();
    await s.shot("stuck");
    await s.apply(daemonSet("d", { spec, image: "example/app:3" }));
    await s.settle();
    await s.shot("through");
  }),
  scenario("daemon set on delete, and moved to other nodes", async (s) => {
    const spec = { updateStrategy: { type: "OnDelete" } };
    await s.apply(daemonSet("d", { spec }));
    await s.settle();
    await s.apply(daemonSet("d", { spec, image: "example/app:2" }));
    await s.settle();
    await s.shot("old pods");
    await s.apply(daemonSet("d", { spec, image: "example/app:2", node: { zone: "b" } }));
    await s.settle();
    await s.shot("one node");
    await s.remove("DaemonSet", "d", { propagationPolicy: "Foreground" });
    await s.settle();
    await s.shot("gone");
  }),
  scenario("daemon set replaces a deleted pod and goes back", async (s) => {
    await s.apply(daemonSet("d"));
    await s.settle();
    const [p] = await s.pods();
    await s.remove("Pod", p.metadata.name);
    await s.settle();
    await s.apply(daemonSet("d", { image: "example/app:2" }));
    await s.settle();
    await s.apply(daemonSet("d"));
    await s.settle();
    await s.shot("back");
  }),
];
