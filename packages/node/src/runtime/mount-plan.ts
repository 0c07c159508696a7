/** Where a container's volumes go: paths without links, and none of them where it could break the sandbox. */
import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { resolveInside } from "@keelson/images/internal";
import { NodeError } from "../errors.ts";
import type { ContainerMount, ContainerSpec } from "./container-runtime.ts";
import { openInside, placeOf } from "./safe-path.ts";
import { quote, runScript } from "./shell.ts";

export interface MountPlan {
  /** None of them inside another. */
  readonly mounts: readonly ContainerMount[];
  readonly cwd: string;
  /** Whether the directory has to be made in the container's own root. */
  readonly makesCwd: boolean;
}

/**
 * Bubblewrap follows links while it mounts, and absolute ones (`/var/run` → `/run`) out of the container. Those of the
 * image stay as they are, so it is given paths that have none. Those in volumes may change at any time, so mounts inside
 * of volumes are put together here, in `directory`, and come to it as one.
 */
export async function planMounts(spec: ContainerSpec, directory: string): Promise<MountPlan> {
  const image = { rootfs: spec.rootfs, mounts: [] };
  const mounts = await Promise.all(
    spec.mounts.map(async (mount) => ({
      ...mount,
      target: checked((await resolveInside(image, mount.target)) ?? mount.target),
    })),
  );
  const isInside = (path: string, { target }: ContainerMount) => path.startsWith(`${target}/`);
  const outer = mounts.filter(({ target }) => !mounts.some((other) => isInside(target, other)));
  const planned: ContainerMount[] = [];
  for (const mount of outer) {
    const nested = mounts.filter(({ target }) => isInside(target, mount));
    const place = join(directory, String(planned.length));
    planned.push(nested.length === 0 ? mount : await assemble(mount, nested, place));
  }
  const cwd = (await resolveInside({ rootfs: spec.rootfs, mounts }, spec.cwd)) ?? spec.cwd;
  const home = mounts
    .filter((mount) => cwd === mount.target || isInside(cwd, mount))
    .sort((a, b) => b.target.length - a.target.length)[0];
  if (home !== undefined) await makeInside(home, cwd);
  return { mounts: planned, cwd, makesCwd: home === undefined };
}

/** The kernel's own views are how a sandbox is held together: nothing may take their place. */
function checked(target: string): string {
  if (target === "/" || target === "/proc" || target.startsWith("/proc/")) {
    throw new NodeError(
      "ContainerConfig",
      `a volume cannot be mounted at ${JSON.stringify(target)}: it is ${target === "/" ? "the root" : "inside /proc"}`,
    );
  }
  return target;
}

async function makeInside({ source, target, readOnly }: ContainerMount, path: string): Promise<void> {
  const below = path.slice(target.length);
  if (below === "" || readOnly) return;
  const handle = await openInside(source, below, { make: "directory" });
  await handle.close();
}

/** A view of the outer volume with the nested ones in it, at `place`. */
async function assemble(
  outer: ContainerMount,
  nested: readonly ContainerMount[],
  place: string,
): Promise<ContainerMount> {
  const failure = { code: "MountFailed", doing: `mount inside ${outer.target}` } as const;
  await mkdir(place, { recursive: true });
  await runScript([`mount --bind ${quote(outer.source)} ${quote(place)}`], failure);
  for (const [index, mount] of nested.toSorted((a, b) => a.target.length - b.target.length).entries()) {
    const isDirectory = (await stat(mount.source)).isDirectory();
    const view = `${place}-${index}`;
    if (isDirectory) await mkdir(view, { recursive: true });
    else await writeFile(view, "");
    const below = mount.target.slice(outer.target.length);
    await using point = await openInside(place, below, { make: isDirectory ? "directory" : "file" });
    if ((await stat(placeOf(point))).isDirectory() !== isDirectory) {
      throw new NodeError(
        "MountFailed",
        `cannot mount ${mount.target}: one is a directory and the other is not`,
      );
    }
    await runScript(
      [
        `mount --bind ${quote(mount.source)} ${quote(view)}`,
        ...(mount.readOnly ? [`mount -o remount,bind,ro ${quote(view)}`] : []),
        // Onto the very thing that was opened, whatever its name leads to by now; what is read-only stays so.
        `mount --no-canonicalize --bind ${quote(view)} /proc/self/fd/3`,
      ],
      failure,
      [point.fd],
    );
  }
  return { ...outer, source: place };
}
