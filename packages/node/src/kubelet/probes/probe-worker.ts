/** Repeats one probe of one running container and says when its result changes. */
import type { Cancel, Clock } from "@keelson/core";
import type { Probe } from "@keelson/core/kinds";

export type ProbeKind = "startup" | "liveness" | "readiness";

export interface ProbeOutcome {
  readonly ok: boolean;
  /** What was met, for the event; empty on success. */
  readonly message: string;
}

const firstEagerMs = 100;

export interface ProbeWorkerOptions {
  readonly probe: Probe;
  readonly kind: ProbeKind;
  readonly clock: Clock;
  /** Carries the probe out once; never rejects. */
  readonly attempt: (timeoutMs: number) => Promise<ProbeOutcome>;
  /** After every failed attempt. */
  readonly onFailure: (message: string) => void;
  /** When enough attempts in a row agree on another result than before. */
  readonly onResult: (ok: boolean, message: string) => void;
}

/**
 * Begins after the initial delay and repeats every period. A result needs `successThreshold` or
 * `failureThreshold` attempts in a row. A startup or liveness probe ends with its first failed result, and a
 * startup probe with its first good one: what follows is another container or another probe.
 *
 * Until its first success, a startup or readiness probe is also tried between the periods, a tenth of a second
 * after the last try and then ever more seldom. Those tries count only when they succeed: a server that needs a
 * moment is ready when it is, not up to ten seconds later.
 */
export class ProbeWorker {
  readonly #options: ProbeWorkerOptions;
  #result: boolean | undefined;
  #last: boolean | undefined;
  #run = 0;
  #cancel: Cancel | undefined;
  #stopped = false;
  #succeeded = false;
  /** When the next regular attempt is due, on the monotonic clock. */
  #dueAt = 0;
  #eagerMs = firstEagerMs;

  constructor(options: ProbeWorkerOptions) {
    this.#options = options;
    // A container counts as alive until proven otherwise.
    this.#result = options.kind === "liveness" ? true : undefined;
    this.#schedule((options.probe.initialDelaySeconds ?? 0) * 1000);
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  #schedule(delayMs: number): void {
    if (this.#stopped) return;
    const { clock, kind } = this.#options;
    this.#dueAt = clock.monotonic() + delayMs;
    this.#eagerMs = firstEagerMs;
    this.#wait(kind !== "liveness" && !this.#succeeded && this.#last !== undefined);
  }

  /** Waits for the next regular attempt, or for an eager one that comes before it. */
  #wait(eager: boolean): void {
    if (this.#stopped) return;
    const { clock } = this.#options;
    const leftMs = Math.max(0, this.#dueAt - clock.monotonic());
    const early = eager && this.#eagerMs < leftMs;
    this.#cancel = clock.timer(
      early ? this.#eagerMs : leftMs,
      () => void (early ? this.#tryEarly() : this.#tick()),
    );
    this.#eagerMs *= 2;
  }

  async #tryEarly(): Promise<void> {
    const { probe } = this.#options;
    const { ok, message } = await this.#options.attempt((probe.timeoutSeconds ?? 1) * 1000);
    if (this.#stopped) return;
    if (ok) this.#conclude(ok, message, this.#options.clock.monotonic());
    else this.#wait(true);
  }

  async #tick(): Promise<void> {
    const { probe, clock } = this.#options;
    const begun = clock.monotonic();
    const { ok, message } = await this.#options.attempt((probe.timeoutSeconds ?? 1) * 1000);
    if (this.#stopped) return;
    if (!ok) this.#options.onFailure(message);
    this.#conclude(ok, message, begun);
  }

  #conclude(ok: boolean, message: string, begun: number): void {
    const { probe, kind, clock } = this.#options;
    this.#succeeded ||= ok;
    this.#run = ok === this.#last ? this.#run + 1 : 1;
    this.#last = ok;
    const needed = ok ? (probe.successThreshold ?? 1) : (probe.failureThreshold ?? 3);
    if (this.#run >= needed && ok !== this.#result) {
      this.#result = ok;
      this.#options.onResult(ok, message);
      if (kind === "startup" || (kind === "liveness" && !ok)) {
        this.stop();
        return;
      }
    }
    const periodMs = (probe.periodSeconds ?? 10) * 1000;
    this.#schedule(Math.max(0, periodMs - (clock.monotonic() - begun)));
  }
}
