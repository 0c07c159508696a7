/** Fills cache directories exactly once, also when several processes ask at the same time or one dies midway. */
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const beatMs = 1_000;
const staleMs = 10_000;
const abandonedMs = 3_600_000;

/**
 * Makes `target` by letting `fill` write into a directory beside it that is then renamed: the target is
 * complete or absent, never half. A second caller waits for the first.
 */
export async function makeOnce(target: string, fill: (directory: string) => Promise<void>): Promise<void> {
  if (existsSync(target)) return;
  const parent = dirname(target);
  await mkdir(parent, { recursive: true });
  await withLock(join(parent, `.${basename(target)}.lock`), async () => {
    if (existsSync(target)) return;
    await removeAbandoned(parent);
    const work = await mkdtemp(join(parent, ".making-"));
    try {
      await fill(work);
      await chmod(work, 0o755);
      await rename(work, target);
    } catch (error) {
      await rm(work, { recursive: true, force: true });
      // Somebody took our lock for dead and came first; that result is as good.
      if (!existsSync(target)) throw error;
    }
  });
}

/**
 * Holds the lock file while `run` works. The holder touches the file every second; one untouched for ten has
 * no holder. The lock saves work and keeps tools from tripping over each other; results stay correct with two.
 */
export async function withLock<T>(path: string, run: () => Promise<T>): Promise<T> {
  const token = randomUUID();
  await mkdir(dirname(path), { recursive: true });
  while (!tryCreate(path, token)) {
    if (ageMs(path) > staleMs) rmSync(path, { force: true });
    else await sleep(50);
  }
  const beat = setInterval(() => touch(path), beatMs);
  beat.unref();
  try {
    return await run();
  } finally {
    clearInterval(beat);
    if (holderOf(path) === token) rmSync(path, { force: true });
  }
}

async function removeAbandoned(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(".making-")) continue;
    const path = join(parent, name);
    const age = await stat(path).then(
      (found) => Date.now() - found.mtimeMs,
      () => 0,
    );
    if (age > abandonedMs) await rm(path, { recursive: true, force: true });
  }
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
    // The lock was taken for dead: both holders finish, and the first result stays.
  }
}

function holderOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
