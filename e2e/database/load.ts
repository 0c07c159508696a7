/** Clients of a Database in a scenario of the explorer: what was acknowledged is there, and only one primary said so. */
import { setTimeout as sleep } from "node:timers/promises";
import { Ledger as History, type HistoryReport } from "@keelson/kit/testing";
import type { RealLoad } from "../explore/real-subject.ts";
import { eventually } from "../operator/eventually.ts";
import { Ledger } from "./ledger.ts";
import type { World } from "./world.ts";

const lookMs = 2_000;

export class DatabaseLoad implements RealLoad {
  readonly ledger = new History();
  readonly #world: World;
  readonly #where: { readonly namespace: string; readonly name: string };
  readonly #clients: Promise<Ledger>;
  #password = "";
  #isOver = false;
  readonly #watching: Promise<void>;

  constructor(world: World, where: { readonly namespace: string; readonly name: string }) {
    this.#world = world;
    this.#where = where;
    this.#clients = this.#start();
    // `finish` and `stop` tell of a failure.
    this.#clients.catch(() => undefined);
    this.#watching = this.#watchPassword();
  }

  async #start(): Promise<Ledger> {
    const { namespace, name } = this.#where;
    const target = await this.#world.target(name, { within: namespace });
    this.#password = await this.#world.password(name, namespace);
    const clients = new Ledger({
      ...target,
      password: () => this.#password,
      record: async (key, run) => {
        let problem: unknown;
        const isDone = await this.ledger.write(key, 1, async () => {
          await run().catch((error: unknown) => {
            problem = error;
            throw error;
          });
          return undefined;
        });
        if (!isDone) throw problem;
      },
    });
    // Clients connect again, and so do these: what else runs here may keep the first one waiting.
    await eventually("clients write", 60_000, async () => {
      await clients.start();
      return true;
    });
    return clients;
  }

  /** Applications read the binding again when it changes. */
  async #watchPassword(): Promise<void> {
    const { namespace, name } = this.#where;
    while (!this.#isOver) {
      this.#password = await this.#world.password(name, namespace).catch(() => this.#password);
      await sleep(lookMs);
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await (await this.#clients).stop();
    await this.#watching;
  }

  async finish(): Promise<HistoryReport> {
    const clients = await this.#clients;
    await this.stop();
    const lost = await clients.lost();
    const overlapMs = clients.overlapMs();
    const violations = [
      ...(lost.length === 0
        ? []
        : [`${lost.length} acknowledged commits are lost, the first ${JSON.stringify(lost[0])}`]),
      ...(overlapMs > 0 ? [`two primaries acknowledged for ${overlapMs.toFixed(0)} ms`] : []),
    ];
    const { length: acknowledged } = clients.commits;
    return { operations: this.ledger.history.length, acknowledged, lost: lost.length, violations };
  }
}
