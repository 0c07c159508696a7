/** Where backups lie. */

export interface StoredObject {
  readonly key: string;
  readonly sizeBytes: number;
}

export interface PutOptions {
  /** Refuses with `NotOurs` when the key is taken. */
  readonly ifAbsent?: boolean;
}

/**
 * Objects by key. Keys are relative paths such as `default/prod/nightly.db`. Every call rejects with a `BackupError`
 * after it has tried for long enough.
 */
export interface Store {
  /** All or nothing: the object appears when the content has ended, and not at all when the content throws. */
  put(key: string, content: AsyncIterable<Uint8Array>, options?: PutOptions): Promise<void>;
  /** Rejects with `NotFound`. */
  get(key: string): AsyncIterable<Uint8Array>;
  head(key: string): Promise<StoredObject | undefined>;
  /** Objects whose key begins so, in order of key. */
  list(prefix: string): AsyncIterable<StoredObject>;
  /** Absent is success. Takes along what an unfinished `put` of this key has left. */
  delete(key: string): Promise<void>;
}

export async function readAll(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts);
}
