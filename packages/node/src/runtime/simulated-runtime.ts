/** The runtime for where sandboxes are impossible, or not wanted: containers that run without a process. */
import { constants as os } from "node:os";
import { NodeError } from "../errors.ts";
import type {
  ContainerExit,
  ContainerHandle,
  ContainerRuntime,
  ContainerSpec,
  DuplexPipe,
  PodSandbox,
  PodSandboxSpec,
} from "./container-runtime.ts";

export interface SimulationOptions {
  /** Decides how a container behaves. By default one-shots end well at once and others run until stopped. */
  readonly behave?: (spec: ContainerSpec) => "run" | { readonly exitCode: number };
}

export class SimulatedRuntime implements ContainerRuntime {
  readonly kind = "simulated";
  readonly memory = "";
  readonly lacks: readonly string[] = [];
  readonly #behave: NonNullable<SimulationOptions["behave"]>;

  constructor(options: SimulationOptions = {}) {
    this.#behave = options.behave ?? (({ oneShot }) => (oneShot ? { exitCode: 0 } : "run"));
  }

  createPodSandbox(spec: PodSandboxSpec): Promise<PodSandbox> {
    return Promise.resolve(new SimulatedPod(spec, this.#behave));
  }
}

class SimulatedPod implements PodSandbox {
  readonly id: string;
  readonly address: string;
  readonly directory = "";
  readonly #behave: NonNullable<SimulationOptions["behave"]>;
  readonly #containers = new Set<SimulatedContainer>();

  constructor(spec: PodSandboxSpec, behave: NonNullable<SimulationOptions["behave"]>) {
    this.id = spec.id;
    this.address = spec.address;
    this.#behave = behave;
  }

  startContainer(spec: ContainerSpec): Promise<ContainerHandle> {
    const container = new SimulatedContainer(spec.id);
    const behaviour = this.#behave(spec);
    if (behaviour !== "run") container.end(behaviour.exitCode);
    this.#containers.add(container);
    return Promise.resolve(container);
  }

  limit(): Promise<void> {
    return Promise.resolve();
  }

  connect(port: number): Promise<DuplexPipe> {
    return Promise.reject(
      new NodeError("Unsupported", `pod ${this.id} is simulated: nothing listens on port ${port}`),
    );
  }

  async remove(): Promise<void> {
    for (const container of this.#containers) container.signal("SIGKILL");
  }
}

class SimulatedContainer implements ContainerHandle {
  readonly id: string;
  readonly pid = 0;
  readonly stdin = undefined;
  readonly exited: Promise<ContainerExit>;
  readonly #resolve: (exit: ContainerExit) => void;

  constructor(id: string) {
    const { promise, resolve } = Promise.withResolvers<ContainerExit>();
    this.id = id;
    this.exited = promise;
    this.#resolve = resolve;
  }

  end(code: number): void {
    this.#resolve({ code, oomKilled: false });
  }

  /** Servers end well when they are asked to, and badly when they are killed. */
  signal(signal: NodeJS.Signals): void {
    if (signal === "SIGKILL") this.end(128 + os.signals.SIGKILL);
    else if (signal === "SIGTERM" || signal === "SIGINT" || signal === "SIGQUIT") this.end(0);
  }

  freeze(): Promise<void> {
    return Promise.resolve();
  }

  limit(): Promise<void> {
    return Promise.resolve();
  }

  exec(): Promise<never> {
    return Promise.reject(
      new NodeError("Unsupported", `container ${this.id} is simulated: no command can run in it`),
    );
  }

  resize(): Promise<void> {
    return Promise.resolve();
  }

  usage() {
    return Promise.resolve({ memoryBytes: 0, cpuNanoseconds: 0 });
  }
}
