/** Stateful sets and controller revisions. */
import { deepEqual, validateDns1123Label } from "@keelson/core";
import type {
  ControllerRevision,
  PodSpec,
  PodTemplateSpec,
  StatefulSet,
  StatefulSetSpec,
  StatefulSetStatus,
} from "@keelson/core/kinds";
import type { ApiObject } from "../../contracts/object.ts";
import type { Strategy } from "../../contracts/strategy.ts";
import { validateAnnotations } from "../../registry/metadata.ts";
import { Errors, inGo } from "../checks/errors.ts";
import { amountOf, checkAtMostAll, checkIntOrPercent } from "../checks/percentages.ts";
import { checkLabels } from "../checks/selectors.ts";
import {
  checkImmutable,
  checking,
  checkingUpdate,
  checkNotNegative,
  labelNames,
} from "../checks/strategies.ts";
import { checkPodAnnotations } from "../core/annotations.ts";
import { checkClaimSpec } from "../core/claim-spec.ts";
import { checkTemplate, templateWarnings } from "../core/templates.ts";
import { claimSpecWarnings } from "../core/warnings.ts";
import { checkCollisions, checkSelection } from "./workloads.ts";

interface SetRules {
  readonly update: boolean;
  /** The stored template would be refused today; it stays accepted. */
  readonly skipTemplate: boolean;
}

function checkSpec(
  spec: StatefulSetSpec,
  old: StatefulSetSpec | undefined,
  rules: SetRules,
  errors: Errors,
): void {
  const policy = spec.podManagementPolicy;
  if (!policy) errors.required("spec.podManagementPolicy");
  else if (policy !== "OrderedReady" && policy !== "Parallel")
    errors.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'");
  checkStrategy(spec, errors);
  for (const field of ["whenDeleted", "whenScaled"] as const) {
    const value: string = spec.persistentVolumeClaimRetentionPolicy?.[field] ?? "";
    if (spec.persistentVolumeClaimRetentionPolicy && value !== "Retain" && value !== "Delete")
      errors.notSupported(`spec.persistentVolumeClaimRetentionPolicy.${field}`, value, ["Retain", "Delete"]);
  }
  if (!rules.update)
    for (const [i, claim] of (spec.volumeClaimTemplates ?? []).entries())
      checkClaimSpec(`spec.volumeClaimTemplates[${i}].spec`, claim.spec ?? {}, errors);
  checkNotNegative("spec.replicas", spec.replicas, errors);
  checkNotNegative("spec.minReadySeconds", spec.minReadySeconds, errors);
  checkNotNegative("spec.ordinals.start", spec.ordinals?.start, errors);
  if (!rules.update && spec.serviceName)
    errors.messages("spec.serviceName", spec.serviceName, validateDns1123Label(spec.serviceName));
  checkSelection(spec, "statefulset", "", errors, (template) => {
    const effective = withClaims(spec, template);
    if (!rules.skipTemplate) checkTemplate("spec.template", effective, old?.template, errors);
    // Labels and annotations of the template are looked at twice.
    const annotations = template.metadata?.annotations;
    checkLabels("spec.template.labels", template.metadata?.labels, errors);
    if (annotations) errors.add(validateAnnotations(annotations, "spec.template.annotations"));
    checkPodAnnotations("spec.template.annotations", annotations, template.spec as PodSpec, errors);
  });
  const { restartPolicy = "", activeDeadlineSeconds } = spec.template?.spec ?? ({} as PodSpec);
  if (restartPolicy !== "Always")
    errors.notSupported("spec.template.spec.restartPolicy", restartPolicy, ["Always"]);
  if (activeDeadlineSeconds !== undefined)
    errors.forbidden(
      "spec.template.spec.activeDeadlineSeconds",
      "activeDeadlineSeconds in StatefulSet is not Supported",
    );
}

/** The template as its pods will be: claims are volumes, host names are the controller's. */
function withClaims(spec: StatefulSetSpec, template: PodTemplateSpec): PodTemplateSpec {
  const { subdomain: _, hostname: __, ...rest } = template.spec as PodSpec;
  const claims = (spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata?.name ?? "");
  if (claims.length === 0) return { ...template, spec: rest };
  const own = [...new Set(claims)].map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  const others = (rest.volumes ?? []).filter(({ name }) => !claims.includes(name));
  return { ...template, spec: { ...rest, volumes: [...own, ...others] } };
}

