/** Watches the lease from one instance, by that instance's own clock: the holder's times are never trusted. */
import type { LeaseRecord, StoredRecord, Timings } from "./state.ts";
import type { LeaseView } from "./step.ts";

export interface Identity {
  readonly name: string;
  readonly uid: string;
}

export class Observation {
  readonly #timings: Timings;
  #stored: StoredRecord | undefined;
  /** What the holder last changed, and when we first saw it. */
  #seen = { mark: "", atMs: 0 };
  #readAtMs = Number.NEGATIVE_INFINITY;
  /** Until when we promised to leave the holder alone. */
  #promisedUntilMs = Number.NEGATIVE_INFINITY;
  /** Since when the holder is seen to be gone. */
  #goneSinceMs: number | undefined;

  constructor(timings: Timings) {
    this.#timings = timings;
  }

  get stored(): StoredRecord | undefined {
    return this.#stored;
  }

  /** A read that was asked for at `askedAtMs` and answered now. */
  read(stored: StoredRecord, askedAtMs: number, nowMs: number): void {
    const mark = markOf(stored.record);
    if (mark !== this.#seen.mark) {
      // It may have been written any time up to now: count from now, never from before.
      this.#seen = { mark, atMs: nowMs };
      this.#goneSinceMs = undefined;
    }
    this.#stored = stored;
    this.#readAtMs = askedAtMs;
  }

  /** It was gone when it was asked last. */
  get isHolderGone(): boolean {
    return this.#goneSinceMs !== undefined;
  }

  /** The holder was asked and is gone (refused, its pod replaced), or not. */
  holderGone(gone: boolean, nowMs: number): void {
    this.#goneSinceMs = gone ? (this.#goneSinceMs ?? nowMs) : undefined;
  }

  /** We promise the holder not to take part in an election for the time of a lease. */
  promise(nowMs: number): void {
    this.#promisedUntilMs = nowMs + this.#timings.leaseMs;
  }

  isPromised(nowMs: number): boolean {
    return nowMs < this.#promisedUntilMs;
  }

  lease(nowMs: number): LeaseView {
    const { leaseMs, deathMs } = this.#timings;
    if (!this.#stored) return "unknown";
    if (this.isPromised(nowMs)) return "fresh";
    if (this.#stored.record.holder === "") return nowMs - this.#readAtMs < leaseMs ? "free" : "unknown";
    if (nowMs - this.#seen.atMs < leaseMs) {
      const dead = this.#goneSinceMs !== undefined && nowMs - this.#goneSinceMs >= deathMs;
      return dead && nowMs - this.#seen.atMs >= deathMs ? "dead" : "fresh";
    }
    // Unchanged for the whole time, but only if we did look: blindness is no sign of death.
    return nowMs - this.#readAtMs < this.#timings.renewEveryMs + this.#timings.requestTimeoutMs
      ? "expired"
      : "unknown";
  }
}

/** Changes with every write of a holder, and with none of anybody else's. */
function markOf({ holder, holderUid, epoch, renewTime }: LeaseRecord): string {
  return [holder, holderUid, epoch, renewTime].join("|");
}
