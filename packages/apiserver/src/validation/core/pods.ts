/** The rules of pods. */
import { deepCopy, deepEqual, formatTime, type JsonObject, validateDns1123Label } from "@keelson/core";
import type {
  LabelSelector,
  Pod,
  PodAffinityTerm,
  PodCondition,
  PodSpec,
  PodStatus,
} from "@keelson/core/kinds";
import { qosClassOf } from "@keelson/workloads";
import { nearestNumber } from "../../contracts/numbers.ts";
import type { ApiObject } from "../../contracts/object.ts";
import type { Strategy, StrategyContext } from "../../contracts/strategy.ts";
import { addressWarnings } from "../checks/addresses.ts";
import { Errors } from "../checks/errors.ts";
import { isEmpty } from "../checks/strategies.ts";
import { allContainers, visitContainers } from "./all-containers.ts";
import {
  appArmorContainer,
  checkAnnotationChanges,
  checkPodAnnotations,
  seccompContainer,
  seccompPod,
} from "./annotations.ts";
import { checkImagePadding } from "./containers.ts";
import { checkResize, keepAllButResources } from "./pod-resize.ts";
import { checkPodSpec, type PodRules, podRules } from "./pod-spec.ts";
import { checkPodStatus } from "./pod-status.ts";
import { checkPodUpdate } from "./pod-update.ts";
import { checkAppArmor } from "./security-context.ts";
import { appArmorField, podWarnings } from "./warnings.ts";

type StoredPod = ApiObject & { spec: JsonObject };

const specOf = (object: ApiObject): PodSpec => (object as unknown as Pod).spec as PodSpec;

export function checkMetadataAndSpec(object: ApiObject, rules: PodRules, errors: Errors): void {
  const spec = specOf(object);
  checkPodAnnotations("metadata.annotations", object.metadata.annotations, spec, errors);
  checkPodSpec("spec", spec, object.metadata, rules, errors);
  if (!spec.serviceAccountName)
    for (const [i, { projected }] of (spec.volumes ?? []).entries())
      for (const [j, source] of (projected?.sources ?? []).entries())
        if (source.serviceAccountToken)
          errors.forbidden(
            `spec.volumes[${i}].projected.sources[${j}].serviceAccountToken`,
            "must not be specified when serviceAccountName is not set",
          );
  for (const [i, container] of (spec.containers ?? []).entries())
    checkImagePadding(`spec.containers[${i}]`, container, errors);
  for (const [i, container] of (spec.initContainers ?? []).entries())
    checkImagePadding(`spec.initContainers[${i}]`, container, errors);
}

function prepareForCreate(object: ApiObject, context: StrategyContext): void {
  const pod = object as unknown as Pod;
  const spec = specOf(object);
  dropDisabled(spec);
  const status: PodStatus = { phase: "Pending", qosClass: qosClassOf(spec) };
  if (spec.schedulingGates?.length)
    status.conditions = [
      {
        type: "PodScheduled",
        status: "False",
        lastProbeTime: null,
        lastTransitionTime: formatTime(context.clock.now()),
        reason: "SchedulingGated",
        message: "Scheduling is blocked due to non-empty scheduling gates",
      } as unknown as PodCondition,
    ];
  pod.status = status;
  mergeMatchLabelKeys(spec, object.metadata.labels ?? {});
  appArmorFromAnnotations(object);
}

/** Fields of features that are off by default are not kept. */
function dropDisabled(spec: PodSpec): void {
  delete (spec as JsonObject & PodSpec).schedulingGroup;
  for (const container of allContainers(spec)) {
    if (container.lifecycle?.stopSignal === undefined) continue;
    delete container.lifecycle.stopSignal;
    if (isEmpty(container.lifecycle)) delete container.lifecycle;
  }
  for (const volume of spec.volumes ?? [])
    for (const source of volume.projected?.sources ?? []) {
      delete source.clusterTrustBundle;
      delete source.podCertificate;
    }
}

/** Label keys to match are written into the selector, with the values of the pod. */
function mergeMatchLabelKeys(spec: PodSpec, labels: Readonly<Record<string, string>>): void {
  const merge = (
    selector: LabelSelector | undefined,
    keys: readonly string[] | undefined,
    operator: "In" | "NotIn",
  ) => {
    if (!selector || !keys?.length) return;
    for (const key of keys) {
      const value = labels[key];
      if (value === undefined) continue;
      selector.matchExpressions ??= [];
      selector.matchExpressions.push({ key, operator, values: [value] });
    }
  };
  const mergeTerm = (term: PodAffinityTerm | undefined) => {
    merge(term?.labelSelector, term?.matchLabelKeys, "In");
    merge(term?.labelSelector, term?.mismatchLabelKeys, "NotIn");
  };
  for (const affinity of [spec.affinity?.podAffinity, spec.affinity?.podAntiAffinity]) {
    for (const term of affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [])
      mergeTerm(term.podAffinityTerm);
    for (const term of affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []) mergeTerm(term);
  }
  for (const constraint of spec.topologySpreadConstraints ?? [])
    merge(constraint.labelSelector, constraint.matchLabelKeys, "In");
}

