import { job, scenario } from "../../../../conformance/controllers/scenarios/_lib.mjs";
export default [
  scenario("retries until the limit", async (s) => {
    await s.apply(job("j", { behave: "fail", spec: { backoffLimit: 1 } }));
    await s.settle(12000, 30000);
    await s.shot("failed");
  }),
  scenario("parallel without completions", async (s) => {
    await s.apply(job("j", { spec: { parallelism: 3 } }));
    await s.settle();
    await s.shot("done");
  }),
  scenario("active pods", async (s) => {
    await s.apply(job("j", { behave: "ready", spec: { parallelism: 2, completions: 4 } }));
    await s.settle();
    await s.shot("two active");
    await s.apply(job("j", { behave: "ready", spec: { parallelism: 1, completions: 4 } }));
    await s.settle();
    await s.shot("one active");
  }),
  scenario("suspended while it runs", async (s) => {
    await s.apply(job("j", { behave: "ready", spec: { parallelism: 2, completions: 2, suspend: false } }));
    await s.settle();
    await s.apply(job("j", { behave: "ready", spec: { parallelism: 2, completions: 2, suspend: true } }));
    await s.settle();
    await s.shot("suspended");
    await s.apply(job("j", { behave: "ready", spec: { parallelism: 2, completions: 2, suspend: false } }));
    await s.settle();
    await s.shot("resumed");
  }),
  scenario("indexed with a limit per index", async (s) => {
    await s.apply(
      job("j", {
        behave: "fail",
        spec: { completions: 2, parallelism: 2, completionMode: "Indexed", backoffLimitPerIndex: 0 },
      }),
    );
    await s.settle(4000);
    await s.shot("both failed");
  }),
  scenario("indexed, too many failed indexes", async (s) => {
    await s.apply(
      job("j", {
        behave: "fail",
        spec: {
          completions: 4,
          parallelism: 2,
          completionMode: "Indexed",
          backoffLimitPerIndex: 0,
          maxFailedIndexes: 1,
        },
      }),
    );
    await s.settle(4000);
    await s.shot("failed");
  }),
  scenario("success policy", async (s) => {
    await s.apply(
      job("j", {
        spec: {
          completions: 3,
          parallelism: 1,
          completionMode: "Indexed",
          successPolicy: { rules: [{ succeededIndexes: "0" }] },
        },
      }),
    );
    await s.settle(4000);
    await s.shot("enough");
  }),
  scenario("failure policy ignores", async (s) => {
    await s.apply(
      job("j", {
        behave: "fail",
        labels: { code: "7" },
        spec: {
          backoffLimit: 0,
          activeDeadlineSeconds: 4,
          podFailurePolicy: { rules: [{ action: "Ignore", onExitCodes: { operator: "In", values: [7] } }] },
        },
      }),
    );
    await s.settle(7000, 20000);
    await s.shot("deadline");
  }),
  scenario("failure policy fails an index", async (s) => {
    await s.apply(
      job("j", {
        behave: "fail",
        labels: { code: "9" },
        spec: {
          completions: 2,
          parallelism: 2,
          completionMode: "Indexed",
          backoffLimitPerIndex: 3,
          podFailurePolicy: {
            rules: [{ action: "FailIndex", onExitCodes: { operator: "In", values: [9] } }],
          },
        },
      }),
    );
    await s.settle(4000);
    await s.shot("failed indexes");
  }),
  scenario("a pod is deleted", async (s) => {
    await s.apply(job("j", { behave: "ready" }));
    await s.settle();
    const [p] = await s.pods();
    await s.remove("Pod", p.metadata.name);
    await s.settle(3000, 6000);
    await s.shot("gone or again");
  }),
  scenario("deleted in the background and orphaning", async (s) => {
    await s.apply(job("b", { behave: "ready" }));
    await s.apply(job("o", { behave: "ready" }));
    await s.settle();
    await s.remove("Job", "b", { propagationPolicy: "Background" });
    await s.remove("Job", "o", { propagationPolicy: "Orphan" });
    await s.settle();
    await s.shot("after");
  }),
  scenario("nothing to complete", async (s) => {
    await s.apply(job("j", { spec: { completions: 0 } }));
    await s.settle();
    await s.shot("complete");
  }),
  scenario("no parallelism", async (s) => {
    await s.apply(job("j", { spec: { parallelism: 0 } }));
    await s.settle();
    await s.shot("waiting");
  }),
];
