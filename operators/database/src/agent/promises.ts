/** As primary: keeps what is published about commits in step with what PostgreSQL does, in the order that is safe. */
import type { Identity } from "../ha/observation.ts";
import type { LeaseRecord, Timings } from "../ha/state.ts";
import { nextSync, standbyNames, targetQuorum } from "../ha/sync.ts";
import type { Keeper } from "./keeper.ts";
import type { Clock, Engine, Replication } from "./ports.ts";

export interface PromisesOptions {
  readonly me: Identity;
  readonly engine: Engine;
  readonly keeper: Keeper;
  readonly clock: Clock;
  readonly timings: Timings;
}

export class Promises {
  readonly #options: PromisesOptions;
  /** When each standby was last seen to stream. */
  readonly #alive = new Map<string, number>();
  /** Where the log ended when PostgreSQL was seen to follow these names. */
  #mark: { readonly names: string; readonly lsn: bigint } | undefined;

  constructor(options: PromisesOptions) {
    this.#options = options;
  }

  /** Another primaryship begins: what was seen before says nothing. */
  begin(): void {
    this.#mark = undefined;
  }

  /** Keeps what is published and what PostgreSQL follows in step with who streams. */
  async keep(first: Replication, { policy }: LeaseRecord): Promise<void> {
    const { engine, clock, timings, keeper, me } = this.#options;
    let replication = first;
    for (let round = 0; round < 6; round++) {
      const now = clock.monotonic();
      for (const { name, streaming } of replication.standbys) if (streaming) this.#alive.set(name, now);
      const alive = [...this.#alive]
        .filter(([, at]) => now - at < timings.standbyLossMs)
        .map(([name]) => name);
      const published = keeper.stored?.record.published.quorums ?? [];
      const newest = published.at(-1);
      const isApplied = newest && replication.synchronousNames === standbyNames(newest, me.name);
      const mark = this.#mark?.names === replication.synchronousNames ? this.#mark.lsn : undefined;
      const action = nextSync({
        me: me.name,
        published,
        applied: isApplied ? newest : undefined,
        effective: replication.effective,
        mark,
        standbys: replication.standbys,
        target: targetQuorum({ me: me.name, policy, alive, current: newest?.members ?? [] }),
      });
      switch (action.action) {
        case "none":
          return;
        case "publish":
          if (!(await keeper.update((was) => ({ ...was, quorums: action.quorums })))) return;
          break;
        case "apply":
          this.#mark = undefined;
          // If it were only in the Lease, and that were lost, nobody could tell who has the commits.
          await keeper.remember();
          await engine.setSynchronousNames(standbyNames(action.quorum, me.name));
          break;
        case "mark":
          this.#mark = { names: replication.synchronousNames, lsn: replication.lsn };
          break;
      }
      replication = await engine.replication();
    }
  }
}
