/** The life of a simulated process: it runs, it is stopped and continued, it dies. */
import type { Clock } from "@keelson/core";
import { never } from "./watch-stream.ts";

/** Whether a simulated process runs, is stopped (SIGSTOP) or is dead, and a clock that follows it. */
export class ProcessLife {
  #alive = true;
  #paused: PromiseWithResolvers<void> | undefined;
  /** Timers that came due while the process was stopped. */
  readonly #due: (() => void)[] = [];
  /** Called when it is continued. */
  onResume: () => void = () => {};

  get alive(): boolean {
    return this.#alive;
  }

  get paused(): boolean {
    return this.#paused !== undefined;
  }

  /** SIGKILL: no promise of it settles any more, no `finally` runs, no timer fires. */
  kill(): void {
    this.#alive = false;
  }

  /** SIGSTOP: it does nothing, and does not notice. */
  pause(): void {
    this.#paused ??= Promise.withResolvers<void>();
  }

  /** SIGCONT: timers that came due meanwhile fire now. */
  resume(): void {
    const paused = this.#paused;
    if (!paused) return;
    this.#paused = undefined;
    paused.resolve();
    for (const run of this.#due.splice(0)) if (this.#alive) run();
    this.onResume();
  }

  /** Resolves when the process runs; never when it is dead. */
  async running(): Promise<void> {
    while (this.#paused && this.#alive) await this.#paused.promise;
    if (!this.#alive) await never();
  }

  /** A clock whose timers stop and die with the process. */
  clock(clock: Clock): Clock {
    return {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      timer: (delayMs, run) => {
        let cancelled = false;
        const cancel = clock.timer(delayMs, () => {
          if (!this.#alive) return;
          if (!this.#paused) run();
          else
            this.#due.push(() => {
              if (!cancelled) run();
            });
        });
        return () => {
          cancelled = true;
          cancel();
        };
      },
    };
  }
}
