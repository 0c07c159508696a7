/** The few fields of a pod that may change. */
import { deepEqual } from "@keelson/core";
import type { Container, NodeAffinity, NodeSelectorTerm, PodSpec } from "@keelson/core/kinds";
import type { Errors } from "../checks/errors.ts";
import { rangeError } from "../checks/formats.ts";
import { checkAddedTolerations, checkRemovedGates } from "./scheduling.ts";

const maxInt32 = 2 ** 31 - 1;
const updatable = [
  "`spec.containers[*].image`",
  "`spec.initContainers[*].image`",
  "`spec.activeDeadlineSeconds`",
  "`spec.tolerations` (only additions to existing tolerations)",
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
].join(",");

export function checkPodUpdate(spec: PodSpec, old: PodSpec, errors: Errors): void {
  if (!checkSameContainers("spec.containers", spec.containers ?? [], old.containers, errors)) return;
  if (!checkSameContainers("spec.initContainers", spec.initContainers, old.initContainers, errors)) return;
  if (!checkDeadline(spec, old, errors)) return;
  checkAddedTolerations("spec.tolerations", spec.tolerations ?? [], old.tolerations ?? [], errors);
  checkRemovedGates("spec.schedulingGates", spec.schedulingGates ?? [], old.schedulingGates ?? [], errors);
  if (deepEqual(spec, old)) return;
  const munged: PodSpec = { ...spec, containers: withImages(spec.containers, old.containers) ?? [] };
  take(munged, "initContainers", withImages(spec.initContainers, old.initContainers));
  take(munged, "activeDeadlineSeconds", old.activeDeadlineSeconds);
  take(munged, "schedulingGates", old.schedulingGates);
  take(munged, "tolerations", old.tolerations);
  if ((old.terminationGracePeriodSeconds ?? 0) < 0 && munged.terminationGracePeriodSeconds === 1)
    take(munged, "terminationGracePeriodSeconds", old.terminationGracePeriodSeconds);
  if (old.schedulingGates?.length) checkGatedChanges(munged, old, errors);
  if (!deepEqual(munged, old))
    errors.forbidden("spec", `pod updates may not change fields other than ${updatable}\n`);
}

function take<K extends keyof PodSpec>(spec: PodSpec, field: K, value: PodSpec[K] | undefined): void {
  if (value === undefined) delete spec[field];
  else spec[field] = value;
}

function checkSameContainers(
  path: string,
  containers: readonly Container[] = [],
  old: readonly Container[] = [],
  errors: Errors,
): boolean {
  if (containers.length !== old.length) {
    errors.forbidden(path, "pod updates may not add or remove containers");
    return false;
  }
  for (const [i, { image = "" }] of containers.entries()) {
    if (!image) errors.required(`${path}[${i}].image`);
    if (image.trim() !== image)
      errors.invalid(`${path}[${i}].image`, image, "must not have leading or trailing whitespace");
  }
  return true;
}

function checkDeadline(spec: PodSpec, old: PodSpec, errors: Errors): boolean {
  const path = "spec.activeDeadlineSeconds";
  const { activeDeadlineSeconds: deadline } = spec;
  const before = old.activeDeadlineSeconds;
  if (deadline === undefined) {
    if (before !== undefined)
      errors.invalid(path, null, "must not update from a positive integer to nil value");
    return true;
  }
  if (deadline < 0 || deadline > maxInt32) {
    errors.invalid(path, deadline, rangeError(0, maxInt32));
    return false;
  }
  if (before !== undefined && before < deadline) {
    errors.invalid(path, deadline, "must be less than or equal to previous value");
    return false;
  }
  return true;
}

function withImages(
  containers: Container[] | undefined,
  old: Container[] | undefined,
): Container[] | undefined {
  return containers?.map((container, i) => {
    const image = old?.[i]?.image;
    const { image: _, ...rest } = container;
    return image === undefined ? rest : { ...rest, image };
  });
}

/** A pod that waits at a gate may be narrowed down. */
function checkGatedChanges(munged: PodSpec, old: PodSpec, errors: Errors): void {
  if (!deepEqual(munged.nodeSelector, old.nodeSelector)) {
    const after = munged.nodeSelector ?? {};
    if (Object.entries(old.nodeSelector ?? {}).some(([key, value]) => after[key] !== value))
      errors.invalid(
        "spec.nodeSelector",
        after,
        "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
      );
    take(munged, "nodeSelector", old.nodeSelector);
  }
  const before = old.affinity?.nodeAffinity;
  if (deepEqual(munged.affinity?.nodeAffinity, before)) return;
  checkNodeAffinityAdditions(munged.affinity?.nodeAffinity, before, errors);
  const { nodeAffinity: _, ...others } = munged.affinity ?? {};
  const affinity = { ...others, ...(before && { nodeAffinity: before }) };
  take(munged, "affinity", !old.affinity && Object.keys(affinity).length === 0 ? undefined : affinity);
}

function checkNodeAffinityAdditions(
  affinity: NodeAffinity | undefined,
  old: NodeAffinity | undefined,
  errors: Errors,
): void {
  const path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
  const before = old?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const after = affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  if (before.length === 0) return;
  if (before.length !== after.length) {
    errors.invalid(path, after, "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
    return;
  }
  for (const [i, term] of before.entries())
    if (!onlyAdds(after[i] as NodeSelectorTerm, term))
      errors.invalid(`${path}[${i}]`, after[i], "only additions are allowed (no mutations or deletions)");
}

function onlyAdds(term: NodeSelectorTerm, old: NodeSelectorTerm): boolean {
  const lists = ["matchExpressions", "matchFields"] as const;
  if (lists.every((list) => !old[list]?.length)) return lists.every((list) => !term[list]?.length);
  return lists.every((list) => {
    const before = old[list] ?? [];
    return deepEqual((term[list] ?? []).slice(0, before.length), before);
  });
}
