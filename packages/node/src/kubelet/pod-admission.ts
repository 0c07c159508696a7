/** What a node does not take, however it came here: pods that ask for what it cannot or must not give. Pure. */
import type { AppArmorProfile, Node, PodSpec } from "@keelson/core/kinds";
import {
  addNumbers,
  hostPortsOf,
  matchesNode,
  podRequests,
  portsConflict,
  resourceNumbers,
} from "@keelson/workloads";
import { forbiddenSysctl } from "./sysctls.ts";

export interface Rejection {
  readonly reason: string;
  readonly message: string;
}

export interface AdmissionPolicy {
  /** Kernel settings beyond the safe ones, by name or with a star at the end. */
  readonly allowedUnsafeSysctls: readonly string[];
}

/** The node as a new pod finds it. */
export interface NodeView {
  readonly allocatable: Readonly<Record<string, string>>;
  /** Those that are not over. */
  readonly others: readonly PodSpec[];
  /** Undefined when it is not known yet. */
  readonly node: Pick<Node, "metadata"> | undefined;
}

/** In the kubelet's words. */
export function rejectionOf(spec: PodSpec, policy: AdmissionPolicy, view: NodeView): Rejection | undefined {
  const forbidden = forbiddenSysctl(spec, policy.allowedUnsafeSysctls);
  if (forbidden !== undefined) return { reason: "SysctlForbidden", message: forbidden };
  const unfit = shortage(spec, view) ?? predicate(spec, view);
  if (unfit) return unfit;
  if (profilesOf(spec).some(({ type }) => type !== "Unconfined")) {
    return { reason: "AppArmor", message: "Cannot enforce AppArmor: AppArmor is not enabled on the host" };
  }
  return undefined;
}

/** What the pod asks for and the others do not leave. */
function shortage(spec: PodSpec, { allocatable, others }: NodeView): Rejection | undefined {
  const capacity = resourceNumbers(allocatable);
  const used = others.reduce((sum, other) => addNumbers(sum, podRequests(other)), resourceNumbers(undefined));
  const wanted = new Map([["pods", 1], ...podRequests(spec)]);
  used.set("pods", others.length);
  for (const [name, requested] of wanted) {
    const all = capacity.get(name);
    // What a node does not have at all is decided by the one who offers it.
    if (all === undefined || requested === 0) continue;
    const taken = used.get(name) ?? 0;
    if (taken + requested <= all) continue;
    return {
      reason: `OutOf${name}`,
      message: `Node didn't have enough resource: ${name}, requested: ${requested}, used: ${taken}, capacity: ${all}`,
    };
  }
  return undefined;
}

function predicate(spec: PodSpec, { node, others }: NodeView): Rejection | undefined {
  const failed = (name: string, why: string) => ({
    reason: name,
    message: `Predicate ${name} failed: ${why}`,
  });
  if (node && !matchesNode(spec, node as Parameters<typeof matchesNode>[1]))
    return failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
  const ports = hostPortsOf(spec);
  const taken = ports.length > 0 ? others.flatMap(hostPortsOf) : [];
  if (ports.some((port) => taken.some((other) => portsConflict(port, other))))
    return failed("NodePorts", "node(s) didn't have free ports for the requested pod ports");
  return undefined;
}

function profilesOf(spec: PodSpec): AppArmorProfile[] {
  const contexts = [spec, ...spec.containers, ...(spec.initContainers ?? [])].map(
    (each) => each.securityContext,
  );
  return contexts.flatMap((context) => context?.appArmorProfile ?? []);
}
