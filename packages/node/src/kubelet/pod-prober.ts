/** The probes of one running container, in the order they take over from each other. */
import type { Clock } from "@keelson/core";
import type { Container, Probe } from "@keelson/core/kinds";
import type { ContainerHandle } from "../runtime/container-runtime.ts";
import { portNumber } from "./hooks.ts";
import { probeGrpc } from "./probes/grpc-probe.ts";
import { probeCommand, probeHttp, probeTcp } from "./probes/probe-actions.ts";
import { type ProbeKind, type ProbeOutcome, ProbeWorker } from "./probes/probe-worker.ts";

export interface ContainerProbesOptions {
  readonly container: Container;
  readonly handle: ContainerHandle;
  readonly podAddress: string;
  readonly clock: Clock;
  readonly onStarted: () => void;
  readonly onReady: (ready: boolean) => void;
  /** The container must be replaced. */
  readonly onUnhealthy: (kind: "startup" | "liveness", message: string) => void;
  /** Any failed attempt. */
  readonly onFailure: (kind: ProbeKind, message: string) => void;
}

/** Liveness and readiness wait for the startup probe. Without probes a running container is started and ready. */
export class ContainerProbes {
  readonly #options: ContainerProbesOptions;
  readonly #workers: ProbeWorker[] = [];
  #stopped = false;

  constructor(options: ContainerProbesOptions) {
    this.#options = options;
    const { startupProbe } = options.container;
    if (startupProbe === undefined) this.#afterStartup();
    else {
      this.#work("startup", startupProbe, (ok, message) => {
        if (ok) this.#afterStartup();
        else options.onUnhealthy("startup", message);
      });
    }
  }

  stop(): void {
    this.#stopped = true;
    for (const worker of this.#workers) worker.stop();
  }

  #afterStartup(): void {
    if (this.#stopped) return;
    const { container, onStarted, onReady, onUnhealthy } = this.#options;
    onStarted();
    if (container.readinessProbe === undefined) onReady(true);
    else this.#work("readiness", container.readinessProbe, (ok) => onReady(ok));
    if (container.livenessProbe !== undefined) {
      this.#work("liveness", container.livenessProbe, (ok, message) => {
        if (!ok) onUnhealthy("liveness", message);
      });
    }
  }

  #work(kind: ProbeKind, probe: Probe, onResult: (ok: boolean, message: string) => void): void {
    const { clock, onFailure } = this.#options;
    this.#workers.push(
      new ProbeWorker({
        probe,
        kind,
        clock,
        attempt: (timeoutMs) => this.#attempt(probe, timeoutMs),
        onFailure: (message) => onFailure(kind, message),
        onResult,
      }),
    );
  }

  async #attempt(probe: Probe, timeoutMs: number): Promise<ProbeOutcome> {
    const { handle, podAddress, container } = this.#options;
    try {
      if (probe.exec !== undefined) return await probeCommand(handle, probe.exec.command ?? [], timeoutMs);
      if (probe.httpGet !== undefined) {
        const host = probe.httpGet.host || podAddress;
        const port = portNumber(probe.httpGet.port, container);
        return await probeHttp({ host, port, action: probe.httpGet, timeoutMs });
      }
      if (probe.tcpSocket !== undefined) {
        const host = probe.tcpSocket.host || podAddress;
        return await probeTcp(host, portNumber(probe.tcpSocket.port, container), timeoutMs);
      }
      if (probe.grpc !== undefined) {
        const { port, service = "" } = probe.grpc;
        return await probeGrpc({ host: podAddress, port, service, timeoutMs });
      }
      return { ok: true, message: "" };
    } catch (error) {
      return { ok: false, message: error instanceof Error ? error.message : String(error) };
    }
  }
}
