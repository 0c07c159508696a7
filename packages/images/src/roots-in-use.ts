/** Which unpacked images pods stand on: found in the mounts of this machine's processes, so that no record can be stale. */
import { readdir, readFile, readlink } from "node:fs/promises";

const processes = "/proc";
/** In the options of an overlay, or as the source of a mount. */
const rootPattern = /\/roots\/([0-9a-f]{64})\//g;

/** The digests of the configurations that they were unpacked for, without "sha256:". */
export async function rootsInUse(): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const seen = new Set<string>();
  for (const pid of await readdir(processes).catch(() => [])) {
    if (!/^\d+$/.test(pid)) continue;
    // Processes come and go, and those of other users are none of ours.
    const space = await readlink(`${processes}/${pid}/ns/mnt`).catch(() => undefined);
    if (space === undefined || seen.has(space)) continue;
    const mounts = await readFile(`${processes}/${pid}/mountinfo`, "utf8").catch(() => undefined);
    if (mounts === undefined) continue;
    seen.add(space);
    for (const [, digest = ""] of mounts.matchAll(rootPattern)) found.add(digest);
  }
  return found;
}
