/** As holder of the lease: replaces the data by that of another major version or another time, and publishes what came of it. */
import type { Identity } from "../ha/observation.ts";
import { type LeaseRecord, pastRestores, pendingUpgrade, type Upgrade } from "../ha/state.ts";
import type { Local } from "../ha/step.ts";
import type { Keeper } from "./keeper.ts";
import type { Clock, Engine, Log } from "./ports.ts";

export interface DataReplacementOptions {
  readonly me: Identity;
  readonly engine: Pick<Engine, "restoreInPlace" | "upgrade">;
  readonly keeper: Keeper;
  readonly clock: Clock;
  readonly log: Log;
  /** Does what takes long; the instance has no vote meanwhile. */
  readonly long: <T>(work: () => Promise<T>) => Promise<T>;
  readonly inspect: () => Promise<Local>;
}

export class DataReplacement {
  readonly #options: DataReplacementOptions;

  constructor(options: DataReplacementOptions) {
    this.#options = options;
  }

  /** Nobody knows of the new data until it is whole; until then all others still have what was before. */
  async run(record: LeaseRecord): Promise<void> {
    const { me, keeper, clock, log } = this.#options;
    const upgrade = pendingUpgrade(record);
    if (!upgrade) return;
    const { id } = upgrade;
    const began = clock.monotonic();
    // Where commits were on others too, they are the way back, and the files need not be copied.
    const link = record.published.quorums.every(({ acks }) => acks > 1);
    const replaced = await this.#replace(upgrade, { epoch: record.epoch, link });
    if ("problem" in replaced) {
      const { problem: message } = replaced;
      log.warn("the data could not be replaced, and is as before", { error: message });
      await keeper.update((now) => ({
        ...now,
        ...pastRestores(now),
        upgrade: { id, outcome: "Failed", message },
      }));
      await keeper.handOver(undefined, (published) => published);
      return;
    }
    const { data, message } = replaced;
    // If this does not get through, the data is there all the same: the next round finds it and says so.
    await keeper.update(({ switchover, lastFailover, ...now }) => ({
      ...(switchover && { switchover }),
      ...(lastFailover && { lastFailover }),
      ...pastRestores(now, upgrade),
      systemId: data.systemId,
      timeline: data.timeline,
      timelineEpoch: data.timelineEpoch,
      checkpointed: false,
      quorums: [{ members: [me.name], acks: 1 }],
      upgrade: { id, outcome: "Done", message, durationMs: Math.round(clock.monotonic() - began) },
    }));
  }

  async #replace(
    { id, restore }: Upgrade,
    options: { readonly epoch: number; readonly link: boolean },
  ): Promise<
    { readonly data: NonNullable<Local["data"]>; readonly message: string } | { readonly problem: string }
  > {
    const { engine, long, inspect } = this.#options;
    try {
      const message = await long(() =>
        restore ? engine.restoreInPlace({ ...restore, id, epoch: options.epoch }) : engine.upgrade(options),
      );
      const { data } = await inspect();
      if (!data || data.systemId === "")
        return { problem: "there is no data that can be read after the upgrade" };
      return { data, message };
    } catch (error) {
      return { problem: (error as Error).message };
    }
  }
}
