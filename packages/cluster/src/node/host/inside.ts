/** The program that runs inside the cluster's namespace: the kubelets of one or more nodes, and their network. */
import { connect as connectApi, systemClock, systemRandom } from "@keelson/client";
import type { Stored } from "@keelson/core";
import type { Service } from "@keelson/core/kinds";
import { firstAddress } from "../kubelet/address-pool.ts";
import { clientApi } from "../kubelet/client-api.ts";
import { Kubelet } from "../kubelet/kubelet.ts";
import { SandboxRuntime } from "../runtime/sandbox-runtime.ts";
import { runScript } from "../runtime/shell.ts";
import { KubeletServer } from "../server/kubelet-server.ts";
import { Channel } from "./channel.ts";
import { type InsideConfig, insideApiPort } from "./inside-config.ts";
import { startRelay } from "./relay.ts";
import { remoteImages } from "./remote-images.ts";

const log = (message: string) => console.log(message);
const kubelets: Kubelet[] = [];

async function start(config: InsideConfig): Promise<void> {
  const first = config.nodes[0];
  if (first === undefined) return;
  const runtime = await SandboxRuntime.start({
    directory: config.runDirectory,
    tools: config.tools,
    ids: config.ids,
    gateway: firstAddress(first.podCidr),
  });
  const addresses = [...config.nodes.slice(1).map(({ podCidr }) => firstAddress(podCidr)), config.apiAddress];
  await runScript(
    addresses.map((address) => `${config.tools.ip} addr add ${address}/32 dev lo`),
    { code: "SandboxFailed", doing: "add the cluster's addresses" },
  );
  const toApi = () => ({ path: config.apiSocket });
  await Promise.all([
    startRelay({ listen: { host: "127.0.0.1", port: insideApiPort }, target: toApi }),
    startRelay({ listen: { host: config.apiAddress, port: 443 }, target: toApi }),
  ]);
  const client = await connectApi({ kubeconfig: config.kubeconfig, userAgent: "kubelet/v1.36.4 keelson" });
  const api = clientApi(client);
  const services: Stored<Service>[] = [];
  await Promise.all(
    config.nodes.map(async (node) => {
      const kubelet = new Kubelet({
        name: node.name,
        api,
        clock: systemClock,
        random: systemRandom,
        runtime,
        ids: config.ids,
        images: remoteImages(channel),
        podCidr: node.podCidr,
        hostAddress: firstAddress(node.podCidr),
        reachableAddress: "127.0.0.1",
        kubeletPort: node.kubeletPort,
        dns: { address: config.dnsAddress, domain: config.clusterDomain },
        dataDirectory: node.dataDirectory,
        maxPods: config.maxPods,
        labels: config.labels,
        services: () => services,
        log,
      });
      kubelets.push(kubelet);
      const server = new KubeletServer({
        ...{ api, clock: systemClock, nodeName: node.name, pods: kubelet.pods, log },
        clientCa: config.clientCa,
      });
      await server.listen({ path: node.kubeletSocket });
      await kubelet.start();
    }),
  );
}

const channel = new Channel(process, {
  start: (config: InsideConfig) => start(config),
  stop: async () => {
    await Promise.all(kubelets.map((kubelet) => kubelet.powerOff()));
    setImmediate(() => process.exit(0));
  },
});

// The starter is gone: so are we, and with us everything inside.
process.on("disconnect", () => process.exit(0));
process.on("unhandledRejection", (error) =>
  log(`unexpected: ${error instanceof Error ? error.stack : String(error)}`),
);
