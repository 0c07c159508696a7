/** All containers of a pod, of every sort. */
import type { Container, PodSpec } from "@keelson/core/kinds";

export function allContainers(spec: PodSpec): Container[] {
  return [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...((spec.ephemeralContainers ?? []) as Container[]),
  ];
}

/** Each container with its path. */
export function visitContainers(
  spec: PodSpec,
  path: string,
  visit: (container: Container, path: string) => void,
): void {
  for (const [i, container] of (spec.initContainers ?? []).entries())
    visit(container, `${path}.initContainers[${i}]`);
  for (const [i, container] of (spec.containers ?? []).entries())
    visit(container, `${path}.containers[${i}]`);
  for (const [i, container] of (spec.ephemeralContainers ?? []).entries())
    visit(container as Container, `${path}.ephemeralContainers[${i}]`);
}
