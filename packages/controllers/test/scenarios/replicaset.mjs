// ReplicaSets: replicas, failed pods, adoption.
import {
  deployment,
  replicaSet,
  scenario,
  service,
} from "../../../../conformance/controllers/scenarios/_lib.mjs";
import { v2 } from "./_objects.mjs";

export default [
  scenario("ReplicaSet: scaled, then deleted with orphans", async (s) => {
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
    "ReplicaSet: failed and succeeded pods are replaced",
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
  scenario("ReplicaSet: minReadySeconds", async (s) => {
    await s.apply(replicaSet("r", 2, { spec: { minReadySeconds: 3600 } }));
    await s.settle();
    await s.shot("not available");
    await s.apply(replicaSet("r", 1, { spec: { minReadySeconds: 3600 } }));
    await s.settle();
    await s.shot("one");
  }),
  scenario("ReplicaSet: deletion cost decides which pods go", async (s) => {
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
  scenario("ReplicaSet: two with one selector", async (s) => {
    await s.apply(replicaSet("r", 1));
    await s.settle();
    await s.apply({ ...replicaSet("r", 1), metadata: { name: "r2" } });
    await s.settle();
    await s.shot("each its own");
  }),
  scenario("ReplicaSet: a pod becomes unready", async (s) => {
    await s.apply(service("d"));
    await s.apply(deployment("d", 2));
    await s.settle();
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, { metadata: { labels: { behave: "never" } } });
    await s.settle();
    await s.shot("one unready");
  }),
  scenario("ReplicaSet: a pod fails", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, { metadata: { labels: { behave: "fail" } } });
    await s.settle();
    await s.shot("replaced");
  }),
  scenario("ReplicaSet: a pod succeeds", async (s) => {
    await s.apply(replicaSet("r", 2));
    await s.settle();
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, { metadata: { labels: { behave: "succeed" } } });
    await s.settle();
    await s.shot("replaced");
  }),
  scenario("ReplicaSet: scaled to zero, deleted in the foreground", async (s) => {
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
  scenario("ReplicaSet: a new template changes no existing pod", async (s) => {
    await s.apply(replicaSet("r", 2));
    await s.settle();
    await s.apply(replicaSet("r", 3, v2));
    await s.settle();
    await s.shot("one new of three");
  }),
];
