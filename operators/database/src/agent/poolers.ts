/** The poolers in front of a database, as its primary speaks to them. */
import { lookup } from "node:dns/promises";
import type { Log, Poolers } from "./ports.ts";
import { call } from "./wire.ts";

export interface NetworkPoolersOptions {
  /** Names every pooler. */
  readonly host: string;
  /** Where this instance is. */
  readonly address: string;
  readonly key: () => Buffer;
  readonly log: Log;
}

/** How long transactions get to end before primaryship is handed over without them. */
const pauseMs = 5_000;

export class NetworkPoolers implements Poolers {
  readonly #options: NetworkPoolersOptions;
  #turn: Promise<void> = Promise.resolve();

  constructor(options: NetworkPoolersOptions) {
    this.#options = options;
  }

  async pause(): Promise<void> {
    await this.#all("/pause", { timeoutMs: pauseMs }, pauseMs + 1_000);
  }

  async point(): Promise<void> {
    await this.#all("/point", { host: this.#options.address }, 3_000);
  }

  /** One after the other: a word to go on must not overtake the one to wait. */
  async #all(path: string, body: unknown, timeoutMs: number): Promise<void> {
    const turn = this.#turn.then(() => this.#tell(path, body, timeoutMs));
    this.#turn = turn.catch(() => undefined);
    await turn;
  }

  /** A pooler that does not answer keeps nobody from anything. */
  async #tell(path: string, body: unknown, timeoutMs: number): Promise<void> {
    const { host, key, log } = this.#options;
    // Not a query of our own: only the system knows the cluster's search domains.
    const found = await lookup(host, { all: true, family: 4 }).catch(() => []);
    const addresses = found.map(({ address }) => address);
    await Promise.all(
      addresses.map(async (address) => {
        try {
          await call({ host: address, path, body, key: key(), timeoutMs });
        } catch (error) {
          log.warn("a pooler does not answer", { address, path, error: (error as Error).message });
        }
      }),
    );
  }
}
