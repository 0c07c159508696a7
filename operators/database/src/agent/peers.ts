/** The other instances' agents, over the network. */
import type { Vote } from "../ha/quorum.ts";
import type { FailsafeRequest, PeerStatus, Peers, VoteAnswer, VoteRequest } from "./ports.ts";
import { call } from "./wire.ts";

export interface NetworkPeersOptions {
  readonly hostOf: (name: string) => string;
  readonly key: () => Buffer;
  readonly timeoutMs: number;
}

export class NetworkPeers implements Peers {
  readonly #options: NetworkPeersOptions;

  constructor(options: NetworkPeersOptions) {
    this.#options = options;
  }

  async status(name: string): Promise<PeerStatus> {
    return await this.#call(name, "/status", undefined, Math.min(1_000, this.#options.timeoutMs));
  }

  async vote(name: string, request: VoteRequest): Promise<VoteAnswer> {
    return await this.#call(name, "/vote", request, 5_000);
  }

  async failsafe(name: string, request: FailsafeRequest): Promise<boolean> {
    return await this.#call(name, "/failsafe", request);
  }

  async nudge(name: string): Promise<void> {
    await this.#call(name, "/nudge", {});
  }

  async position(name: string): Promise<Vote | undefined> {
    return (await this.#call<Vote | null>(name, "/position")) ?? undefined;
  }

  async checkpoint(name: string): Promise<void> {
    await this.#call(name, "/checkpoint", {}, 60_000);
  }

  async #call<T>(
    name: string,
    path: string,
    body?: unknown,
    timeoutMs = this.#options.timeoutMs,
  ): Promise<T> {
    const { hostOf, key } = this.#options;
    return await call<T>({ host: hostOf(name), path, body, key: key(), timeoutMs });
  }
}