function appArmorFromAnnotations(object: ApiObject): void {
  const { annotations } = object.metadata;
  const spec = specOf(object);
  if (!annotations || spec.os?.name === "windows") return;
  for (const container of allContainers(spec)) {
    const annotation = annotations[appArmorContainer + container.name];
    if (annotation === undefined || container.securityContext?.appArmorProfile) continue;
    const profile = usableProfile(annotation);
    if (!profile || deepEqual(profile, spec.securityContext?.appArmorProfile)) continue;
    container.securityContext ??= {};
    container.securityContext.appArmorProfile = profile;
  }
}

function usableProfile(annotation: string) {
  const profile = appArmorField(annotation);
  const errors = new Errors();
  checkAppArmor("", profile, errors);
  return errors.list.length === 0 ? profile : undefined;
}

function validateCreate(object: ApiObject): Errors["list"] {
  const errors = new Errors();
  const spec = specOf(object);
  checkMetadataAndSpec(object, podRules(true, undefined), errors);
  if (spec.ephemeralContainers?.length)
    errors.forbidden("spec.ephemeralContainers", "cannot be set on create");
  if (spec.nodeName && spec.schedulingGates?.length)
    errors.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared");
  checkProfilesMatch(object, errors);
  return errors.list;
}

/** Where both an annotation and a field name a profile, they must name the same. */
function checkProfilesMatch(object: ApiObject, errors: Errors): void {
  const { annotations } = object.metadata;
  if (!annotations) return;
  const spec = specOf(object);
  const same = (
    path: string,
    annotation: string | undefined,
    profile: { type: string; localhostProfile?: string } | undefined,
    what: string,
  ) => {
    if (annotation === undefined || !profile) return;
    const expected = { Unconfined: ["unconfined"], RuntimeDefault: ["runtime/default", "docker/default"] };
    if (profile.type === "Localhost") {
      if (!annotation.startsWith("localhost/"))
        errors.forbidden(`${path}.type`, `${what} type in annotation and field must match`);
      else if (annotation.slice("localhost/".length) !== profile.localhostProfile)
        errors.forbidden(`${path}.localhostProfile`, `${what} profile in annotation and field must match`);
    } else if (!expected[profile.type as keyof typeof expected]?.includes(annotation))
      errors.forbidden(`${path}.type`, `${what} type in annotation and field must match`);
  };
  const podContext = spec.securityContext;
  same("spec.securityContext.seccompProfile", annotations[seccompPod], podContext?.seccompProfile, "seccomp");
  visitContainers(spec, "spec", ({ name, securityContext }, path) =>
    same(
      `${path}.securityContext.seccompProfile`,
      annotations[seccompContainer + name],
      securityContext?.seccompProfile,
      "seccomp",
    ),
  );
  if (spec.os?.name === "windows") return;
  visitContainers(spec, "spec", ({ name, securityContext }, path) =>
    same(
      `${path}.securityContext.appArmorProfile`,
      annotations[appArmorContainer + name],
      securityContext?.appArmorProfile ?? podContext?.appArmorProfile,
      "apparmor",
    ),
  );
}

function createWarnings(object: ApiObject): string[] {
  const warnings: string[] = [];
  const problems = validateDns1123Label(object.metadata.name);
  if (problems.length > 0)
    warnings.push(
      `metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [${problems.join(" ")}]`,
    );
  const { annotations } = object.metadata;
  for (const key in annotations)
    if (key.startsWith(appArmorContainer))
      warnings.push(
        `metadata.annotations[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`,
      );
  warnings.push(...podWarnings("", specOf(object), object.metadata));
  return warnings;
}

function bumpGeneration(draft: ApiObject, old: ApiObject): void {
  if (!deepEqual(draft.spec, old.spec)) draft.metadata.generation = (old.metadata.generation ?? 0) + 1;
}

/** What a subresource of the spec keeps of metadata. */
function keepMetadata(draft: ApiObject, old: ApiObject): void {
  for (const field of ["labels", "annotations", "finalizers", "ownerReferences"] as const) {
    const value = old.metadata[field];
    if (value === undefined) delete draft.metadata[field];
    else draft.metadata[field] = value as never;
  }
}

