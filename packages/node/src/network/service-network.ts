/** Keeps the packet filter in step with the services. */
import type { Clock } from "@keelson/core";
import { runCommand } from "@keelson/machine";
import { NodeError } from "../errors.ts";
import type { DelayedPort } from "./delays.ts";
import type { NodePort } from "./exposures.ts";
import type { PolicyRules } from "./policy-rules.ts";
import type { ServiceRegistry } from "./service-registry.ts";
import { type Cut, type RulesInput, serviceRules } from "./service-rules.ts";

export interface ServiceNetworkOptions {
  readonly registry: ServiceRegistry;
  readonly nft: string;
  readonly clock: Clock;
  readonly nodeAddresses: readonly string[];
  readonly serviceCidr: string;
  readonly localAddresses: readonly string[];
  readonly policies: () => PolicyRules;
  readonly nodePorts: () => readonly NodePort[];
  readonly log: (message: string) => void;
}

/** Changes come in bursts; one transaction takes them all. */
const gatherMs = 10;

export class ServiceNetwork {
  readonly #options: ServiceNetworkOptions;
  #cuts: readonly Cut[] = [];
  #delays: readonly DelayedPort[] = [];
  #applied = "";
  #turn: Promise<void> = Promise.resolve();
  #pending: Promise<void> | undefined;
  #again = false;

  constructor(options: ServiceNetworkOptions) {
    this.#options = options;
    options.registry.onChange(() => this.#soon());
  }

  /** Applies everything now; throws when the machine refuses. */
  async apply(): Promise<void> {
    // One after the other, each with what is true when its turn comes: an older text must not win.
    const turn = this.#turn.catch(() => undefined).then(() => this.#apply());
    this.#turn = turn;
    await turn;
  }

  async #apply(): Promise<void> {
    const { registry, nodeAddresses, serviceCidr, localAddresses, nft } = this.#options;
    const input: RulesInput = {
      registry,
      nodeAddresses,
      serviceCidr,
      localAddresses,
      cuts: this.#cuts,
      delays: this.#delays,
      policies: this.#options.policies(),
      nodePorts: this.#options.nodePorts(),
    };
    const rules = serviceRules(input);
    if (rules === this.#applied) return;
    const done = await runCommand(nft, ["-f", "-"], { input: rules });
    if (done.code !== 0)
      throw new NodeError("SandboxFailed", `nft refuses the service rules: ${done.stderr.trim()}`);
    this.#applied = rules;
  }

  async setCuts(cuts: readonly Cut[]): Promise<void> {
    this.#cuts = cuts;
    await this.apply();
  }

  async setDelays(delays: readonly DelayedPort[]): Promise<void> {
    this.#delays = delays;
    await this.apply();
  }

  /** Something changed that rules are made of. */
  changed(): void {
    this.#soon();
  }

  #soon(): void {
    this.#again = true;
    this.#pending ??= this.#loop();
  }

  async #loop(): Promise<void> {
    while (this.#again) {
      await new Promise<void>((resolve) => this.#options.clock.timer(gatherMs, resolve));
      this.#again = false;
      await this.apply().catch((error: unknown) => this.#options.log(String(error)));
    }
    this.#pending = undefined;
  }
}
