/** A store in memory. */

import { type PutOptions, readAll, type Store, type StoredObject } from "../backup/store/store.ts";
import { BackupError } from "../errors.ts";

/** Keeps objects in memory; a test may look at them. */
export class MemoryStore implements Store {
  /** What is stored, by key. */
  readonly objects = new Map<string, Buffer>();

  async put(key: string, content: AsyncIterable<Uint8Array>, options: PutOptions = {}): Promise<void> {
    const bytes = await readAll(content);
    if (options.ifAbsent && this.objects.has(key)) throw new BackupError("NotOurs", `${key} exists already`);
    this.objects.set(key, bytes);
  }

  async *get(key: string): AsyncIterable<Uint8Array> {
    const bytes = this.objects.get(key);
    if (!bytes) throw new BackupError("NotFound", `there is no ${key}`);
    yield bytes;
  }

  async head(key: string): Promise<StoredObject | undefined> {
    const bytes = this.objects.get(key);
    return bytes && { key, sizeBytes: bytes.length };
  }

  async *list(prefix: string): AsyncIterable<StoredObject> {
    for (const key of [...this.objects.keys()].sort()) {
      if (key.startsWith(prefix)) yield { key, sizeBytes: this.objects.get(key)?.length ?? 0 };
    }
  }

  async delete(key: string): Promise<void> {
    this.objects.delete(key);
  }
}
