/**
 * Gives memory back when a process comes to rest. An operator works in bursts. V8 lets the garbage of a burst lie until the
 * heap has grown several times over, which in an operator may never happen.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
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

/** Collects once, after the first second in which the whole process did next to nothing. */
export function collectOnceAtRest({ clock, cpuMs, collect }: RestingProcess): Cancel {
  let spentMs = cpuMs();
  const look = () => {
    const nowMs = cpuMs();
    if (nowMs - spentMs < restingShare * lookEveryMs) {
      collect();
      return;
    }
    spentMs = nowMs;
    cancel = clock.timer(lookEveryMs, look);
  };
  let cancel = clock.timer(lookEveryMs, look);
  return () => cancel();
}

/** Set in an operator's image: it is the image that has the process to itself. */
export const collectVariable = "KEELSON_COLLECT_AT_REST";

/** This process; undefined where its environment does not ask for it. */
export function thisProcess(): RestingProcess | undefined {
  if (!process.env[collectVariable]) return undefined;
  return {
    clock: backgroundClock,
    cpuMs: () => {
      const { system, user } = process.cpuUsage();
      return (user + system) / 1000;
    },
    heapBytes: () => process.memoryUsage().heapUsed,
    collect,
  };
}

/**
 * The collector is exposed for a moment and not by `--expose-gc`: Node's compiled modules do not fit a V8 that runs with
 * that flag, so that each thread would compile them from their source.
 */
function collect(): void {
  setFlagsFromString("--expose-gc");
  let gc: typeof globalThis.gc;
  try {
    gc = runInNewContext("globalThis.gc");
  } finally {
    setFlagsFromString("--no-expose-gc");
  }
  // Flags are of the whole process: another thread may have hidden it in between. A regular collection keeps the memory that
  // it has freed.
  gc?.({ type: "major", execution: "sync", flavor: "last-resort" });
}
