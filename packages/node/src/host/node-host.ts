/** Starts nodes: in a namespace with real sandboxes where the machine allows it, simulated where it does not. */
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { loadKubeconfig } from "@keelson/client";
import { Images, locateProgram, type ProgramName } from "@keelson/images";
import {
  isAbandoned,
  markPattern,
  ownMark,
  privateCache,
  privateDirectory,
  removeTree,
  socketDirectory,
  temporaryDirectory,
} from "@keelson/machine";
import { NodeError, type NodeErrorCode } from "../errors.ts";
import type { Fault } from "../faults/fault.ts";
import { firstAddress } from "../kubelet/address-pool.ts";
import { launchInNamespace, type NamespaceProcess } from "../namespace/launch.ts";
import { dialThrough } from "../network/dial.ts";
import { type ExposedPort, type Exposure, idOf } from "../network/exposures.ts";
import { openKubeletEndpoint } from "../network/kubelet-endpoint.ts";
import { type Relay, startRelay } from "../network/relay.ts";
import { removeCgroups } from "../runtime/cgroups.ts";
import { Channel } from "./channel.ts";
import { startDatagramRelay } from "./datagram-relay.ts";
import type { KubeconfigSource, NodeHost, NodeHostOptions } from "./host-options.ts";
import { identityDirectory } from "./identity-directory.ts";
import { type InsideConfig, type InsideNode, type InsideSandboxes, insideApiPort } from "./inside-config.ts";
import { insideKubeconfig } from "./inside-kubeconfig.ts";
import { nodeRange } from "./node-range.ts";

/** What a node may need beyond the pods' grace to end by itself. */
const stopMarginMs = 3_000;

/** Several hosts may live in one process. */
let hosts = 0;

