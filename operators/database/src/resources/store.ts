/** Where backups and the archive of a Database lie, as its pods see it. */
import type { DatabaseBackupObject } from "../api/backup.ts";
import type { DatabaseObject } from "../api/database.ts";

export interface StorePlace {
  readonly claim: string;
  /** In the claim. */
  readonly directory: string;
}

/** Each Database has a folder of its own: one of the same name later does not write into it. */
export function storeOf({ metadata, spec }: DatabaseObject): StorePlace | undefined {
  const claim = spec.backup?.store.claim;
  if (!claim) return undefined;
  const folder = `${metadata.namespace ?? "default"}-${metadata.name}-${metadata.uid.slice(0, 8)}`;
  return { claim: claim.name, directory: [...claim.path.split("/").filter(Boolean), folder].join("/") };
}

export interface RestoreSource extends StorePlace {
  readonly backup: string;
  readonly targetTime?: string;
}

/** What `restoreFrom` means, or why it means nothing yet. */
export function restoreSource(
  { spec }: DatabaseObject,
  backup: DatabaseBackupObject | undefined,
): RestoreSource | string | undefined {
  const { restoreFrom } = spec;
  if (!restoreFrom) return undefined;
  const time = restoreFrom.targetTime === undefined ? {} : { targetTime: restoreFrom.targetTime };
  if (restoreFrom.location) {
    const { claim, directory, name } = restoreFrom.location;
    return { claim, directory, backup: name, ...time };
  }
  const { phase, location } = backup?.status ?? {};
  if (phase !== "Done" || !location) return `DatabaseBackup ${restoreFrom.backup} is not done`;
  return { claim: location.claim, directory: location.directory, backup: location.name, ...time };
}
