/** What lies beside a snapshot in the store and says what it is. Whoever has the two needs nothing else to restore. */

import { BackupError, readAll, type Store } from "@keelson/kit";
import { z } from "keelson";

const verification = z.object({
  at: z.string(),
  /** The etcd that restored it. */
  etcdVersion: z.string(),
  revision: z.string(),
  keys: z.number(),
  hash: z.string().optional(),
  /** The hash was compared with that of a member; it cannot be when the cluster has compacted since. */
  compared: z.boolean(),
});

const manifestSchema = z.object({
  format: z.literal(1),
  /** Of the EtcdBackup that wrote it. */
  backupUid: z.string(),
  cluster: z.string(),
  clusterId: z.string(),
  memberId: z.string(),
  etcdVersion: z.string(),
  takenAt: z.string(),
  /** Everything acknowledged up to here is in the snapshot: a linearizable read before it began. */
  revisionAtLeast: z.string(),
  /** Of the whole object, etcd's own checksum at its end included. */
  sha256: z.string(),
  sizeBytes: z.number(),
  verified: verification.optional(),
});

export type Manifest = z.output<typeof manifestSchema>;

export function snapshotKey(name: string): string {
  return `${name}.db`;
}

export function manifestKey(name: string): string {
  return `${name}.json`;
}

/** The name of a backup in its store: no other backup has it, now or ever. */
export function backupName(backup: {
  namespace: string;
  cluster: string;
  name: string;
  uid: string;
}): string {
  return `${backup.namespace}/${backup.cluster}/${backup.name}-${backup.uid}`;
}

export async function findManifest(store: Store, name: string): Promise<Manifest | undefined> {
  if ((await store.head(manifestKey(name))) === undefined) return undefined;
  return await readManifest(store, name);
}

/** Rejects with `NotFound` or `StoredDamaged`. */
export async function readManifest(store: Store, name: string): Promise<Manifest> {
  const text = (await readAll(store.get(manifestKey(name)))).toString();
  const problem = (cause: unknown) =>
    new BackupError("StoredDamaged", `${manifestKey(name)} is not the manifest of a backup`, { cause });
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw problem(cause);
  }
  const result = manifestSchema.safeParse(parsed);
  if (!result.success) throw problem(result.error);
  return result.data;
}

export async function writeManifest(
  store: Store,
  name: string,
  manifest: Manifest,
  options: { readonly ifAbsent: boolean },
): Promise<void> {
  const bytes = Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`);
  await store.put(manifestKey(name), once(bytes), options);
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
