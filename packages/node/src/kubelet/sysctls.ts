/** Kernel settings that a pod asks for: those of its own namespaces that harm nobody else, unless the node allows more. */
import type { PodSpec } from "@keelson/core/kinds";

/** They concern the pod's namespaces alone, and no resource that others share. */
const safe = new Set([
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.ping_group_range",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_rmem",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.tcp_wmem",
]);

/** What the kernel keeps per namespace; everything else is the machine's. */
const ipcSettings = ["kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue."];
const networkSettings = "net.";

/** Why the pod cannot have a setting that it asks for; undefined when it can have all of them. */
export function forbiddenSysctl(spec: PodSpec, allowedUnsafe: readonly string[]): string | undefined {
  for (const { name } of spec.securityContext?.sysctls ?? []) {
    const dotted = dottedName(name);
    const isNetwork = dotted.startsWith(networkSettings);
    const isIpc = ipcSettings.some((prefix) => dotted.startsWith(prefix));
    const isAllowed = safe.has(dotted) || allowedUnsafe.some((pattern) => matches(pattern, dotted));
    if (!isAllowed || !(isNetwork || isIpc))
      return `forbidden sysctl: ${JSON.stringify(name)} not allowlisted`;
    if (spec.hostNetwork && isNetwork)
      return `forbidden sysctl: ${JSON.stringify(name)} not allowed with host net enabled`;
    if (spec.hostIPC && isIpc)
      return `forbidden sysctl: ${JSON.stringify(name)} not allowed with host ipc enabled`;
  }
  return undefined;
}

/** The setting's place below /proc/sys. */
export function sysctlPath(name: string): string {
  const path = dottedName(name).replaceAll(/[./]/g, (separator) => (separator === "." ? "/" : "."));
  if (!/^[-\w.]+(?:\/[-\w.]+)+$/.test(path) || path.includes("..")) {
    throw new RangeError(`${JSON.stringify(name)} is no kernel setting`);
  }
  return path;
}

/** `net/ipv4/conf/eth0.1/mtu` is `net.ipv4.conf.eth0/1.mtu`: the first separator tells which way it is written. */
function dottedName(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  if (first !== "/") return name;
  return name.replaceAll(/[./]/g, (separator) => (separator === "." ? "/" : "."));
}

/** A name, or the beginning of names with a star behind it. */
function matches(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}
