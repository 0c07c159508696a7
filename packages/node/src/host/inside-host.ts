/** The inside of the namespace: its nodes, their shared network, and what can be done to them. */
import { writeFile } from "node:fs/promises";
import { BlockList, isIP } from "node:net";
import { systemClock, systemRandom } from "@keelson/core";
import type { NodeApi } from "../api/api.ts";
import { NodeError } from "../errors.ts";
import { type CuttableApi, cuttable } from "../faults/cuttable-api.ts";
import type { Fault } from "../faults/fault.ts";
import { PodFaults } from "../faults/pod-faults.ts";
import { connectNodes, type NodeClients } from "../identity/node-clients.ts";
import { firstAddress } from "../kubelet/address-pool.ts";
import { clientApi } from "../kubelet/client-api.ts";
import { Kubelet } from "../kubelet/kubelet.ts";
import type { NodeImages } from "../kubelet/services.ts";
import { Delays } from "../network/delays.ts";
import { startDialServer } from "../network/dial-server.ts";
import { DnsServer } from "../network/dns-server.ts";
import {
  type ExposedPort,
  type Exposure,
  Exposures,
  type NodePort,
  nodePortsOf,
} from "../network/exposures.ts";
import { PolicyRegistry } from "../network/policy-registry.ts";
import { type PolicyPod, type PolicyRules, policyRules } from "../network/policy-rules.ts";
import { startRelay } from "../network/relay.ts";
import { ServiceNetwork } from "../network/service-network.ts";
import { ServiceRegistry } from "../network/service-registry.ts";
import { UserspaceServices } from "../network/userspace-services.ts";
import type { SandboxRuntime } from "../runtime/sandbox-runtime.ts";
import { quote, runScript } from "../runtime/shell.ts";
import { KubeletServer } from "../server/kubelet-server.ts";
import { type ClusterAddresses, clusterAddresses } from "./cluster-addresses.ts";
import { type InsideConfig, type InsideNode, insideApiPort } from "./inside-config.ts";
import type { ListedImage } from "./remote-images.ts";

/** What the process outside does for us. */
export interface Outside {
  readonly images: NodeImages & { list(): Promise<readonly ListedImage[]> };
  expose(exposure: Exposure): Promise<void>;
  unexpose(port: ExposedPort): Promise<void>;
  log(message: string): void;
}

interface RunningNode {
  readonly line: CuttableApi;
  readonly kubelet: Kubelet;
  readonly server: KubeletServer;
}

/** A cluster whose services cannot be read still gets its pods. */
const servicePatienceMs = 5_000;

export class InsideHost {
  readonly #config: InsideConfig;
  readonly #outside: Outside;
  readonly #runtime: SandboxRuntime;
  readonly #clients: NodeClients;
  /** The first node's, for what the nodes share: their network. */
  readonly #api: NodeApi;
  readonly #registry = new ServiceRegistry();
  readonly #nodes = new Map<string, RunningNode>();
  readonly #abort = new AbortController();
  readonly #exposures: Exposures;
  readonly #policies: PolicyRegistry;
  /** Absent where the machine has no packet filter. */
  #network: ServiceNetwork | undefined;
  #hasNetwork = false;
  #told = "";
  #knownNodePorts = "[]";
  #addresses: ClusterAddresses = { api: "", dns: "", serviceCidr: "" };
  #faults: PodFaults | undefined;
  /** The network. */
  #started: Promise<unknown> = Promise.resolve();

