/** Deployments, replica sets and daemon sets. */
import { deepEqual, type JsonValue } from "@keelson/core";
import type {
  DaemonSet,
  DaemonSetSpec,
  Deployment,
  DeploymentSpec,
  DeploymentStatus,
  PodTemplateSpec,
  ReplicaSet,
  ReplicaSetSpec,
} from "@keelson/core/kinds";
import type { ApiObject } from "../../contracts/object.ts";
import type { Strategy } from "../../contracts/strategy.ts";
import { type Errors, inGo } from "../checks/errors.ts";
import { amountOf, checkAtMostAll, checkIntOrPercent } from "../checks/percentages.ts";
import { checkSelector, isEmptySelector, type Selector, shownSelector } from "../checks/selectors.ts";
import { checkImmutable, checking, checkingUpdate, checkNotNegative } from "../checks/strategies.ts";
import { checkReplicaCounts, hostNameWarning } from "../core/replication-controllers.ts";
import {
  checkLastingTemplate,
  checkSelects,
  checkTemplate,
  compileSelector,
  templateWarnings,
} from "../core/templates.ts";

/** The selector, and the template as far as it must fit the selector. */
export function checkSelection(
  spec: { selector?: unknown; template?: PodTemplateSpec },
  kind: string,
  invalidMessage: string,
  errors: Errors,
  checkRest: (template: PodTemplateSpec) => void,
): void {
  const selector = spec.selector as Selector | undefined;
  if (!selector) errors.required("spec.selector");
  else {
    checkSelector("spec.selector", selector, errors);
    if (isEmptySelector(selector))
      errors.invalid("spec.selector", shownSelector(selector), `empty selector is invalid for ${kind}`);
  }
  const compiled = compileSelector(selector);
  if (!compiled) {
    errors.invalid("spec.selector", shownSelector(selector), invalidMessage);
    return;
  }
  const template = spec.template as PodTemplateSpec;
  if (!selector || !isEmptySelector(selector)) checkSelects("spec.template", compiled, template, errors);
  checkRest(template);
}

function shownStrategy(strategy: { type?: string; rollingUpdate?: object } | undefined): JsonValue {
  return {
    Type: strategy?.type ?? "",
    RollingUpdate: inGo(strategy?.rollingUpdate, "maxUnavailable", "maxSurge"),
  };
}

export function templateChanges(
  path: string,
  templateOf: (object: ApiObject) => PodTemplateSpec | undefined,
) {
  return (object: ApiObject, old: ApiObject): string[] => {
    const template = templateOf(object);
    if (object.metadata.generation === old.metadata.generation || !template) return [];
    return templateWarnings(path, template);
  };
}

export function checkCollisions(
  status: { collisionCount?: number } | undefined,
  old: { collisionCount?: number } | undefined,
  errors: Errors,
): void {
  const before = old?.collisionCount;
  const now = status?.collisionCount;
  if (before !== undefined && (now === undefined || now < before))
    errors.invalid("status.collisionCount", now ?? 0, "cannot be decremented");
}

// --------------------------------------------------------------------------------------- deployments

function checkDeployment(deployment: Deployment, old: Deployment | undefined, errors: Errors): void {
  const spec = deployment.spec as DeploymentSpec;
  checkNotNegative("spec.replicas", spec.replicas, errors);
  checkSelection(spec, "deployment", "invalid label selector", errors, (template) => {
    checkTemplate("spec.template", template, old?.spec?.template, errors);
    checkLastingTemplate("spec.template", template, "ReplicaSet", errors);
  });
  checkDeploymentStrategy(spec, errors);
  checkNotNegative("spec.minReadySeconds", spec.minReadySeconds, errors);
  checkNotNegative("spec.revisionHistoryLimit", spec.revisionHistoryLimit, errors);
  const deadline = spec.progressDeadlineSeconds;
  if (deadline === undefined) return;
  checkNotNegative("spec.progressDeadlineSeconds", deadline, errors);
  if (deadline <= (spec.minReadySeconds ?? 0))
    errors.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds");
}

function checkDeploymentStrategy(spec: DeploymentSpec, errors: Errors): void {
  const { type, rollingUpdate } = spec.strategy ?? {};
  const path = "spec.strategy.rollingUpdate";
  if (type === "Recreate") {
    if (rollingUpdate) errors.forbidden(path, "may not be specified when strategy `type` is 'Recreate'");
  } else if (type === "RollingUpdate") {
    if (!rollingUpdate) {
      errors.required(path, "this should be defaulted and never be nil");
      return;
    }
    const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate;
    checkIntOrPercent(`${path}.maxUnavailable`, maxUnavailable, errors);
    checkIntOrPercent(`${path}.maxSurge`, maxSurge, errors);
    if (amountOf(maxUnavailable) === 0 && amountOf(maxSurge) === 0)
      errors.invalid(`${path}.maxUnavailable`, maxUnavailable, "may not be 0 when `maxSurge` is 0");
    checkAtMostAll(`${path}.maxUnavailable`, maxUnavailable, errors);
  } else errors.notSupported("spec.strategy", shownStrategy(spec.strategy), ["Recreate", "RollingUpdate"]);
}

