/** Brings a snapshot from the store to a local file, and a restored data directory to its place. */
import { access, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { BackupError, isNewerMinor, minorOf } from "@keelson/kit";
import type { Manifest, SnapshotArchive } from "../engine/snapshot-archive.ts";
import type { RestoreRequirements } from "./task.ts";

export interface FetchOptions {
  readonly archive: SnapshotArchive;
  readonly name: string;
  readonly file: string;
  /** Directories that an earlier attempt may have left and the restore must not find. */
  readonly clear?: readonly string[];
  readonly requirements?: RestoreRequirements;
}

/** Every byte is compared with the manifest before the file counts. */
export async function fetchSnapshot(options: FetchOptions): Promise<Manifest> {
  const { archive, name, file, requirements, clear = [] } = options;
  for (const directory of clear) await rm(directory, { recursive: true, force: true });
  return await archive.fetch(name, {
    file,
    check: (manifest) => requirements && checkRequirements(requirements, manifest, name),
  });
}

function checkRequirements(
  { version, verified }: RestoreRequirements,
  manifest: Manifest,
  name: string,
): void {
  if (isNewerMinor(manifest.etcdVersion, version)) {
    throw new BackupError(
      "VersionTooNew",
      `${name} was taken from etcd ${manifest.etcdVersion}, which ${version} cannot read; choose ${minorOf(manifest.etcdVersion)} or later`,
    );
  }
  if (verified && !manifest.verified) {
    throw new BackupError(
      "NotVerified",
      `${name} was never verified by restoring it; set restoreFrom.allowUnverified to use it anyway`,
    );
  }
}

export interface AdoptOptions {
  readonly from: string;
  readonly to: string;
  /** The snapshot, which is deleted afterwards. */
  readonly file: string;
}

/** Moves the restored directory to where etcd looks for it, atomically. Data that is already there is kept. */
export async function adoptData({ from, to, file }: AdoptOptions): Promise<"adopted" | "kept"> {
  const kept = await exists(join(to, "member"));
  if (kept) await rm(from, { recursive: true, force: true });
  else {
    if (!(await exists(join(from, "member")))) {
      throw new BackupError("RestoreFailed", `${from} holds no restored member`);
    }
    // Without a member in it, an etcd that never formed a cluster left it.
    await rm(to, { recursive: true, force: true });
    await rename(from, to);
  }
  await using parent = await open(dirname(to));
  await parent.sync();
  await rm(file, { force: true });
  return kept ? "kept" : "adopted";
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
