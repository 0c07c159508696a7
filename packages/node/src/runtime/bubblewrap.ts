/** The bubblewrap arguments for one container. */
import type { IdMode } from "@keelson/machine";
import type { GroupMount } from "./cgroups.ts";
import type { ContainerSpec, ContainerUser } from "./container-runtime.ts";
import { guardArguments } from "./guards.ts";
import type { KernelPaths } from "./kernel-paths.ts";

export interface ContainerView {
  readonly ids: IdMode;
  /** The container's own view of its root, writable. */
  readonly root: string;
  /** Shared memory of the pod. */
  readonly sharedMemory: string;
  /** A sysfs that shows the pod's network. */
  readonly sys: string;
  readonly kernelPaths: KernelPaths;
  /** Whether the container's directory has to be made in its root. */
  readonly makesCwd: boolean;
  /** The container's control groups. */
  readonly groups: readonly GroupMount[];
  /** `node` sees the processes of the node; a file descriptor those of that process namespace; else only its own. */
  readonly processes?: "node" | number;
}

/**
 * Arguments for `bwrap --args`, without the command. All privileges of the node are left to the command, which must be
 * a confinement program: it changes to the container's directory, user and environment, and keeps nothing else.
 */
export function bubblewrapArguments(spec: ContainerSpec, view: ContainerView): string[] {
  const plays = playsAnotherUser(view.ids, spec.user);
  return [
    ...(view.processes === undefined ? ["--unshare-pid", "--as-pid-1"] : []),
    ...(typeof view.processes === "number" ? ["--pidns", String(view.processes)] : []),
    ...["--die-with-parent", "--new-session", "--unshare-cgroup-try"],
    ...(plays ? ["--unshare-user", "--uid", String(spec.user.uid), "--gid", String(spec.user.gid)] : []),
    ...["--bind", view.root, "/", "--proc", "/proc", "--dev", "/dev", "--ro-bind", view.sys, "/sys"],
    ...(view.kernelPaths.hasGroups ? ownGroups(view.groups) : []),
    // Everyone else puts up guards itself, later and for less.
    ...(plays && !spec.unmasked ? guardArguments(view.kernelPaths) : []),
    ...["--bind", view.sharedMemory, "/dev/shm"],
    // The pod's IPC namespace belongs to the node's users; from a namespace further in it cannot be mounted.
    ...(plays ? [] : ["--mqueue", "/dev/mqueue"]),
    ...spec.mounts.flatMap(({ source, target, readOnly }) => [
      // Bubblewrap would make missing parents for their owner alone, and the container may be another user.
      ...parentsOf(target).flatMap((parent) => ["--dir", parent]),
      readOnly ? "--ro-bind" : "--bind",
      source,
      target,
    ]),
    ...(view.makesCwd ? ["--dir", spec.cwd] : []),
    ...(spec.readOnlyRoot ? ["--remount-ro", "/"] : []),
    ...["--clearenv", "--chdir", "/"],
  ];
}

const groupsPlace = "/sys/fs/cgroup";

/** A container's own control groups where it would see the machine's, to read: a process that reads its limits finds them. */
function ownGroups(groups: readonly GroupMount[]): string[] {
  const [first] = groups;
  if (first?.target === "") return ["--ro-bind", first.source, groupsPlace];
  return [
    ...["--tmpfs", groupsPlace],
    ...groups.flatMap(({ source, target }) => ["--ro-bind", source, `${groupsPlace}/${target}`]),
    ...["--remount-ro", groupsPlace],
  ];
}

/** With one id, a container that wants to be somebody gets a namespace where that id has the wanted number. */
export function playsAnotherUser(ids: IdMode, user: ContainerUser): boolean {
  return ids === "single" && (user.uid !== 0 || user.gid !== 0);
}

/** Every directory above a path, outermost first, without the root. */
function parentsOf(path: string): string[] {
  const names = path
    .split("/")
    .filter((name) => name !== "")
    .slice(0, -1);
  return names.map((_, index) => `/${names.slice(0, index + 1).join("/")}`);
}