const deploymentCounts = [
  "observedGeneration",
  "replicas",
  "updatedReplicas",
  "readyReplicas",
  "availableReplicas",
  "unavailableReplicas",
  "terminatingReplicas",
  "collisionCount",
] as const;

function checkDeploymentStatus(status: DeploymentStatus, errors: Errors): void {
  for (const field of deploymentCounts) checkNotNegative(`status.${field}`, status[field], errors);
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = status;
  for (const field of ["updatedReplicas", "readyReplicas", "availableReplicas"] as const) {
    const count = status[field] ?? 0;
    if (count > replicas) errors.invalid(`status.${field}`, count, "cannot be greater than status.replicas");
  }
  if (availableReplicas > readyReplicas)
    errors.invalid("status.availableReplicas", availableReplicas, "cannot be greater than readyReplicas");
}

const deploymentTemplate = (object: ApiObject) => (object as unknown as Deployment).spec?.template;

export const deployments: Strategy = {
  // Annotations are copied to replica sets, so changing one is work for the controller.
  generation: (object, old) =>
    !deepEqual(object.spec, old.spec) ||
    !deepEqual(object.metadata.annotations ?? {}, old.metadata.annotations ?? {}),
  prepareForCreate(draft) {
    draft.metadata.generation = 1;
  },
  validate: checking<Deployment>((deployment, errors) => checkDeployment(deployment, undefined, errors)),
  validateUpdate: checkingUpdate<Deployment>((deployment, old, errors) => {
    checkDeployment(deployment, old, errors);
    checkImmutable("spec.selector", deployment.spec?.selector, old.spec?.selector, errors);
  }),
  warningsOnCreate: (object) => [
    ...hostNameWarning(object.metadata.name),
    ...templateWarnings("spec.template", deploymentTemplate(object) as PodTemplateSpec),
  ],
  warningsOnUpdate: templateChanges("spec.template", deploymentTemplate),
  subresources: {
    status: {
      prepareForUpdate(draft, old) {
        const { labels } = old.metadata;
        if (labels) draft.metadata.labels = labels;
        else delete draft.metadata.labels;
      },
      validateUpdate: checkingUpdate<Deployment>((deployment, old, errors) => {
        checkDeploymentStatus(deployment.status ?? {}, errors);
        checkCollisions(deployment.status, old.status, errors);
      }),
    },
  },
};

// -------------------------------------------------------------------------------------- replica sets

function checkReplicaSet(set: ReplicaSet, old: ReplicaSet | undefined, errors: Errors): void {
  const spec = set.spec as ReplicaSetSpec;
  checkNotNegative("spec.replicas", spec.replicas, errors);
  checkNotNegative("spec.minReadySeconds", spec.minReadySeconds, errors);
  checkSelection(spec, "deployment", "invalid label selector", errors, (template) => {
    checkTemplate("spec.template", template, old?.spec?.template, errors);
    checkLastingTemplate("spec.template", template, "ReplicaSet", errors);
  });
}

const replicaSetTemplate = (object: ApiObject) => (object as unknown as ReplicaSet).spec?.template;

export const replicaSets: Strategy = {
  validate: checking<ReplicaSet>((set, errors) => checkReplicaSet(set, undefined, errors)),
  validateUpdate: checkingUpdate<ReplicaSet>((set, old, errors) => {
    checkReplicaSet(set, old, errors);
    checkImmutable("spec.selector", set.spec?.selector, old.spec?.selector, errors);
  }),
  warningsOnCreate: (object) => [
    ...hostNameWarning(object.metadata.name),
    ...templateWarnings("spec.template", replicaSetTemplate(object) as PodTemplateSpec),
  ],
  warningsOnUpdate: templateChanges("spec.template", replicaSetTemplate),
  subresources: {
    status: {
      validateUpdate: checkingUpdate<ReplicaSet>((set, _old, errors) =>
        checkReplicaCounts((set.status ?? {}) as Parameters<typeof checkReplicaCounts>[0], errors),
      ),
    },
  },
};

// --------------------------------------------------------------------------------------- daemon sets

