/** Base backups in a store: the files of a data directory, and a manifest that is written when they are proven. */
import { createReadStream, createWriteStream } from "node:fs";
import { cp, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isBackupError, readAll, type Store } from "@keelson/kit/store";
import { parseKnownJson } from "../ha/json.ts";

export interface BackupManifest {
  readonly name: string;
  readonly uid: string;
  readonly systemId: string;
  readonly timeline: number;
  readonly version: string;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly sizeBytes: number;
  /** What a restored server answered. */
  readonly proof?: { readonly at: string; readonly databases: number };
}

/** Files that travel at once. */
const lanes = 8;

export class BaseBackups {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async manifest(name: string): Promise<BackupManifest | undefined> {
    const text = await this.#text(`manifests/${name}.json`);
    return text === undefined ? undefined : (parseKnownJson(text) as BackupManifest);
  }

  /** From here on it is a backup. */
  async seal(manifest: BackupManifest): Promise<void> {
    await this.#store.put(
      `manifests/${manifest.name}.json`,
      Readable.from([Buffer.from(JSON.stringify(manifest))]),
    );
  }

  async manifests(): Promise<BackupManifest[]> {
    const names = await Array.fromAsync(this.#store.list("manifests/"), ({ key }) => basename(key, ".json"));
    const found = await Promise.all(names.map(async (name) => await this.manifest(name)));
    return found.filter((manifest) => manifest !== undefined);
  }

  /** Where PostgreSQL writes it: in the store where that has files, otherwise here for as long as it takes. */
  draft(name: string, scratch: string): string {
    return this.#store.file?.(`${this.#folder(name)}.draft`) ?? join(scratch, "backup");
  }

  /** Takes over a draft. Returns its size. */
  async keep(name: string, draft: string): Promise<number> {
    const files = await filesOf(draft);
    const sizes = await Promise.all(files.map(async (file) => (await stat(join(draft, file))).size));
    const place = this.#store.file?.(this.#folder(name));
    await this.#clear(name);
    if (place !== undefined) await rename(draft, place);
    else {
      const folders = JSON.stringify(await foldersOf(draft));
      await this.#store.put(`folders/${name}.json`, Readable.from([Buffer.from(folders)]));
      await inLanes(files, async (file) => {
        await this.#store.put(`${this.#folder(name)}/${file}`, createReadStream(join(draft, file)));
      });
      await rm(draft, { recursive: true, force: true });
    }
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  /** Makes a data directory of it. */
  async copy(name: string, target: string): Promise<void> {
    const place = this.#store.file?.(this.#folder(name));
    if (place !== undefined) return await cp(place, target, { recursive: true });
    const folders = parseKnownJson((await this.#text(`folders/${name}.json`)) ?? "[]") as string[];
    await mkdir(target, { recursive: true, mode: 0o700 });
    for (const folder of folders) await mkdir(join(target, folder), { recursive: true, mode: 0o700 });
    const prefix = `${this.#folder(name)}/`;
    const files = await Array.fromAsync(this.#store.list(prefix), ({ key }) => key.slice(prefix.length));
    if (files.length === 0) throw new Error(`the store has no backup ${name}`);
    await inLanes(files, async (file) => {
      const path = join(target, file);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await pipeline(
        Readable.from(this.#store.get(`${prefix}${file}`)),
        createWriteStream(path, { mode: 0o600 }),
      );
    });
  }

  /** Where its log begins, as in the names of segments after their timeline. */
  async firstPosition(name: string): Promise<string> {
    const label = (await this.#text(`${this.#folder(name)}/backup_label`)) ?? "";
    const segment = /START WAL LOCATION: \S+ \(file ([0-9A-F]{24})\)/.exec(label)?.[1];
    if (segment === undefined) throw new Error(`backup ${name} does not say where its log begins`);
    return segment.slice(8);
  }

  /** The manifest goes first: what is left in between is no backup. */
  async remove(name: string): Promise<void> {
    await this.#store.delete(`manifests/${name}.json`);
    await this.#clear(name);
  }

  async #clear(name: string): Promise<void> {
    const place = this.#store.file?.(this.#folder(name));
    if (place !== undefined) return await rm(place, { recursive: true, force: true });
    const keys = await Array.fromAsync(this.#store.list(`${this.#folder(name)}/`), ({ key }) => key);
    await inLanes(keys, async (key) => await this.#store.delete(key));
    await this.#store.delete(`folders/${name}.json`);
  }

  #folder(name: string): string {
    return `base/${name}`;
  }

  async #text(key: string): Promise<string | undefined> {
    try {
      return (await readAll(this.#store.get(key))).toString();
    } catch (error) {
      if (isBackupError(error, "NotFound")) return undefined;
      throw error;
    }
  }
}

async function filesOf(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)));
}

/** Empty ones matter too: PostgreSQL does not make them. */
async function foldersOf(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)));
}

async function inLanes<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const lane = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
