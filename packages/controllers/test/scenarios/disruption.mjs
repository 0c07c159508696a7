// Disruption budgets and evictions.
import {
  deployment,
  pod,
  replicaSet,
  scenario,
  statefulSet,
} from "../../../../conformance/controllers/scenarios/_lib.mjs";
import { note } from "./_objects.mjs";

const pdb = (name, spec) => ({
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: { name },
  spec,
});

const evict = (s, name, body = {}) =>
  s.call("POST", `${s.pathOf("Pod", s.ns, name)}/eviction`, {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name },
    ...body,
  });

export default [
  scenario("PodDisruptionBudget: percentages and maxUnavailable", async (s) => {
    await s.apply(deployment("d", 4));
    await s.settle();
    await s.apply(pdb("min", { minAvailable: "50%", selector: { matchLabels: { app: "d" } } }));
    await s.apply(pdb("max", { maxUnavailable: 1, selector: { matchLabels: { app: "d" } } }));
    await s.settle();
    await s.shot("allowed");
    await s.apply(deployment("d", 4, { behave: "never" }));
    await s.settle();
    await s.shot("rolling");
  }),
  scenario("PodDisruptionBudget: pods without a controller", async (s) => {
    await s.create(pod("p"));
    await s.settle();
    await s.apply(pdb("b", { maxUnavailable: 1, selector: { matchLabels: { app: "p" } } }));
    await s.settle();
    await s.shot("unmanaged");
  }),
  scenario("PodDisruptionBudget: a StatefulSet", async (s) => {
    await s.apply(statefulSet("s", 3));
    await s.settle();
    await s.apply(pdb("b", { maxUnavailable: "34%", selector: { matchLabels: { app: "s" } } }));
    await s.settle();
    await s.shot("budget");
    await s.apply(statefulSet("s", 1));
    await s.settle();
    await s.shot("scaled");
  }),
  scenario("PodDisruptionBudget: matches no pod", async (s) => {
    await s.apply(pdb("b", { minAvailable: 1, selector: { matchLabels: { app: "none" } } }));
    await s.settle();
    await s.shot("none");
  }),
  scenario("PodDisruptionBudget: refuses an eviction", async (s) => {
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
  scenario("PodDisruptionBudget: unhealthy pods", async (s) => {
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
  scenario("PodDisruptionBudget: a Deployment that is scaled", async (s) => {
    await s.apply(deployment("d", 4));
    await s.settle();
    await s.apply(pdb("b", { maxUnavailable: "50%", selector: { matchLabels: { app: "d" } } }));
    await s.settle();
    await s.shot("of four");
    await s.apply(deployment("d", 1));
    await s.settle();
    await s.shot("of one");
  }),
  scenario("PodDisruptionBudget: a ReplicaSet, the budget changes", async (s) => {
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
  scenario("PodDisruptionBudget: a selector with expressions over two workloads", async (s) => {
    await s.apply(deployment("d", 2));
    await s.apply(statefulSet("s", 1));
    await s.settle();
    const selector = { matchExpressions: [{ key: "app", operator: "In", values: ["d", "s"] }] };
    await s.apply(pdb("b", { minAvailable: "67%", selector }));
    await s.settle();
    await s.shot("of three");
  }),
  scenario("PodDisruptionBudget: 100 %, 0 % and an empty selector", async (s) => {
    await s.apply(deployment("d", 2));
    await s.settle();
    const selector = { matchLabels: { app: "d" } };
    await s.apply(pdb("a", { minAvailable: "100%", selector }));
    await s.settle();
    await s.shot("all must stay");
    await s.apply(pdb("a", { minAvailable: "0%", selector }));
    await s.settle();
    await s.shot("all may go");
    await s.remove("PodDisruptionBudget", "a");
    await s.apply(pdb("b", { maxUnavailable: 0, selector: {} }));
    await s.settle();
    await s.shot("of all pods none may go");
  }),
  scenario("PodDisruptionBudget: unhealthyPodEvictionPolicy IfHealthyBudget", async (s) => {
    await s.apply(deployment("d", 2, { behave: "never" }));
    await s.settle();
    const selector = { matchLabels: { app: "d" } };
    await s.apply(pdb("b", { minAvailable: 1, unhealthyPodEvictionPolicy: "IfHealthyBudget", selector }));
    await s.settle();
    const [p] = await s.pods();
    const { status, body } = await evict(s, p.metadata.name);
    await note(s, "eviction", [status, body.message, body.details?.causes]);
    await s.settle();
    await s.shot("refused");
  }),
  scenario("PodDisruptionBudget: a dry-run eviction, and one of a finished pod", async (s) => {
    await s.apply(deployment("d", 1));
    await s.create(pod("p", { behave: "succeed" }));
    await s.settle();
    await s.apply(pdb("b", { minAvailable: 1, selector: {} }));
    await s.settle();
    const [d] = (await s.pods()).filter((p) => p.metadata.generateName);
    const tried = await evict(s, d.metadata.name, { deleteOptions: { dryRun: ["All"] } });
    const ended = await evict(s, "p");
    await note(s, "evictions", [tried.status, tried.body.message, ended.status]);
    await s.settle();
    await s.shot("after");
  }),
];
