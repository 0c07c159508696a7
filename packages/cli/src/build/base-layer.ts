/** The bottom of an operator's image: the root file system of an image that has Node in it. */
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { type TarFile, writeTar } from "@keelson/images/internal";

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
