/**
 * Gives memory back when a process comes to rest. An operator works in bursts. V8 lets the garbage of a burst lie until the
 * heap has grown several times over, which in an operator may never happen.
 */
import type { Cancel, Clock } from "@keelson/core";
import { backgroundClock } from "@keelson/core/internal";

/** What is known of a process, and what can be done for its memory. */
export interface RestingProcess {
  readonly clock: Pick<Clock, "timer" | "monotonic">;
  /** CPU of all threads so far. */
  cpuMs(): number;
  heapBytes(): number;
  collect(): void;
}

const lookEveryMs = 1_000;
/** Renewing a lease takes less. */
const restingShare = 0.02;
/** Less is not worth the pause. */
const garbageBytes = 16 << 20;
/** What lives is looked through in one go, 2 to 3 ms for each MB. */
const largestBytes = 128 << 20;
const seldomMs = 10_000;

/** Collects after a burst of work that left garbage. Large heaps are left alone: their pause would be felt. */
export function collectAtRest(process: RestingProcess): Cancel {
  const { clock } = process;
  let cpuMs = process.cpuMs();
  let at = clock.monotonic();
  let collectedAt = at;
  let livingBytes = 0;
  const look = () => {
    const [nowMs, spentMs] = [clock.monotonic(), process.cpuMs()];
    const rests = spentMs - cpuMs < restingShare * (nowMs - at);
    const bytes = process.heapBytes();
    if (
      rests &&
      nowMs - collectedAt >= seldomMs &&
      bytes - livingBytes >= garbageBytes &&
      bytes <= largestBytes
    ) {
      process.collect();
      livingBytes = process.heapBytes();
      collectedAt = clock.monotonic();
    }
    at = clock.monotonic();
    cpuMs = process.cpuMs();
    cancel = clock.timer(lookEveryMs, look);
  };
  let cancel = clock.timer(lookEveryMs, look);
  return () => cancel();
}

/** This process; undefined where Node was not started with `--expose-gc`, as an operator's image starts it. */
export function thisProcess(): RestingProcess | undefined {
  const { gc } = globalThis;
  if (!gc) return undefined;
  return {
    clock: backgroundClock,
    cpuMs: () => {
      const { system, user } = process.cpuUsage();
      return (user + system) / 1000;
    },
    heapBytes: () => process.memoryUsage().heapUsed,
    // A regular one keeps the memory that it has freed.
    collect: () => void gc({ type: "major", execution: "sync", flavor: "last-resort" }),
  };
}
