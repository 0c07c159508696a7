// Changes of deployments, stateful sets, daemon sets, jobs and cron jobs.
import { apps, batch, object } from "../_lib.mjs";
import { merges, selector, spec } from "./_builders.mjs";

const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "main", image: "a" }] } };

export default [
  merges(
    "Deployment update: selector, strategy, template and generation",
    `${apps}/deployments`,
    object("apps/v1", "Deployment", { spec: { selector: selector, template: template } }),
    [
      spec({ selector: { matchLabels: { a: "c" } } }),
      spec({ replicas: 0 }),
      spec({ replicas: null }),
      spec({ strategy: { type: "Recreate" } }),
      spec({ strategy: { type: "Recreate", rollingUpdate: null } }),
      spec({ paused: true }),
      spec({ template: { metadata: { labels: { a: "c" } } } }),
      spec({ template: { spec: { containers: [{ name: "main", image: "b" }] } } }),
      spec({ minReadySeconds: 9, progressDeadlineSeconds: 5 }),
      { metadata: { annotations: { "deployment.kubernetes.io/revision": "5" } } },
      { metadata: { generation: 99 } },
      { metadata: { generation: 1 } },
    ],
  ),
  merges(
    "StatefulSet update: fields that may change",
    `${apps}/statefulsets`,
    object("apps/v1", "StatefulSet", {
      spec: {
        serviceName: "s",
        selector: selector,
        template: template,
        volumeClaimTemplates: [
          {
            metadata: { name: "d" },
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
          },
        ],
      },
    }),
    [
      spec({ replicas: 2 }),
      spec({ template: { spec: { containers: [{ name: "main", image: "b" }] } } }),
      spec({ updateStrategy: { type: "OnDelete", rollingUpdate: null } }),
      spec({ podManagementPolicy: "Parallel" }),
      spec({ volumeClaimTemplates: [] }),
      spec({ selector: { matchLabels: { z: "z" } } }),
      spec({ persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" } }),
      spec({ ordinals: { start: 3 } }),
      spec({ minReadySeconds: 4, revisionHistoryLimit: 3 }),
      spec({ serviceName: null }),
    ],
  ),
  merges(
    "DaemonSet update: update strategy and template",
    `${apps}/daemonsets`,
    object("apps/v1", "DaemonSet", { spec: { selector: selector, template: template } }),
    [
      spec({ updateStrategy: { type: "OnDelete" } }),
      spec({ updateStrategy: { type: "OnDelete", rollingUpdate: null } }),
      spec({ selector: { matchLabels: { z: "z" } } }),
      spec({ template: { spec: { containers: [{ name: "main", image: "b" }] } } }),
      spec({ minReadySeconds: 2 }),
    ],
  ),
  merges(
    "Job update: a suspended, indexed job",
    `${batch}/jobs`,
    object("batch/v1", "Job", {
      spec: {
        suspend: true,
        completions: 3,
        completionMode: "Indexed",
        template: { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "a" }] } },
      },
    }),
    [
      spec({ completions: 5 }),
      spec({ parallelism: 5, completions: 5 }),
      spec({ suspend: false }),
      spec({ completionMode: "NonIndexed" }),
      spec({ backoffLimit: 2, activeDeadlineSeconds: 5, ttlSecondsAfterFinished: 1 }),
      spec({ template: { spec: { containers: [{ name: "main", image: "b" }] } } }),
      spec({ template: { metadata: { labels: { q: "r" } } } }),
      spec({ template: { spec: { nodeSelector: { a: "b" } } } }),
      spec({
        podFailurePolicy: { rules: [{ action: "Ignore", onExitCodes: { operator: "In", values: [1] } }] },
      }),
      spec({ podReplacementPolicy: "Failed" }),
      spec({ managedBy: "a.b/c" }),
      spec({ backoffLimitPerIndex: 1 }),
    ].map((p) => p),
    { account: true },
  ),
  merges(
    "CronJob update: schedule, time zone and job template",
    `${batch}/cronjobs`,
    object("batch/v1", "CronJob", {
      spec: {
        schedule: "* * * * *",
        jobTemplate: {
          spec: {
            template: { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "a" }] } },
          },
        },
      },
    }),
    [
      spec({ schedule: "1 * * * *" }),
      spec({ schedule: "bad" }),
      spec({ suspend: true, concurrencyPolicy: "Forbid" }),
      spec({ timeZone: "Etc/UTC" }),
      spec({ jobTemplate: { spec: { completions: 4 } } }),
      spec({ jobTemplate: { spec: { template: { spec: { restartPolicy: "Always" } } } } }),
      spec({ successfulJobsHistoryLimit: null }),
    ],
  ),
];
