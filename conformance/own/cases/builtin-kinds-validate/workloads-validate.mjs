// Invalid deployments, sets, jobs and cron jobs, autoscalers and budgets.
import { apps, batch, object } from "../_lib.mjs";
import { createEach } from "./_builders.mjs";

const template = (spec = {}, meta = { labels: { a: "b" } }) => ({
  metadata: meta,
  spec: { containers: [{ name: "main", image: "a" }], ...spec },
});

const selector = { matchLabels: { a: "b" } };

const deploymentWith = (spec) =>
  object("apps/v1", "Deployment", { spec: { selector: selector, template: template(), ...spec } });

const statefulSetWith = (spec) =>
  object("apps/v1", "StatefulSet", {
    spec: { selector: selector, serviceName: "s", template: template(), ...spec },
  });

const daemonSetWith = (spec) =>
  object("apps/v1", "DaemonSet", { spec: { selector: selector, template: template(), ...spec } });

const replicaSetWith = (spec) =>
  object("apps/v1", "ReplicaSet", { spec: { selector: selector, template: template(), ...spec } });

const jobWith = (spec, pods = {}) =>
  object("batch/v1", "Job", {
    spec: {
      template: { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "a" }], ...pods } },
      ...spec,
    },
  });

const cronJobWith = (spec, job = {}) =>
  object("batch/v1", "CronJob", {
    spec: { schedule: "* * * * *", jobTemplate: { spec: jobWith(job).spec }, ...spec },
  });

const autoscalerWith = (spec) =>
  object("autoscaling/v2", "HorizontalPodAutoscaler", {
    spec: {
      maxReplicas: 3,
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
      ...spec,
    },
  });

const metricWith = (m) => autoscalerWith({ metrics: [m] });

const budgetWith = (spec) => object("policy/v1", "PodDisruptionBudget", { spec });

