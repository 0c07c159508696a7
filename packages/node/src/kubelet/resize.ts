/** Resources that are changed in place: granted where the node has room for them, deferred where it has not. Pure. */
import { deepEqual } from "@keelson/core";
import type { Container, PodSpec } from "@keelson/core/kinds";
import { addNumbers, podRequests, resourceNumbers } from "@keelson/workloads";

/** A change that was not granted yet. */
export interface PendingResize {
  readonly reason: "Deferred";
  readonly message: string;
  /** Of the pod that asked for it. */
  readonly generation: number;
}

const resizable = ["cpu", "memory"];

/** What the pod asks for beyond what the others leave free; undefined when it fits. */
export function shortageOf(
  wanted: PodSpec,
  others: readonly PodSpec[],
  allocatable: Readonly<Record<string, string>>,
): string | undefined {
  const capacity = resourceNumbers(allocatable);
  const used = others.reduce((sum, spec) => addNumbers(sum, podRequests(spec)), resourceNumbers(undefined));
  const requests = podRequests(wanted);
  for (const name of resizable) {
    const [requested = 0, taken = 0, all = 0] = [requests.get(name), used.get(name), capacity.get(name)];
    if (requested === 0 || taken + requested <= all) continue;
    return `Node didn't have enough resource: ${name}, requested: ${requested}, used: ${taken}, capacity: ${all}`;
  }
  return undefined;
}

/** The specification with the resources that its containers were granted before. */
export function withResourcesOf(granted: PodSpec, spec: PodSpec): PodSpec {
  const keep = (before: readonly Container[] = []) => {
    return (container: Container): Container => {
      const known = before.find(({ name }) => name === container.name);
      return known ? { ...container, resources: known.resources } : container;
    };
  };
  return {
    ...spec,
    containers: spec.containers.map(keep(granted.containers)),
    ...(spec.initContainers ? { initContainers: spec.initContainers.map(keep(granted.initContainers)) } : {}),
  };
}

export function asksForOthers(granted: PodSpec, spec: PodSpec): boolean {
  return !deepEqual(withResourcesOf(granted, spec), spec);
}

/** How the kubelet tells of a resize, with what is asked for. */
export function resizeMessage(
  { containers, initContainers }: PodSpec,
  { reason, message, generation }: PendingResize,
): string {
  const summary = (list: readonly Container[] | undefined) =>
    list?.map(({ name, resources = {} }) => ({ name, resources }));
  return `Pod resize ${reason}: ${JSON.stringify({
    initContainers: summary(initContainers),
    containers: summary(containers),
    generation,
    error: message,
  })}`;
}
