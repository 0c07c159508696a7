/** Fills cache directories exactly once, also when several processes ask at the same time or one dies midway. */
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { withLock } from "./heartbeat-lock.ts";

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