function checkDaemonSet(set: DaemonSet, old: DaemonSet | undefined, errors: Errors): void {
  const spec = set.spec as DaemonSetSpec;
  const selector = spec.selector as Selector | undefined;
  const template = spec.template as PodTemplateSpec;
  checkSelector("spec.selector", selector, errors);
  const compiled = compileSelector(selector);
  if (compiled) checkSelects("spec.template", compiled, template, errors);
  if (selector && isEmptySelector(selector))
    errors.invalid("spec.selector", selector, "empty selector is invalid for daemonset");
  checkTemplate("spec.template", template, old?.spec?.template, errors);
  checkLastingTemplate("spec.template", template, "DaemonSet", errors);
  checkNotNegative("spec.minReadySeconds", spec.minReadySeconds, errors);
  checkDaemonSetStrategy(spec, errors);
  checkNotNegative("spec.revisionHistoryLimit", spec.revisionHistoryLimit, errors);
}

function checkDaemonSetStrategy(spec: DaemonSetSpec, errors: Errors): void {
  const { type, rollingUpdate } = spec.updateStrategy ?? {};
  if (type === "OnDelete") return;
  if (type !== "RollingUpdate") {
    errors.notSupported("spec.updateStrategy", shownStrategy(spec.updateStrategy), [
      "RollingUpdate",
      "OnDelete",
    ]);
    return;
  }
  const path = "spec.updateStrategy.rollingUpdate";
  if (!rollingUpdate) {
    errors.required(path);
    return;
  }
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate;
  checkIntOrPercent(`${path}.maxUnavailable`, maxUnavailable, errors);
  checkIntOrPercent(`${path}.maxSurge`, maxSurge, errors);
  checkAtMostAll(`${path}.maxUnavailable`, maxUnavailable, errors);
  checkAtMostAll(`${path}.maxSurge`, maxSurge, errors);
  const unavailable = amountOf(maxUnavailable) !== 0;
  const surge = amountOf(maxSurge) !== 0;
  if (unavailable && surge)
    errors.invalid(`${path}.maxSurge`, maxSurge, "may not be set when maxUnavailable is non-zero");
  else if (!unavailable && !surge)
    errors.required(`${path}.maxUnavailable`, "cannot be 0 when maxSurge is 0");
}

const daemonSetCounts = [
  "currentNumberScheduled",
  "numberMisscheduled",
  "desiredNumberScheduled",
  "numberReady",
  "observedGeneration",
  "updatedNumberScheduled",
  "numberAvailable",
  "numberUnavailable",
  "collisionCount",
] as const;

export const templateGeneration = "deprecated.daemonset.template.generation";

function setTemplateGeneration(object: ApiObject, generation: number): void {
  object.metadata.annotations = { ...object.metadata.annotations, [templateGeneration]: String(generation) };
}

const daemonSetTemplate = (object: ApiObject) => (object as unknown as DaemonSet).spec?.template;

export const daemonSets: Strategy = {
  prepareForCreate(draft) {
    const given = Number(draft.metadata.annotations?.[templateGeneration] ?? 0);
    setTemplateGeneration(draft, Math.max(given, 1));
  },
  prepareForUpdate(draft, old) {
    const before = Number(old.metadata.annotations?.[templateGeneration] ?? 1);
    const changed = !deepEqual(daemonSetTemplate(draft), daemonSetTemplate(old));
    setTemplateGeneration(draft, changed ? before + 1 : before);
  },
  validate: checking<DaemonSet>((set, errors) => checkDaemonSet(set, undefined, errors)),
  validateUpdate: checkingUpdate<DaemonSet>((set, old, errors) => {
    checkImmutable("spec.selector", set.spec?.selector, old.spec?.selector, errors);
    checkDaemonSet(set, old, errors);
  }),
  warningsOnCreate: (object) =>
    templateWarnings("spec.template", daemonSetTemplate(object) as PodTemplateSpec),
  warningsOnUpdate: (object, old) =>
    deepEqual(daemonSetTemplate(object), daemonSetTemplate(old))
      ? []
      : templateWarnings("spec.template", daemonSetTemplate(object) as PodTemplateSpec),
  subresources: {
    status: {
      // The number was part of the spec once, and still behaves so.
      prepareForUpdate(draft, old) {
        setTemplateGeneration(draft, Number(old.metadata.annotations?.[templateGeneration] ?? 1));
      },
      validateUpdate: checkingUpdate<DaemonSet>((set, old, errors) => {
        for (const field of daemonSetCounts) checkNotNegative(`status.${field}`, set.status?.[field], errors);
        checkCollisions(set.status, old.status, errors);
      }),
    },
  },
};
