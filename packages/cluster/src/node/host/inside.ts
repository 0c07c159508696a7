/** The program that runs inside the cluster's namespace: the kubelets of one or more nodes, and their network. */
import { connect as connectApi, systemClock, systemRandom } from "@keelson/client";
import { firstAddress } from "../kubelet/address-pool.ts";
import type { NodeApi } from "../kubelet/api.ts";
import { clientApi } from "../kubelet/client-api.ts";
import { Kubelet } from "../kubelet/kubelet.ts";
import { startDialServer } from "../network/dial-server.ts";
import { DnsServer } from "../network/dns-server.ts";
import { Exposures } from "../network/exposures.ts";
import { ServiceNetwork } from "../network/service-network.ts";
import { ServiceRegistry } from "../network/service-registry.ts";
import { SandboxRuntime } from "../runtime/sandbox-runtime.ts";
import { quote, runScript } from "../runtime/shell.ts";
import { KubeletServer } from "../server/kubelet-server.ts";
import { Channel } from "./channel.ts";
import { type ClusterAddresses, clusterAddresses } from "./cluster-addresses.ts";
import { type InsideConfig, insideApiPort } from "./inside-config.ts";
import { startRelay } from "./relay.ts";
import { remoteImages } from "./remote-images.ts";

const log = (message: string) => console.log(message);
const kubelets: Kubelet[] = [];
const abort = new AbortController();
/** A cluster whose services cannot be read still gets its pods. */
const servicePatienceMs = 5_000;

async function start(config: InsideConfig): Promise<void> {
  const nodeAddresses = config.nodes.map(({ podCidr }) => firstAddress(podCidr));
  const [runtime] = await Promise.all([
    SandboxRuntime.start({
      directory: config.runDirectory,
      tools: config.tools,
      ids: config.ids,
      gateway: nodeAddresses[0] ?? "",
    }),
    startRelay({
      listen: { host: "127.0.0.1", port: insideApiPort },
      target: () => ({ path: config.apiSocket }),
    }),
    startDialServer(config.dialSocket),
  ]);
  const client = await connectApi({ kubeconfig: config.kubeconfig, userAgent: "kubelet/v1.36.4 keelson" });
  const api = clientApi(client);
  const registry = new ServiceRegistry();
  registry
    .run(api, abort.signal)
    .catch((error: unknown) => log(`the services cannot be followed: ${String(error)}`));
  await Promise.race([registry.synced(), new Promise((resolve) => setTimeout(resolve, servicePatienceMs))]);
  const addresses = clusterAddresses(registry, config);
  await startNetwork(config, registry, addresses, nodeAddresses);
  await Promise.all(config.nodes.map((node) => startNode(node, config, api, registry, runtime, addresses)));
  const exposures = new Exposures({
    registry,
    pods: () => kubelets.flatMap(({ pods }) => pods.workers()),
    nodeAddress: nodeAddresses[0] ?? "",
    open: (exposure) => channel.ask("expose", exposure),
    close: (port) => channel.ask("unexpose", port),
    log,
  });
  for (const { pods } of kubelets) pods.onChange(() => exposures.update());
  exposures.update();
}

/** The cluster's addresses on this node: its other nodes', the API server's, the name server's. */
async function startNetwork(
  config: InsideConfig,
  registry: ServiceRegistry,
  { api, dns, serviceCidr }: ClusterAddresses,
  nodeAddresses: readonly string[],
): Promise<void> {
  const ip = quote(config.tools.ip);
  await runScript(
    [
      ...[...nodeAddresses.slice(1), api, dns].map((address) => `${ip} addr add ${address}/32 dev lo`),
      `${ip} route add ${serviceCidr} dev lo`,
    ],
    { code: "SandboxFailed", doing: "add the cluster's addresses" },
  );
  await Promise.all([
    startRelay({ listen: { host: api, port: 443 }, target: () => ({ path: config.apiSocket }) }),
    DnsServer.start({ registry, domain: config.clusterDomain, address: dns, random: systemRandom }),
  ]);
  if (config.tools.nft === undefined) {
    log("nft is missing: service addresses do not answer; install nftables");
    return;
  }
  const services = new ServiceNetwork({
    ...{ registry, log, serviceCidr, nodeAddresses, nft: config.tools.nft },
    clock: systemClock,
    localAddresses: [api, dns],
  });
  await services.apply();
}

async function startNode(
  node: InsideConfig["nodes"][number],
  config: InsideConfig,
  api: NodeApi,
  registry: ServiceRegistry,
  runtime: SandboxRuntime,
  addresses: ClusterAddresses,
): Promise<void> {
  const kubelet = new Kubelet({
    ...{ api, runtime, log, name: node.name, podCidr: node.podCidr },
    clock: systemClock,
    random: systemRandom,
    ids: config.ids,
    images: remoteImages(channel),
    hostAddress: firstAddress(node.podCidr),
    reachableAddress: "127.0.0.1",
    kubeletPort: node.kubeletPort,
    dns: { address: addresses.dns, domain: config.clusterDomain },
    dataDirectory: node.dataDirectory,
    maxPods: config.maxPods,
    labels: config.labels,
    services: () => registry.services(),
  });
  kubelets.push(kubelet);
  const server = new KubeletServer({
    ...{ api, clock: systemClock, nodeName: node.name, pods: kubelet.pods, log },
    clientCa: config.clientCa,
  });
  await server.listen({ path: node.kubeletSocket });
  await kubelet.start();
}

const channel = new Channel(process, {
  start: (config: InsideConfig) => start(config),
  stop: async () => {
    abort.abort();
    await Promise.all(kubelets.map((kubelet) => kubelet.powerOff()));
    setImmediate(() => process.exit(0));
  },
});

// The starter is gone: so are we, and with us everything inside.
process.on("disconnect", () => process.exit(0));
process.on("unhandledRejection", (error) =>
  log(`unexpected: ${error instanceof Error ? error.stack : String(error)}`),
);
