/** Backups in a store: each is one object with its content and a manifest beside it. */
import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { parseJson } from "@keelson/core";
import type { z } from "zod";
import { BackupError, isBackupError } from "../errors.ts";
import { checkedContent, type Digest, withDigest } from "./digest.ts";
import type { Manifest } from "./manifest.ts";
import { readAll, type Store } from "./store/store.ts";

/** What the backups of one database look like. */
export interface ArchiveFormat<M extends Manifest> {
  /** Ends the key of the content, such as `.db` or `.rdb`. */
  readonly extension: string;
  /** Reads manifests; see `manifestFields`. */
  readonly manifest: z.ZodType<M>;
}

/** Content that is ready to be copied, and how to describe it when it has been. */
export interface BackupSource<M extends Manifest> {
  readonly content: AsyncIterable<Uint8Array>;
  /** Makes the manifest. It is called after the content has ended, with the digest of what was stored. */
  readonly describe: (digest: Digest) => M;
}

/**
 * A backup exists when its manifest does: the content is written first and the manifest last, and a removal takes the
 * manifest away first. Content without a manifest is what an unfinished attempt left; the next attempt replaces it.
 *
 * @example
 * const archive = new BackupArchive(store, { extension: ".rdb", manifest: redisManifest });
 * await archive.publish(name, { backupUid, source: async () => ({ content: await dump(), describe }) });
 * await archive.fetch(name, { file: "/data/dump.rdb" });
 */
export class BackupArchive<M extends Manifest> {
  readonly #store: Store;
  readonly #format: ArchiveFormat<M>;

  constructor(store: Store, format: ArchiveFormat<M>) {
    this.#store = store;
    this.#format = format;
  }

  contentKey(name: string): string {
    return `${name}${this.#format.extension}`;
  }

  manifestKey(name: string): string {
    return `${name}.json`;
  }

  /** The manifest, or undefined when there is no such backup. Rejects with `StoredDamaged` when it cannot be read. */
  async find(name: string): Promise<M | undefined> {
    if ((await this.#store.head(this.manifestKey(name))) === undefined) return undefined;
    return await this.read(name);
  }

  /** The manifest. Rejects with `NotFound` or `StoredDamaged`. */
  async read(name: string): Promise<M> {
    const key = this.manifestKey(name);
    const text = (await readAll(this.#store.get(key))).toString();
    try {
      return this.#format.manifest.parse(parseJson(text));
    } catch (cause) {
      throw new BackupError("StoredDamaged", `${key} is not the manifest of a backup`, { cause });
    }
  }

  /**
   * Copies the content into the store, then writes the manifest. It may be called again after any failure: an attempt
   * that finds the manifest of an earlier one returns it and does not open the source. Rejects with `NotOurs` when
   * another backup has the name.
   */
  async publish(
    name: string,
    options: {
      readonly backupUid: string;
      readonly source: () => Promise<BackupSource<M>>;
    },
  ): Promise<M> {
    const { backupUid, source } = options;
    const earlier = await this.find(name);
    if (earlier) return owned(name, earlier, backupUid);
    const { content, describe } = await source();
    let digest: Digest | undefined;
    await this.#store.put(
      this.contentKey(name),
      withDigest(content, (end) => {
        digest = end;
      }),
    );
    if (!digest)
      throw new BackupError(
        "SnapshotDamaged",
        `the store closed ${name} before the database had sent all of it`,
      );
    const manifest = describe(digest);
    try {
      await this.#write(name, manifest, true);
    } catch (error) {
      // The answer to our own write may have been lost; then the manifest in the store is this one.
      const stored = isBackupError(error, "NotOurs") ? await this.find(name) : undefined;
      if (!stored) throw error;
      return owned(name, stored, backupUid);
    }
    return manifest;
  }

  /** Replaces the manifest, for instance after the backup was verified. */
  async update(name: string, manifest: M): Promise<void> {
    await this.#write(name, manifest, false);
  }

  /** The content of a backup. It throws `StoredDamaged` at its end when it is not what the manifest says. */
  content(name: string, manifest: Digest): AsyncIterable<Uint8Array> {
    const key = this.contentKey(name);
    return checkedContent(this.#store.get(key), manifest, key);
  }

  /** The content as a file that may be read in place, where the store is a directory; nobody has compared it yet. */
  file(name: string): string | undefined {
    return this.#store.file?.(this.contentKey(name));
  }

  /** Reads all of the content. Rejects with `StoredDamaged` when it is not what the manifest says. */
  async check(name: string): Promise<M> {
    const manifest = await this.read(name);
    for await (const _ of this.content(name, manifest));
    return manifest;
  }

  /**
   * Writes the content to a local file and syncs it. Every byte has been compared with the manifest when this resolves;
   * when it rejects, the file is not to be used. `check` may refuse the backup by throwing, before anything is fetched.
   */
  async fetch(
    name: string,
    options: {
      readonly file: string;
      readonly check?: (manifest: M) => void;
    },
  ): Promise<M> {
    const { file, check } = options;
    const manifest = await this.read(name);
    check?.(manifest);
    await mkdir(dirname(file), { recursive: true });
    await using target = await open(file, "w", 0o600);
    for await (const chunk of this.content(name, manifest)) {
      for (let at = 0; at < chunk.length; ) at += (await target.write(chunk, at)).bytesWritten;
    }
    await target.sync();
    return manifest;
  }

  /** Removes the backup; absent is success. Rejects with `NotOurs` when another backup has the name. */
  async remove(name: string, backupUid: string): Promise<void> {
    const manifest = await this.find(name).catch((error: unknown) => {
      // A manifest that cannot be read belongs to no other backup.
      if (isBackupError(error, "StoredDamaged", "NotFound")) return undefined;
      throw error;
    });
    if (manifest && manifest.backupUid !== backupUid) {
      throw new BackupError(
        "NotOurs",
        `${name} belongs to the backup with UID ${manifest.backupUid}; it was not removed`,
      );
    }
    await this.#store.delete(this.manifestKey(name));
    await this.#store.delete(this.contentKey(name));
  }

  async #write(name: string, manifest: M, ifAbsent: boolean): Promise<void> {
    const bytes = Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`);
    await this.#store.put(this.manifestKey(name), once(bytes), { ifAbsent });
  }
}

function owned<M extends Manifest>(name: string, manifest: M, backupUid: string): M {
  if (manifest.backupUid === backupUid) return manifest;
  throw new BackupError(
    "NotOurs",
    `${name} belongs to the backup with UID ${manifest.backupUid}, not to ${backupUid}; nothing was written`,
  );
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
