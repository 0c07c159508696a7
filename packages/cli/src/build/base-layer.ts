/** The bottom of an operator's image: the root file system of an image that has Node in it. */
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ResolvedImage } from "@keelson/images";
import { type TarFile, writeTar } from "@keelson/images/internal";
import { cacheDirectory, makeOnce, privateCache } from "@keelson/machine";
import { type PackedLayer, packLayer } from "./oci.ts";

/** It is packed once for all builds, so that it may take longer. */
const LEVEL = 6;

/** All of an image as one packed layer, from the cache where it was packed before. */
export async function packedBase({ id, rootfs }: ResolvedImage): Promise<PackedLayer> {
  privateCache(process.env);
  const name = `${id.replace(/^sha256:/, "")}-${LEVEL}`;
  const home = join(cacheDirectory(process.env), "build", name);
  await makeOnce(home, async (directory) => {
    const { diffId, gzip } = packLayer(layerOf(rootfs), LEVEL);
    await writeFile(join(directory, "layer.tar.gz"), gzip);
    await writeFile(join(directory, "diff-id"), diffId);
  });
  const [gzip, diffId] = await Promise.all([
    readFile(join(home, "layer.tar.gz")),
    readFile(join(home, "diff-id"), "utf8"),
  ]);
  return { diffId, gzip };
}

/** All of a directory as one layer. Devices and sockets have no place in an image. */
export function layerOf(rootfs: string): Buffer {
  return writeTar(entriesOf(rootfs, ""));
}

function* entriesOf(root: string, at: string): Iterable<TarFile> {
  for (const name of readdirSync(join(root, at)).sort()) {
    const path = at === "" ? name : `${at}/${name}`;
    const full = join(root, path);
    const stat = lstatSync(full);
    const mode = stat.mode & 0o7777;
    if (stat.isDirectory()) {
      yield { path, type: "directory", mode };
      yield* entriesOf(root, path);
    } else if (stat.isSymbolicLink())
      yield { path, type: "symlink", mode: 0o777, target: readlinkSync(full) };
    else if (stat.isFile()) yield { path, type: "file", mode, content: readFileSync(full) };
  }
}
