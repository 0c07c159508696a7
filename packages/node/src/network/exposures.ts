/** Which ports of the machine's loopback lead into the cluster: node ports of services, host ports of pods. */
import type { PodWorker } from "../kubelet/pod-worker.ts";
import type { ServiceRegistry } from "./service-registry.ts";

/** TCP and UDP have ports of their own. */
export interface ExposedPort {
  readonly protocol: "TCP" | "UDP";
  /** On the machine's loopback. */
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
    const wanted = new Map([...this.#nodePorts(), ...this.#hostPorts()].map((one) => [idOf(one), one]));
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
          `port ${exposure.port} of this machine cannot lead to ${describe(exposure)}: ${reason}`,
        );
      });
    }
  }

  #nodePorts(): Exposure[] {
    return this.#options.registry
      .services()
      .flatMap((service) =>
        (service.spec?.ports ?? []).flatMap(({ nodePort = 0, protocol = "TCP" }) =>
          nodePort > 0 && isRelayed(protocol)
            ? [{ protocol, port: nodePort, host: this.#options.nodeAddress, targetPort: nodePort }]
            : [],
        ),
      );
  }

  #hostPorts(): Exposure[] {
    return this.#options.pods().flatMap((worker) => {
      const host = worker.state === "living" && worker.sandbox !== undefined ? worker.address : undefined;
      if (host === undefined) return [];
      return worker.pod.spec.containers.flatMap(({ ports = [] }) =>
        ports.flatMap(({ hostPort = 0, containerPort, protocol = "TCP" }) =>
          hostPort > 0 && isRelayed(protocol)
            ? [{ protocol, port: hostPort, host, targetPort: containerPort }]
            : [],
        ),
      );
    });
  }
}

function isRelayed(protocol: string): protocol is "TCP" | "UDP" {
  return protocol === "TCP" || protocol === "UDP";
}

function idOf({ protocol, port }: ExposedPort): string {
  return `${protocol} ${port}`;
}

function describe({ host, targetPort }: Exposure): string {
  return `${host}:${targetPort}`;
}
