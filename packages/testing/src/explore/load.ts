/** Clients that write all the time, and remember what was acknowledged. */
import type { Application } from "../simulation/process.ts";
import type { World } from "./world.ts";

const keys = 20;

/** The application's clients. */
export interface Clients<A extends Application = Application> {
  /** Writes through the Service: whether it was acknowledged; undefined while no client expects to be served. */
  write(world: World<A>, key: string, value: string): boolean | undefined;
  /** All data, when everything has come to rest; undefined when there is none to be had. */
  read(world: World<A>): ReadonlyMap<string, string> | undefined;
  /**
   * What has to be left of a resource that was deleted, when everything has come to rest: on volumes that its spec keeps, in
   * its last backup. Each has to hold all that was acknowledged. Default: nothing is looked at.
   */
  readKept?(world: World<A>): readonly KeptData[];
}

/** Data that outlives the resource. */
export interface KeptData {
  /** As in a sentence: `in the final backup db-1`. */
  readonly where: string;
  readonly data: ReadonlyMap<string, string>;
}

export class Load<A extends Application = Application> {
  readonly #world: World<A>;
  readonly #clients: Clients<A>;
  readonly #everyMs: number;
  /** By key: the last value that was acknowledged. */
  readonly acknowledged = new Map<string, string>();
  /** When a write last succeeded, in the world's time; undefined before the first. */
  lastSuccessMs: number | undefined;
  /** Since when no write was expected to succeed or tried. */
  #excusedUntilMs = 0;
  #written = 0;
  #running = false;
  /** The longest time without a successful write. */
  longestOutageMs = 0;

  constructor(world: World<A>, clients: Clients<A>, everyMs = 1_000) {
    this.#world = world;
    this.#clients = clients;
    this.#everyMs = everyMs;
  }

  start(): void {
    const world = this.#world;
    this.#running = true;
    const write = () => {
      if (!this.#running) return;
      const key = `key-${this.#written % keys}`;
      const value = String(this.#written++);
      const done = this.#clients.write(world, key, value);
      if (done === undefined) this.#excusedUntilMs = world.atMs;
      if (done) {
        this.acknowledged.set(key, value);
        this.longestOutageMs = Math.max(this.longestOutageMs, this.outageMs);
        this.lastSuccessMs = world.atMs;
      }
      world.clock.timer(this.#everyMs, write);
    };
    write();
  }

  stop(): void {
    this.#running = false;
  }

  /** For how long no write has succeeded that should have. */
  get outageMs(): number {
    return this.#world.atMs - Math.max(this.lastSuccessMs ?? 0, this.#excusedUntilMs);
  }
}
