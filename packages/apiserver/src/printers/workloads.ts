/** Workloads: deployments, sets, jobs, templates, autoscalers, budgets. */
import { parseTime } from "@keelson/core";
import type {
  ControllerRevision,
  CronJob,
  DaemonSet,
  Deployment,
  HorizontalPodAutoscaler,
  Job,
  MetricSpec,
  MetricStatus,
  PodDisruptionBudget,
  PodTemplate,
  ReplicaSet,
  ReplicationController,
  StatefulSet,
} from "@keelson/core/kinds";
import { humanDuration } from "../contracts/age.ts";
import {
  ageCell,
  booleanCell,
  type Cell,
  containerCells,
  labelsCell,
  nameOf,
  none,
  selectorCell,
  since,
  unknown,
  unset,
} from "./cells.ts";

export const deploymentRow = (deployment: Deployment, nowMs: number): Cell[] => {
  const { spec, status } = deployment;
  return [
    nameOf(deployment),
    `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
    status?.updatedReplicas ?? 0,
    status?.availableReplicas ?? 0,
    ageCell(deployment, nowMs),
    ...containerCells(spec?.template?.spec?.containers),
    selectorCell(spec?.selector, "", "<invalid>"),
  ];
};

export const replicaSetRow = (set: ReplicaSet, nowMs: number): Cell[] => [
  nameOf(set),
  set.spec?.replicas ?? 0,
  set.status?.replicas ?? 0,
  set.status?.readyReplicas ?? 0,
  ageCell(set, nowMs),
  ...containerCells(set.spec?.template?.spec?.containers),
  selectorCell(set.spec?.selector),
];

export const replicationControllerRow = (controller: ReplicationController, nowMs: number): Cell[] => [
  nameOf(controller),
  controller.spec?.replicas ?? 0,
  controller.status?.replicas ?? 0,
  controller.status?.readyReplicas ?? 0,
  ageCell(controller, nowMs),
  ...containerCells(controller.spec?.template?.spec?.containers),
  labelsCell(controller.spec?.selector),
];

export const statefulSetRow = (set: StatefulSet, nowMs: number): Cell[] => [
  nameOf(set),
  `${set.status?.readyReplicas ?? 0}/${set.spec?.replicas ?? 0}`,
  ageCell(set, nowMs),
  ...containerCells(set.spec?.template?.spec?.containers),
];

export const daemonSetRow = (set: DaemonSet, nowMs: number): Cell[] => {
  const { status, spec } = set;
  return [
    nameOf(set),
    status?.desiredNumberScheduled ?? 0,
    status?.currentNumberScheduled ?? 0,
    status?.numberReady ?? 0,
    status?.updatedNumberScheduled ?? 0,
    status?.numberAvailable ?? 0,
    labelsCell(spec?.template?.spec?.nodeSelector),
    ageCell(set, nowMs),
    ...containerCells(spec?.template?.spec?.containers),
    selectorCell(spec?.selector),
  ];
};

export const podTemplateRow = (object: PodTemplate): Cell[] => [
  nameOf(object),
  ...containerCells(object.template?.spec?.containers),
  labelsCell(object.template?.metadata?.labels),
];

export const controllerRevisionRow = (revision: ControllerRevision, nowMs: number): Cell[] => {
  const owner = (revision.metadata?.ownerReferences ?? []).find(({ controller }) => controller);
  let controller = none;
  if (owner) {
    const group = owner.apiVersion.includes("/") ? `.${owner.apiVersion.split("/")[0]}` : "";
    controller = `${`${owner.kind}${group}`.toLowerCase()}/${owner.name}`;
  }
  return [nameOf(revision), controller, revision.revision, ageCell(revision, nowMs)];
};

function completionsCell({ spec, status }: Job): string {
  const succeeded = status?.succeeded ?? 0;
  if (spec?.completions !== undefined) return `${succeeded}/${spec.completions}`;
  const parallelism = spec?.parallelism ?? 0;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function durationCell({ status }: Job, nowMs: number): string {
  if (!status?.startTime) return "";
  const end = status.completionTime ? parseTime(status.completionTime) : nowMs;
  return humanDuration(end - parseTime(status.startTime));
}

function jobStatusCell({ metadata, status }: Job): string {
  const has = (type: string) =>
    (status?.conditions ?? []).find((condition) => condition.type === type)?.status === "True";
  if (has("Complete")) return "Complete";
  if (has("Failed")) return "Failed";
  if (metadata?.deletionTimestamp) return "Terminating";
  return ["Suspended", "FailureTarget", "SuccessCriteriaMet"].find(has) ?? "Running";
}

export const jobRow = (job: Job, nowMs: number): Cell[] => [
  nameOf(job),
  jobStatusCell(job),
  completionsCell(job),
  durationCell(job, nowMs),
  ageCell(job, nowMs),
  ...containerCells(job.spec?.template?.spec?.containers),
  selectorCell(job.spec?.selector),
];

export const cronJobRow = (job: CronJob, nowMs: number): Cell[] => {
  const { spec, status } = job;
  return [
    nameOf(job),
    spec?.schedule ?? "",
    spec?.timeZone ?? none,
    booleanCell(spec?.suspend),
    status?.active?.length ?? 0,
    status?.lastScheduleTime ? since(status.lastScheduleTime, nowMs) : none,
    ageCell(job, nowMs),
    ...containerCells(spec?.jobTemplate?.spec?.template?.spec?.containers),
    selectorCell(spec?.jobTemplate?.spec?.selector),
  ];
};

export const budgetRow = (budget: PodDisruptionBudget, nowMs: number): Cell[] => [
  nameOf(budget),
  String(budget.spec?.minAvailable ?? "N/A"),
  String(budget.spec?.maxUnavailable ?? "N/A"),
  budget.status?.disruptionsAllowed ?? 0,
  ageCell(budget, nowMs),
];

const text = (value: string | number | undefined): string => (value === undefined ? "0" : String(value));
const share = (value: number | undefined, otherwise: string): string =>
  value === undefined ? otherwise : `${value}%`;

function metricCell(spec: MetricSpec, status: MetricStatus | undefined): string {
  switch (spec.type) {
    case "External":
    case "Object": {
      const target = (spec.type === "External" ? spec.external : spec.object)?.target;
      const current = (spec.type === "External" ? status?.external : status?.object)?.current;
      if (target?.averageValue !== undefined)
        return `${current?.averageValue === undefined ? unknown : text(current.averageValue)}/${text(target.averageValue)} (avg)`;
      return `${current ? text(current.value) : unknown}/${text(target?.value)}`;
    }
    case "Pods": {
      const current = status?.pods?.current;
      return `${current ? text(current.averageValue) : unknown}/${text(spec.pods?.target.averageValue)}`;
    }
    case "Resource":
    case "ContainerResource": {
      const source = spec.type === "Resource" ? spec.resource : spec.containerResource;
      const current = (spec.type === "Resource" ? status?.resource : status?.containerResource)?.current;
      const target = source?.target;
      if (target?.averageValue !== undefined)
        return `${source?.name}: ${current ? text(current.averageValue) : unknown}/${text(target.averageValue)}`;
      return `${source?.name}: ${share(current?.averageUtilization, unknown)}/${share(target?.averageUtilization, "<auto>")}`;
    }
    default:
      return "<unknown type>";
  }
}

/** An autoscaler of either version: v1 knows the processor's share only. */
type AnyAutoscaler = HorizontalPodAutoscaler & {
  spec?: { targetCPUUtilizationPercentage?: number };
  status?: { currentCPUUtilizationPercentage?: number };
};

function metricsCell({ spec, status }: AnyAutoscaler): string {
  const target = spec?.targetCPUUtilizationPercentage;
  if (target !== undefined)
    return `cpu: ${share(status?.currentCPUUtilizationPercentage, unknown)}/${target}%`;
  const metrics = spec?.metrics ?? [];
  if (metrics.length === 0) return none;
  const cells = metrics.map((metric, i) => metricCell(metric, status?.currentMetrics?.[i] ?? undefined));
  if (cells.length <= 2) return cells.join(", ");
  return `${cells.slice(0, 2).join(", ")} + ${cells.length - 2} more...`;
}

export const autoscalerRow = (autoscaler: AnyAutoscaler, nowMs: number): Cell[] => {
  const { spec, status } = autoscaler;
  return [
    nameOf(autoscaler),
    `${spec?.scaleTargetRef.kind}/${spec?.scaleTargetRef.name}`,
    metricsCell(autoscaler),
    spec?.minReplicas === undefined ? unset : String(spec.minReplicas),
    spec?.maxReplicas ?? 0,
    status?.currentReplicas ?? 0,
    ageCell(autoscaler, nowMs),
  ];
};
