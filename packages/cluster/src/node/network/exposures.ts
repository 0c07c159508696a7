/** Which ports of the machine's loopback lead into the cluster: node ports of services, host ports of pods. */
import type { PodWorker } from "../kubelet/pod-worker.ts";
import type { ServiceRegistry } from "./service-registry.ts";

export interface Exposure {
  /** On the machine's loopback. */
  readonly port: number;
  /** Inside the cluster's network. */
  readonly host: string;
  readonly targetPort: number;
}

export interface ExposuresOptions {
  readonly registry: ServiceRegistry;
  readonly pods: () => readonly PodWorker[];
  readonly nodeAddress: string;
  readonly open: (exposure: Exposure) => Promise<void>;
  readonly close: (port: number) => Promise<void>;
  readonly log: (message: string) => void;
}

export class Exposures {
  readonly #options: ExposuresOptions;
  readonly #open = new Map<number, string>();
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
    const wanted = new Map([...this.#nodePorts(), ...this.#hostPorts()].map((one) => [one.port, one]));
    for (const [port, target] of this.#open) {
      const still = wanted.get(port);
      if (still !== undefined && describe(still) === target) continue;
      this.#open.delete(port);
      await this.#options.close(port);
    }
    for (const exposure of wanted.values()) {
      if (this.#open.has(exposure.port)) continue;
      this.#open.set(exposure.port, describe(exposure));
      await this.#options.open(exposure).catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        this.#options.log(
          `port ${exposure.port} of this machine cannot lead to ${describe(exposure)}: ${reason}`,
        );
      });
    }
  }

  #nodePorts(): Exposure[] {
    return this.#options.registry.services().flatMap((service) =>
      (service.spec?.ports ?? [])
        .filter(({ nodePort, protocol }) => nodePort && (protocol ?? "TCP") === "TCP")
        .map(({ nodePort = 0 }) => ({
          port: nodePort,
          host: this.#options.nodeAddress,
          targetPort: nodePort,
        })),
    );
  }

  #hostPorts(): Exposure[] {
    return this.#options.pods().flatMap((worker) => {
      const host = worker.state === "living" && worker.sandbox !== undefined ? worker.address : undefined;
      if (host === undefined) return [];
      return worker.pod.spec.containers.flatMap(({ ports = [] }) =>
        ports
          .filter(({ hostPort, protocol }) => hostPort && (protocol ?? "TCP") === "TCP")
          .map(({ hostPort = 0, containerPort }) => ({ port: hostPort, host, targetPort: containerPort })),
      );
    });
  }
}

function describe({ host, targetPort }: Exposure): string {
  return `${host}:${targetPort}`;
}
