/** Paths as a container sees them: links are followed within its root, never out of it into the machine's. */
import { lstat, readlink } from "node:fs/promises";
import { join, posix } from "node:path";

export interface RootView {
  readonly rootfs: string;
  /** What hides parts of the root; targets are absolute paths without links. */
  readonly mounts: readonly { readonly source: string; readonly target: string }[];
}

const maxLinks = 40;

/** Where a path of the container is on this machine; undefined for links that go in circles. */
export async function locate(view: RootView, path: string): Promise<string | undefined> {
  const real = await resolveInside(view, path);
  return real === undefined ? undefined : onMachine(view, real);
}

/** The same path without links, as the container would write it. What does not exist stays as it is. */
export async function resolveInside(view: RootView, path: string): Promise<string | undefined> {
  let links = 0;
  let pending = path.split("/").filter(Boolean);
  let at = "/";
  while (pending.length > 0) {
    const [name = "", ...rest] = pending;
    pending = rest;
    const next = posix.join(at, name);
    const real = onMachine(view, next);
    const found = await lstat(real).catch(() => undefined);
    if (found?.isSymbolicLink()) {
      if (++links > maxLinks) return undefined;
      const whole = posix.resolve(at, await readlink(real));
      pending = [...whole.split("/").filter(Boolean), ...pending];
      at = "/";
      continue;
    }
    at = next;
  }
  return at;
}

function onMachine(view: RootView, path: string): string {
  const mount = view.mounts
    .filter(({ target }) => path === target || path.startsWith(`${target}/`))
    .sort((a, b) => b.target.length - a.target.length)[0];
  return mount === undefined ? join(view.rootfs, path) : join(mount.source, path.slice(mount.target.length));
}
