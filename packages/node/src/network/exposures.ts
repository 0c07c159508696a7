/** Which ports of the machine's loopback and of the nodes lead to pods: node ports of services, host ports of pods. */
import type { PodWorker } from "../kubelet/pod-worker.ts";
import type { ServiceRegistry } from "./service-registry.ts";

/** TCP and UDP have ports of their own. */
export interface ExposedPort {
  readonly protocol: "TCP" | "UDP";
  /** Of the machine's loopback. */
  readonly address: string;
  readonly port: number;
}

export interface Exposure extends ExposedPort {
  /** Inside the cluster's network. */
  readonly host: string;
  readonly targetPort: number;
}

export interface ExposuresOptions {
  readonly registry: ServiceRegistry;
  readonly pods: () => readonly PodWorker[];
  readonly nodeAddress: string;
  readonly open: (exposure: Exposure) => Promise<void>;
  readonly close: (port: ExposedPort) => Promise<void>;
  readonly log: (message: string) => void;
}

export class Exposures {
  readonly #options: ExposuresOptions;
  /** Where each leads, by protocol and port. */
  readonly #open = new Map<string, { readonly at: ExposedPort; readonly target: string }>();
  #busy: Promise<void> = Promise.resolve();

  constructor(options: ExposuresOptions) {
    this.#options = options;
    options.registry.onChange(() => this.update());
  }

  /** Looks again at services and pods; may be called at any rate. */
  update(): void {
    this.#busy = this.#busy.then(() => this.#apply());
  }

  async #apply(): Promise<void> {
    const wanted = new Map<string, Exposure>();
    for (const exposure of [...this.#hostPorts(), ...this.#nodePorts()]) {
      if (!wanted.has(idOf(exposure))) wanted.set(idOf(exposure), exposure);
    }
    for (const [id, { at, target }] of this.#open) {
      const still = wanted.get(id);
      if (still !== undefined && describe(still) === target) continue;
      this.#open.delete(id);
      await this.#options.close(at);
    }
    for (const [id, exposure] of wanted) {
      if (this.#open.has(id)) continue;
      this.#open.set(id, { at: exposure, target: describe(exposure) });
      await this.#options.open(exposure).catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        this.#options.log(
          `port ${exposure.port} of ${exposure.address} cannot lead to ${describe(exposure)}: ${reason}`,
        );
      });
    }
  }

  #nodePorts(): Exposure[] {
    return this.#options.registry.services().flatMap((service) =>
      (service.spec?.ports ?? []).flatMap(({ nodePort = 0, protocol = "TCP" }) =>
        nodePort > 0 && isRelayed(protocol)
          ? [
              {
                ...{ protocol, address: loopback, port: nodePort },
                ...{ host: this.#options.nodeAddress, targetPort: nodePort },
              },
            ]
          : [],
      ),
    );
  }

  #hostPorts(): Exposure[] {
    return this.#options.pods().flatMap((worker) =>
      hostPortsOf(worker).flatMap(({ protocol, hostIP, port, host, targetPort }) => {
        // The nodes' own addresses exist in their network alone.
        const address = isAny(hostIP) ? loopback : hostIP;
        return isRelayed(protocol) && address.startsWith("127.")
          ? [{ protocol, address, port, host, targetPort }]
          : [];
      }),
    );
  }
}

const loopback = "127.0.0.1";

function isAny(address: string): boolean {
  return address === "" || address === "0.0.0.0";
}

interface HostPort {
  readonly protocol: string;
  /** As the pod asks for it; empty for any. */
  readonly hostIP: string;
  readonly port: number;
  readonly host: string;
  readonly targetPort: number;
}

function hostPortsOf({ state, sandbox, address: host, pod }: PodWorker): HostPort[] {
  // On the node's network a pod listens there itself.
  if (state !== "living" || sandbox === undefined || host === undefined) return [];
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  return containers.flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort = 0, containerPort, protocol = "TCP", hostIP = "" }) =>
      hostPort > 0 ? [{ protocol, hostIP, port: hostPort, host, targetPort: containerPort }] : [],
    ),
  );
}

/** A port of a node that leads to a pod. */
export interface NodePort {
  readonly protocol: string;
  readonly address: string;
  readonly port: number;
  readonly target: string;
  readonly targetPort: number;
}

/**
 * The ports of a node that its pods ask for. One without an address is the node's, and that of its loopback: nodes that
 * share a network share that, and the first pod has it.
 */
export function nodePortsOf(workers: readonly PodWorker[], nodeAddress: string): NodePort[] {
  return workers
    .filter(({ pod }) => !pod.spec.hostNetwork)
    .flatMap(hostPortsOf)
    .flatMap(({ protocol, hostIP, port, host, targetPort }) =>
      (isAny(hostIP) ? [nodeAddress, loopback] : [hostIP])
        .filter((address) => /^[\d.]+$/.test(address))
        .map((address) => ({ protocol: protocol.toLowerCase(), address, port, target: host, targetPort })),
    );
}

function isRelayed(protocol: string): protocol is "TCP" | "UDP" {
  return protocol === "TCP" || protocol === "UDP";
}

export function idOf({ protocol, address, port }: ExposedPort): string {
  return `${protocol} ${address} ${port}`;
}

function describe({ host, targetPort }: Exposure): string {
  return `${host}:${targetPort}`;
}
