/** The real clock and the real randomness, where no others are handed in. */
import { createHash, randomBytes, randomUUID } from "node:crypto";
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

/** Draws from the operating system; forks are independent by nature. */
export const realRandom: Random = {
  next: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
  bytes: (length) => new Uint8Array(randomBytes(length)),
  uuid: () => randomUUID(),
  fork: () => realRandom,
};

/** A short digest for tags and hashes that must not change between runs. */
export function digest(text: string | Uint8Array): string {
  return createHash("sha512").update(text).digest("hex").toUpperCase();
}
