/** What pods ask of a node and what a node has to give, in plain numbers: milli-CPU, bytes, counts. */
import { Quantity } from "@keelson/core";
import type { Container, PodSpec } from "@keelson/core/kinds";

export type Amounts = Map<string, number>;

type ResourceList = Readonly<Record<string, string | number>> | undefined;

export function amountsOf(list: ResourceList): Amounts {
  const out: Amounts = new Map();
  for (const [name, value] of Object.entries(list ?? {})) {
    const quantity = Quantity.from(value);
    out.set(name, Number(name === "cpu" ? quantity.milliValue() : quantity.value()));
  }
  return out;
}

export function add(to: Amounts, more: Amounts, sign: 1 | -1 = 1): Amounts {
  for (const [name, amount] of more) to.set(name, (to.get(name) ?? 0) + sign * amount);
  return to;
}

function raise(to: Amounts, floor: Amounts): Amounts {
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
export function podRequests(spec: PodSpec, of: (container: Container) => ResourceList = requestsOf): Amounts {
  const running: Amounts = new Map();
  for (const container of spec.containers) add(running, amountsOf(of(container)));
  const sidecars: Amounts = new Map();
  const peak: Amounts = new Map();
  for (const container of spec.initContainers ?? []) {
    const own = amountsOf(of(container));
    if (isSidecar(container)) {
      add(running, own);
      raise(peak, add(sidecars, own));
    } else {
      raise(peak, add(new Map(sidecars), own));
    }
  }
  const total = raise(running, peak);
  for (const [name, amount] of amountsOf(spec.resources?.requests)) total.set(name, amount);
  return add(total, amountsOf(spec.overhead));
}

function requestsOf({ resources }: Container): ResourceList {
  return resources?.requests;
}

/** Containers that ask for nothing still use something: what scoring assumes. */
const usualCpu = 100;
const usualMemory = 200 * 1024 * 1024;

export function scoringRequests(spec: PodSpec): Amounts {
  return podRequests(spec, ({ resources }) => ({
    ...resources?.requests,
    cpu: resources?.requests?.cpu ?? `${usualCpu}m`,
    memory: resources?.requests?.memory ?? usualMemory,
  }));
}
