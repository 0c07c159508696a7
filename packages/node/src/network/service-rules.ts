/** The packet filter's rules for service addresses, node ports and cuts: pure text for nft. */
import type { DelayedPort } from "./delays.ts";
import type { NodePort } from "./exposures.ts";
import type { PolicyRules } from "./policy-rules.ts";
import type { Backend, ServiceRegistry, StoredService } from "./service-registry.ts";

export interface RulesInput {
  readonly registry: Pick<ServiceRegistry, "services" | "backends">;
  /** The nodes' own addresses, where node ports answer. */
  readonly nodeAddresses: readonly string[];
  readonly serviceCidr: string;
  /** Served by the node itself: the API server's and the name server's. */
  readonly localAddresses: readonly string[];
  readonly cuts: readonly Cut[];
  readonly delays: readonly DelayedPort[];
  readonly policies: PolicyRules;
  /** Ports of the nodes that lead to pods. */
  readonly nodePorts: readonly NodePort[];
}

/** Traffic that is dropped: everything from an address, to it, or between two. */
export type Cut = { readonly from?: string; readonly to?: string };

interface Front {
  readonly address: string;
  readonly protocol: string;
  readonly port: number;
  readonly chain: string;
}

const table = "keelson";

/** Replaces the whole table in one transaction: there is no moment without rules. */
export function serviceRules(input: RulesInput): string {
  const fronts: Front[] = [];
  const refused: Omit<Front, "chain">[] = [];
  const chains: string[] = [];
  const backends = new Set<string>();
  for (const service of input.registry.services()) {
    const { namespace = "", name } = service.metadata;
    if (!isBalanced(service) || input.localAddresses.includes(service.spec?.clusterIP ?? "")) continue;
    const ready = usable(input.registry.backends(namespace, name));
    for (const port of service.spec?.ports ?? []) {
      const protocol = (port.protocol ?? "TCP").toLowerCase();
      const targets = ready.flatMap((backend) =>
        backend.ports
          .filter((one) => one.name === (port.name ?? "") && one.protocol === (port.protocol ?? "TCP"))
          .map((one) => delayed(input.delays, backend.address, one.port)),
      );
      const places = [
        ...addressesOf(service).map((address) => ({ address, protocol, port: port.port })),
        ...(port.nodePort
          ? input.nodeAddresses.map((address) => ({ address, protocol, port: port.nodePort ?? 0 }))
          : []),
      ];
      if (targets.length === 0) refused.push(...places);
      else {
        const chain = `svc-${chains.length}`;
        chains.push(balance(chain, protocol, targets, service.spec?.sessionAffinity === "ClientIP"));
        fronts.push(...places.map((place) => ({ ...place, chain })));
        for (const { address } of targets) backends.add(address);
      }
    }
  }
  for (const { target } of input.nodePorts) backends.add(target);
  return [
    `table ip ${table} {}`,
    `delete table ip ${table}`,
    `table ip ${table} {`,
    ...chains,
    set(
      "map services",
      "ipv4_addr . inet_proto . inet_service : verdict",
      unique(fronts).map(
        ({ address, protocol, port, chain }) => `${address} . ${protocol} . ${port} : goto ${chain}`,
      ),
    ),
    set(
      "map nodeports",
      "ipv4_addr . inet_proto . inet_service : ipv4_addr . inet_service",
      unique(input.nodePorts).map(
        ({ address, protocol, port, target, targetPort }) =>
          `${address} . ${protocol} . ${port} : ${target} . ${targetPort}`,
      ),
    ),
    set(
      "set refused",
      "ipv4_addr . inet_proto . inet_service",
      unique(refused).map(({ address, protocol, port }) => `${address} . ${protocol} . ${port}`),
    ),
    set(
      "set hairpins",
      "ipv4_addr . ipv4_addr",
      [...backends].map((address) => `${address} . ${address}`),
    ),
    ...["prerouting", "output"].flatMap((hook) => [
      `  chain nat-${hook} {`,
      `    type nat hook ${hook} priority -100;`,
      // Only what comes from pods: the relay itself, and probes, go straight to the pod.
      ...(hook === "prerouting"
        ? input.delays.map(
            ({ address, port, relayAddress, relayPort }) =>
              `    ip daddr ${address} tcp dport ${port} dnat to ${relayAddress}:${relayPort}`,
          )
        : []),
      "    ip daddr . meta l4proto . th dport vmap @services",
      "    meta l4proto { tcp, udp, sctp } dnat ip to ip daddr . meta l4proto . th dport map @nodeports",
      "  }",
    ]),
    // What comes from a pod is never for the node's loopback, though the node's own loopback may lead to a pod.
    "  chain loopback {",
    "    type filter hook prerouting priority -300;",
    '    iifname != "lo" ip daddr 127.0.0.0/8 drop',
    "  }",
    "  chain nat-postrouting {",
    "    type nat hook postrouting priority 100;",
    "    ct status dnat ip saddr . ip daddr @hairpins masquerade",
    "    ct status dnat ip saddr 127.0.0.0/8 masquerade",
    "  }",
    ...input.policies.chains,
    "  chain cuts {",
    ...input.cuts.map(({ from, to }) => {
      const match = [
        ...(from === undefined ? [] : [`ip saddr ${from}`]),
        ...(to === undefined ? [] : [`ip daddr ${to}`]),
      ];
      return `    ${match.join(" ")} drop`;
    }),
    "  }",
    ...["forward", "input", "output"].flatMap((hook) => [
      `  chain filter-${hook} {`,
      `    type filter hook ${hook} priority 0;`,
      // What the node itself began (probes, port-forward) stays: a cut is between pods, and to the API.
      ...(hook === "forward"
        ? ["    jump cuts", ...input.policies.original, ...input.policies.reply]
        : hook === "input"
          ? ["    ct direction original jump cuts", ...input.policies.original]
          : input.policies.reply),
      "    meta l4proto tcp ip daddr . meta l4proto . th dport @refused reject with tcp reset",
      "    ip daddr . meta l4proto . th dport @refused reject with icmp port-unreachable",
      ...(hook === "forward"
        ? [
            `    ip daddr ${input.serviceCidr} meta l4proto tcp reject with tcp reset`,
            `    ip daddr ${input.serviceCidr} reject with icmp port-unreachable`,
          ]
        : []),
      "  }",
    ]),
    "}",
    "",
  ].join("\n");
}

