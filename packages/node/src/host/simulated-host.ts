/** Nodes without sandboxes: their pods are Ready and nothing runs. For machines that cannot run pods, and for tests with many nodes. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { systemClock, systemRandom } from "@keelson/core";
import type { ResolvedImage } from "@keelson/images";
import { formatImageReference, parseImageReference } from "@keelson/images";
import { emptyConfig } from "@keelson/images/internal";
import { NodeError } from "../errors.ts";
import type { Fault } from "../faults/fault.ts";
import { connectNodes } from "../identity/node-clients.ts";
import { firstAddress } from "../kubelet/address-pool.ts";
import { clientApi } from "../kubelet/client-api.ts";
import { Kubelet } from "../kubelet/kubelet.ts";
import { openKubeletEndpoint } from "../network/kubelet-endpoint.ts";
import { ServiceRegistry } from "../network/service-registry.ts";
import { SimulatedRuntime } from "../runtime/simulated-runtime.ts";
import { KubeletServer } from "../server/kubelet-server.ts";
import type { KubeconfigSource, NodeHost, NodeHostOptions } from "./host-options.ts";
import { identityDirectory } from "./identity-directory.ts";
import { nodeRange } from "./node-range.ts";

export interface SimulatedHostOptions extends NodeHostOptions {
  readonly kubeconfig: KubeconfigSource;
  /** Whether the kubeconfig is only for asking for certificates. */
  readonly bootstrap: boolean;
  readonly dataDirectory: string;
  /** Why pods are simulated: a sentence for the node's condition, its annotation and the log. */
  readonly reason: string;
}

export async function startSimulatedNodes(options: SimulatedHostOptions): Promise<NodeHost> {
  const log = options.log ?? (() => undefined);
  log(`pods are simulated: ${options.reason}`);
  const nodes = options.names.map((name) => ({
    name,
    identityDirectory: identityDirectory(options.dataDirectory, name),
  }));
  const clients = await connectNodes({ ...options, nodes, log });
  const abort = new AbortController();
  const registry = new ServiceRegistry();
  registry.run(clientApi(clients.of(options.names[0] ?? "")), abort.signal).catch((error: unknown) => {
    if (!abort.signal.aborted) log(`the services cannot be followed: ${String(error)}`);
  });
  const runtime = new SimulatedRuntime();
  const servers: KubeletServer[] = [];
  const kubelets = await Promise.all(
    options.names.map(async (name, index) => {
      const podCidr = nodeRange(options.podCidr, index);
      const dataDirectory = join(options.dataDirectory, "nodes", name);
      await mkdir(dataDirectory, { recursive: true });
      const api = clientApi(clients.of(name));
      let kubelet: Kubelet | undefined;
      const server = new KubeletServer({
        ...{ api, clock: systemClock, nodeName: name, log },
        pods: {
          workers: () => kubelet?.pods.workers() ?? [],
          find: (...which) => kubelet?.pods.find(...which),
        },
      });
      const { address, port } = await openKubeletEndpoint(async (listen) => {
        await server.listen(listen);
        return server;
      });
      servers.push(server);
      kubelet = new Kubelet({
        ...{ name, api, runtime, log, podCidr, dataDirectory },
        clock: systemClock,
        random: systemRandom,
        ids: "all",
        images: { find: pretend, pull: pretend, list: () => Promise.resolve([]) },
        hostAddress: firstAddress(podCidr),
        reachableAs: address,
        kubeletPort: port,
        dns: {
          address: options.dnsAddress ?? "10.96.0.10",
          domain: options.clusterDomain ?? "cluster.local",
        },
        maxPods: options.maxPods,
        podPidsLimit: options.podPidsLimit,
        allowedUnsafeSysctls: options.allowedUnsafeSysctls,
        seccompDirectory: options.seccompDirectory ?? join(options.dataDirectory, "seccomp"),
        labels: options.labels,
        simulated: options.reason,
        services: () => registry.services(),
      });
      await kubelet.start();
      return kubelet;
    }),
  );
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= (async () => {
      abort.abort();
      await Promise.all(kubelets.map((kubelet) => kubelet.powerOff(0)));
      await Promise.all(servers.map((server) => server.close()));
      await clients[Symbol.asyncDispose]();
    })();
    return stopping;
  };
  const inject = (fault: Fault) =>
    Promise.reject(
      new NodeError("Unsupported", `pods are simulated here: ${fault.kind} has nothing to act on`),
    );
  return {
    mode: "simulated",
    failure: new Promise(() => undefined),
    inject,
    dial: (address, port) =>
      Promise.reject(
        new NodeError("Unreachable", `pods are simulated here: nobody answers at ${address}:${port}`),
      ),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Any image will do when nothing of it is run; a malformed name is still refused. */
function pretend(image: string): Promise<ResolvedImage> {
  return new Promise((resolve) => {
    const reference = formatImageReference(parseImageReference(image));
    const id = `sha256:${"0".repeat(64)}`;
    resolve({
      ...{ reference, id, rootfs: "", origin: "store", sizeBytes: 0, names: [reference] },
      repoDigest: `${reference.replace(/:[^/]*$/, "")}@${id}`,
      config: { ...emptyConfig, cmd: ["simulated"] },
    });
  });
}
