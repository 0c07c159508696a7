/** Puts a backup in the place of a volume's data. What was there is set aside, never deleted. */
import { existsSync } from "node:fs";
import { mkdir, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { BackupArchive, BackupError, openStore } from "@keelson/kit";
import { archiveFormat, type RedisManifest } from "./manifest.ts";
import { type AgentTask, volumeState } from "./task.ts";

type Task = Extract<AgentTask, { do: "restore" }>;

const base = "appendonly.aof.1.base.rdb";

/**
 * With append-only files on, Redis reads nothing else: a dump.rdb beside them is ignored, and without them it starts
 * empty. So the dump becomes the base of a new append-only file, and a manifest names it. The directory appears under
 * its name when it is complete.
 */
export async function restore(task: Task): Promise<{ aside: string; keys?: number }> {
  const { id, from, directory } = task;
  const state = join(directory, volumeState.directory);
  const report = { aside: `aside-${id}` };
  const [place, aside] = [join(directory, "appendonlydir"), join(state, report.aside)];
  const done = join(state, `done-restore-${id}`);
  if (existsSync(done)) return report;
  await mkdir(state, { recursive: true });
  await putBack(state, place, { but: report.aside });
  // A second run after a crash finds none, one or both of the two renames done.
  const isPlaced = existsSync(aside) && existsSync(place);
  let source = join(state, `restore-${id}`);
  let manifest: RedisManifest | undefined;
  if ("aside" in from) {
    source = join(state, from.aside);
    if (!isPlaced && !existsSync(source))
      throw new BackupError("NotFound", `the volume has no data under ${from.aside}`);
  } else if (!isPlaced) {
    manifest = await fetched(task, from, source);
  }
  // Until both are done the volume has no data. Whoever starts on it then puts back what was there.
  const unfinished = join(state, volumeState.unfinished);
  await writeFile(unfinished, `${report.aside}\n`, { flush: true });
  await syncDirectory(state);
  if (!existsSync(aside)) await (existsSync(place) ? rename(place, aside) : mkdir(aside));
  if (!existsSync(place)) await rename(source, place);
  await syncDirectory(directory);
  await writeFile(done, "");
  await rm(unfinished);
  await syncDirectory(state);
  return { ...report, ...(manifest?.verified ? { keys: manifest.verified.keys } : {}) };
}

/** What another restore set aside before it was cut short, as the start of a server does. */
async function putBack(state: string, place: string, { but }: { readonly but: string }): Promise<void> {
  const unfinished = join(state, volumeState.unfinished);
  const aside = existsSync(unfinished) ? (await readFile(unfinished, "utf8")).trim() : "";
  if (aside === "" || aside === but) return;
  if (!existsSync(place) && existsSync(join(state, aside))) await rename(join(state, aside), place);
  await rm(unfinished);
}

/** The files of a server that starts on the backup, complete on the disk when this resolves. */
async function fetched(
  task: Task,
  from: Exclude<Task["from"], { aside: string }>,
  folder: string,
): Promise<RedisManifest> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  const archive = new BackupArchive(await openStore(from.store), archiveFormat);
  const check = (found: RedisManifest) => refuse(found, task, from.allowUnverified);
  const manifest = await archive.fetch(from.name, { file: join(folder, base), check });
  const text = `file ${base} seq 1 type b\n`;
  await writeFile(join(folder, "appendonly.aof.manifest"), text, { flush: true });
  await syncDirectory(folder);
  return manifest;
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
