/** The bubblewrap arguments for one container. */
import type { IdMode } from "@keelson/machine";
import { allCapabilities } from "./capabilities.ts";
import type { ContainerMount, ContainerSpec, ContainerUser } from "./container-runtime.ts";
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
  /** Holds the program that takes on the container's user; see `user-switch.ts`. */
  readonly switcher: UserSwitcher;
  /** The file descriptor of a seccomp program, where one is wanted. */
  readonly seccompFd?: number;
  /** `node` sees the processes of the node; a file descriptor those of that process namespace; else only its own. */
  readonly processes?: "node" | number;
}

/** A copy of setpriv with its loader and libraries, mounted where it hides nothing of the image. */
export interface UserSwitcher {
  readonly directory: string;
  /** How to start it inside the container. */
  readonly command: readonly string[];
}

export const switcherTarget = "/dev/.keelson";

/** Arguments for `bwrap --args`, without the command. */
export function bubblewrapArguments(spec: ContainerSpec, view: ContainerView): string[] {
  const plays = playsAnotherUser(view.ids, spec.user);
  return [
    ...(view.processes === undefined ? ["--unshare-pid", "--as-pid-1"] : []),
    ...(typeof view.processes === "number" ? ["--pidns", String(view.processes)] : []),
    ...["--die-with-parent", "--new-session"],
    ...(plays ? ["--unshare-user", "--uid", String(spec.user.uid), "--gid", String(spec.user.gid)] : []),
    ...["--bind", view.root, "/", "--proc", "/proc", "--dev", "/dev", "--ro-bind", view.sys, "/sys"],
    ...(spec.unmasked ? [] : guards(view.kernelPaths)),
    ...["--bind", view.sharedMemory, "/dev/shm"],
    // The pod's IPC namespace belongs to the node's users; from a namespace further in it cannot be mounted.
    ...(plays ? [] : ["--mqueue", "/dev/mqueue"]),
    ...["--ro-bind", view.switcher.directory, switcherTarget],
    ...inOrder(spec.mounts).flatMap(({ source, target, readOnly }) => [
      // Bubblewrap would make missing parents for their owner alone, and the container may be another user.
      ...parentsOf(target).flatMap((parent) => ["--dir", parent]),
      readOnly ? "--ro-bind" : "--bind",
      source,
      target,
    ]),
    ...["--dir", spec.cwd],
    ...(spec.readOnlyRoot ? ["--remount-ro", "/"] : []),
    ...(plays
      ? []
      : ["--cap-drop", "ALL", ...bubblewrapCapabilities(spec).flatMap((name) => ["--cap-add", name])]),
    ...(view.seccompFd === undefined ? [] : ["--seccomp", String(view.seccompFd)]),
    "--clearenv",
    ...Object.entries(spec.env).flatMap(([name, value]) => ["--setenv", name, value]),
    ...["--chdir", spec.cwd],
  ];
}

/** What stands before the container in its /proc and /sys. */
function guards({ maskedFiles, maskedDirectories, readOnly }: KernelPaths): string[] {
  return [
    ...maskedFiles.flatMap((path) => ["--dev-bind", "/dev/null", path]),
    ...maskedDirectories.flatMap((path) => ["--tmpfs", path, "--remount-ro", path]),
    // What is bound is the node's view of the same thing: none of it depends on who mounted it.
    ...readOnly.flatMap((path) => ["--ro-bind", path, path]),
  ];
}

/** The command as bubblewrap starts it: through the switcher when the user is not the one we are. */
export function containerCommand(spec: ContainerSpec, view: ContainerView): string[] {
  return [...switchUser(spec.user, spec.capabilities, view), ...spec.command];
}

/** What to put before a command so that it runs as `user`; nothing when that is so already. */
export function switchUser(
  user: ContainerUser,
  capabilities: readonly string[],
  view: ContainerView,
): string[] {
  if (playsAnotherUser(view.ids, user)) return [];
  const others = view.ids !== "single" && (user.uid !== 0 || user.gid !== 0 || user.groups.length > 0);
  if (!others) return [];
  const groups = user.groups.length > 0 ? ["--groups", user.groups.join(",")] : ["--clear-groups"];
  const bounding = capabilitySet(capabilities);
  return [
    ...view.switcher.command,
    ...["--reuid", String(user.uid), "--regid", String(user.gid), ...groups],
    ...["--bounding-set", bounding, "--no-new-privs", "--"],
  ];
}

/** For `exec`: enters with every capability of the namespace, so it must shed them itself. */
export function execCommand(spec: ContainerSpec, view: ContainerView, command: readonly string[]): string[] {
  const switched = switchUser(spec.user, spec.capabilities, view);
  if (switched.length > 0 || playsAnotherUser(view.ids, spec.user)) return [...switched, ...command];
  return [
    ...view.switcher.command,
    ...["--bounding-set", capabilitySet(spec.capabilities), "--no-new-privs", "--", ...command],
  ];
}

/** With one id, a container that wants to be somebody gets a namespace where that id has the wanted number. */
export function playsAnotherUser(ids: IdMode, user: ContainerUser): boolean {
  return ids === "single" && (user.uid !== 0 || user.gid !== 0);
}

/** The switcher needs a few capabilities that the container itself may not have; it drops them. */
function bubblewrapCapabilities(spec: ContainerSpec): string[] {
  const needed = spec.user.uid !== 0 || spec.user.gid !== 0 || spec.user.groups.length > 0;
  const names = needed ? [...spec.capabilities, "SETUID", "SETGID", "SETPCAP"] : spec.capabilities;
  return [...new Set(names)].map((name) => `CAP_${name}`);
}

function capabilitySet(capabilities: readonly string[]): string {
  const dropped = allCapabilities.filter((name) => !capabilities.includes(name));
  return dropped.length === 0 ? "+all" : dropped.map((name) => `-${name.toLowerCase()}`).join(",");
}

/** Every directory above a path, outermost first, without the root. */
function parentsOf(path: string): string[] {
  const names = path
    .split("/")
    .filter((name) => name !== "")
    .slice(0, -1);
  return names.map((_, index) => `/${names.slice(0, index + 1).join("/")}`);
}

/** Outer mount points before those inside them. */
function inOrder(mounts: readonly ContainerMount[]): ContainerMount[] {
  return mounts.toSorted((a, b) => a.target.split("/").length - b.target.split("/").length);
}
