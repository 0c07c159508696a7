/** Base backups in a store: the files of a data directory, and a manifest that is written when they are proven. */
import { createReadStream, createWriteStream } from "node:fs";
import { cp, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isBackupError, readAll, type Store } from "@keelson/kit/store";
import { parseKnownJson } from "../ha/json.ts";

export interface BackupManifest {
  readonly name: string;
  readonly uid: string;
  /** Where its files are; by default where the name says. */
  readonly folder?: string;
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

/**
 * Each instance writes into a folder of its own, so that one that is slow, or is taken for lost, never touches what another
 * one has proven. The manifest says which folder counts.
 */
export class BaseBackups {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async manifest(name: string): Promise<BackupManifest | undefined> {
    const text = await this.#text(`manifests/${name}.json`);
    return text === undefined ? undefined : (parseKnownJson(text) as BackupManifest);
  }

  /** The manifest of a backup that is proven, and whose files are there. */
  async proven(name: string): Promise<BackupManifest | undefined> {
    const manifest = await this.manifest(name);
    if (!manifest?.proof) return undefined;
    return (await this.#text(`${folderOf(manifest)}/backup_label`)) === undefined ? undefined : manifest;
  }

  /** From here on it is a backup. Returns what counts: one that was proven before stays. */
  async seal(manifest: BackupManifest): Promise<BackupManifest> {
    const before = await this.proven(manifest.name);
    if (before) return before;
    await this.#store.put(
      `manifests/${manifest.name}.json`,
      Readable.from([Buffer.from(JSON.stringify(manifest))]),
    );
    return manifest;
  }

  async manifests(): Promise<BackupManifest[]> {
    const names = await Array.fromAsync(this.#store.list("manifests/"), ({ key }) => basename(key, ".json"));
    const found = await Promise.all(names.map(async (name) => await this.manifest(name)));
    return found.filter((manifest) => manifest !== undefined);
  }

  /** Where an instance keeps its attempt at a backup. Names of objects have no underscore. */
  folder(name: string, instance: string): string {
    return `base/${name}_${instance}`;
  }

  /** Where PostgreSQL writes it: in the store where that has files, otherwise here for as long as it takes. */
  draft(folder: string, scratch: string): string {
    return this.#store.file?.(`${folder}.draft`) ?? join(scratch, "backup");
  }

  /** Takes over a draft. Returns its size. */
  async keep(folder: string, draft: string): Promise<number> {
    const files = await filesOf(draft);
    const sizes = await Promise.all(files.map(async (file) => (await stat(join(draft, file))).size));
    const place = this.#store.file?.(folder);
    await this.clear(folder);
    if (place !== undefined) {
      await rename(draft, place);
      await using parent = await open(dirname(place));
      await parent.sync();
    } else {
      const folders = JSON.stringify(await foldersOf(draft));
      await this.#store.put(foldersKey(folder), Readable.from([Buffer.from(folders)]));
      await inLanes(files, async (file) => {
        await this.#store.put(`${folder}/${file}`, createReadStream(join(draft, file)));
      });
      await rm(draft, { recursive: true, force: true });
    }
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  /** Makes a data directory of a backup. */
  async copy(name: string, target: string): Promise<void> {
    const manifest = await this.proven(name);
    if (!manifest) throw new Error(`the store has no backup ${name}`);
    await this.copyFolder(folderOf(manifest), target);
  }

  /** Makes a data directory of an attempt. */
  async copyFolder(folder: string, target: string): Promise<void> {
    const place = this.#store.file?.(folder);
    if (place !== undefined) return await cp(place, target, { recursive: true });
    const folders = parseKnownJson((await this.#text(foldersKey(folder))) ?? "[]") as string[];
    await mkdir(target, { recursive: true, mode: 0o700 });
    for (const each of folders) await mkdir(join(target, each), { recursive: true, mode: 0o700 });
    const prefix = `${folder}/`;
    const files = await Array.fromAsync(this.#store.list(prefix), ({ key }) => key.slice(prefix.length));
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
  async firstPosition(manifest: BackupManifest): Promise<string> {
    const label = (await this.#text(`${folderOf(manifest)}/backup_label`)) ?? "";
    const segment = /START WAL LOCATION: \S+ \(file ([0-9A-F]{24})\)/.exec(label)?.[1];
    if (segment === undefined) throw new Error(`backup ${manifest.name} does not say where its log begins`);
    return segment.slice(8);
  }

  /** The manifest goes first: what is left in between is no backup. */
  async remove(name: string): Promise<void> {
    await this.#store.delete(`manifests/${name}.json`);
    for (const folder of await this.#attempts(name)) await this.clear(folder);
  }

  /** Everybody's, drafts too. */
  async #attempts(name: string): Promise<string[]> {
    const base = this.#store.file?.("base");
    const keys =
      base === undefined
        ? await Array.fromAsync(this.#store.list(`base/${name}`), ({ key }) => key.split("/")[1] ?? "")
        : await readdir(base).catch(() => []);
    const own = keys.filter((each) => each === name || each.startsWith(`${name}_`));
    return [...new Set(own)].map((each) => `base/${each}`);
  }

  async clear(folder: string): Promise<void> {
    const place = this.#store.file?.(folder);
    if (place !== undefined) return await rm(place, { recursive: true, force: true });
    const keys = await Array.fromAsync(this.#store.list(`${folder}/`), ({ key }) => key);
    await inLanes(keys, async (key) => await this.#store.delete(key));
    await this.#store.delete(foldersKey(folder));
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

function folderOf({ name, folder }: BackupManifest): string {
  return folder ?? `base/${name}`;
}

function foldersKey(folder: string): string {
  return `folders/${basename(folder)}.json`;
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
