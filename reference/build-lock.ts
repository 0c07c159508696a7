// Lets one build of a release run at a time, also when an earlier one died without a word.
import { randomUUID } from "node:crypto";
import { readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const beatMs = 1_000;
const staleMs = 10_000;

export interface BuildLock {
  release(): void;
}

export interface BuildLockOptions {
  /** Called once when somebody else holds the lock. */
  onWait?: () => void;
  signal?: AbortSignal;
}

/**
 * Takes the lock file at `path`, waiting for its owner to release it or to die.
 *
 * The owner touches the file every second; one that was not touched for ten seconds has no owner. That works
 * across containers that share a cache, where process ids say nothing. Assumption: the lock only saves work.
 * After a suspended machine wakes up two owners are possible, so what it guards must stay correct with two.
 */
export async function acquireBuildLock(path: string, options: BuildLockOptions = {}): Promise<BuildLock> {
  const token = randomUUID();
  let waiting = false;
  while (!tryCreate(path, token)) {
    if (ageMs(path) > staleMs) {
      rmSync(path, { force: true });
      continue;
    }
    if (!waiting) options.onWait?.();
    waiting = true;
    await sleep(250, undefined, { signal: options.signal });
  }
  const beat = setInterval(() => touch(path), beatMs);
  beat.unref();
  return {
    release() {
      clearInterval(beat);
      if (ownerOf(path) === token) rmSync(path, { force: true });
    },
  };
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
    // Somebody took the lock for dead: both finish, and the first to put its result in place wins.
  }
}

function ownerOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
