// DaemonSets: nodes, rollouts, history.
import { daemonSet, pod, scenario } from "../../../../conformance/controllers/scenarios/_lib.mjs";
import { requests, v2 } from "./_objects.mjs";

export default [
  scenario("DaemonSet: a rollout", async (s) => {
    await s.apply(daemonSet("d"));
    await s.settle();
    await s.apply(daemonSet("d", { image: "example/app:2" }));
    await s.settle();
    await s.shot("rolled");
  }),
  scenario("DaemonSet: a stuck rollout", async (s) => {
    await s.apply(daemonSet("d"));
    await s.settle();
    await s.apply(daemonSet("d", { image: "example/app:2", behave: "never" }));
    await s.settle();
    await s.shot("stuck");
  }),
  scenario("DaemonSet: a rollout with surge", async (s) => {
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
  scenario("DaemonSet: OnDelete, and moved to other nodes", async (s) => {
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
  scenario("DaemonSet: a deleted pod is replaced, and a rollback", async (s) => {
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
  scenario("DaemonSet: its pods fail", async (s) => {
    await s.apply(daemonSet("ds"));
    await s.settle();
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, { metadata: { labels: { behave: "fail" } } });
    await s.settle();
    await s.shot("again");
  }),
  scenario("DaemonSet: deleted with orphans, then adopted", async (s) => {
    await s.apply(daemonSet("ds"));
    await s.settle();
    await s.remove("DaemonSet", "ds", { propagationPolicy: "Orphan" });
    await s.settle();
    await s.shot("orphans");
    await s.apply(daemonSet("ds"));
    await s.settle();
    await s.shot("adopted");
  }),
  scenario("DaemonSet: maxUnavailable 2", async (s) => {
    const o = { spec: { updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 2 } } } };
    await s.apply(daemonSet("ds", o));
    await s.settle();
    await s.apply(daemonSet("ds", { ...o, behave: "never", image: "example/app:2" }));
    await s.settle();
    await s.shot("two stuck");
  }),
  scenario("DaemonSet: maxUnavailable 50 %", async (s) => {
    const spec = { updateStrategy: { rollingUpdate: { maxUnavailable: "50%" } } };
    await s.apply(daemonSet("d", { spec }));
    await s.settle();
    await s.apply(daemonSet("d", { ...v2, behave: "never", spec }));
    await s.settle();
    await s.shot("two of three");
  }),
  scenario("DaemonSet: for no node, deleted in the foreground", async (s) => {
    await s.apply(daemonSet("d", { node: { zone: "nowhere" } }));
    await s.settle();
    await s.shot("none");
    await s.apply(daemonSet("d"));
    await s.settle();
    await s.remove("DaemonSet", "d", { propagationPolicy: "Foreground" });
    await s.settle();
    await s.shot("gone");
  }),
  scenario("DaemonSet: a small revisionHistoryLimit", async (s) => {
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
  scenario("DaemonSet: a node without room for its pod", async (s) => {
    await s.create(pod("p", { pod: { ...requests("6"), nodeName: "play-3" } }));
    await s.settle();
    await s.apply(daemonSet("d", { pod: requests("4") }));
    await s.settle();
    await s.shot("two run, one waits");
  }),
  scenario("DaemonSet: a stuck rollout with surge", async (s) => {
    const spec = {
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    };
    await s.apply(daemonSet("d", { spec }));
    await s.settle();
    await s.apply(daemonSet("d", { ...v2, behave: "never", spec }));
    await s.settle();
    await s.shot("one more");
    await s.apply(daemonSet("d", { spec }));
    await s.settle();
    await s.shot("back");
  }),
  scenario("DaemonSet: its node selector changes", async (s) => {
    await s.apply(daemonSet("d", { node: { zone: "a" } }));
    await s.settle();
    await s.apply(daemonSet("d", { node: { zone: "b" } }));
    await s.settle();
    await s.shot("moved");
  }),
  scenario("DaemonSet: minReadySeconds", async (s) => {
    await s.apply(daemonSet("d", { node: { zone: "b" }, spec: { minReadySeconds: 2 } }));
    await s.settle(1000);
    await s.settle(4000);
    await s.shot("available");
  }),
  scenario("DaemonSet: a tainted node, with and without toleration", async (s) => {
    const taint = (taints) =>
      s.call("PATCH", "/api/v1/nodes/play-3", { spec: { taints } }, "application/merge-patch+json");
    await taint([{ key: "example.com/own", value: s.ns, effect: "NoSchedule" }]);
    try {
      await s.apply(daemonSet("d"));
      const tolerations = [{ key: "example.com/own", operator: "Exists" }];
      await s.apply(daemonSet("e", { pod: { tolerations } }));
      await s.settle();
      await s.shot("two and three");
    } finally {
      await taint(null);
    }
    await s.settle();
    await s.shot("three and three");
  }),
];
