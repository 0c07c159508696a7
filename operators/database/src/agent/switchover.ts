/** Hands primaryship to a standby on purpose: nothing is lost, and the way back is open until the lease is given. */
import { maxLsn } from "../ha/lsn.ts";
import type { Identity } from "../ha/observation.ts";
import type { Published, Timings } from "../ha/state.ts";
import { type Standby, targetQuorum } from "../ha/sync.ts";
import type { Keeper } from "./keeper.ts";
import type { Clock, Engine, Log, PeerStatus, Peers, Poolers } from "./ports.ts";

export interface SwitchoverOptions {
  readonly me: Identity;
  readonly engine: Engine;
  readonly peers: Peers;
  readonly keeper: Keeper;
  readonly clock: Clock;
  readonly timings: Timings;
  readonly poolers?: Poolers;
  readonly log: Log;
}

/** How far behind a successor may be when the primary stops, in bytes of log. */
const mostLag = 16n << 20n;

export interface Refusal {
  readonly refused: string;
  /** Nothing was touched, and it may be different in a moment. */
  readonly isPassing?: boolean;
}

export class Switchover {
  readonly #options: SwitchoverOptions;

  constructor(options: SwitchoverOptions) {
    this.#options = options;
  }

  /** True when the lease was given to a standby; otherwise why not, and PostgreSQL is as it was or stopped. */
  async run(to: string | undefined, standbys: readonly Standby[], id?: string): Promise<true | Refusal> {
    const { engine, peers, keeper, log, me } = this.#options;
    if (to === me.name) return { refused: `${to} is the primary` };
    const target = await this.#choose(to, standbys);
    if (typeof target === "string") return { refused: target, isPassing: true };
    log.info("switchover", { to: target.name });
    // The less there is to write when PostgreSQL stops and starts, the shorter nobody serves.
    await Promise.all([engine.checkpoint(), peers.checkpoint(target.name).catch(() => undefined)]);
    // Clients wait from here on, and the next primary lets them go: if it is this instance, in the next round.
    const hasPoolers = keeper.stored?.record.policy.pooler === true;
    if (hasPoolers) await this.#options.poolers?.pause();
    await engine.stop("fast");
    const end = await engine.endOfLog();
    if (!(await this.#hasAll(target.name, end))) {
      return { refused: `${target.name} did not receive the end of the log` };
    }
    const given = await keeper.handOver(target, (published) => this.#next(published, target, standbys, id));
    if (!given) return { refused: "the lease is in other hands" };
    await engine.demote();
    await peers.nudge(target.name).catch(() => undefined);
    return true;
  }

  async #choose(to: string | undefined, standbys: readonly Standby[]): Promise<PeerStatus | string> {
    const { peers, keeper } = this.#options;
    const members = keeper.stored?.record.published.quorums.at(-1)?.members ?? [];
    const newest = standbys.reduce((most, { flushed }) => maxLsn(flushed, most), 0n);
    const fit = standbys
      .filter(
        ({ name, streaming, flushed }) =>
          streaming && newest - flushed <= mostLag && (to === undefined || name === to),
      )
      .sort(
        (a, b) =>
          Number(members.includes(b.name)) - Number(members.includes(a.name)) ||
          (a.flushed < b.flushed ? 1 : -1),
      );
    for (const { name } of fit) {
      const status = await peers.status(name).catch(() => undefined);
      if (status?.role === "standby" && status.receiving && !status.draining) return status;
    }
    return to === undefined ? "no standby streams" : `${to} does not stream, or is too far behind`;
  }

  async #hasAll(name: string, end: bigint): Promise<boolean> {
    const { peers, clock } = this.#options;
    const untilMs = clock.monotonic() + 3_000;
    while (clock.monotonic() < untilMs) {
      const position = await peers.position(name).catch(() => undefined);
      if (position && position.lsn >= end) return true;
      await new Promise<void>((resolve) => void clock.timer(20, resolve));
    }
    return false;
  }

  #next(
    published: Published,
    target: Identity,
    standbys: readonly Standby[],
    id: string | undefined,
  ): Published {
    const { keeper, me } = this.#options;
    const policy = keeper.stored?.record.policy;
    const alive = [...standbys.filter(({ streaming }) => streaming).map(({ name }) => name), me.name];
    const quorum = policy && targetQuorum({ me: target.name, policy, alive, current: [] });
    return {
      ...published,
      checkpointed: false,
      quorums: [...published.quorums, ...(quorum ? [quorum] : [])],
      ...(id !== undefined && {
        switchover: { id, outcome: "Done" as const, message: `${target.name} took over from ${me.name}` },
      }),
    };
  }
}
