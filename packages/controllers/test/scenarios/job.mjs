// Jobs: completions, indexes, failure and success policies, suspension, cleanup.
import { job, scenario } from "../../../../conformance/controllers/scenarios/_lib.mjs";

const finish = (s, name, body) =>
  s.call(
    "PATCH",
    `${s.pathOf("Pod", s.ns, name)}/status`,
    { status: body },
    "application/strategic-merge-patch+json",
  );

export default [
  scenario("Job: retries until the limit", async (s) => {
    await s.apply(job("j", { behave: "fail", spec: { backoffLimit: 1 } }));
    await s.settle(12000, 30000);
    await s.shot("failed");
  }),
  scenario("Job: parallelism without completions", async (s) => {
    await s.apply(job("j", { spec: { parallelism: 3 } }));
    await s.settle();
    await s.shot("done");
  }),
  scenario("Job: parallelism lowered while pods are active", async (s) => {
    await s.apply(job("j", { behave: "ready", spec: { parallelism: 2, completions: 4 } }));
    await s.settle();
    await s.shot("two active");
    await s.apply(job("j", { behave: "ready", spec: { parallelism: 1, completions: 4 } }));
    await s.settle();
    await s.shot("one active");
  }),
  scenario("Job: suspended while it runs", async (s) => {
    await s.apply(job("j", { behave: "ready", spec: { parallelism: 2, completions: 2, suspend: false } }));
    await s.settle();
    await s.apply(job("j", { behave: "ready", spec: { parallelism: 2, completions: 2, suspend: true } }));
    await s.settle();
    await s.shot("suspended");
    await s.apply(job("j", { behave: "ready", spec: { parallelism: 2, completions: 2, suspend: false } }));
    await s.settle();
    await s.shot("resumed");
  }),
  scenario("Job: Indexed with a backoff limit per index", async (s) => {
    await s.apply(
      job("j", {
        behave: "fail",
        spec: { completions: 2, parallelism: 2, completionMode: "Indexed", backoffLimitPerIndex: 0 },
      }),
    );
    await s.settle(4000);
    await s.shot("both failed");
  }),
  scenario("Job: Indexed, too many failed indexes", async (s) => {
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
  scenario("Job: a success policy", async (s) => {
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
  scenario("Job: a failure policy with Ignore", async (s) => {
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
  scenario("Job: a failure policy with FailIndex", async (s) => {
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
  scenario("Job: a pod is deleted", async (s) => {
    await s.apply(job("j", { behave: "ready" }));
    await s.settle();
    const [p] = await s.pods();
    await s.remove("Pod", p.metadata.name);
    await s.settle(3000, 6000);
    await s.shot("gone or again");
  }),
  scenario("Job: deleted in the background, and with orphans", async (s) => {
    await s.apply(job("b", { behave: "ready" }));
    await s.apply(job("o", { behave: "ready" }));
    await s.settle();
    await s.remove("Job", "b", { propagationPolicy: "Background" });
    await s.remove("Job", "o", { propagationPolicy: "Orphan" });
    await s.settle();
    await s.shot("after");
  }),
  scenario("Job: zero completions", async (s) => {
    await s.apply(job("j", { spec: { completions: 0 } }));
    await s.settle();
    await s.shot("complete");
  }),
  scenario("Job: parallelism 0", async (s) => {
    await s.apply(job("j", { spec: { parallelism: 0 } }));
    await s.settle();
    await s.shot("waiting");
  }),
  scenario("Job: parallelism changes while it runs", async (s) => {
    await s.apply(job("j", { behave: "never", spec: { parallelism: 1, completions: 4 } }));
    await s.settle();
    await s.patch("Job", "j", { spec: { parallelism: 3 } });
    await s.settle();
    await s.shot("three");
    await s.patch("Job", "j", { spec: { parallelism: 1 } });
    await s.settle();
    await s.shot("one");
  }),
  scenario("Job: replaces only failed pods", async (s) => {
    await s.apply(job("j", { behave: "never", spec: { podReplacementPolicy: "Failed", backoffLimit: 2 } }));
    await s.settle();
    const [p] = await s.pods();
    await s.remove("Pod", p.metadata.name);
    await s.settle();
    await s.shot("after deletion");
  }),
  scenario("Job: Indexed, completions grow", async (s) => {
    await s.apply(job("j", { spec: { completionMode: "Indexed", completions: 2, parallelism: 2 } }));
    await s.settle();
    await s.shot("done");
  }),
  scenario("Job: Indexed, parallelism and completions change together", async (s) => {
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
  scenario("Job: managedBy another controller", async (s) => {
    await s.apply(job("j", { spec: { managedBy: "example.com/other" } }));
    await s.settle();
    await s.shot("untouched");
  }),
  scenario("Job: deleted in the foreground while it runs", async (s) => {
    await s.apply(job("j", { behave: "never" }));
    await s.settle();
    await s.remove("Job", "j", { propagationPolicy: "Foreground" });
    await s.settle();
    await s.shot("gone");
  }),
  scenario("Job: suspended with a deadline", async (s) => {
    await s.apply(job("j", { behave: "never", spec: { suspend: true, activeDeadlineSeconds: 2 } }));
    await s.settle(4000);
    await s.shot("still suspended");
    await s.patch("Job", "j", { spec: { suspend: false } });
    await s.settle(5000);
    await s.shot("too late");
  }),
  scenario("Job: a failure policy on exit codes with Count", async (s) => {
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
  scenario("Job: a failure policy with NotIn", async (s) => {
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
  scenario("Job: three completions one after the other", async (s) => {
    await s.apply(job("j", { spec: { completions: 3, parallelism: 1 } }));
    await s.settle();
    await s.shot("complete");
  }),
  scenario("Job: Indexed one at a time, some fail", async (s) => {
    const spec = { completions: 2, parallelism: 1, completionMode: "Indexed", backoffLimit: 0 };
    await s.apply(job("j", { behave: "fail", spec }));
    await s.settle(3000);
    await s.shot("failed");
  }),
  scenario("Job: a failed job is cleaned up after its TTL", async (s) => {
    await s.apply(job("j", { behave: "fail", spec: { backoffLimit: 0, ttlSecondsAfterFinished: 1 } }));
    await s.settle(5000);
    await s.shot("nothing");
  }),
  scenario("Job: deleted while suspended", async (s) => {
    await s.apply(job("j", { spec: { suspend: true, completions: 2 } }));
    await s.settle();
    await s.remove("Job", "j", { propagationPolicy: "Foreground" });
    await s.settle();
    await s.shot("nothing");
  }),
  scenario("Job: parallelism to zero and up again", async (s) => {
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
  scenario("Job: a failure policy with several exit codes", async (s) => {
    const rules = [
      { action: "Ignore", onExitCodes: { containerName: "main", operator: "In", values: [1] } },
      { action: "FailJob", onExitCodes: { containerName: "main", operator: "NotIn", values: [1, 2] } },
    ];
    const spec = { backoffLimit: 3, podFailurePolicy: { rules } };
    await s.apply(job("j", { behave: "fail", labels: { code: "7" }, spec }));
    await s.settle(3000);
    await s.shot("failed");
  }),
  scenario("Job: a manual selector", async (s) => {
    const j = job("j", { spec: { manualSelector: true, selector: { matchLabels: { app: "j" } } } });
    await s.apply(j);
    await s.settle(3000);
    await s.shot("complete");
  }),
  scenario("Job: Indexed, suspended half way", async (s) => {
    const spec = { completions: 4, parallelism: 2, completionMode: "Indexed" };
    await s.apply(job("j", { behave: "never", spec }));
    await s.settle();
    const [p] = (await s.pods()).sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    await finish(s, p.metadata.name, { phase: "Succeeded" });
    await s.apply(job("j", { behave: "never", spec: { ...spec, suspend: true } }));
    await s.settle(3000);
    await s.shot("suspended");
    await s.apply(job("j", { behave: "never", spec: { ...spec, suspend: false } }));
    await s.settle(3000);
    await s.shot("resumed");
  }),
  scenario("Job: waits for a terminating pod before it replaces it", async (s) => {
    const spec = { podReplacementPolicy: "Failed" };
    await s.apply(job("j", { behave: "never", spec }));
    await s.settle();
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, {
      metadata: { finalizers: [...p.metadata.finalizers, "example.com/hold"] },
    });
    await s.remove("Pod", p.metadata.name);
    await s.settle(3000);
    await s.shot("waits");
  }),
  scenario("Job: replaces a terminating pod at once", async (s) => {
    await s.apply(job("j", { behave: "never" }));
    await s.settle();
    const [p] = await s.pods();
    await s.patch("Pod", p.metadata.name, {
      metadata: { finalizers: [...p.metadata.finalizers, "example.com/hold"] },
    });
    await s.remove("Pod", p.metadata.name);
    await s.settle(12_000);
    await s.shot("two");
    const names = (await s.pods()).map(({ metadata }) => metadata.name);
    for (const name of names) await s.patch("Pod", name, { metadata: { finalizers: null } });
    await s.settle(12_000);
    await s.shot("one");
  }),
  scenario("Job: a success policy on some indexes", async (s) => {
    const spec = {
      completions: 4,
      parallelism: 4,
      completionMode: "Indexed",
      successPolicy: { rules: [{ succeededIndexes: "1-2", succeededCount: 1 }] },
    };
    await s.apply(job("j", { behave: "never", spec }));
    await s.settle();
    const index = (p) => p.metadata.annotations["batch.kubernetes.io/job-completion-index"];
    const second = (await s.pods()).find((p) => index(p) === "2");
    await finish(s, second.metadata.name, { phase: "Succeeded" });
    await s.settle(4000);
    await s.shot("enough");
  }),
  scenario("Job: maxFailedIndexes 0", async (s) => {
    const spec = {
      completions: 3,
      parallelism: 1,
      completionMode: "Indexed",
      backoffLimitPerIndex: 0,
      maxFailedIndexes: 0,
    };
    await s.apply(job("j", { behave: "fail", spec }));
    await s.settle(4000);
    await s.shot("one was enough");
  }),
  scenario("Job: restartPolicy OnFailure and its backoff limit", async (s) => {
    const j = job("j", { behave: "never", spec: { backoffLimit: 1 } });
    j.spec.template.spec.restartPolicy = "OnFailure";
    await s.apply(j);
    await s.settle();
    const [p] = await s.pods();
    await finish(s, p.metadata.name, {
      phase: "Running",
      containerStatuses: [
        {
          name: "main",
          image: "example/app:1",
          imageID: "",
          ready: false,
          restartCount: 3,
          state: { waiting: { reason: "CrashLoopBackOff" } },
        },
      ],
    });
    await s.settle(4000);
    await s.shot("restarted too often");
  }),
  scenario("Job: more parallelism than completions", async (s) => {
    await s.apply(job("j", { behave: "never", spec: { completions: 2, parallelism: 5 } }));
    await s.settle();
    await s.shot("two");
  }),
  scenario("Job: a disrupted pod does not count as a failure", async (s) => {
    const rules = [{ action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] }];
    await s.apply(job("j", { behave: "never", spec: { backoffLimit: 0, podFailurePolicy: { rules } } }));
    await s.settle();
    const [p] = await s.pods();
    await finish(s, p.metadata.name, {
      phase: "Failed",
      conditions: [{ type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" }],
    });
    await s.settle(4000);
    await s.shot("another try");
  }),
  scenario("Job: a TTL of zero", async (s) => {
    await s.apply(job("j", { spec: { ttlSecondsAfterFinished: 0 } }));
    await s.settle(4000);
    await s.shot("nothing");
  }),
  scenario("Job: the other pods end when it fails", async (s) => {
    await s.apply(job("j", { behave: "never", spec: { completions: 3, parallelism: 3, backoffLimit: 0 } }));
    await s.settle();
    const [p] = await s.pods();
    await finish(s, p.metadata.name, { phase: "Failed" });
    await s.settle(4000);
    await s.shot("failed");
  }),
  scenario("Job: deleted with orphans, its pods lose their finalizer", async (s) => {
    await s.apply(job("j", { behave: "never" }));
    await s.settle();
    await s.remove("Job", "j", { propagationPolicy: "Orphan" });
    await s.settle(4000);
    await s.shot("pod alone");
  }),
  scenario("Job: the deadline is extended", async (s) => {
    await s.apply(job("j", { behave: "never", spec: { activeDeadlineSeconds: 3 } }));
    await s.settle(1000);
    await s.apply(job("j", { behave: "never", spec: { activeDeadlineSeconds: 60 } }));
    await s.settle(5000);
    await s.shot("runs");
  }),
];
