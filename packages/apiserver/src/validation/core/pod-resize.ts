/** `pods/resize`: cpu and memory of running containers. */
import { deepCopy, deepEqual, type JsonObject } from "@keelson/core";
import type { Container, Pod, PodSpec, ResourceRequirements } from "@keelson/core/kinds";
import { qosClassOf } from "@keelson/workloads";
import type { ApiObject } from "../../contracts/object.ts";
import { Errors } from "../checks/errors.ts";
import { mirrorAnnotation } from "./annotations.ts";

type List = Record<string, string | number> | undefined;

/** Takes resources and resize policies from the draft, everything else from the stored pod. */
export function keepAllButResources(draft: ApiObject, old: ApiObject): void {
  const spec = (draft as unknown as Pod).spec as PodSpec;
  const before = (old as unknown as Pod).spec as PodSpec;
  const count = (list: readonly Container[] | undefined) => list?.length ?? 0;
  if (
    count(spec.containers) !== count(before.containers) ||
    count(spec.initContainers) !== count(before.initContainers)
  )
    return;
  const next: PodSpec = deepCopy(before);
  const containers = merged(spec.containers, before.containers);
  const initContainers = merged(spec.initContainers, before.initContainers);
  if (containers) next.containers = containers;
  if (initContainers) next.initContainers = initContainers;
  if (spec.resources) next.resources = spec.resources;
  else delete next.resources;
  draft.spec = next as unknown as JsonObject;
  if (old.status !== undefined) draft.status = old.status;
}

function merged(containers: Container[] | undefined, old: Container[] | undefined): Container[] | undefined {
  if (!containers || !old) return containers;
  if (containers.some(({ name }, i) => name !== old[i]?.name)) return containers;
  return old.map((container, i) => {
    const { resources, resizePolicy } = containers[i] as Container;
    const next: Container = deepCopy(container);
    if (resources) next.resources = resources;
    if (resizePolicy) next.resizePolicy = resizePolicy;
    else delete next.resizePolicy;
    return next;
  });
}

export function checkResize(pod: Pod, old: Pod, errors: Errors): Errors {
  const refuse = (what: string) => {
    const refused = new Errors();
    refused.forbidden("", what);
    return refused;
  };
  const spec = pod.spec as PodSpec;
  const before = old.spec as PodSpec;
  if (old.metadata?.annotations?.[mirrorAnnotation] !== undefined)
    return refuse("static pods cannot be resized");
  if (before.os?.name === "windows") return refuse("windows pods cannot be resized");
  if ((old.status?.qosClass ?? qosClassOf(before)) !== qosClassOf(spec))
    errors.invalid(
      "spec",
      pod.status?.qosClass ?? "",
      "Pod QOS Class may not change as a result of resizing",
    );
  const running = (old.status?.containerStatuses ?? []).find(({ state }) => state?.running);
  if (running && !running.resources)
    errors.forbidden("spec", "Pod running on node without support for resize");
  const munged: PodSpec = deepCopy(spec);
  if (hasAny(before.resources) || hasAny(spec.resources)) checkPodLevel(munged, spec, before, errors);
  if (!sameOrder("containers", spec, before, errors) || !sameOrder("initContainers", spec, before, errors))
    return errors;
  for (const field of ["initContainers", "containers"] as const)
    for (const [i, container] of (before[field] ?? []).entries())
      checkRemoved(`spec.${field}[${i}].resources`, spec[field]?.[i]?.resources, container.resources, errors);
  for (const [i, container] of (munged.containers ?? []).entries()) {
    container.resources = withoutComputes(container.resources, before.containers?.[i]?.resources);
    if (!deepEqual(container, before.containers?.[i]))
      errors.forbidden("spec", "only cpu and memory resources are mutable");
  }
  for (const [i, container] of (munged.initContainers ?? []).entries()) {
    const own = before.initContainers?.[i];
    const changed = !deepEqual(container, own);
    container.resources = withoutComputes(container.resources, own?.resources);
    const at = `spec.initContainers[${i}]`;
    if (!deepEqual(container, own))
      errors.forbidden(at, "only cpu and memory resources for init or sidecar containers are mutable");
    if (changed && container.restartPolicy !== "Always")
      for (const { restartPolicy } of container.resizePolicy ?? [])
        if (restartPolicy === "RestartContainer")
          errors.forbidden(
            at,
            "non-sidecar init containers with a resize policy of RestartContainer cannot be resized",
          );
  }
  if (errors.list.length === 0 && !deepEqual(munged, before))
    errors.forbidden("spec", "only cpu and memory resources are mutable");
  return errors;
}

function hasAny(resources: ResourceRequirements | undefined): boolean {
  return Object.keys(resources?.requests ?? {}).length + Object.keys(resources?.limits ?? {}).length > 0;
}

function checkPodLevel(munged: PodSpec, spec: PodSpec, before: PodSpec, errors: Errors): void {
  if (before.resources && !spec.resources) {
    errors.forbidden("spec.resources", "pod-level resources cannot be removed");
    return;
  }
  if (before.resources) {
    for (const field of ["requests", "limits"] as const)
      if (removes(spec.resources?.[field], before.resources[field]))
        errors.forbidden(`spec.resources.${field}`, `pod-level resource ${field} cannot be removed`);
  }
  const own = withoutComputes(munged.resources, before.resources);
  if (!before.resources && Object.keys(own).length === 0) delete munged.resources;
  else munged.resources = own;
  if (!deepEqual(munged.resources, before.resources))
    errors.forbidden("spec", "only cpu and memory resources are mutable at pod-level");
}

function sameOrder(
  field: "containers" | "initContainers",
  spec: PodSpec,
  before: PodSpec,
  errors: Errors,
): boolean {
  const now = spec[field] ?? [];
  const old = before[field] ?? [];
  if (now.length !== old.length) {
    errors.forbidden(`spec.${field}`, `${field} may not be added or removed on resize`);
    return false;
  }
  let same = true;
  for (const [i, { name }] of old.entries())
    if (now[i]?.name !== name) {
      errors.forbidden(`spec.${field}[${i}].name`, `${field} may not be renamed or reordered on resize`);
      same = false;
    }
  return same;
}

function checkRemoved(
  path: string,
  now: ResourceRequirements | undefined,
  old: ResourceRequirements | undefined,
  errors: Errors,
): void {
  for (const field of ["requests", "limits"] as const)
    if (removes(now?.[field], old?.[field]))
      errors.forbidden(`${path}.${field}`, `resource ${field} cannot be removed`);
}

function removes(now: List, old: List): boolean {
  return Object.keys(old ?? {}).some((name) => now?.[name] === undefined);
}

/** The new resources with the old amounts of cpu and memory. */
function withoutComputes(
  now: ResourceRequirements | undefined,
  old: ResourceRequirements | undefined,
): ResourceRequirements {
  const out: ResourceRequirements = {};
  for (const field of ["limits", "requests"] as const) {
    const { cpu: _cpu, memory: _memory, ...rest } = now?.[field] ?? {};
    const list: Record<string, string | number> = { ...rest };
    for (const name of ["cpu", "memory"]) {
      const amount = old?.[field]?.[name];
      if (amount !== undefined) list[name] = amount;
    }
    if (Object.keys(list).length > 0) out[field] = list;
  }
  if (now?.claims) out.claims = now.claims;
  return out;
}