function checkStrategy(spec: StatefulSetSpec, errors: Errors): void {
  const { type, rollingUpdate } = spec.updateStrategy ?? {};
  const path = "spec.updateStrategy.rollingUpdate";
  if (!type) errors.required("spec.updateStrategy");
  else if (type === "OnDelete") {
    if (rollingUpdate) errors.invalid(path, rollingUpdate, "only allowed for updateStrategy 'RollingUpdate'");
  } else if (type === "RollingUpdate") {
    if (!rollingUpdate) return;
    checkNotNegative(`${path}.partition`, rollingUpdate.partition, errors);
    const { maxUnavailable } = rollingUpdate;
    if (maxUnavailable === undefined) return;
    checkIntOrPercent(`${path}.maxUnavailable`, maxUnavailable, errors);
    if (amountOf(maxUnavailable) === 0)
      errors.invalid(`${path}.maxUnavailable`, maxUnavailable, "cannot be 0");
    checkAtMostAll(`${path}.maxUnavailable`, maxUnavailable, errors);
  } else
    errors.invalid(
      "spec.updateStrategy",
      { Type: type, RollingUpdate: inGo(rollingUpdate, "partition", "maxUnavailable") },
      "must be 'RollingUpdate' or 'OnDelete'",
    );
}

const mutable = [
  "replicas",
  "template",
  "updateStrategy",
  "minReadySeconds",
  "ordinals",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
] as const;

function fixedParts(spec: StatefulSetSpec): object {
  const rest: Partial<StatefulSetSpec> = { ...spec };
  for (const field of mutable) delete rest[field];
  return rest;
}

function checkUpdate(set: StatefulSet, old: StatefulSet, errors: Errors): void {
  const spec = set.spec as StatefulSetSpec;
  const before = old.spec as StatefulSetSpec;
  const stored = new Errors();
  checkSpec(before, before, { update: true, skipTemplate: false }, stored);
  checkSpec(spec, before, { update: true, skipTemplate: stored.list.length > 0 }, errors);
  if (!deepEqual(fixedParts(spec), fixedParts(before)))
    errors.forbidden(
      "spec",
      "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    );
}

const counts = [
  "replicas",
  "readyReplicas",
  "currentReplicas",
  "updatedReplicas",
  "availableReplicas",
  "observedGeneration",
  "collisionCount",
] as const;

function checkStatus(status: StatefulSetStatus, errors: Errors): void {
  for (const field of counts) checkNotNegative(`status.${field}`, status[field], errors);
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = status;
  for (const field of ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"] as const) {
    const count = status[field] ?? 0;
    if (count > replicas) errors.invalid(`status.${field}`, count, "cannot be greater than status.replicas");
  }
  if (availableReplicas > readyReplicas)
    errors.invalid(
      "status.availableReplicas",
      availableReplicas,
      "cannot be greater than status.readyReplicas",
    );
}

function dropDisabled(object: ApiObject): void {
  const rolling = (object as unknown as StatefulSet).spec?.updateStrategy?.rollingUpdate;
  // The feature is off by default.
  if (rolling) delete rolling.maxUnavailable;
}

function warnings(object: ApiObject, suffix: string): string[] {
  const spec = (object as unknown as StatefulSet).spec as StatefulSetSpec;
  const found: string[] = [];
  for (const [i, claim] of (spec.volumeClaimTemplates ?? []).entries())
    found.push(...claimSpecWarnings(`spec.volumeClaimTemplates[${i}]${suffix}`, claim.spec ?? {}));
  if ((spec.revisionHistoryLimit ?? 0) < 0)
    found.push(
      "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
    );
  return found;
}

const templateOf = (object: ApiObject) =>
  (object as unknown as StatefulSet).spec?.template as PodTemplateSpec;

export const statefulSets: Strategy = {
  validateName: labelNames,
  prepareForCreate: (draft) => dropDisabled(draft),
  prepareForUpdate: (draft) => dropDisabled(draft),
  validate: checking<StatefulSet>((set, errors) =>
    checkSpec(set.spec as StatefulSetSpec, undefined, { update: false, skipTemplate: false }, errors),
  ),
  validateUpdate: checkingUpdate(checkUpdate),
  warningsOnCreate: (object) => [
    ...templateWarnings("spec.template", templateOf(object)),
    ...warnings(object, ""),
  ],
  warningsOnUpdate: (object, old) => [
    ...(object.metadata.generation === old.metadata.generation
      ? []
      : templateWarnings("spec.template", templateOf(object))),
    ...warnings(object, ".Spec"),
  ],
  subresources: {
    status: {
      validateUpdate: checkingUpdate<StatefulSet>((set, old, errors) => {
        checkStatus((set.status ?? {}) as StatefulSetStatus, errors);
        checkCollisions(set.status, old.status, errors);
      }),
    },
  },
};

export const controllerRevisions: Strategy = {
  validate: checking<ControllerRevision>((revision, errors) => {
    checkNotNegative("revision", revision.revision, errors);
    const data: unknown = revision.data;
    if (data === undefined || data === null) errors.required("data", "data is mandatory");
    else if (typeof data !== "object" || Array.isArray(data))
      errors.required("data", "data must be a valid JSON object");
  }),
  validateUpdate: checkingUpdate<ControllerRevision>((revision, old, errors) => {
    checkNotNegative("revision", revision.revision, errors);
    checkImmutable("data", revision.data, old.data, errors);
  }),
};
