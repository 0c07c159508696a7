/** Where backups lie: objects by key. */

/** An object as a listing shows it. */
export interface StoredObject {
  readonly key: string;
  readonly sizeBytes: number;
}

/** How to write an object. */
export interface PutOptions {
  /** Rejects with `NotOurs` when the key exists. Default: the object is replaced. */
  readonly ifAbsent?: boolean;
}

/**
 * Objects by key. Keys are relative paths such as `default/prod/nightly.db`. A store retries by itself; what it rejects
 * with is a `BackupError`.
 */
export interface Store {
  /** All or nothing: the object appears when the content has ended, and not at all when the content throws. */
  put(key: string, content: AsyncIterable<Uint8Array>, options?: PutOptions): Promise<void>;
  /** Rejects with `NotFound`. */
  get(key: string): AsyncIterable<Uint8Array>;
  /** Undefined when there is no such object. */
  head(key: string): Promise<StoredObject | undefined>;
  /** Objects whose key begins with the prefix, in order of key. */
  list(prefix: string): AsyncIterable<StoredObject>;
  /** Where the object lies as a file of this machine; absent in stores that have none. */
  file?(key: string): string;
  /** Absent is success. Also removes what an unfinished `put` of this key has left. */
  delete(key: string): Promise<void>;
}

/** All bytes of some content. For content that fits into memory, such as a manifest. */
export async function readAll(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts);
}