/** Starts nodes: with real sandboxes where the machine allows it, simulated where it does not. */
export async function startNodes(options: NodeHostOptions): Promise<NodeHost> {
  const own = options.dataDirectory === undefined;
  const data = own ? await temporaryDirectory() : resolve(options.dataDirectory ?? "");
  privateDirectory(data);
  const simulate = async (reason: string) => {
    const { startSimulatedNodes } = await import("./simulated-host.ts");
    return await startSimulatedNodes({
      ...options,
      ...(await joining(options)),
      dataDirectory: data,
      reason,
    });
  };
  const start = async () => {
    if (options.simulate === "always") return await simulate("simulation was asked for");
    try {
      return await startSandboxedNodes(options, data);
    } catch (error) {
      // Also from inside the namespace, where it is an error of another process.
      const { code, message } = error as Partial<NodeError>;
      if (code !== "SandboxUnsupported" || options.simulate === "never") throw error;
      return await simulate(message ?? "");
    }
  };
  const dispose = async () => {
    if (own) await removeTree(data);
  };
  try {
    const host = await start();
    const stop = () => host.stop().finally(dispose);
    return { ...host, stop, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await dispose();
    throw error;
  }
}

async function startSandboxedNodes(options: NodeHostOptions, data: string): Promise<NodeHost> {
  const log = options.log ?? (() => undefined);
  const sockets = await socketDirectory(join(data, "sockets"));
  const group = `keelson-${ownMark()}-${hosts++}`;
  const closing: (() => Promise<unknown>)[] = [];
  const release = async () => {
    for (const close of closing.reverse()) await close();
    await Promise.all([
      removeTree(sockets),
      removeTree(join(data, "run")),
      removeCgroups((name) => name === group),
    ]);
  };
  try {
    const launching = launchInNamespace({
      module: insideModule(),
      onOutput: log,
      // Compiled code is kept between starts: that halves the time until the node's first word.
      env: { ...process.env, NODE_COMPILE_CACHE: join(privateCache(), "compile") },
    });
    // It may fail before anyone waits for it below, and that is no reason to end the process.
    launching.catch(() => undefined);
    closing.push(async () => {
      const inside = await launching.catch(() => undefined);
      inside?.kill();
      await inside?.exited;
    });
    await rm(sockets, { recursive: true, force: true });
    await mkdir(sockets, { recursive: true, mode: 0o700 });
    const [inside, found] = await Promise.all([launching, tools(options), sweepCgroups()]);
    const images = new Images({ onProgress: options.onProgress });
    const exposed = new Map<string, Relay>();
    closing.push(() => Promise.all([...exposed.values()].map((relay) => relay.close())));
    const dialSocket = join(sockets, "dial");
    const channel = new Channel(inside.child, {
      expose: async ({ protocol, address, port, host, targetPort }: Exposure) => {
        const listen = { host: address, port };
        const relay =
          protocol === "UDP"
            ? await startDatagramRelay({ listen, dialSocket, target: { host, port: targetPort } })
            : await startRelay({
                listen,
                target: () => ({ path: dialSocket }),
                preamble: `${host} ${targetPort}\n`,
              });
        exposed.set(idOf({ protocol, address, port }), relay);
      },
      unexpose: async (port: ExposedPort) => {
        const id = idOf(port);
        await exposed.get(id)?.close();
        exposed.delete(id);
      },
      findImage: (image: string) => images.find(image),
      pullImage: ({ image, secrets }: { image: string; secrets: [] }) => images.pull(image, secrets),
      listImages: async () => (await images.list()).map(({ names, sizeBytes }) => ({ names, sizeBytes })),
    });
    void inside.exited.then(() => channel.close("the node's namespace is gone"));
    const sandboxes: InsideSandboxes = {
      runDirectory: join(data, "run"),
      tools: found,
      ids: inside.ids.mode,
      gateway: firstAddress(nodeRange(options.podCidr, 0)),
      group,
    };
    const prepared = channel.ask("prepare", sandboxes);
    // Its failure is told below, whichever of the two fails first.
    prepared.catch(() => undefined);
    const config = await insideConfig(options, sandboxes, data, sockets, closing);
    await prepared;
    await channel.ask("start", config);
    return hostOf({ inside, channel, dialSocket, release, graceMs: options.stopGraceMs ?? 0, log });
  } catch (error) {
    await release();
    throw error;
  }
}

/** Removes control groups that killed hosts left. */
async function sweepCgroups(): Promise<void> {
  const made = new RegExp(`^keelson-(${markPattern})-\\d+$`);
  await removeCgroups((name) => {
    const mark = made.exec(name)?.[1];
    return mark !== undefined && isAbandoned(mark);
  });
}

/** What the nodes join with. */
async function joining(options: NodeHostOptions): Promise<{
  readonly kubeconfig: KubeconfigSource;
  readonly bootstrap: boolean;
}> {
  const { kubeconfig, bootstrapKubeconfig } = options;
  const source = bootstrapKubeconfig ?? kubeconfig;
  if (source === undefined || (kubeconfig !== undefined && bootstrapKubeconfig !== undefined)) {
    throw new NodeError("BadConfiguration", "pass either a kubeconfig or a bootstrap kubeconfig");
  }
  return {
    kubeconfig: typeof source === "function" ? await source() : source,
    bootstrap: bootstrapKubeconfig !== undefined,
  };
}

async function insideConfig(
  options: NodeHostOptions,
  sandboxes: InsideSandboxes,
  data: string,
  sockets: string,
  closing: (() => Promise<unknown>)[],
): Promise<InsideConfig> {
  const { kubeconfig, bootstrap } = await joining(options);
  const { server, document, authority } = insideKubeconfig(
    await loadKubeconfig({ kubeconfig }),
    insideApiPort,
  );
  const apiSocket = join(sockets, "api");
  const relays: Relay[] = [await startRelay({ listen: { path: apiSocket }, target: () => server })];
  closing.push(() => Promise.all(relays.map((relay) => relay.close())));
  const nodes: InsideNode[] = [];
  for (const [index, name] of options.names.entries()) {
    const kubeletSocket = join(sockets, `kubelet${index}`);
    const { address, port, opened } = await openKubeletEndpoint((listen) =>
      startRelay({ listen, target: () => ({ path: kubeletSocket }) }),
    );
    relays.push(opened);
    nodes.push({
      name,
      podCidr: nodeRange(options.podCidr, index),
      reachableAs: address,
      kubeletPort: port,
      kubeletSocket,
      dataDirectory: join(data, "nodes", name),
      identityDirectory: identityDirectory(data, name),
    });
  }
  return {
    ...sandboxes,
    nodes,
    kubeconfig: document,
    bootstrap,
    apiSocket,
    dialSocket: join(sockets, "dial"),
    dnsAddress: options.dnsAddress,
    serviceCidr: options.serviceCidr,
    clusterDomain: options.clusterDomain ?? "cluster.local",
    maxPods: options.maxPods,
    podPidsLimit: options.podPidsLimit,
    allowedUnsafeSysctls: options.allowedUnsafeSysctls,
    seccompDirectory: resolve(options.seccompDirectory ?? join(data, "seccomp")),
    labels: options.labels,
    ...(authority === undefined ? {} : { clientCa: authority }),
  };
}

interface HostParts {
  readonly inside: NamespaceProcess;
  readonly channel: Channel;
  readonly dialSocket: string;
  readonly release: () => Promise<void>;
  readonly graceMs: number;
  readonly log: (line: string) => void;
}

function hostOf({ inside, channel, dialSocket, release, graceMs, log }: HostParts): NodeHost {
  let stopping: Promise<void> | undefined;
  const failure = inside.exited.then(({ code, signal }) => {
    if (stopping !== undefined) return new Promise<Error>(() => undefined);
    return new NodeError(
      "SandboxFailed",
      `the node's process ended by itself (${signal ?? `exit code ${code}`})`,
    );
  });
  const stop = () => {
    stopping ??= (async () => {
      // Whatever keeps the inside from ending in good order, the namespace ends, and everything in it.
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const patience = setTimeout(() => {
        log(`the nodes did not end in good order within ${graceMs + stopMarginMs} ms: they are killed`);
        resolve();
      }, graceMs + stopMarginMs);
      await Promise.race([channel.ask("stop", graceMs).catch(() => undefined), inside.exited, late]);
      clearTimeout(patience);
      await release();
    })();
    return stopping;
  };
  const inject = async (fault: Fault) => {
    try {
      await channel.ask("inject", fault);
    } catch (error) {
      const { message, code } = error as Error & { code?: string };
      throw new NodeError((code ?? "SandboxFailed") as NodeErrorCode, message, { cause: error });
    }
  };
  return {
    mode: "sandbox",
    failure,
    inject,
    dial: (address, port, signal) => dialThrough(dialSocket, address, port, signal),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** A machine without the programs that sandboxes are made with cannot have sandboxes: that is what is wrong then. */
async function tools({ onProgress, userspaceServices }: NodeHostOptions): Promise<InsideConfig["tools"]> {
  const path = async (name: ProgramName) => {
    try {
      return (await locateProgram(name, { onProgress })).path;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new NodeError("SandboxUnsupported", reason, { cause: error });
    }
  };
  const [bwrap, ip, nsenter, unshare, script, nft] = await Promise.all([
    path("bwrap"),
    path("ip"),
    path("nsenter"),
    path("unshare"),
    path("script"),
    userspaceServices ? undefined : path("nft").catch(() => undefined),
  ]);
  return { bwrap, ip, nsenter, unshare, script, ...(nft === undefined ? {} : { nft }) };
}

/** Beside this file, in the form this file has: source in development, compiled when installed. */
function insideModule(): string {
  const own = fileURLToPath(import.meta.url);
  const path = fileURLToPath(new URL(own.endsWith(".ts") ? "./inside.ts" : "./inside.js", import.meta.url));
  if (!existsSync(path))
    throw new NodeError("BadConfiguration", `${path} is missing: the installation is incomplete`);
  return path;
}
