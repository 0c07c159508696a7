/**
 * Paths inside a directory that others change at the same time: a volume that containers write to.
 *
 * Between looking at a path and using it, a container may put a link in its place that leads to files of the machine.
 * So a path is walked one name at a time, each opened relative to the one before and never through a link; what is
 * found is used through its descriptor, as `/proc/self/fd/N`, and is the same whatever happens to its name.
 */
import { constants } from "node:fs";
import { chmod, chown, type FileHandle, mkdir, open, readlink } from "node:fs/promises";
import { NodeError } from "../errors.ts";

/** Opens a place and not what is there; not among Node's constants, and the same on all processors we run on. */
const placeOnly = 0o10_000_000;
const flags = placeOnly | constants.O_NOFOLLOW;
const mostLinks = 40;

export interface OpenInsideOptions {
  /** Makes what is missing: directories above, and at the end a directory or an empty file. */
  readonly make?: "directory" | "file";
}

/** How a path of ours is reached while its handle is open. */
export function placeOf(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}

/**
 * Links are followed while they stay inside. Throws `NotFound` for what is missing, and `ContainerConfig` for what
 * leads out.
 */
export async function openInside(
  base: string,
  path: string,
  { make }: OpenInsideOptions = {},
): Promise<FileHandle> {
  const leadsOut = () => new NodeError("ContainerConfig", `${JSON.stringify(path)} leads out of its volume`);
  const opened: FileHandle[] = [await open(base, placeOnly | constants.O_DIRECTORY)];
  const pending = path.split("/").filter(isName);
  let links = 0;
  try {
    for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
      const above = opened.at(-1);
      if (above === undefined) throw leadsOut();
      if (name === "..") {
        await opened.pop()?.close();
        continue;
      }
      const next = await enter(above, name, make && (pending.some(isName) ? "directory" : make));
      if (next === undefined) throw new NodeError("NotFound", `${JSON.stringify(path)} does not exist`);
      const found = await next.stat();
      if (!found.isSymbolicLink()) {
        opened.push(next);
        continue;
      }
      await next.close();
      const target = await readlink(`${placeOf(above)}/${name}`);
      if (target.startsWith("/") || ++links > mostLinks) throw leadsOut();
      pending.unshift(...target.split("/").filter(isName));
    }
    const found = opened.pop();
    if (found === undefined) throw leadsOut();
    return found;
  } finally {
    for (const handle of opened) await handle.close();
  }
}

/** What has this name in a directory, made when it is missing; undefined when there is nothing. */
async function enter(
  above: FileHandle,
  name: string,
  make: OpenInsideOptions["make"],
): Promise<FileHandle | undefined> {
  const place = `${placeOf(above)}/${name}`;
  const present = await openPlace(place);
  if (present !== undefined || make === undefined) return present;
  if (make === "file") {
    const file = await open(place, constants.O_CREAT | constants.O_NOFOLLOW | constants.O_RDONLY, 0o644);
    await file.close();
    return await openPlace(place);
  }
  await mkdir(place).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  const made = await openPlace(place);
  // As its surroundings are: the container may be any user.
  const { mode, uid, gid } = await above.stat();
  if (made !== undefined && (await made.stat()).isDirectory()) {
    await chmod(placeOf(made), mode & 0o7777);
    await chown(placeOf(made), uid, gid).catch(() => undefined);
  }
  return made;
}

async function openPlace(place: string): Promise<FileHandle | undefined> {
  try {
    return await open(place, flags);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

function isName(name: string): boolean {
  return name !== "" && name !== ".";
}
