/** Where backups and the archive of a Database lie, as the operator remembers it and as pods see it. */
import { type BackupStore, type MountedVolume, mountSecret } from "@keelson/kit";
import type { StoreLocation } from "@keelson/kit/store";
import type { DatabaseBackupObject } from "../api/backup.ts";
import type { DatabaseObject } from "../api/database.ts";

export interface StorePlace {
  /** Exactly one of them. */
  readonly claim?: string | undefined;
  readonly s3?: NonNullable<BackupStore["s3"]> | undefined;
  /** In the claim, or below the prefix of the bucket. */
  readonly directory: string;
}

/**
 * What a backup is called in its store. One that is made again under its name, as by a hook of every deployment, is another
 * one: what lies there of the first is older. Those of earlier releases are called as their objects.
 */
export function nameInStore({ metadata, status }: DatabaseBackupObject): string {
  return status?.location?.name ?? `${metadata.name}-${metadata.uid.slice(0, 8)}`;
}

/**
 * All data has a folder of its own: a Database of the same name that begins again, empty or from a backup, does not write into
 * it, and one that takes the volumes over goes on with it.
 */
export function storeOf({ metadata, spec }: DatabaseObject, dataUid: string): StorePlace | undefined {
  const { store } = spec.backup ?? {};
  const folder = `${metadata.namespace ?? "default"}-${metadata.name}-${dataUid.slice(0, 8)}`;
  if (store?.s3) return { s3: store.s3, directory: folder };
  if (!store?.claim) return undefined;
  const { name, path } = store.claim;
  return { claim: name, directory: [...path.split("/").filter(Boolean), folder].join("/") };
}

/** Whether a backup lies where this Database keeps its own; one that has not begun will. */
export function isStoredIn(place: StorePlace | undefined, { status }: DatabaseBackupObject): boolean {
  const { location } = status ?? {};
  if (!location) return true;
  const keyOf = ({ claim, s3, directory }: StorePlace) =>
    JSON.stringify([claim, s3?.endpoint, s3?.bucket, s3?.prefix, directory]);
  return place !== undefined && keyOf(location) === keyOf(place);
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
  const { phase, location } = backup?.status ?? {};
  const found = restoreFrom.location ?? (phase === "Done" ? location : undefined);
  if (!found) return `DatabaseBackup ${restoreFrom.backup} is not done`;
  const { name, ...place } = found;
  return { ...place, backup: name, ...time };
}

/** What a pod needs to reach a store. The operator never reads credentials: the kubelet mounts the Secret. */
export function mountPlace(
  { claim, s3, directory }: StorePlace,
  {
    name,
    path,
    readOnly = false,
  }: { readonly name: string; readonly path: string; readonly readOnly?: boolean },
): MountedVolume & { readonly location: StoreLocation } {
  if (s3) {
    const { credentialsSecret, endpoint, region, bucket, prefix } = s3;
    const below = [...prefix.split("/"), directory].filter(Boolean).join("/");
    return {
      ...mountSecret(name, credentialsSecret, path),
      location: { s3: { endpoint, region, bucket, prefix: below, credentials: path } },
    };
  }
  return {
    volume: { name, persistentVolumeClaim: { claimName: claim ?? "" } },
    mount: { name, mountPath: path, ...(readOnly && { readOnly }) },
    location: { directory: `${path}/${directory}` },
  };
}
