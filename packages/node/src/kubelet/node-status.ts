/** What this machine is, as its Node object says. */
import { createHash } from "node:crypto";
import { readFileSync, statfsSync } from "node:fs";
import { arch, cpus, hostname, release, totalmem } from "node:os";
import type { NodeCondition, NodeStatus, NodeSystemInfo } from "@keelson/core/kinds";

export interface Machine {
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
  readonly info: NodeSystemInfo;
}

const reservedBytes = 100 * 1024 * 1024;
const kubernetesVersion = "v1.36.4";

export function describeMachine(nodeName: string, dataDirectory: string): Machine {
  const read = (path: string) => {
    try {
      return readFileSync(path, "utf8").trim();
    } catch {
      return "";
    }
  };
  const disk = statfsSync(dataDirectory);
  // Several nodes may share a machine; each must have an identity of its own.
  const id = createHash("sha256")
    .update(`${read("/etc/machine-id")}${hostname()}${nodeName}`)
    .digest("hex")
    .slice(0, 32);
  const uuid = `${id.slice(0, 8)}-${id.slice(8, 12)}-${id.slice(12, 16)}-${id.slice(16, 20)}-${id.slice(20)}`;
  const pretty = /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(read("/etc/os-release"))?.[1];
  return {
    cpus: cpus().length,
    memoryBytes: totalmem(),
    diskBytes: disk.blocks * disk.bsize,
    info: {
      machineID: id,
      systemUUID: uuid,
      bootID: read("/proc/sys/kernel/random/boot_id"),
      kernelVersion: release(),
      osImage: pretty ?? process.platform,
      containerRuntimeVersion: "keelson://0.1.0",
      kubeletVersion: kubernetesVersion,
      kubeProxyVersion: "",
      operatingSystem: process.platform,
      architecture: goArchitecture(),
    },
  };
}

/** Go's name for the processor. */
export function goArchitecture(): string {
  const names: Record<string, string> = { x64: "amd64", ia32: "386" };
  return names[arch()] ?? arch();
}

export interface StatusInput {
  readonly machine: Machine;
  readonly name: string;
  /** In the cluster's network. */
  readonly address: string;
  /** Where the kubelet is reached from outside of it. */
  readonly reachableAs: string;
  readonly kubeletPort: number;
  readonly maxPods: number;
  readonly simulated: string | undefined;
  /** What is not enforced on pods. */
  readonly lacks: readonly string[];
  readonly ready: boolean;
  readonly images: readonly { readonly names: readonly string[]; readonly sizeBytes: number }[];
  readonly before: NodeStatus | undefined;
  /** RFC 3339. */
  readonly now: string;
}

/** What pods may have of the machine. */
export function allocatableOf(machine: Machine, maxPods: number): Record<string, string> {
  return resourcesOf(machine, maxPods, reservedBytes);
}

function resourcesOf(machine: Machine, maxPods: number, reserve = 0): Record<string, string> {
  return {
    cpu: String(machine.cpus),
    "ephemeral-storage": `${Math.floor(machine.diskBytes / 1024)}Ki`,
    "hugepages-1Gi": "0",
    "hugepages-2Mi": "0",
    memory: `${Math.floor((machine.memoryBytes - reserve) / 1024)}Ki`,
    pods: String(maxPods),
  };
}

export function nodeStatus(input: StatusInput): NodeStatus {
  const { machine, now } = input;
  const condition: ConditionMaker = (type, status, reason, message) => {
    const old = input.before?.conditions?.find((one) => one.type === type);
    const lastTransitionTime = old?.status === status ? (old.lastTransitionTime ?? now) : now;
    return { type, status, reason, message, lastHeartbeatTime: now, lastTransitionTime };
  };
  return {
    addresses: [
      { type: "InternalIP", address: input.address },
      { type: "InternalDNS", address: input.reachableAs },
      { type: "Hostname", address: input.name },
    ],
    capacity: resourcesOf(machine, input.maxPods),
    allocatable: allocatableOf(machine, input.maxPods),
    conditions: [
      condition(
        "MemoryPressure",
        "False",
        "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available",
      ),
      condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
      condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
      input.simulated === undefined
        ? confinement(input.lacks, condition)
        : condition("Simulated", "True", "NoSandboxes", input.simulated),
      input.ready
        ? condition("Ready", "True", "KubeletReady", "kubelet is posting ready status")
        : condition("Ready", "False", "KubeletNotReady", "the node is starting or stopping"),
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: input.kubeletPort } },
    images: input.images.map(({ names, sizeBytes }) => ({ names: [...names], sizeBytes })),
    nodeInfo: machine.info,
  };
}

type ConditionMaker = (
  type: string,
  status: "True" | "False",
  reason: string,
  message: string,
) => NodeCondition;

/** As with the pressures above it, "False" is good news. */
function confinement(lacks: readonly string[], condition: ConditionMaker): NodeCondition {
  const type = "ConfinementIncomplete";
  if (lacks.length === 0) return condition(type, "False", "PodsAreConfined", "what pods ask for is enforced");
  return condition(type, "True", "MachineLacksSupport", lacks.join("; "));
}

/** On a Node: `true` where no process runs in its pods. */
export const simulatedAnnotation = "node.keelson.dev/simulated";
/** On a Node: how its pods run, `sandbox` or `simulated`. */
const runtimeLabel = "node.keelson.dev/runtime";

export function nodeLabels(name: string, runtime: "sandbox" | "simulated"): Record<string, string> {
  const architecture = goArchitecture();
  return {
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": process.platform,
    "kubernetes.io/arch": architecture,
    "beta.kubernetes.io/os": process.platform,
    "beta.kubernetes.io/arch": architecture,
    [runtimeLabel]: runtime,
  };
}

/** Heartbeats alone do not count as a change worth sending. */
export function hasChanged(before: NodeStatus | undefined, after: NodeStatus): boolean {
  const bare = (status: NodeStatus | undefined) =>
    JSON.stringify({
      ...status,
      conditions: (status?.conditions ?? []).map(({ lastHeartbeatTime: _, ...rest }) => rest),
    });
  return bare(before) !== bare(after);
}
