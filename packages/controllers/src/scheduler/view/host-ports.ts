/** Ports of the node itself, of which each can be taken once. */
import type { PodSpec } from "@keelson/core/kinds";

export interface HostPort {
  readonly port: number;
  readonly protocol: string;
  readonly ip: string;
}

const anyAddress = "0.0.0.0";

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

export function portsConflict(a: HostPort, b: HostPort): boolean {
  return (
    a.port === b.port &&
    a.protocol === b.protocol &&
    (a.ip === b.ip || a.ip === anyAddress || b.ip === anyAddress)
  );
}