export default [
  createEach("Deployment create: invalid strategies, selectors and templates", `${apps}/deployments`, [
    deploymentWith({ strategy: { type: "Bogus" } }),
    deploymentWith({ strategy: { type: "Recreate", rollingUpdate: { maxSurge: 1 } } }),
    deploymentWith({ strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } }),
    deploymentWith({ strategy: { rollingUpdate: { maxSurge: "x", maxUnavailable: "200%" } } }),
    deploymentWith({ strategy: { rollingUpdate: { maxSurge: -1, maxUnavailable: "-5%" } } }),
    deploymentWith({ minReadySeconds: -1, revisionHistoryLimit: -1, progressDeadlineSeconds: -1 }),
    deploymentWith({ minReadySeconds: 600, progressDeadlineSeconds: 600 }),
    deploymentWith({ selector: null }),
    deploymentWith({ selector: { matchLabels: { "bad key!": "x" } } }),
    deploymentWith({ selector: { matchExpressions: [{ key: "a", operator: "In" }] } }),
    deploymentWith({
      selector: {
        matchExpressions: [
          { key: "a", operator: "Exists", values: ["x"] },
          { key: "", operator: "Bogus" },
        ],
      },
    }),
    deploymentWith({ template: template({ restartPolicy: "OnFailure", activeDeadlineSeconds: 5 }) }),
    deploymentWith({ template: null }),
    deploymentWith({
      template: template({}, { labels: { a: "b", c: "bad value!" }, annotations: { "bad key!": "x" } }),
    }),
    deploymentWith({ template: template({ ephemeralContainers: [{ name: "e", image: "x" }] }) }),
    deploymentWith({
      template: template({
        containers: [
          { name: "a", image: "x" },
          { name: "a", image: "y", ports: [{ containerPort: 0 }] },
        ],
      }),
      replicas: -2,
      selector: {},
    }),
  ]),
  createEach("StatefulSet create: invalid strategies, claims and templates", `${apps}/statefulsets`, [
    statefulSetWith({ serviceName: "" }),
    statefulSetWith({ serviceName: "Bad Name" }),
    statefulSetWith({ podManagementPolicy: "Bogus" }),
    statefulSetWith({ updateStrategy: { type: "Bogus" } }),
    statefulSetWith({ updateStrategy: { type: "OnDelete", rollingUpdate: { partition: 1 } } }),
    statefulSetWith({ updateStrategy: { rollingUpdate: { partition: -1 } } }),
    statefulSetWith({ updateStrategy: { rollingUpdate: { maxUnavailable: 0 } } }),
    statefulSetWith({ replicas: -1, minReadySeconds: -1, ordinals: { start: -1 } }),
    statefulSetWith({ persistentVolumeClaimRetentionPolicy: { whenDeleted: "No", whenScaled: "" } }),
    statefulSetWith({ volumeClaimTemplates: [{ metadata: { name: "Bad" }, spec: {} }] }),
    statefulSetWith({
      volumeClaimTemplates: [
        { metadata: {}, spec: { accessModes: ["Bogus"], resources: { requests: { storage: "0" } } } },
      ],
    }),
    statefulSetWith({ template: template({ restartPolicy: "Never" }) }),
    statefulSetWith({ selector: {}, template: template({}, {}) }),
    statefulSetWith({ revisionHistoryLimit: -1 }),
  ]),
  createEach("DaemonSet create: invalid strategies and templates", `${apps}/daemonsets`, [
    daemonSetWith({ updateStrategy: { type: "Bogus" } }),
    daemonSetWith({ updateStrategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } } }),
    daemonSetWith({ updateStrategy: { rollingUpdate: { maxUnavailable: 0 } } }),
    daemonSetWith({ minReadySeconds: -1, revisionHistoryLimit: -1 }),
    daemonSetWith({ template: template({ restartPolicy: "Never", activeDeadlineSeconds: 3 }) }),
    daemonSetWith({ selector: {} }),
    daemonSetWith({ selector: { matchLabels: { a: "c" } } }),
    replicaSetWith({}),
  ]),
  createEach("ReplicaSet create: invalid selectors and templates", `${apps}/replicasets`, [
    replicaSetWith({ replicas: -1, minReadySeconds: -1 }),
    replicaSetWith({ selector: {} }),
    replicaSetWith({ selector: { matchLabels: { z: "z" } } }),
    replicaSetWith({ template: template({ restartPolicy: "Never" }) }),
    replicaSetWith({ template: null }),
  ]),
  createEach("Job create: invalid completions, policies and templates", `${batch}/jobs`, [
    jobWith({
      parallelism: -1,
      completions: -1,
      backoffLimit: -1,
      activeDeadlineSeconds: -1,
      ttlSecondsAfterFinished: -1,
    }),
    jobWith({ completionMode: "Bogus" }),
    jobWith({ completionMode: "Indexed" }),
    jobWith({ completionMode: "Indexed", completions: 2, parallelism: 200000 }),
    jobWith({ selector: selector }),
    jobWith({ manualSelector: true, selector: selector }),
    jobWith({ backoffLimitPerIndex: 1 }),
    jobWith({ completionMode: "Indexed", completions: 2, backoffLimitPerIndex: -1, maxFailedIndexes: -1 }),
    jobWith({ completionMode: "Indexed", completions: 2, maxFailedIndexes: 1 }),
    jobWith({ podFailurePolicy: { rules: [] } }),
    jobWith({ podFailurePolicy: { rules: [{ action: "Bogus" }] } }),
    jobWith({
      podFailurePolicy: { rules: [{ action: "FailJob", onExitCodes: { operator: "In", values: [] } }] },
    }),
    jobWith({
      podFailurePolicy: {
        rules: [
          {
            action: "FailIndex",
            onExitCodes: { operator: "NotIn", values: [0, 1, 1], containerName: "none" },
            onPodConditions: [],
          },
        ],
      },
    }),
    jobWith(
      { podFailurePolicy: { rules: [{ action: "Ignore", onPodConditions: [{ type: "", status: "x" }] }] } },
      { restartPolicy: "OnFailure" },
    ),
    jobWith({ successPolicy: { rules: [] } }),
    jobWith({
      completionMode: "Indexed",
      completions: 3,
      successPolicy: {
        rules: [
          {},
          { succeededIndexes: "0-9", succeededCount: 9 },
          { succeededIndexes: "x" },
          { succeededCount: 0 },
        ],
      },
    }),
    jobWith({ podReplacementPolicy: "Bogus" }),
    jobWith({
      podReplacementPolicy: "TerminatingOrFailed",
      podFailurePolicy: { rules: [{ action: "Ignore", onExitCodes: { operator: "In", values: [1] } }] },
    }),
    jobWith({ managedBy: "bad name" }),
    jobWith({}, { restartPolicy: "Always" }),
    jobWith({}, { restartPolicy: undefined }),
    jobWith({ suspend: true, parallelism: 3, completions: 2 }),
  ]),
  createEach("CronJob create: invalid schedules and templates", `${batch}/cronjobs`, [
    cronJobWith({ schedule: "" }),
    cronJobWith({ schedule: "* * * *" }),
    cronJobWith({ schedule: "60 * * * *" }),
    cronJobWith({ schedule: "@daily" }),
    cronJobWith({ schedule: "@every 1h" }),
    cronJobWith({ schedule: "@every x" }),
    cronJobWith({ schedule: "TZ=UTC * * * * *" }),
    cronJobWith({ schedule: "CRON_TZ=Bogus * * * * *" }),
    cronJobWith({ timeZone: "" }),
    cronJobWith({ timeZone: "Mars/Phobos" }),
    cronJobWith({ timeZone: "Europe/Berlin" }),
    cronJobWith({ timeZone: "Local" }),
    cronJobWith({ concurrencyPolicy: "Bogus" }),
    cronJobWith({ startingDeadlineSeconds: -1, successfulJobsHistoryLimit: -1, failedJobsHistoryLimit: -1 }),
    cronJobWith({}, { manualSelector: true }),
    cronJobWith({}, { completions: -1, selector: selector }),
    cronJobWith({ jobTemplate: { spec: { template: template({ restartPolicy: "Always" }) } } }),
    object("batch/v1", "CronJob", { spec: cronJobWith({}).spec }, { name: "a".repeat(53) }),
    cronJobWith({ schedule: "*/5 0-23/2 1,15 JAN-MAR mon-fri" }),
    cronJobWith({ schedule: "5-1 * * * *" }),
  ]),
  createEach(
    "HorizontalPodAutoscaler create: invalid limits, metrics and behavior",
    "/apis/autoscaling/v2/namespaces/$NS/horizontalpodautoscalers",
    [
      autoscalerWith({ maxReplicas: 0 }),
      autoscalerWith({ minReplicas: 0 }),
      autoscalerWith({ minReplicas: 5 }),
      autoscalerWith({ minReplicas: -1, maxReplicas: -2 }),
      autoscalerWith({ scaleTargetRef: {} }),
      autoscalerWith({ scaleTargetRef: { kind: "A/B", name: "a/b", apiVersion: "a/b/c" } }),
      metricWith({ type: "Bogus" }),
      metricWith({ type: "Resource" }),
      metricWith({ type: "Resource", resource: { name: "", target: {} } }),
      metricWith({ type: "Resource", resource: { name: "cpu", target: { type: "Utilization" } } }),
      metricWith({
        type: "Resource",
        resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 0 } },
      }),
      metricWith({ type: "Resource", resource: { name: "cpu", target: { type: "Value", value: "1" } } }),
      metricWith({
        type: "Resource",
        resource: {
          name: "cpu",
          target: { type: "AverageValue", averageValue: "-1", averageUtilization: 5 },
        },
      }),
      metricWith({ type: "Pods", pods: { metric: {}, target: { type: "AverageValue" } } }),
      metricWith({
        type: "Object",
        object: { metric: { name: "a/b" }, describedObject: {}, target: { type: "Value" } },
      }),
      metricWith({
        type: "External",
        external: {
          metric: { name: "m", selector: { matchLabels: { "bad key!": "x" } } },
          target: { type: "Value", value: "1", averageValue: "1" },
        },
      }),
      metricWith({
        type: "ContainerResource",
        containerResource: {
          name: "cpu",
          container: "",
          target: { type: "Utilization", averageUtilization: 5 },
        },
      }),
      metricWith({
        type: "Resource",
        resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 5 } },
        pods: { metric: { name: "x" }, target: { type: "AverageValue", averageValue: "1" } },
      }),
      autoscalerWith({
        behavior: {
          scaleUp: {
            stabilizationWindowSeconds: -1,
            selectPolicy: "Bogus",
            policies: [{ type: "Bogus", value: 0, periodSeconds: 0 }],
          },
          scaleDown: { stabilizationWindowSeconds: 9999, policies: [], tolerance: "-1" },
        },
      }),
      autoscalerWith({
        behavior: { scaleUp: { policies: [{ type: "Pods", value: 1, periodSeconds: 9999 }] } },
      }),
    ],
  ),
  createEach(
    "PodDisruptionBudget create: invalid counts and selectors",
    "/apis/policy/v1/namespaces/$NS/poddisruptionbudgets",
    [
      budgetWith({ minAvailable: -1 }),
      budgetWith({ minAvailable: "x" }),
      budgetWith({ minAvailable: "150%" }),
      budgetWith({ maxUnavailable: "-1%" }),
      budgetWith({ selector: { matchLabels: { "bad key!": "x" } } }),
      budgetWith({ unhealthyPodEvictionPolicy: "Bogus" }),
      budgetWith({ unhealthyPodEvictionPolicy: "" }),
      budgetWith({ selector: { matchExpressions: [{ key: "a", operator: "In", values: [] }] } }),
      budgetWith({ minAvailable: "50%", selector: { matchLabels: { a: "b" } } }),
    ],
  ),
];