function delayed(
  delays: readonly DelayedPort[],
  address: string,
  port: number,
): { address: string; port: number } {
  const found = delays.find((one) => one.address === address && one.port === port);
  return found === undefined ? { address, port } : { address: found.relayAddress, port: found.relayPort };
}

function isBalanced(service: StoredService): boolean {
  const address = service.spec?.clusterIP;
  return service.spec?.type !== "ExternalName" && !!address && address !== "None" && !address.includes(":");
}

function addressesOf(service: StoredService): string[] {
  const balancer = (service.status?.loadBalancer?.ingress ?? []).flatMap(({ ip }) => (ip ? [ip] : []));
  const all = [service.spec?.clusterIP ?? "", ...(service.spec?.externalIPs ?? []), ...balancer];
  return all.filter((address) => /^[\d.]+$/.test(address));
}

/** Ready ones. */
function usable(backends: readonly Backend[]): Backend[] {
  return backends.filter(({ ready }) => ready);
}

function balance(
  chain: string,
  protocol: string,
  targets: readonly { address: string; port: number }[],
  sticky: boolean,
): string {
  const choice = sticky ? "jhash ip saddr" : "numgen random";
  const list = targets.map(({ address, port }, index) => `${index} : ${address} . ${port}`).join(", ");
  const rule = `meta l4proto ${protocol} dnat ip to ${choice} mod ${targets.length} map { ${list} }`;
  return `  chain ${chain} {\n    ${rule}\n  }`;
}

function set(head: string, type: string, elements: readonly string[]): string {
  const body = elements.length === 0 ? "" : ` elements = { ${elements.join(", ")} };`;
  return `  ${head} { type ${type};${body} }`;
}

/** Two services may claim the same external address and port: the first has it. */
function unique<T extends { address: string; protocol: string; port: number }>(places: readonly T[]): T[] {
  const seen = new Set<string>();
  return places.filter(({ address, protocol, port }) => {
    const key = `${address} ${protocol} ${port}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}
