/** Clients that write and read at a steady rate, retry as careful applications do, and remember everything. */
import { type Clock, systemClock } from "@keelson/core";
import type { HistoryOptions, HistoryReport } from "./history.ts";
import { type Acknowledgement, Ledger, type Reading } from "./ledger.ts";

/** How clients reach a database, and how much they ask of it. `T` is what one server is to the callbacks. */
export interface LoadOptions<T> {
  /** Servers that clients may use now. A client stays with one while it answers, and tries the next when it fails. */
  readonly targets: () => readonly T[];
  /**
   * Writes a value to a key, if the key holds a smaller one or none. A client repeats it after an error, so it must
   * neither happen twice nor undo a later write; and it must give up by itself when the server does not answer.
   */
  readonly write: (target: T, key: string, value: number) => Promise<Acknowledgement | undefined>;
  /** Reads a key; the value is 0 when it does not exist. It must give up by itself when the server does not answer. */
  readonly read: (target: T, key: string) => Promise<Reading>;
  /** Begins the names of the keys. Nothing else may write keys with it. */
  readonly prefix: string;
  /**
   * `registers`: each writer raises one key of its own; overwritten values show in the order, not in the final state.
   * `appends`: each write makes a key of its own, so that every single lost write shows at the end.
   * Default: `registers`.
   */
  readonly keys?: "registers" | "appends";
  /** Default: 8. */
  readonly writers?: number;
  /** Default: 2. */
  readonly readers?: number;
  /** Of all writers together. Default: 100. */
  readonly writesPerSecond?: number;
  /** Pause of a reader between two reads. Default: 40 ms. */
  readonly readEveryMs?: number;
  /** How long a client retries before it gives a write up. Default: 5 s. */
  readonly giveUpMs?: number;
  /** Default: the clock of this machine. */
  readonly clock?: Clock;
}

/** Pause between two attempts. */
const retryMs = 20;
/** How long the final reads are retried: the database may still be recovering. */
const finalReadMs = 30_000;

/**
 * Clients under way from construction to {@link Load.finish}.
 *
 * @example
 * const load = new Load({ targets: () => servers, write, read, prefix: "load" });
 * await failover();
 * const { acknowledged, lost, violations } = await load.finish();
 */
export class Load<T> {
  /** What the clients did so far. */
  readonly ledger: Ledger;
  readonly #options: LoadOptions<T>;
  readonly #clock: Clock;
  readonly #running: Promise<void>[] = [];
  /** Which target each client uses, as a position in the list. */
  readonly #positions = new Map<number, number>();
  #stopped = false;

  constructor(options: LoadOptions<T>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.ledger = new Ledger({ clock: this.#clock });
    const { writers = 8, readers = 2 } = options;
    for (let client = 0; client < writers; client++) this.#running.push(this.#runWriter(client));
    for (let client = 0; client < readers; client++) this.#running.push(this.#runReader(client));
  }

  /** The key that a writer raises; with `appends`, the key of its n-th write. */
  key(writer: number, value = 1): string {
    const own = `${this.#options.prefix}/${writer}`;
    return this.#options.keys === "appends" ? `${own}/${value}` : own;
  }

  /** Stops the clients, reads every key, and checks the whole history. */
  async finish(options: Pick<HistoryOptions, "order"> = {}): Promise<HistoryReport> {
    await this.stop();
    const final = new Map<string, number>();
    for (const key of new Set(this.ledger.history.map((operation) => operation.key))) {
      const { value } = await this.#persistently((target) => this.#options.read(target, key), 0, finalReadMs);
      final.set(key, value);
    }
    return this.ledger.check(final, options);
  }

  /** Stops the clients, and resolves when none of them has a request under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }

  async #runWriter(client: number): Promise<void> {
    const { writers = 8, writesPerSecond = 100, giveUpMs = 5_000, write } = this.#options;
    const pauseMs = (1_000 * writers) / writesPerSecond;
    let due = this.#clock.monotonic() + (client / writers) * pauseMs;
    for (let value = 1; !this.#stopped; value++) {
      await this.#sleep(due - this.#clock.monotonic());
      due = Math.max(due + pauseMs, this.#clock.monotonic());
      const key = this.key(client, value);
      await this.ledger.write(key, value, () =>
        this.#persistently((target) => write(target, key, value), client, giveUpMs),
      );
    }
  }

  async #runReader(client: number): Promise<void> {
    const { writers = 8, readEveryMs = 40, giveUpMs = 5_000, read } = this.#options;
    for (let round = client; !this.#stopped; round++) {
      await this.#sleep(readEveryMs);
      const key = this.key(round % writers, 1 + Math.floor(round / writers));
      await this.ledger.read(key, () => this.#persistently((target) => read(target, key), client, giveUpMs));
    }
  }

  /** Stays with one target while it answers, and moves on to the next when it does not. */
  async #persistently<R>(attempt: (target: T) => Promise<R>, client: number, forMs: number): Promise<R> {
    const until = this.#clock.monotonic() + forMs;
    for (;;) {
      const targets = this.#options.targets();
      const position = this.#positions.get(client) ?? client;
      const target = targets[position % Math.max(1, targets.length)];
      try {
        if (target === undefined) throw new Error("no server is available");
        return await attempt(target);
      } catch (error) {
        this.#positions.set(client, position + 1);
        if (this.#clock.monotonic() >= until) throw error;
        await this.#sleep(retryMs);
      }
    }
  }

  async #sleep(ms: number): Promise<void> {
    await new Promise<void>((resolve) => this.#clock.timer(Math.max(0, ms), resolve));
  }
}
