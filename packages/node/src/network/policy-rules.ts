/**
 * Network policies as rules of the packet filter: pure text for nft.
 *
 * Every packet is judged by the connection that it belongs to, in both directions and for as long as the connection
 * lives: who began it, with whom, at which port. So a policy that comes later cuts what exists.
 */
import { isIP } from "node:net";
import { type LabelSelectorObject, labelSelectorFrom, matchesLabels, type Stored } from "@keelson/core";
import type { NetworkPolicy } from "@keelson/core/kinds";

type Labels = Readonly<Record<string, string>>;
type Spec = NonNullable<NetworkPolicy["spec"]>;
type Peer = NonNullable<NonNullable<Spec["ingress"]>[number]["from"]>[number];
type Port = NonNullable<NonNullable<Spec["ingress"]>[number]["ports"]>[number];
type Rule = { readonly peers?: readonly Peer[]; readonly ports?: readonly Port[] };

export interface PolicyPod {
  readonly namespace: string;
  readonly labels: Labels;
  readonly address: string;
  readonly ports: readonly { readonly name?: string; readonly port: number; readonly protocol: string }[];
  /** Served by the node: policies may speak of it, and none holds for it. */
  readonly isNodes?: boolean;
}

export interface PolicyInput {
  readonly policies: readonly Stored<NetworkPolicy>[];
  readonly namespaces: ReadonlyMap<string, Labels>;
  readonly pods: readonly PolicyPod[];
}

/** Chains, and what the chains of the filter's hooks have to do for packets of each direction. */
export interface PolicyRules {
  readonly chains: readonly string[];
  readonly original: readonly string[];
  readonly reply: readonly string[];
}

export const noPolicies: PolicyRules = { chains: [], original: [], reply: [] };

type Direction = "ingress" | "egress";

/** One way to be allowed. */
interface Grant {
  /** Anybody when absent. */
  readonly peer?:
    | { readonly addresses: readonly string[] }
    | { readonly cidr: string; readonly except: string[] };
  /** Everything when absent, ICMP included. */
  readonly port?: { readonly protocol: string; readonly range?: string };
}

export function policyRules(input: PolicyInput): PolicyRules {
  const isolated = input.pods
    .filter(({ isNodes }) => !isNodes)
    .flatMap((pod) =>
      (["egress", "ingress"] as const).flatMap((direction) => {
        const grants = grantsFor(pod, direction, input);
        return grants === undefined ? [] : [{ address: pod.address, direction, grants }];
      }),
    );
  if (isolated.length === 0) return noPolicies;
  const chains: string[] = [];
  const jumps = { egress: [] as [string, string][], ingress: [] as [string, string][] };
  for (const [index, { address, direction, grants }] of isolated.entries()) {
    const name = `${direction}-${index}`;
    jumps[direction].push([address, name]);
    for (const way of ["original", "reply"] as const) {
      const lines = grants.flatMap((grant) => allow(grant, direction, way));
      chains.push([`  chain ${name}-${way} {`, ...lines, "    drop", "  }"].join("\n"));
    }
  }
  const toChains = (field: string, direction: Direction, way: string) =>
    jumps[direction].length === 0
      ? []
      : [
          `    ip ${field} vmap { ${jumps[direction].map(([address, name]) => `${address} : jump ${name}-${way}`).join(", ")} }`,
        ];
  const addresses = [...new Set(isolated.map(({ address }) => address))].join(", ");
  const hook = (way: "original" | "reply", lines: readonly string[]) =>
    [
      `  chain policies-${way} {`,
      // A pod may always talk to itself, by its services too; and errors belong to what they are about.
      "    ct state related return",
      "    ip saddr . ip daddr @hairpins return",
      ...lines,
      "  }",
    ].join("\n");
  const [client, server] = [
    { original: "saddr", reply: "daddr" },
    { original: "daddr", reply: "saddr" },
  ] as const;
  for (const way of ["original", "reply"] as const) {
    chains.push(
      hook(way, [...toChains(client[way], "egress", way), ...toChains(server[way], "ingress", way)]),
    );
  }
  // What belongs to no connection that the filter knows is nothing that a policy has allowed.
  const strays = [
    `    ct state invalid ip saddr { ${addresses} } drop`,
    `    ct state invalid ip daddr { ${addresses} } drop`,
  ];
  return {
    chains,
    original: [...strays, "    ct direction original jump policies-original"],
    reply: ["    ct direction reply jump policies-reply"],
  };
}

/** Undefined when no policy isolates the pod. */
function grantsFor(pod: PolicyPod, direction: Direction, input: PolicyInput): Grant[] | undefined {
  const policies = input.policies.filter(
    ({ metadata, spec }) =>
      metadata.namespace === pod.namespace &&
      isAbout(spec, direction) &&
      matches(spec?.podSelector ?? {}, pod.labels),
  );
  if (policies.length === 0) return undefined;
  return policies.flatMap(({ metadata, spec }) =>
    rulesOf(spec, direction).flatMap((rule) =>
      grantsOf(rule, { direction, pod, namespace: metadata.namespace ?? "", input }),
    ),
  );
}

