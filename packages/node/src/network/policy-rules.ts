/**
 * NetworkPolicies as rules of the packet filter: pure text for nft. A pod that a policy selects gets only the traffic
 * that some policy allows, in the directions that policies speak of. Replies always pass, and what the node itself
 * begins (probes, port-forward).
 */
import { labelSelectorFrom, matchesLabels, type Stored } from "@keelson/core";
import type { Namespace, NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from "@keelson/core/kinds";
import type { StoredPod } from "../api/api.ts";

/** What rules are made from. */
export interface PolicyInput {
  readonly policies: readonly Stored<NetworkPolicy>[];
  readonly pods: readonly StoredPod[];
  readonly namespaces: readonly Stored<Namespace>[];
}

type Direction = "Ingress" | "Egress";

interface Rule {
  readonly peers: readonly NetworkPolicyPeer[] | undefined;
  readonly ports: readonly NetworkPolicyPort[] | undefined;
}

const chainOf = { Ingress: "in", Egress: "out" } as const;

/** Chains of the table, and `policies`, which is to be jumped to for packets that begin or carry on a connection. */
export function policyRules(input: PolicyInput): string[] {
  const chains: string[] = [];
  const isolated: Record<Direction, string[]> = { Ingress: [], Egress: [] };
  for (const pod of input.pods) {
    const address = addressOf(pod);
    if (address === undefined) continue;
    for (const direction of ["Egress", "Ingress"] as const) {
      const policies = input.policies.filter((policy) => isAbout(policy, direction) && selects(policy, pod));
      if (policies.length === 0) continue;
      const name = `policy-${chainOf[direction]}-${isolated[direction].length}`;
      const allowed = policies.flatMap((policy) =>
        rulesOf(policy, direction).flatMap((rule) => allow(input, { policy, pod, direction, rule })),
      );
      const lines = [...new Set(allowed)].map((match) => `    ${match === "" ? "" : `${match} `}return`);
      chains.push(`  chain ${name} {`, ...lines, "    drop", "  }");
      isolated[direction].push(`${address} : jump ${name}`);
    }
  }
  const look = (field: "saddr" | "daddr", verdicts: readonly string[]) =>
    verdicts.length === 0 ? [] : [`    ip ${field} vmap { ${verdicts.join(", ")} }`];
  return [
    ...chains,
    "  chain policies {",
    "    ct direction reply return",
    ...look("saddr", isolated.Egress),
    ...look("daddr", isolated.Ingress),
    "  }",
  ];
}

/** Without `policyTypes` a policy is about what comes in, and about what goes out if it has rules for that. */
function isAbout({ spec }: Stored<NetworkPolicy>, direction: Direction): boolean {
  const { policyTypes } = spec ?? {};
  if (policyTypes && policyTypes.length > 0) return policyTypes.includes(direction);
  return direction === "Ingress" || spec?.egress !== undefined;
}

function selects({ metadata, spec }: Stored<NetworkPolicy>, pod: StoredPod): boolean {
  return (
    metadata.namespace === pod.metadata.namespace &&
    matchesLabels(labelSelectorFrom(spec?.podSelector ?? {}), pod.metadata.labels)
  );
}

function rulesOf({ spec }: Stored<NetworkPolicy>, direction: Direction): Rule[] {
  return direction === "Ingress"
    ? (spec?.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports }))
    : (spec?.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }));
}

interface Allowed {
  readonly policy: Stored<NetworkPolicy>;
  readonly pod: StoredPod;
  readonly direction: Direction;
  readonly rule: Rule;
}

/** Matches of what one rule allows. No peers means everybody, no ports every port. */
function allow(input: PolicyInput, { policy, pod, direction, rule }: Allowed): string[] {
  const field = direction === "Ingress" ? "saddr" : "daddr";
  const { peers, ports } = rule;
  const everybody = !peers || peers.length === 0;
  const pods = everybody ? [] : peers.flatMap((peer) => podsOf(input, policy, peer));
  const blocks = everybody ? [""] : peers.flatMap(({ ipBlock }) => (ipBlock ? [block(field, ipBlock)] : []));
  // A named port is a port of the pod that is connected to.
  const served = direction === "Ingress" ? [pod] : [];
  const anywhere = blocks.flatMap((match) => portMatches(ports, served).map((port) => `${match} ${port}`));
  if (pods.length === 0) return anywhere.map((match) => match.trim());
  if (direction === "Ingress" || !ports?.some(({ port }) => typeof port === "string")) {
    const addresses = `ip ${field} { ${[...new Set(pods.map((each) => addressOf(each) ?? ""))].join(", ")} }`;
    return [...anywhere, ...portMatches(ports, served).map((port) => `${addresses} ${port}`)].map((match) =>
      match.trim(),
    );
  }
  const each = pods.flatMap((peer) =>
    portMatches(ports, [peer]).map((port) => `ip ${field} ${addressOf(peer)} ${port}`),
  );
  return [...anywhere, ...each].map((match) => match.trim());
}

/** Pods that a peer names: in the policy's own namespace, or in those that its namespace selector matches. */
function podsOf(input: PolicyInput, policy: Stored<NetworkPolicy>, peer: NetworkPolicyPeer): StoredPod[] {
  const { podSelector, namespaceSelector, ipBlock } = peer;
  if (ipBlock) return [];
  const namespaces = namespaceSelector
    ? input.namespaces
        .filter(({ metadata }) => matchesLabels(labelSelectorFrom(namespaceSelector), metadata.labels))
        .map(({ metadata }) => metadata.name)
    : [policy.metadata.namespace ?? ""];
  return input.pods.filter(
    (pod) =>
      addressOf(pod) !== undefined &&
      namespaces.includes(pod.metadata.namespace ?? "") &&
      matchesLabels(labelSelectorFrom(podSelector ?? {}), pod.metadata.labels),
  );
}

function block(field: string, { cidr, except = [] }: { cidr: string; except?: readonly string[] }): string {
  const without = except.length === 0 ? "" : ` ip ${field} != { ${except.join(", ")} }`;
  return `ip ${field} ${cidr}${without}`;
}

/** One match for each port; a single empty one when every port is meant. */
function portMatches(
  ports: readonly NetworkPolicyPort[] | undefined,
  served: readonly StoredPod[],
): string[] {
  if (!ports || ports.length === 0) return [""];
  return ports.flatMap(({ protocol = "TCP", port, endPort }) => {
    const name = protocol.toLowerCase();
    if (port === undefined) return [`meta l4proto ${name}`];
    if (typeof port === "number")
      return [`${name} dport ${endPort === undefined ? port : `${port}-${endPort}`}`];
    const numbers = served.flatMap(({ spec }) =>
      spec.containers
        .flatMap((container) => container.ports ?? [])
        .filter((each) => each.name === port && (each.protocol ?? "TCP") === protocol)
        .map(({ containerPort }) => containerPort),
    );
    return [...new Set(numbers)].map((number) => `${name} dport ${number}`);
  });
}

/** Pods that share their node's network are not told apart from it. */
function addressOf({ spec, status }: StoredPod): string | undefined {
  const isOver = status?.phase === "Succeeded" || status?.phase === "Failed";
  return spec.hostNetwork || isOver ? undefined : status?.podIP || undefined;
}