/** A pod that runs nowhere, or is finished, needs no grace. */
function gracePeriod(pod: ApiObject, requested: number | undefined): number {
  const spec = specOf(pod);
  const { phase } = (pod as unknown as Pod).status ?? {};
  if (!spec.nodeName || phase === "Failed" || phase === "Succeeded") return 0;
  const period = requested ?? nearestNumber(spec.terminationGracePeriodSeconds ?? 0);
  return period < 0 ? 1 : period;
}

export const pods: Strategy = {
  prepareForCreate,
  prepareForUpdate(draft, old) {
    dropDisabled(specOf(draft));
    if (old.status !== undefined) draft.status = old.status;
  },
  validate: validateCreate,
  validateUpdate(object, old) {
    const errors = new Errors();
    const rules = podRules(true, specOf(old));
    checkMetadataAndSpec(object, rules, errors);
    checkAnnotationChanges("metadata.annotations", object.metadata, old.metadata, errors);
    checkPodAnnotations("metadata.annotations", object.metadata.annotations, specOf(object), errors);
    checkPodUpdate(specOf(object), specOf(old), errors);
    return errors.list;
  },
  warningsOnCreate: createWarnings,
  gracePeriod,
  subresources: {
    status: {
      prepareForUpdate(draft, old) {
        const owners = old.metadata.ownerReferences;
        if (owners === undefined) delete draft.metadata.ownerReferences;
        else draft.metadata.ownerReferences = owners;
        keepObserved(draft as StoredPod, old as StoredPod);
      },
      validateUpdate(object, old) {
        const errors = new Errors();
        checkAnnotationChanges("metadata.annotations", object.metadata, old.metadata, errors);
        checkPodAnnotations("metadata.annotations", object.metadata.annotations, specOf(object), errors);
        checkPodStatus(object as unknown as Pod, old as unknown as Pod, errors);
        return errors.list;
      },
      warningsOnUpdate(object) {
        const { podIPs = [], hostIPs = [] } = (object as unknown as Pod).status ?? {};
        return [
          ...podIPs.flatMap(({ ip }, i) => addressWarnings(`status.podIPs[${i}].ip`, ip)),
          ...hostIPs.flatMap(({ ip }, i) => addressWarnings(`status.hostIPs[${i}].ip`, ip)),
        ];
      },
    },
    ephemeralcontainers: {
      prepareForUpdate(draft, old) {
        const { ephemeralContainers } = specOf(draft);
        keepMetadata(draft, old);
        draft.spec = deepCopy(old.spec) as JsonObject;
        const spec = specOf(draft);
        if (ephemeralContainers) spec.ephemeralContainers = ephemeralContainers;
        else delete spec.ephemeralContainers;
        if (old.status !== undefined) draft.status = old.status;
        bumpGeneration(draft, old);
      },
      validateUpdate(object, old) {
        const errors = new Errors();
        checkMetadataAndSpec(object, podRules(true, specOf(old)), errors);
        if (old.metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined) {
          const refused = new Errors();
          refused.forbidden("", "static pods do not support ephemeral containers");
          return refused.list;
        }
        const now = new Map(
          (specOf(object).ephemeralContainers ?? []).map((container) => [container.name, container]),
        );
        for (const container of specOf(old).ephemeralContainers ?? []) {
          const next = now.get(container.name);
          const name = JSON.stringify(container.name);
          if (!next)
            errors.forbidden(
              "spec.ephemeralContainers",
              `existing ephemeral containers ${name} may not be removed\n`,
            );
          else if (!deepEqual(next, container))
            errors.forbidden(
              "spec.ephemeralContainers",
              `existing ephemeral containers ${name} may not be changed\n`,
            );
        }
        return errors.list;
      },
    },
    resize: {
      prepareForUpdate(draft, old) {
        keepAllButResources(draft, old);
        keepMetadata(draft, old);
        bumpGeneration(draft, old);
      },
      validateUpdate(object, old) {
        const errors = new Errors();
        checkMetadataAndSpec(object, podRules(true, specOf(old)), errors);
        return checkResize(object as unknown as Pod, old as unknown as Pod, errors).list;
      },
    },
  },
};

/** What a kubelet does not say about generations it leaves as it was. */
function keepObserved(draft: StoredPod, old: StoredPod): void {
  const status = (draft as unknown as Pod).status;
  const before = (old as unknown as Pod).status;
  if (!status) return;
  if (!status.qosClass && before?.qosClass) status.qosClass = before.qosClass;
  if (!status.observedGeneration && before?.observedGeneration)
    status.observedGeneration = before.observedGeneration;
  const known = [...(before?.conditions ?? [])];
  for (const condition of status.conditions ?? []) {
    const i = known.findIndex(({ type }) => type === condition.type);
    const [match] = i >= 0 ? known.splice(i, 1) : [];
    if (!condition.observedGeneration && match?.observedGeneration)
      condition.observedGeneration = match.observedGeneration;
  }
}
