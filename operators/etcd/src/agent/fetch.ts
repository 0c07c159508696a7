/** Brings a snapshot from the store to a local file, and a restored data directory to its place. */
import { access, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { BackupError } from "@keelson/kit";
import type { Manifest, SnapshotArchive } from "../engine/snapshot-archive.ts";
import { isNewerMinor, minorOf } from "../engine/version.ts";
import type { Demand } from "./task.ts";

export interface FetchOptions {
  readonly archive: SnapshotArchive;
  readonly name: string;
  readonly file: string;
  /** Directories that an earlier attempt may have left and the restore must not find. */
  readonly clear?: readonly string[];
  readonly demand?: Demand;
}

/** Every byte is compared with the manifest before the file counts. */
export async function fetchSnapshot(options: FetchOptions): Promise<Manifest> {
  const { archive, name, file, demand, clear = [] } = options;
  for (const directory of clear) await rm(directory, { recursive: true, force: true });
  return await archive.fetch(name, { file, check: (manifest) => demand && meet(demand, manifest, name) });
}

function meet({ version, verified }: Demand, manifest: Manifest, name: string): void {
  if (isNewerMinor(manifest.etcdVersion, version)) {
    throw new BackupError(
      "VersionTooNew",
      `${name} was taken from etcd ${manifest.etcdVersion}, which ${version} cannot read; choose ${minorOf(manifest.etcdVersion)} or later`,
    );
  }
  if (verified && !manifest.verified) {
    throw new BackupError(
      "NotVerified",
      `${name} was never proven by restoring it; set restoreFrom.allowUnverified to use it all the same`,
    );
  }
}

export interface AdoptOptions {
  readonly from: string;
  readonly to: string;
  /** The snapshot that is needed no more. */
  readonly file: string;
}

/** Moves the restored directory to where etcd looks for it, at once or not at all; data that is there already wins. */
export async function adoptData({ from, to, file }: AdoptOptions): Promise<"adopted" | "kept"> {
  const kept = await exists(join(to, "member"));
  if (kept) await rm(from, { recursive: true, force: true });
  else {
    if (!(await exists(join(from, "member")))) {
      throw new BackupError("RestoreFailed", `${from} holds no restored member`);
    }
    // Without a member in it, it is what an etcd left that never began.
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
