/** Ports of the node itself, of which each can be taken once. */
import type { PodSpec } from "@keelson/core/kinds";

/** A port of the node that a container asks for. */
export interface HostPort {
  readonly port: number;
  readonly protocol: string;
  readonly ip: string;
}

const anyAddress = "0.0.0.0";

/** The ports of the node that the pod takes for as long as it runs. */
export function hostPortsOf(spec: PodSpec): HostPort[] {
  const containers = [
    ...spec.containers,
    ...(spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always"),
  ];
  return containers
    .flatMap(({ ports }) => ports ?? [])
    .filter(({ hostPort }) => (hostPort ?? 0) > 0)
    .map(({ hostPort = 0, protocol, hostIP }) => ({
      port: hostPort,
      protocol: protocol ?? "TCP",
      ip: hostIP || anyAddress,
    }));
}

/** Whether two pods cannot have both on one node. */
export function portsConflict(a: HostPort, b: HostPort): boolean {
  return (
    a.port === b.port &&
    a.protocol === b.protocol &&
    (a.ip === b.ip || a.ip === anyAddress || b.ip === anyAddress)
  );
}
