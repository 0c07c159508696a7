/** What limits a pod as a whole: everything in it, debugging containers and commands of exec included. Pure. */
import type { Container, PodSpec } from "@keelson/core/kinds";
import { podRequests, resourceNumbers } from "@keelson/workloads";
import type { PodLimits } from "../runtime/container-runtime.ts";

/** Memory and CPU are limited when every container is; processes always. */
export function podLimits(spec: PodSpec, processes: number): PodLimits {
  const all = [...spec.containers, ...(spec.initContainers ?? [])];
  const own = resourceNumbers(spec.resources?.limits);
  const together = podRequests({ ...spec, resources: undefined }, (container) => limitsOf(container));
  const limit = (name: string) => {
    const declared = all.every((container) => limitsOf(container)?.[name] !== undefined);
    return own.get(name) ?? (declared ? together.get(name) : undefined);
  };
  const [memoryBytes, cpuMillis] = [limit("memory"), limit("cpu")];
  const requested = podRequests(spec).get("cpu");
  return {
    processes,
    ...(memoryBytes === undefined ? {} : { memoryBytes }),
    ...(cpuMillis === undefined ? {} : { cpuMillis }),
    ...(requested === undefined ? {} : { cpuShares: Math.max(2, Math.floor((requested * 1024) / 1000)) }),
  };
}

function limitsOf({ resources }: Container) {
  return resources?.limits;
}
