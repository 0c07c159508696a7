// Faults of deployments, jobs and cron jobs.
import { apps, batch } from "../_lib.mjs";
import { createEach, jobWith } from "./_builders.mjs";

const deploymentWith = (o) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "d" },
  spec: {
    selector: { matchLabels: { a: "b" } },
    template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } },
    ...o,
  },
});

export default [
  createEach("Deployment create: one fault at a time", `${apps}/deployments`, [
    deploymentWith({}),
    deploymentWith({ replicas: -1 }),
    deploymentWith({ replicas: 0 }),
    deploymentWith({ selector: {} }),
    deploymentWith({ selector: null }),
    deploymentWith({ selector: { matchLabels: { x: "y" } } }),
    deploymentWith({ selector: { matchExpressions: [{ key: "a", operator: "In", values: ["b"] }] } }),
    deploymentWith({ selector: { matchExpressions: [{ key: "a", operator: "Bogus" }] } }),
    deploymentWith({ selector: { matchExpressions: [{ key: "a", operator: "Exists", values: ["x"] }] } }),
    deploymentWith({ strategy: { type: "Bogus" } }),
    deploymentWith({ strategy: { type: "Recreate", rollingUpdate: {} } }),
    deploymentWith({ strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } }),
    deploymentWith({ strategy: { rollingUpdate: { maxSurge: "150%", maxUnavailable: "101%" } } }),
    deploymentWith({ strategy: { rollingUpdate: { maxSurge: "x" } } }),
    deploymentWith({ strategy: { rollingUpdate: { maxUnavailable: -1 } } }),
    deploymentWith({ minReadySeconds: -1 }),
    deploymentWith({ minReadySeconds: 700 }),
    deploymentWith({ progressDeadlineSeconds: 0 }),
    deploymentWith({ revisionHistoryLimit: -1 }),
    deploymentWith({ paused: true }),
    deploymentWith({
      template: {
        metadata: { labels: { a: "b" } },
        spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] },
      },
    }),
    deploymentWith({ template: {} }),
    deploymentWith({
      template: {
        metadata: { labels: { a: "b" } },
        spec: { activeDeadlineSeconds: 5, containers: [{ name: "c", image: "i" }] },
      },
    }),
    { ...deploymentWith({}), metadata: { name: "Bad" } },
    { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "d" } },
    deploymentWith({ rollbackTo: {} }),
  ]),
  createEach("Job create: one fault at a time", `${batch}/jobs`, [
    jobWith({ parallelism: -1 }),
    jobWith({ completions: -1 }),
    jobWith({ backoffLimit: -1 }),
    jobWith({ activeDeadlineSeconds: -1 }),
    jobWith({ ttlSecondsAfterFinished: -1 }),
    jobWith({}, { restartPolicy: "Always" }),
    jobWith({}, { restartPolicy: undefined }),
    jobWith({ selector: { matchLabels: { a: "b" } } }),
    jobWith({ manualSelector: true }),
    jobWith({ completionMode: "Bogus" }),
    jobWith({ completionMode: "Indexed" }),
    jobWith({ completionMode: "Indexed", completions: 200000, parallelism: 200000 }),
    jobWith({ backoffLimitPerIndex: 1 }),
    jobWith({ podFailurePolicy: { rules: [{ action: "X" }] } }),
    jobWith({ podFailurePolicy: { rules: [{ action: "Ignore" }] } }),
    jobWith({
      podFailurePolicy: { rules: [{ action: "FailJob", onExitCodes: { operator: "In", values: [0] } }] },
    }),
    jobWith({ podReplacementPolicy: "X" }),
    jobWith({ successPolicy: { rules: [] } }),
    jobWith({ suspend: true }),
    jobWith({ managedBy: "x" }),
    jobWith({ maxFailedIndexes: 1 }),
  ]),
  createEach(
    "CronJob create: schedules and one fault at a time",
    `${batch}/cronjobs`,
    [
      "* * * * *",
      "@daily",
      "@every 5m",
      "bad",
      "",
      "60 * * * *",
      "TZ=UTC * * * * *",
      "* * * *",
      "*/5 1-3 * JAN mon-fri",
      "0 0 31 2 *",
      "@bogus",
      "* * * * * *",
    ]
      .map((schedule) => ({
        apiVersion: "batch/v1",
        kind: "CronJob",
        metadata: { name: "c" },
        spec: { schedule, jobTemplate: { spec: jobWith({}).spec } },
      }))
      .concat(
        [
          { concurrencyPolicy: "X" },
          { startingDeadlineSeconds: -1 },
          { successfulJobsHistoryLimit: -1 },
          { timeZone: "Bogus/X" },
          { timeZone: "Europe/Vienna" },
          { timeZone: "" },
          { timeZone: "Local" },
        ].map((s) => ({
          apiVersion: "batch/v1",
          kind: "CronJob",
          metadata: { name: "c" },
          spec: { schedule: "* * * * *", jobTemplate: { spec: jobWith({}).spec }, ...s },
        })),
      )
      .concat([
        {
          apiVersion: "batch/v1",
          kind: "CronJob",
          metadata: { name: "x".repeat(53) },
          spec: { schedule: "* * * * *", jobTemplate: { spec: jobWith({}).spec } },
        },
      ]),
  ),
];
