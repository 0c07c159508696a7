/** Puts a backup in the place of a volume's data. What was there is set aside, never deleted. */
import { existsSync } from "node:fs";
import { mkdir, open, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BackupArchive, BackupError, openStore } from "@keelson/kit";
import { archiveFormat, type RedisManifest } from "./manifest.ts";
import type { AgentTask } from "./task.ts";

type Task = Extract<AgentTask, { do: "restore" }>;

const base = "appendonly.aof.1.base.rdb";

/**
 * With append-only files on, Redis reads nothing else: a dump.rdb beside them is ignored, and without them it starts
 * empty. So the dump becomes the base of a new append-only file, and a manifest names it. The directory appears under
 * its name when it is complete.
 */
export async function restore(task: Task): Promise<{ aside?: string; keys?: number }> {
  const { id, from, directory } = task;
  const state = join(directory, ".keelson");
  const [place, aside] = [join(directory, "appendonlydir"), join(state, `aside-${id}`)];
  const done = join(state, `done-restore-${id}`);
  const report = { aside: `aside-${id}` };
  if (existsSync(done)) return report;
  await mkdir(state, { recursive: true });
  const fresh = join(state, `restore-${id}`);
  let manifest: RedisManifest | undefined;
  if ("aside" in from) {
    const kept = join(state, from.aside);
    if (existsSync(kept)) await rename(kept, fresh);
    else if (!existsSync(fresh))
      throw new BackupError("NotFound", `the volume has no data under ${from.aside}`);
  } else {
    await rm(fresh, { recursive: true, force: true });
    await mkdir(fresh);
    const archive = new BackupArchive(await openStore(from.store), archiveFormat);
    const check = (found: RedisManifest) => refuse(found, task, from.allowUnverified);
    manifest = await archive.fetch(from.name, { file: join(fresh, base), check });
    await writeFile(join(fresh, "appendonly.aof.manifest"), `file ${base} seq 1 type b\n`);
  }
  // A second run after a crash finds one of the two renames done.
  if (existsSync(place) && !existsSync(aside)) await rename(place, aside);
  if (!existsSync(place)) await rename(fresh, place);
  await syncDirectory(directory);
  await writeFile(done, "");
  await syncDirectory(state);
  return {
    ...(existsSync(aside) ? report : {}),
    ...(manifest?.verified ? { keys: manifest.verified.keys } : {}),
  };
}

function refuse(manifest: RedisManifest, { rdbVersion }: Task, allowUnverified: boolean): void {
  if (rdbVersion !== undefined && manifest.rdbVersion > rdbVersion) {
    throw new BackupError(
      "VersionTooNew",
      `the backup was taken by Redis ${manifest.redisVersion} (format ${manifest.rdbVersion}), which this version cannot read (it knows ${rdbVersion})`,
    );
  }
  if (!manifest.verified && !allowUnverified)
    throw new BackupError(
      "NotVerified",
      "the backup was never proven by restoring it; set allowUnverified to take it anyway",
    );
}

async function syncDirectory(path: string): Promise<void> {
  await using handle = await open(path, "r");
  await handle.sync();
}
