/** The files of an archive or directory that images are loaded from, by the names that its documents use. */
import { createReadStream, createWriteStream } from "node:fs";
import { readFile, realpath, stat } from "node:fs/promises";
import { join, posix, sep } from "node:path";
import { pipeline } from "node:stream/promises";
import { ImageError } from "./errors.ts";
import { readTar } from "./tar-read.ts";

export interface ImageFiles {
  has(path: string): Promise<boolean>;
  stream(path: string): Promise<AsyncIterable<Uint8Array>>;
  /** A document; refused when it is larger than any real one. */
  text(path: string): Promise<string>;
}

const largestDocument = 8 * 1024 * 1024;
const mostLinks = 16;

/**
 * Unpacks an archive into `directory` under names of our own: what the archive calls its files never becomes a path.
 * Links are followed among its entries only; older archives share layers by them.
 */
export async function archiveFiles(
  archive: AsyncIterable<Uint8Array>,
  directory: string,
): Promise<ImageFiles> {
  const files = new Map<string, string>();
  const links = new Map<string, string>();
  for await (const entry of readTar(archive)) {
    if (entry.type === "directory") continue;
    files.delete(entry.path);
    links.delete(entry.path);
    if (entry.type === "file") {
      const place = join(directory, String(files.size + links.size));
      await pipeline(entry.body, createWriteStream(place, { mode: 0o600, flags: "wx" }));
      files.set(entry.path, place);
    } else if (entry.type === "symlink") {
      links.set(entry.path, posix.join(posix.dirname(entry.path), entry.linkPath));
    } else if (entry.type === "hardlink") {
      links.set(entry.path, posix.normalize(entry.linkPath));
    } else {
      throw new ImageError(
        "BadArchive",
        `entry ${JSON.stringify(entry.path)} is a ${entry.type}, not a file`,
      );
    }
  }
  const find = (path: string): string | undefined => {
    let at = posix.normalize(path);
    for (let followed = 0; followed < mostLinks; followed++) {
      const next = links.get(at);
      if (next === undefined) return files.get(at);
      at = next;
    }
    return undefined;
  };
  return reader((path) => Promise.resolve(find(path)));
}

/** A layout that lies open. Names and links that lead out of it are refused. */
export async function directoryFiles(directory: string): Promise<ImageFiles> {
  const root = await realpath(directory);
  return reader(async (path) => {
    const real = await realpath(join(root, path)).catch(() => undefined);
    if (real === undefined) return undefined;
    if (!real.startsWith(`${root}${sep}`)) {
      throw new ImageError("BadArchive", `${JSON.stringify(path)} leads out of ${directory}`);
    }
    return (await stat(real)).isFile() ? real : undefined;
  });
}

function reader(find: (path: string) => Promise<string | undefined>): ImageFiles {
  const required = async (path: string) => {
    const found = await find(path);
    if (found === undefined)
      throw new ImageError("BadArchive", `there is no file ${JSON.stringify(path)} in it`);
    return found;
  };
  return {
    has: async (path) => (await find(path)) !== undefined,
    stream: async (path) => createReadStream(await required(path)),
    text: async (path) => {
      const file = await required(path);
      const { size } = await stat(file);
      if (size > largestDocument)
        throw new ImageError("BadArchive", `${JSON.stringify(path)} is too large: ${size} bytes`);
      return await readFile(file, "utf8");
    },
  };
}