function isAbout(spec: NetworkPolicy["spec"], direction: Direction): boolean {
  const { policyTypes = [], egress } = spec ?? {};
  if (policyTypes.length > 0) return policyTypes.includes(direction === "ingress" ? "Ingress" : "Egress");
  return direction === "ingress" || egress !== undefined;
}

function rulesOf(spec: NetworkPolicy["spec"], direction: Direction): Rule[] {
  return direction === "ingress"
    ? (spec?.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports }))
    : (spec?.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }));
}

interface RuleContext {
  readonly direction: Direction;
  readonly pod: PolicyPod;
  readonly namespace: string;
  readonly input: PolicyInput;
}

function grantsOf({ peers = [], ports = [] }: Rule, context: RuleContext): Grant[] {
  const who = peers.length === 0 ? [undefined] : peers.map((peer) => peerOf(peer, context));
  return who.flatMap((peer): Grant[] => {
    if (peer === "nobody") return [];
    const grant = { ...(peer && { peer }) };
    return ports.length === 0 ? [grant] : ports.flatMap((port) => withPort(grant, port, context));
  });
}

function peerOf(
  { ipBlock, podSelector, namespaceSelector }: Peer,
  { namespace, input }: RuleContext,
): Grant["peer"] | "nobody" {
  if (ipBlock !== undefined) {
    const cidr = ipv4Range(ipBlock.cidr);
    return cidr === undefined
      ? "nobody"
      : { cidr, except: (ipBlock.except ?? []).flatMap((one) => ipv4Range(one) ?? []) };
  }
  const isMeant = (pod: PolicyPod) =>
    (namespaceSelector === undefined
      ? pod.namespace === namespace
      : matches(namespaceSelector, input.namespaces.get(pod.namespace) ?? {})) &&
    matches(podSelector ?? {}, pod.labels);
  const addresses = addressesOf(input.pods.filter(isMeant));
  return addresses.length === 0 ? "nobody" : { addresses };
}

/** A name is the isolated pod's own for what comes in, and its peer's for what goes out. */
function withPort(grant: Grant, { port, endPort, protocol = "TCP" }: Port, context: RuleContext): Grant[] {
  const lower = protocol.toLowerCase();
  if (port === undefined) return [{ ...grant, port: { protocol: lower } }];
  if (typeof port === "number") {
    const range = endPort === undefined ? `${port}` : `${port}-${endPort}`;
    return [{ ...grant, port: { protocol: lower, range } }];
  }
  const numbers = (pod: PolicyPod) =>
    pod.ports.filter((one) => one.name === port && one.protocol === protocol).map((one) => one.port);
  if (context.direction === "ingress") {
    return numbers(context.pod).map((number) => ({
      ...grant,
      port: { protocol: lower, range: `${number}` },
    }));
  }
  const { peer } = grant;
  if (peer !== undefined && "cidr" in peer) return [];
  return context.input.pods
    .filter(({ address }) => peer === undefined || peer.addresses.includes(address))
    .flatMap((pod) =>
      numbers(pod).map((number) => ({
        peer: { addresses: [pod.address] },
        port: { protocol: lower, range: `${number}` },
      })),
    );
}

function allow({ peer, port }: Grant, direction: Direction, way: "original" | "reply"): string[] {
  // The peer began the connection when it comes in; replies go the other way.
  const field = (direction === "ingress") === (way === "original") ? "saddr" : "daddr";
  const who =
    peer === undefined
      ? []
      : "cidr" in peer
        ? [`ip ${field} ${peer.cidr}`, ...peer.except.map((range) => `ip ${field} != ${range}`)]
        : [`ip ${field} { ${peer.addresses.join(", ")} }`];
  const what =
    port === undefined
      ? []
      : [
          `meta l4proto ${port.protocol}`,
          ...(port.range === undefined ? [] : [`th ${way === "original" ? "dport" : "sport"} ${port.range}`]),
        ];
  return [`    ${[...who, ...what, "return"].join(" ")}`];
}

function matches(selector: LabelSelectorObject, labels: Labels): boolean {
  return matchesLabels(labelSelectorFrom(selector), labels);
}

function addressesOf(pods: readonly PolicyPod[]): string[] {
  return [...new Set(pods.map(({ address }) => address))];
}

/** Undefined for what this network does not have: pods have IPv4 addresses only. */
function ipv4Range(text: string): string | undefined {
  const [address = "", prefix = "", ...rest] = text.split("/");
  if (isIP(address) !== 4 || rest.length > 0 || !/^\d{1,2}$/.test(prefix) || Number(prefix) > 32)
    return undefined;
  return `${address}/${prefix}`;
}
