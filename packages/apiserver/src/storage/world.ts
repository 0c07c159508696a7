/** The real clock and the real randomness, where no others are handed in. */
import { randomBytes, randomFillSync } from "node:crypto";
import type { Clock, Random } from "@keelson/core";

const longestDelayMs = 2 ** 31 - 1;

export const realClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  timer(delayMs, run) {
    const handle = setTimeout(run, Math.min(Math.max(delayMs, 0), longestDelayMs));
    handle.unref();
    return () => clearTimeout(handle);
  },
};

/** Bytes for many at once: each request takes one, and a draw from the operating system costs more than the rest. */
const drawn = Buffer.alloc(16 * 256);
let taken = drawn.length;
const written = Buffer.from("00000000-0000-4000-8000-000000000000");
const digits = Buffer.from("0123456789abcdef");
/** Where the digits of each byte go. */
const places = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/** A random UUID of version 4, as `randomUUID` makes it, without the strings on the way there. */
function uuid(): string {
  if (taken === drawn.length) {
    randomFillSync(drawn);
    taken = 0;
  }
  for (let i = 0; i < 16; i++) {
    let byte = drawn[taken++] as number;
    if (i === 6) byte = 0x40 | (byte & 0x0f);
    else if (i === 8) byte = 0x80 | (byte & 0x3f);
    const at = places[i] as number;
    written[at] = digits[byte >> 4] as number;
    written[at + 1] = digits[byte & 0x0f] as number;
  }
  return written.toString("latin1");
}

/** Draws from the operating system; forks are independent by nature. */
export const realRandom: Random = {
  next: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
  bytes: (length) => new Uint8Array(randomBytes(length)),
  uuid,
  fork: () => realRandom,
};
