/** The quality of service class of a pod. */
import { Quantity } from "@keelson/core";
import type { PodSpec, ResourceRequirements } from "@keelson/core/kinds";

/** The quality of service class of a pod. */
export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

type List = Readonly<Record<string, string | number>> | undefined;

/** Adds what counts, and says how many of cpu and memory there are. */
function add(total: Map<string, Quantity>, list: List): number {
  let found = 0;
  for (const name of ["cpu", "memory"]) {
    const value = list?.[name];
    if (value === undefined) continue;
    const amount = Quantity.from(value);
    if (amount.sign() <= 0) continue;
    found++;
    const known = total.get(name);
    total.set(name, known ? known.add(amount) : amount);
  }
  return found;
}

/** The quality of service class of a pod, from its requests and limits. */
export function qosClassOf(spec: PodSpec): QosClass {
  const requests = new Map<string, Quantity>();
  const limits = new Map<string, Quantity>();
  const own = spec.resources;
  const atPodLevel = own && (hasAny(own.requests) || hasAny(own.limits));
  const parts: (ResourceRequirements | undefined)[] = atPodLevel
    ? [own]
    : [...(spec.containers ?? []), ...(spec.initContainers ?? [])].map(({ resources }) => resources);
  let guaranteed = true;
  for (const part of parts) {
    add(requests, part?.requests);
    if (add(limits, part?.limits) < 2) guaranteed = false;
  }
  if (requests.size === 0 && limits.size === 0) return "BestEffort";
  if (!guaranteed || requests.size !== limits.size) return "Burstable";
  for (const [name, amount] of requests) if (limits.get(name)?.compare(amount) !== 0) return "Burstable";
  return "Guaranteed";
}

function hasAny(list: List): boolean {
  for (const _ in list) return true;
  return false;
}
