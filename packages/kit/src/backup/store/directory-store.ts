/** A directory as a store: the mounted volume of a claim. */
import { createReadStream, type Dirent } from "node:fs";
import { type FileHandle, link, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join, normalize, sep } from "node:path";
import { BackupError } from "../../errors.ts";
import type { PutOptions, Store, StoredObject } from "./store.ts";

const unfinished = ".part";

/** Keeps objects as files. Each is written beside its place, synced, and published by a rename. */
export class DirectoryStore implements Store {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async put(key: string, content: AsyncIterable<Uint8Array>, options: PutOptions = {}): Promise<void> {
    const path = this.#path(key);
    const part = `${path}${unfinished}`;
    await failing(`write ${key}`, async () => await mkdir(dirname(path), { recursive: true }));
    try {
      await using file = await failing(`write ${key}`, async () => await open(part, "w", 0o640));
      for await (const chunk of content)
        await failing(`write ${key}`, async () => await writeAll(file, chunk));
      await failing(`write ${key}`, async () => await file.sync());
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
    await failing(`publish ${key}`, async () => await publish(part, path, key, options));
  }

  async *get(key: string): AsyncIterable<Uint8Array> {
    const stream = createReadStream(this.#path(key), { highWaterMark: 1024 * 1024 });
    try {
      for await (const chunk of stream) yield chunk as Buffer;
    } catch (cause) {
      throw isAbsent(cause)
        ? new BackupError("NotFound", `the volume has no ${key}`, { cause })
        : failure(`read ${key}`, cause);
    }
  }

  file(key: string): string {
    return this.#path(key);
  }

  async head(key: string): Promise<StoredObject | undefined> {
    const found = await stat(this.#path(key)).catch((cause: unknown) => {
      if (isAbsent(cause)) return undefined;
      throw failure(`look at ${key}`, cause);
    });
    return found?.isFile() ? { key, sizeBytes: found.size } : undefined;
  }

  async *list(prefix: string): AsyncIterable<StoredObject> {
    // Only what can have the prefix is looked at: a store may hold much else.
    const folder = join(this.#root, prefix.slice(0, prefix.lastIndexOf("/") + 1));
    const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch((cause: unknown) => {
      if (isAbsent(cause)) return [] as Dirent[];
      throw failure("list the volume", cause);
    });
    const keys = found
      .filter((entry) => entry.isFile() && !entry.name.endsWith(unfinished))
      .map((entry) =>
        join(entry.parentPath, entry.name)
          .slice(this.#root.length + 1)
          .split(sep)
          .join("/"),
      )
      .filter((key) => key.startsWith(prefix));
    for (const key of keys.sort()) {
      const object = await this.head(key);
      if (object) yield object;
    }
  }

  async delete(key: string): Promise<void> {
    const path = this.#path(key);
    await failing(`delete ${key}`, async () => {
      await rm(`${path}${unfinished}`, { force: true });
      await rm(path, { force: true });
    });
  }

  /** A key never leads out of the directory. */
  #path(key: string): string {
    const path = normalize(join(this.#root, key));
    if (!path.startsWith(`${this.#root}${sep}`)) {
      throw new BackupError("BadConfiguration", `the key ${JSON.stringify(key)} leads out of the volume`);
    }
    return path;
  }
}

/** Renames, or links when nothing may be replaced: both are atomic. */
async function publish(
  part: string,
  path: string,
  key: string,
  { ifAbsent = false }: PutOptions,
): Promise<void> {
  if (ifAbsent) {
    try {
      await link(part, path);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
      throw new BackupError("NotOurs", `${key} exists already`, { cause });
    } finally {
      await rm(part, { force: true });
    }
  } else await rename(part, path);
  await using directory = await open(dirname(path));
  await directory.sync();
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at)).bytesWritten;
}

async function failing<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    throw cause instanceof BackupError ? cause : failure(what, cause);
  }
}

function failure(what: string, cause: unknown): BackupError {
  return new BackupError("StoreUnavailable", `cannot ${what} on the volume: ${(cause as Error).message}`, {
    cause,
  });
}

function isAbsent(cause: unknown): boolean {
  return (cause as NodeJS.ErrnoException).code === "ENOENT";
}
