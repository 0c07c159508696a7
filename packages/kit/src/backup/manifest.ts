/** The manifest: a JSON object beside each backup in the store, which says what the backup is. */
import { z } from "zod";

/**
 * The fields that every manifest has. A database adds its own:
 *
 * @example
 * const manifest = z.object({ ...manifestFields, redisVersion: z.string(), keys: z.number() });
 */
export const manifestFields = {
  format: z.literal(1),
  /** UID of the object in Kubernetes that the backup was taken for. */
  backupUid: z.string(),
  takenAt: z.string(),
  /** Of the content in the store, as a whole. */
  sha256: z.string(),
  sizeBytes: z.number(),
};

/** A manifest as far as it does not depend on the database. */
export interface Manifest {
  readonly format: 1;
  readonly backupUid: string;
  readonly takenAt: string;
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** The name of a backup in its store. No other backup has it, now or later, because the UID is part of it. */
export function backupName(backup: {
  readonly namespace: string;
  /** Name of the database's object, so that its backups lie together. */
  readonly database: string;
  readonly name: string;
  readonly uid: string;
}): string {
  return `${backup.namespace}/${backup.database}/${backup.name}-${backup.uid}`;
}
