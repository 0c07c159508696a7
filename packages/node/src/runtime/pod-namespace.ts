/**
 * A pod's network, host name and IPC: namespaces pinned to files, and a virtual cable to the node.
 *
 * Every pod has a /32 and a route; the node routes between them. So all traffic passes the node's own network
 * stack, where service addresses are translated and connections can be cut.
 */
import { join } from "node:path";
import type { KernelSetting } from "./container-runtime.ts";
import { removalOf } from "./mounts.ts";
import { quote, runScript } from "./shell.ts";

export interface NamespaceTools {
  readonly ip: string;
  readonly unshare: string;
  readonly nsenter: string;
}

export interface PodNamespaceSpec {
  readonly id: string;
  readonly hostname: string;
  readonly address: string;
  /** The node's address on the other end of every cable. */
  readonly gateway: string;
  /** At most 15 characters, unique on the node. */
  readonly link: string;
  readonly hostNetwork: boolean;
  readonly sysctls?: readonly KernelSetting[];
}

export const namespaceKinds = ["net", "uts", "ipc"] as const;

/** Prepares the node's own network namespace. */
export async function prepareNodeNetwork(tools: NamespaceTools, gateway: string): Promise<void> {
  const ip = quote(tools.ip);
  await runScript(
    [
      `${ip} link set lo up`,
      `${ip} addr add ${gateway}/32 dev lo`,
      "echo 1 > /proc/sys/net/ipv4/ip_forward",
      // Pods are moved and recreated under the same address within milliseconds: forget old neighbours at once.
      "echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter",
    ],
    { code: "SandboxUnsupported", doing: "set up the node's network" },
  );
}

/** Makes the namespaces under `directory` and connects them. */
export async function createPodNamespace(
  tools: NamespaceTools,
  spec: PodNamespaceSpec,
  directory: string,
): Promise<void> {
  const files = namespaceFiles(directory, spec.hostNetwork);
  const ip = quote(tools.ip);
  const sys = quote(join(directory, "sys"));
  // Shell builtins wherever they do: every process started here is paid for by every pod.
  const inside = [
    // The file belongs to the machine's root, no matter who we are in here; the system call asks differently.
    `{ echo ${quote(spec.hostname)} > /proc/sys/kernel/hostname; } 2>/dev/null || hostname ${quote(spec.hostname)}`,
    ...(spec.hostNetwork ? [] : ["echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start"]),
    ...(spec.sysctls ?? []).map(
      ({ path, value }) => `printf '%s' ${quote(value)} > ${quote(`/proc/sys/${path}`)}`,
    ),
    // Where the kernel refuses one of its own, the pod sees the node's.
    `mount -t sysfs -o ro,nosuid,nodev,noexec sysfs ${sys} 2>/dev/null || mount --rbind /sys ${sys}`,
  ].join("; ");
  const flags = files.map(({ kind, path }) => `--${kind}=${quote(path)}`).join(" ");
  const network = quote(join(directory, "net"));
  const cable = [
    // By a descriptor: the path may hold a space, which a line of a batch cannot.
    `${ip} -batch - 9<${network} <<'END'`,
    `link add ${spec.link} type veth peer name eth0 netns /proc/self/fd/9`,
    `addr add ${spec.gateway}/32 dev ${spec.link}`,
    `link set ${spec.link} up`,
    // A cable that could not be removed must not keep the address from the next pod that has it.
    `route replace ${spec.address}/32 dev ${spec.link} src ${spec.gateway}`,
    "END",
    `${quote(tools.nsenter)} --net=${network} ${ip} -batch - <<'END'`,
    "link set lo up",
    `addr add ${spec.address}/32 dev eth0`,
    "link set eth0 up",
    `route add ${spec.gateway} dev eth0`,
    `route add default via ${spec.gateway}`,
    "END",
  ];
  await runScript(
    [
      `: > ${files.map(({ path }) => quote(path)).join("; : > ")}`,
      `${quote(tools.unshare)} ${flags} sh -ec ${quote(inside)}`,
      ...(spec.hostNetwork ? [] : cable),
      `mount -t tmpfs -o size=64m,mode=1777 shm ${quote(join(directory, "shm"))}`,
    ],
    { code: "SandboxFailed", doing: `create the sandbox of pod ${spec.id}` },
  );
}

/** Undoes `createPodNamespace`, also when that stopped midway. */
export async function removePodNamespace(
  tools: NamespaceTools,
  directory: string,
  link: string | undefined,
): Promise<void> {
  await runScript(
    [
      // Deleting our end takes the pod's end with it, at once; the namespace itself may linger in the kernel.
      ...(link === undefined ? [] : [`${quote(tools.ip)} link del ${link} 2>/dev/null || true`]),
      ...removalOf(directory),
    ],
    { code: "SandboxFailed", doing: "remove a pod's sandbox" },
  );
}

/** nsenter's options that lead into the pod. */
export function enterOptions(directory: string, hostNetwork: boolean): string[] {
  return namespaceFiles(directory, hostNetwork).map(({ kind, path }) => `--${kind}=${path}`);
}

function namespaceFiles(directory: string, hostNetwork: boolean): { kind: string; path: string }[] {
  return namespaceKinds
    .filter((kind) => !(hostNetwork && kind === "net"))
    .map((kind) => ({ kind, path: join(directory, kind) }));
}
