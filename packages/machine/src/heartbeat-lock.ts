/** A lock file whose holder touches it every second: for work that several processes would do twice. */
import { randomUUID } from "node:crypto";
import { readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const beatMs = 1_000;
const staleMs = 10_000;
const retryMs = 50;

/** How to wait for a lock that another process holds. */
export interface HeartbeatLockOptions {
  /** Called once when another process holds the lock. */
  readonly onWait?: () => void;
  /** Gives up waiting. */
  readonly signal?: AbortSignal;
}

/**
 * Takes the lock file at `path` until disposal; waits for its holder to release it or to die.
 *
 * A file that was not touched for ten seconds has no holder. That works across containers that share a cache, where
 * process ids mean nothing. The lock only saves work: after a suspended machine wakes up two holders are possible, so
 * what it guards must stay correct with two.
 */
export async function acquireHeartbeatLock(
  path: string,
  options: HeartbeatLockOptions = {},
): Promise<Disposable> {
  const token = randomUUID();
  let isWaiting = false;
  await mkdir(dirname(path), { recursive: true });
  while (!tryCreate(path, token)) {
    if (ageMs(path) > staleMs) {
      rmSync(path, { force: true });
      continue;
    }
    if (!isWaiting) options.onWait?.();
    isWaiting = true;
    await sleep(retryMs, undefined, options.signal ? { signal: options.signal } : {});
  }
  const beat = setInterval(() => touch(path), beatMs);
  beat.unref();
  return {
    [Symbol.dispose]() {
      clearInterval(beat);
      if (holderOf(path) === token) rmSync(path, { force: true });
    },
  };
}

/** Holds the lock file at `path` while `run` works. */
export async function withLock<T>(path: string, run: () => Promise<T>): Promise<T> {
  using _ = await acquireHeartbeatLock(path);
  return await run();
}

function tryCreate(path: string, token: string): boolean {
  try {
    writeFileSync(path, token, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function ageMs(path: string): number {
  const modified = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return modified === undefined ? 0 : Date.now() - modified;
}

function touch(path: string): void {
  const now = new Date();
  try {
    utimesSync(path, now, now);
  } catch {
    // Another process took the lock for dead: both finish, and the first result stays.
  }
}

function holderOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
