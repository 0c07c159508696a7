/** Unpacks the layers of an image into a directory. */
import { createWriteStream } from "node:fs";
import { chmod, chown, lchown, link, lstat, mkdir, readdir, rm, symlink, utimes } from "node:fs/promises";
import { basename, dirname, join, posix } from "node:path";
import { pipeline } from "node:stream/promises";
import { ImageError } from "./errors.ts";
import { locate } from "./root-path.ts";
import { readTar, type TarEntry } from "./tar-read.ts";

/** No sandbox of ours heeds them, and outside of one they would give the user who runs the file its owner's rights. */
const setIds = 0o6000;
const whiteout = ".wh.";
const opaque = ".wh..wh..opq";

export interface LayerOptions {
  /** Gives files to the owners the layer names; only root can. */
  readonly owners: boolean;
}

/** Applies layers from the bottom to a root. Links in it are followed as a container would; nothing leaves it. */
export async function applyLayers(
  root: string,
  layers: Iterable<AsyncIterable<Uint8Array>>,
  options: LayerOptions = { owners: process.getuid?.() === 0 },
): Promise<void> {
  const directories = new Map<string, TarEntry>();
  for (const layer of layers) await applyLayer(root, layer, directories, options);
  // A read-only directory must stay writable until everything is in it, and its time until then means nothing.
  for (const [path, { mode, mtime }] of [...directories].reverse()) {
    const found = await lstat(path).catch(() => undefined);
    // Something else may be in its place by now.
    if (!found?.isDirectory()) continue;
    await chmod(path, mode);
    await utimes(path, mtime, mtime);
  }
}

async function applyLayer(
  root: string,
  layer: AsyncIterable<Uint8Array>,
  directories: Map<string, TarEntry>,
  options: LayerOptions,
): Promise<void> {
  /** Made by this layer: an opaque directory hides only what was there before. */
  const own = new Set<string>();
  for await (const entry of readTar(layer)) {
    if (entry.path === "") continue;
    const parent = await follow(root, posix.dirname(`/${entry.path}`));
    const name = posix.basename(entry.path);
    await mkdir(parent, { recursive: true });
    if (name === opaque) {
      for (const child of await readdir(parent)) {
        if (!own.has(join(parent, child))) await rm(join(parent, child), { recursive: true, force: true });
      }
      continue;
    }
    if (name.startsWith(whiteout)) {
      await rm(join(parent, hiddenBy(name, entry)), { recursive: true, force: true });
      continue;
    }
    const path = join(parent, name);
    for (let at = path; at !== root && at !== dirname(at); at = dirname(at)) own.add(at);
    if (await place(root, path, entry)) {
      directories.delete(path);
      if (entry.type === "directory") directories.set(path, entry);
      await dress(path, entry, options);
    }
  }
}

/** The name that a whiteout takes away, in the directory that it is in. */
function hiddenBy(name: string, entry: TarEntry): string {
  const hidden = name.slice(whiteout.length);
  if (hidden === "" || hidden === "." || hidden === "..") {
    throw new ImageError(
      "BadArchive",
      `entry ${JSON.stringify(entry.path)} hides nothing that a layer can hide`,
    );
  }
  return hidden;
}

/** False for what an ordinary user cannot make: devices, which no container of ours may use anyway. */
async function place(root: string, path: string, entry: TarEntry): Promise<boolean> {
  const present = await lstat(path).catch(() => undefined);
  if (entry.type === "directory") {
    if (present !== undefined && !present.isDirectory()) await rm(path);
    await mkdir(path, { recursive: true });
    return true;
  }
  if (present !== undefined) await rm(path, { recursive: true, force: true });
  switch (entry.type) {
    case "file":
      await pipeline(entry.body, createWriteStream(path, { mode: 0o600 }));
      return true;
    case "symlink":
      await symlink(entry.linkPath, path);
      return true;
    case "hardlink": {
      const target = posix.join("/", entry.linkPath);
      const source = join(await follow(root, posix.dirname(target)), basename(target));
      await link(source, path).catch((error: unknown) => {
        throw new ImageError(
          "BadArchive",
          `layer links ${entry.path} to ${entry.linkPath}, which is not there`,
          {
            cause: error,
          },
        );
      });
      return true;
    }
    default:
      return false;
  }
}

async function dress(path: string, entry: TarEntry, { owners }: LayerOptions): Promise<void> {
  if (entry.type === "hardlink") return;
  if (entry.type === "symlink") {
    if (owners) await lchown(path, entry.uid, entry.gid);
    return;
  }
  if (owners) await chown(path, entry.uid, entry.gid);
  await chmod(path, entry.type === "directory" ? entry.mode | 0o700 : entry.mode & ~setIds);
  if (entry.type === "file") await utimes(path, entry.mtime, entry.mtime);
}

async function follow(root: string, path: string): Promise<string> {
  const found = await locate({ rootfs: root, mounts: [] }, path);
  if (found === undefined) throw new ImageError("BadArchive", `${path} leads in circles`);
  return found;
}
