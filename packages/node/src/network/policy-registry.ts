/** The network policies of the cluster and the labels of its namespaces, as the packet filter needs them. */
import type { Clock, Stored } from "@keelson/core";
import type { Namespace, NetworkPolicy } from "@keelson/core/kinds";
import type { NodeApi } from "../api/api.ts";
import { follow } from "./follow.ts";

const retryMs = 10_000;

export interface PolicyRegistryOptions {
  readonly api: NodeApi;
  readonly clock: Clock;
  readonly log: (message: string) => void;
  readonly onChange: () => void;
}

export class PolicyRegistry {
  readonly #options: PolicyRegistryOptions;
  readonly #policies = new Map<string, Stored<NetworkPolicy>>();
  readonly #namespaces = new Map<string, Stored<Namespace>>();
  readonly #settled = Promise.withResolvers<void>();
  #problem: string | undefined;

  constructor(options: PolicyRegistryOptions) {
    this.#options = options;
  }

  /** Follows the API until `signal` aborts, and tries again when it cannot. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, onChange } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#follow(signal);
      } catch (error) {
        if (signal.aborted) return;
        const problem = error instanceof Error ? error.message : String(error);
        if (this.#problem !== problem) log(`network policies cannot be followed: ${problem}`);
        this.#problem = problem;
        this.#settled.resolve();
        onChange();
      }
      await new Promise<void>((resolve) => {
        const end = () => {
          cancel();
          signal.removeEventListener("abort", end);
          resolve();
        };
        const cancel = clock.timer(retryMs, end);
        signal.addEventListener("abort", end);
      });
    }
  }

  /** Resolves when all policies have been seen once, or cannot be. */
  settled(): Promise<void> {
    return this.#settled.promise;
  }

  /** Why policies are not known; undefined when they are. */
  get problem(): string | undefined {
    return this.#problem;
  }

  policies(): Stored<NetworkPolicy>[] {
    return [...this.#policies.values()];
  }

  /** Labels by name. */
  namespaces(): Map<string, Readonly<Record<string, string>>> {
    return new Map(
      [...this.#namespaces.values()].map(({ metadata }) => [metadata.name, metadata.labels ?? {}]),
    );
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { api, onChange } = this.#options;
    const end = new AbortController();
    const either = AbortSignal.any([signal, end.signal]);
    const seen = { policies: Promise.withResolvers<void>(), namespaces: Promise.withResolvers<void>() };
    void Promise.all([seen.policies.promise, seen.namespaces.promise]).then(() => {
      this.#problem = undefined;
      this.#settled.resolve();
      onChange();
    });
    try {
      await Promise.all([
        follow(api.followNetworkPolicies(either), this.#policies, onChange, seen.policies.resolve),
        follow(api.followNamespaces(either), this.#namespaces, onChange, seen.namespaces.resolve),
      ]);
    } finally {
      end.abort();
    }
  }
}
