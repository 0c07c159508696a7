/** What pods ask of a node and what a node has to give, in plain numbers: milli-CPU, bytes, counts. */
import { Quantity } from "@keelson/core";
import type { Container, PodSpec } from "@keelson/core/kinds";

/** Plain numbers by the name of their resource: milli-CPU, bytes, counts. */
export type ResourceNumbers = Map<string, number>;

type ResourceList = Readonly<Record<string, string | number>> | undefined;

/** A resource list in plain numbers. */
export function resourceNumbers(list: ResourceList): ResourceNumbers {
  const out: ResourceNumbers = new Map();
  for (const [name, value] of Object.entries(list ?? {})) {
    const quantity = Quantity.from(value);
    out.set(name, Number(name === "cpu" ? quantity.milliValue() : quantity.value()));
  }
  return out;
}

/** Adds numbers to a sum, in place; subtracts them with the sign -1. */
export function addNumbers(to: ResourceNumbers, more: ResourceNumbers, sign: 1 | -1 = 1): ResourceNumbers {
  for (const [name, amount] of more) to.set(name, (to.get(name) ?? 0) + sign * amount);
  return to;
}

function raise(to: ResourceNumbers, floor: ResourceNumbers): ResourceNumbers {
  for (const [name, amount] of floor) to.set(name, Math.max(to.get(name) ?? 0, amount));
  return to;
}

function isSidecar(container: Container): boolean {
  return container.restartPolicy === "Always";
}

/**
 * What the pod needs at its most demanding moment: all containers together with the sidecars, or one init container
 * with the sidecars started before it, whichever is more; plus what the runtime itself takes. Requests of the pod as a
 * whole replace those of its containers.
 */
export function podRequests(
  spec: PodSpec,
  of: (container: Container) => ResourceList = requestsOf,
): ResourceNumbers {
  const running: ResourceNumbers = new Map();
  for (const container of spec.containers) addNumbers(running, resourceNumbers(of(container)));
  const sidecars: ResourceNumbers = new Map();
  const peak: ResourceNumbers = new Map();
  for (const container of spec.initContainers ?? []) {
    const own = resourceNumbers(of(container));
    if (isSidecar(container)) {
      addNumbers(running, own);
      raise(peak, addNumbers(sidecars, own));
    } else {
      raise(peak, addNumbers(new Map(sidecars), own));
    }
  }
  const total = raise(running, peak);
  for (const [name, amount] of resourceNumbers(spec.resources?.requests)) total.set(name, amount);
  return addNumbers(total, resourceNumbers(spec.overhead));
}

function requestsOf({ resources }: Container): ResourceList {
  return resources?.requests;
}

/** Containers that ask for nothing still use something: what scoring assumes. */
const usualCpu = 100;
const usualMemory = 200 * 1024 * 1024;

/** What a pod is assumed to use when nodes are scored: containers that ask for nothing count with a usual amount. */
export function scoringRequests(spec: PodSpec): ResourceNumbers {
  return podRequests(spec, ({ resources }) => ({
    ...resources?.requests,
    cpu: resources?.requests?.cpu ?? `${usualCpu}m`,
    memory: resources?.requests?.memory ?? usualMemory,
  }));
}