  private constructor(config: InsideConfig, outside: Outside, runtime: SandboxRuntime, clients: NodeClients) {
    this.#config = config;
    this.#outside = outside;
    this.#runtime = runtime;
    this.#clients = clients;
    this.#api = clientApi(clients.of(config.nodes[0]?.name ?? ""));
    this.#policies = new PolicyRegistry({
      api: this.#api,
      clock: systemClock,
      log: outside.log,
      onChange: () => this.#policiesChanged(),
    });
    this.#exposures = new Exposures({
      registry: this.#registry,
      pods: () => this.#workers(),
      nodeAddress: this.#nodeAddresses()[0] ?? "",
      open: (exposure) => outside.expose(exposure),
      close: (port) => outside.unexpose(port),
      log: outside.log,
    });
  }

  static async start(config: InsideConfig, outside: Outside, runtime: SandboxRuntime): Promise<InsideHost> {
    // The API server as nodes see it: without it none of them has an identity.
    const relay = await startRelay({
      listen: { host: "127.0.0.1", port: insideApiPort },
      target: () => ({ path: config.apiSocket }),
    });
    try {
      const clients = await connectNodes({ ...config, log: outside.log });
      const host = new InsideHost(config, outside, runtime, clients);
      await host.#start();
      return host;
    } catch (error) {
      await relay.close();
      throw error;
    }
  }

  async inject(fault: Fault): Promise<void> {
    switch (fault.kind) {
      case "nodeDown":
        return await this.#down(fault.node);
      case "nodeUp":
        return await this.#up(this.#known(fault.node));
      case "nodeCut":
        return await this.#cut(fault.node);
      case "nodeMend":
        return await this.#mend(this.#known(fault.node));
      default:
        await this.#faults?.inject(fault);
    }
  }

  /** Ends everything; containers get `graceMs` to end by themselves. */
  async stop(graceMs: number): Promise<void> {
    this.#abort.abort();
    await Promise.all([...this.#nodes.values()].map(({ kubelet }) => kubelet.powerOff(graceMs)));
    await this.#clients[Symbol.asyncDispose]();
  }

  async #start(): Promise<void> {
    const { dialSocket, nodes } = this.#config;
    await startDialServer(dialSocket, (address) => this.#isInCluster(address));
    this.#registry
      .run(this.#api, this.#abort.signal)
      .catch((error: unknown) => this.#outside.log(`the services cannot be followed: ${String(error)}`));
    void this.#policies.run(this.#abort.signal);
    await Promise.race([
      Promise.all([this.#registry.synced(), this.#policies.settled()]),
      new Promise((resolve) => setTimeout(resolve, servicePatienceMs)),
    ]);
    this.#addresses = clusterAddresses(this.#registry, this.#config);
    const network = this.#startNetwork().then((started) => {
      this.#network = started;
      this.#hasNetwork = true;
    });
    // A pod waits for the rules, and a node for nothing.
    this.#started = network;
    await Promise.all([network, ...nodes.map((node) => this.#up(node))]);
    this.#policiesChanged();
    this.#faults = new PodFaults({
      volume: async (name) => await this.#volume(name),
      find: (pod) =>
        this.#workers().find(
          ({ pod: { metadata } }) => metadata.namespace === pod.namespace && metadata.name === pod.name,
        ),
      network: this.#network,
      delays: new Delays(systemClock, this.#nodeAddresses()[0] ?? ""),
    });
    this.#exposures.update();
  }

  /** A node may read the volumes of its own pods only, so each is asked. */
  async #volume(name: string): ReturnType<NodeApi["volume"]> {
    const asked = await Promise.allSettled(
      this.#config.nodes.map(async (node) => await clientApi(this.#clients.of(node.name)).volume(name)),
    );
    const found = asked.find((each) => each.status === "fulfilled" && each.value !== undefined);
    if (found?.status === "fulfilled") return found.value;
    const refused = asked.find((each) => each.status === "rejected");
    if (refused?.status === "rejected") throw refused.reason;
    return undefined;
  }

  /** The cluster's addresses here: its other nodes', the API server's, the name server's; and the services'. */
  async #startNetwork(): Promise<ServiceNetwork | undefined> {
    const { tools, clusterDomain, apiSocket } = this.#config;
    const { api, dns, serviceCidr } = this.#addresses;
    const ip = quote(tools.ip);
    const nodeAddresses = this.#nodeAddresses();
    await runScript(
      [
        ...[...nodeAddresses.slice(1), api, dns].map((address) => `${ip} addr add ${address}/32 dev lo`),
        `${ip} route add ${serviceCidr} dev lo`,
      ],
      { code: "SandboxFailed", doing: "add the cluster's addresses" },
    );
    await Promise.all([
      startRelay({ listen: { host: api, port: 443 }, target: () => ({ path: apiSocket }) }),
      DnsServer.start({
        registry: this.#registry,
        domain: clusterDomain,
        address: dns,
        random: systemRandom,
      }),
      // As on any node: what runs in the cluster asks for figures here.
      ...this.#config.nodes.map(({ podCidr, kubeletPort: port, kubeletSocket: path }) =>
        startRelay({ listen: { host: firstAddress(podCidr), port }, target: () => ({ path }) }),
      ),
    ]);
    try {
      if (tools.nft === undefined) throw new NodeError("Unsupported", "nft is missing");
      const network = new ServiceNetwork({
        ...{ registry: this.#registry, serviceCidr, nodeAddresses, nft: tools.nft },
        clock: systemClock,
        localAddresses: [api, dns],
        policies: () => this.#policyRules(),
        nodePorts: () => this.#nodePorts(),
        log: this.#outside.log,
      });
      await network.apply();
      // Host ports of the loopback lead to pods; the rules keep pods from the loopback itself.
      await writeFile("/proc/sys/net/ipv4/conf/all/route_localnet", "1").catch((error: unknown) =>
        this.#outside.log(`host ports do not answer on the nodes' loopback: ${String(error)}`),
      );
      return network;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#outside.log(
        `service addresses are served by the node itself, TCP only (${reason}); nftables would do better`,
      );
      const services = new UserspaceServices({
        ...{ registry: this.#registry, ip: tools.ip, random: systemRandom },
        nodeAddress: nodeAddresses[0] ?? "",
        localAddresses: [api, dns],
        log: this.#outside.log,
      });
      await services.apply();
      return undefined;
    }
  }

  async #up(node: InsideNode): Promise<void> {
    if (this.#nodes.has(node.name)) return;
    const { ids, clusterDomain, labels, clientCa } = this.#config;
    const { maxPods, podPidsLimit, allowedUnsafeSysctls, seccompDirectory } = this.#config;
    const { log } = this.#outside;
    const line = cuttable(clientApi(this.#clients.of(node.name)));
    const kubelet = new Kubelet({
      ...{
        api: line.api,
        runtime: this.#runtime,
        name: node.name,
        podCidr: node.podCidr,
        ids,
        maxPods,
        podPidsLimit,
        allowedUnsafeSysctls,
        seccompDirectory,
        labels,
        log,
      },
      clock: systemClock,
      random: systemRandom,
      images: this.#outside.images,
      hostAddress: firstAddress(node.podCidr),
      reachableAs: node.reachableAs,
      kubeletPort: node.kubeletPort,
      dns: { address: this.#addresses.dns, domain: clusterDomain },
      dataDirectory: node.dataDirectory,
      services: () => this.#registry.services(),
      filterTraffic: () => this.#filterTraffic(),
      networkLacks: () => this.#networkLacks(),
    });
    const server = new KubeletServer({
      ...{ api: line.api, nodeName: node.name, pods: kubelet.pods, clientCa, log },
      addresses: [node.reachableAs, firstAddress(node.podCidr)],
      clock: systemClock,
    });
    this.#nodes.set(node.name, { line, kubelet, server });
    kubelet.pods.onChange(() => {
      this.#exposures.update();
      if (this.#policies.policies().length > 0 || this.#haveNodePortsChanged()) this.#network?.changed();
    });
    await server.listen({ path: node.kubeletSocket });
    await kubelet.start();
  }

  /** Pods of this network, which all nodes here share, and the name server, which is a pod elsewhere. */
  #policyRules(): PolicyRules {
    const pods = this.#workers().flatMap((worker): PolicyPod[] => {
      const { pod, address, sandbox } = worker;
      if (sandbox === undefined || address === undefined || pod.spec.hostNetwork) return [];
      const ports = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].flatMap((container) =>
        (container.ports ?? []).map(({ name, containerPort, protocol = "TCP" }) => ({
          ...{ name, port: containerPort, protocol },
        })),
      );
      return [{ namespace: pod.metadata.namespace ?? "", labels: pod.metadata.labels ?? {}, address, ports }];
    });
    const names: PolicyPod = {
      namespace: "kube-system",
      labels: { "k8s-app": "kube-dns" },
      address: this.#addresses.dns,
      ports: (["UDP", "TCP"] as const).map((protocol) => ({
        ...{ name: protocol === "UDP" ? "dns" : "dns-tcp", port: 53, protocol },
      })),
      isNodes: true,
    };
    return policyRules({
      policies: this.#policies.policies(),
      namespaces: this.#policies.namespaces(),
      pods: [...pods, names],
    });
  }

  #nodePorts(): NodePort[] {
    return this.#config.nodes.flatMap(({ name, podCidr }) =>
      nodePortsOf(this.#nodes.get(name)?.kubelet.pods.workers() ?? [], firstAddress(podCidr)),
    );
  }

  #haveNodePortsChanged(): boolean {
    const known = this.#knownNodePorts;
    this.#knownNodePorts = JSON.stringify(this.#nodePorts());
    return known !== this.#knownNodePorts;
  }

  /** Before a pod's first container runs, what concerns it is in force. */
  async #filterTraffic(): Promise<void> {
    if (this.#policies.policies().length === 0) return;
    await this.#started;
    await this.#network?.apply();
  }

  #networkLacks(): string[] {
    const { problem } = this.#policies;
    if (problem !== undefined) {
      return [
        `network policies are not enforced: ${problem}; bind a role that may list and watch networkpolicies and namespaces to system:nodes`,
      ];
    }
    if (this.#network !== undefined || !this.#hasNetwork) return [];
    return ["network policies are not enforced: this machine has no packet filter for us; nftables is one"];
  }

  /** Policies that nothing enforces are worth an event; without any, the node's condition is enough. */
  #policiesChanged(): void {
    this.#network?.changed();
    const isWorthIt = this.#policies.problem !== undefined || this.#policies.policies().length > 0;
    const lacks = this.#networkLacks();
    const said = lacks.join();
    if (said === this.#told) return;
    if (isWorthIt || said === "") this.#told = said;
    for (const { kubelet } of this.#nodes.values()) kubelet.networkChanged(isWorthIt ? lacks : []);
  }

  async #down(name: string): Promise<void> {
    const node = this.#nodes.get(this.#known(name).name);
    if (node === undefined) return;
    this.#nodes.delete(name);
    await node.server.close();
    await node.kubelet.powerOff(0);
    this.#exposures.update();
    if (this.#haveNodePortsChanged()) this.#network?.changed();
  }

  async #cut(name: string): Promise<void> {
    const node = this.#nodes.get(this.#known(name).name);
    node?.line.cut();
    await node?.server.close();
  }

  async #mend({ name, kubeletSocket }: InsideNode): Promise<void> {
    const node = this.#nodes.get(name);
    await node?.server.listen({ path: kubeletSocket }).catch((error: NodeJS.ErrnoException) => {
      // It was never cut.
      if (error.code !== "ERR_SERVER_ALREADY_LISTEN") throw error;
    });
    node?.line.mend();
  }

  #known(name: string): InsideNode {
    const found = this.#config.nodes.find((node) => node.name === name);
    if (found === undefined) throw new NodeError("NotFound", `there is no node ${name} here`);
    return found;
  }

  #workers() {
    return [...this.#nodes.values()].flatMap(({ kubelet }) => kubelet.pods.workers());
  }

  /** Whether a pod or a service may have the address: neither this namespace's own loopback nor what lies outside. */
  #isInCluster(address: string): boolean {
    if (isIP(address) !== 4) return false;
    const ranges = new BlockList();
    for (const cidr of [...this.#config.nodes.map(({ podCidr }) => podCidr), this.#addresses.serviceCidr]) {
      const [network = "", prefix = ""] = cidr.split("/");
      if (network !== "") ranges.addSubnet(network, Number(prefix));
    }
    return ranges.check(address);
  }

  #nodeAddresses(): string[] {
    return this.#config.nodes.map(({ podCidr }) => firstAddress(podCidr));
  }
}
