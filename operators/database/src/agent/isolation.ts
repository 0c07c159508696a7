/** Finds a primary that reaches the API server while no standby reaches it: standbys say so by way of the API server. */
import type { Identity } from "../ha/observation.ts";
import { type Vote, votesNeeded } from "../ha/quorum.ts";
import type { LeaseRecord, Timings } from "../ha/state.ts";
import type { Local } from "../ha/step.ts";
import type { Keeper } from "./keeper.ts";
import { othersIn } from "./others.ts";
import type { Clock, PeerStatus, Pods, Replication } from "./ports.ts";

export interface IsolationOptions {
  readonly me: Identity;
  readonly pods: Pods;
  readonly keeper: Keeper;
  readonly clock: Clock;
  readonly timings: Timings;
}

/** How a standby is, and what it hears of its primary. */
export interface Standing {
  readonly local: Local;
  readonly vote: Vote | undefined;
  readonly primary: PeerStatus | undefined;
}

export class Isolation {
  readonly #options: IsolationOptions;
  #lonelySinceMs: number | undefined;
  #lostSinceMs: number | undefined;
  /** What our pod says; unknown until we have said something. */
  #complaint: string | undefined = "unknown";

  constructor(options: IsolationOptions) {
    this.#options = options;
  }

  /** It has stopped being primary. */
  over(): void {
    this.#lonelySinceMs = undefined;
  }

  /**
   * Whether commits wait for standbys that are well and could elect another primary, but do not come to this one: it
   * reaches the API server and renews its lease, but nobody reaches it.
   */
  async isCutOff({ standbys }: Replication): Promise<boolean> {
    const { clock, timings, pods, keeper, me } = this.#options;
    const record = keeper.stored?.record;
    const newest = record?.published.quorums.at(-1);
    if (!record || !newest || newest.acks < 2) return false;
    const streaming = standbys.filter(
      ({ name, streaming: is }) => is && newest.members.includes(name),
    ).length;
    if (streaming >= newest.acks - 1) {
      this.#lonelySinceMs = undefined;
      return false;
    }
    this.#lonelySinceMs ??= clock.monotonic();
    if (clock.monotonic() - this.#lonelySinceMs < timings.lonelyMs) return false;
    // They say so themselves, through the API server: this instance may not reach them either.
    const about = complaintAbout(record);
    const complaining: readonly string[] = await pods
      .complaints(othersIn(record, me.name), about)
      .catch(() => []);
    return record.published.quorums.every(
      (quorum) => quorum.members.filter((name) => complaining.includes(name)).length >= votesNeeded(quorum),
    );
  }

  /** Tells the primary that we are well and do not reach it, when that is so for a while; takes it back when it is not. */
  async complain({ local, vote, primary }: Standing): Promise<void> {
    const { clock, timings, pods, keeper } = this.#options;
    const record = keeper.stored?.record;
    const isLost =
      record !== undefined &&
      keeper.lease === "fresh" &&
      vote !== undefined &&
      local.upstream === record.holder &&
      !local.receiving &&
      primary === undefined;
    if (!isLost) this.#lostSinceMs = undefined;
    else this.#lostSinceMs ??= clock.monotonic();
    const isLong =
      this.#lostSinceMs !== undefined && clock.monotonic() - this.#lostSinceMs >= timings.lonelyMs / 2;
    const about = record && isLong ? complaintAbout(record) : undefined;
    // Without the API server there is nobody to tell, and other work to do.
    if (about === this.#complaint || keeper.lease === "unknown") return;
    await pods.complain(about);
    this.#complaint = about;
  }
}

/** A complaint is about one holder in one epoch: the next one is not to blame. */
function complaintAbout({ holder, holderUid, epoch }: LeaseRecord): string {
  return `${holder}_${holderUid}@${epoch}`;
}
