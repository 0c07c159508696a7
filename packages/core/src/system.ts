/** The real clock and real randomness: the defaults where no others are handed in. */
import type { Clock, Random } from "./ports.ts";

/** Node fires a longer timer at once instead of late. */
const longestTimerMs = 2 ** 31 - 1;

function realClock(keepsAlive: boolean): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    timer(delayMs, run) {
      const timer = setTimeout(run, Math.min(Math.max(0, delayMs), longestTimerMs));
      if (!keepsAlive) timer.unref();
      return () => clearTimeout(timer);
    },
  };
}

/** The clock of this machine. A timer keeps the process alive. */
export const systemClock: Clock = realClock(true);

/** The clock of this machine, for work in the background: its timers do not keep the process alive. */
export const backgroundClock: Clock = realClock(false);

/** Bytes for many UUIDs at once: one draw from the operating system costs more than everything else about a UUID. */
const drawn = new Uint8Array(16 * 256);
let taken = drawn.length;
const text = Buffer.from("00000000-0000-4000-8000-000000000000");
const digits = Buffer.from("0123456789abcdef");
/** Where the digits of each byte go. */
const places = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/** A random UUID of version 4, without the strings on the way there. */
function uuid(): string {
  if (taken === drawn.length) {
    crypto.getRandomValues(drawn);
    taken = 0;
  }
  for (let i = 0; i < 16; i++) {
    let byte = drawn[taken++] as number;
    if (i === 6) byte = 0x40 | (byte & 0x0f);
    else if (i === 8) byte = 0x80 | (byte & 0x3f);
    const at = places[i] as number;
    text[at] = digits[byte >> 4] as number;
    text[at + 1] = digits[byte & 0x0f] as number;
  }
  return text.toString("latin1");
}

/** Randomness of the operating system. Forks are independent by nature. */
export const systemRandom: Random = {
  next: () => Math.random(),
  bytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
  uuid,
  fork: () => systemRandom,
};
