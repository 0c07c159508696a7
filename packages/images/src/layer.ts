/** Applies the layers of an image onto a directory, one after the other. */
import { createWriteStream } from "node:fs";
import { chmod, chown, lchown, link, lstat, mkdir, readdir, rm, symlink, utimes } from "node:fs/promises";
import { basename, dirname, join, posix } from "node:path";
import { pipeline } from "node:stream/promises";
import { ImageError } from "./errors.ts";
import { locate } from "./root-path.ts";
import { readTar, type TarEntry } from "./tar.ts";

const whiteout = ".wh.";
const opaque = ".wh..wh..opq";

export interface LayerOptions {
  /** Gives files to the owners the layer names; only root can. */
  readonly owners: boolean;
}

/** Links in the root are followed as a container would; nothing is ever written outside of it. */
export async function applyLayer(
  root: string,
  layer: AsyncIterable<Uint8Array>,
  options: LayerOptions = { owners: process.getuid?.() === 0 },
): Promise<void> {
  /** Made by this layer: an opaque directory hides only what was there before. */
  const own = new Set<string>();
  const directories: { path: string; entry: TarEntry }[] = [];
  for await (const entry of readTar(layer)) {
    if (entry.path === "" || entry.path === ".") continue;
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
      await rm(join(parent, name.slice(whiteout.length)), { recursive: true, force: true });
      continue;
    }
    const path = join(parent, name);
    for (let at = path; at !== root && at !== dirname(at); at = dirname(at)) own.add(at);
    if (await place(root, path, entry)) {
      if (entry.type === "directory") directories.push({ path, entry });
      await dress(path, entry, options);
    }
  }
  // A read-only directory must stay writable until everything is in it, and its time until then means nothing.
  for (const { path, entry } of directories.reverse()) {
    await chmod(path, entry.mode);
    await utimes(path, entry.mtime, entry.mtime);
  }
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
  await chmod(path, entry.type === "directory" ? entry.mode | 0o700 : entry.mode);
  if (entry.type === "file") await utimes(path, entry.mtime, entry.mtime);
}

async function follow(root: string, path: string): Promise<string> {
  const found = await locate({ rootfs: root, mounts: [] }, path);
  if (found === undefined) throw new ImageError("BadArchive", `${path} leads in circles`);
  return found;
}
