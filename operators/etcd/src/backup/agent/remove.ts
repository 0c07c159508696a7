/** Takes a backup out of its store. */

import type { Store } from "@keelson/kit";
import { BackupError } from "@keelson/kit";
import { findManifest, manifestKey, snapshotKey } from "../manifest.ts";

/** The manifest goes first: what is left in between is no backup, and nobody takes it for one. */
export async function removeBackup(store: Store, name: string, backupUid: string): Promise<void> {
  const manifest = await findManifest(store, name).catch(() => undefined);
  if (manifest && manifest.backupUid !== backupUid) {
    throw new BackupError(
      "NotOurs",
      `${name} belongs to the backup with UID ${manifest.backupUid}; it stays`,
    );
  }
  await store.delete(manifestKey(name));
  await store.delete(snapshotKey(name));
}
