/** Defaults of apps/v1. */
import type { DaemonSet, Deployment, PodSpec, ReplicaSet, StatefulSet } from "@keelson/core/kinds";
import { badRequest } from "../contracts/status-error.ts";
import { defaultClaimSpec, defaultPodSpec, roundToMilli } from "./pod-spec.ts";

type Draft<T extends { spec?: unknown }> = Omit<T, "spec"> & { spec: Partial<NonNullable<T["spec"]>> };

function template(spec: { template?: { spec?: PodSpec } }): void {
  if (spec.template?.spec) defaultPodSpec(spec.template.spec);
}

export function defaultDeployment(deployment: Deployment): void {
  const { spec } = withSpec<Deployment>(deployment);
  spec.replicas ??= 1;
  spec.strategy ??= {};
  const strategy = spec.strategy;
  strategy.type ??= "RollingUpdate";
  if (strategy.type === "RollingUpdate") {
    strategy.rollingUpdate ??= {};
    const rolling = strategy.rollingUpdate;
    rolling.maxUnavailable ??= "25%";
    rolling.maxSurge ??= "25%";
  }
  spec.revisionHistoryLimit ??= 10;
  spec.progressDeadlineSeconds ??= 600;
  template(spec);
}

export function defaultDaemonSet(set: DaemonSet): void {
  const { spec } = withSpec<DaemonSet>(set);
  spec.updateStrategy ??= {};
  const strategy = spec.updateStrategy;
  strategy.type ??= "RollingUpdate";
  if (strategy.type === "RollingUpdate") {
    strategy.rollingUpdate ??= {};
    const rolling = strategy.rollingUpdate;
    rolling.maxUnavailable ??= 1;
    rolling.maxSurge ??= 0;
  }
  spec.revisionHistoryLimit ??= 10;
  template(spec);
  // Older versions had a field for it.
  const generation = "deprecated.daemonset.template.generation";
  set.metadata ??= {};
  const given = set.metadata.annotations?.[generation];
  if (given !== undefined && !/^[+-]?\d+$/.test(given))
    throw badRequest(
      `DaemonSet in version "v1" cannot be handled as a DaemonSet: strconv.ParseInt: parsing ${JSON.stringify(given)}: invalid syntax`,
    );
  if (given === undefined) set.metadata.annotations = { ...set.metadata.annotations, [generation]: "0" };
}

export function defaultStatefulSet(set: StatefulSet): void {
  const { spec } = withSpec<StatefulSet>(set);
  spec.podManagementPolicy ??= "OrderedReady";
  spec.updateStrategy ??= {};
  const strategy = spec.updateStrategy;
  if (!strategy.type) {
    strategy.type = "RollingUpdate";
    strategy.rollingUpdate ??= {};
  }
  if (strategy.type === "RollingUpdate" && strategy.rollingUpdate) strategy.rollingUpdate.partition ??= 0;
  spec.persistentVolumeClaimRetentionPolicy ??= {};
  const retention = spec.persistentVolumeClaimRetentionPolicy;
  retention.whenDeleted ??= "Retain";
  retention.whenScaled ??= "Retain";
  spec.replicas ??= 1;
  spec.revisionHistoryLimit ??= 10;
  template(spec);
  for (const claim of spec.volumeClaimTemplates ?? []) {
    claim.apiVersion = "v1";
    claim.kind = "PersistentVolumeClaim";
    claim.status ??= {};
    const status = claim.status;
    status.phase ??= "Pending";
    claim.spec ??= {};
    defaultClaimSpec(claim.spec);
    roundToMilli(status.capacity);
  }
}

export function defaultReplicaSet(set: ReplicaSet): void {
  const { spec } = withSpec<ReplicaSet>(set);
  spec.replicas ??= 1;
  template(spec);
}

function withSpec<T extends { spec?: unknown }>(object: T): Draft<T> {
  object.spec ??= {};
  return object as unknown as Draft<T>;
}
