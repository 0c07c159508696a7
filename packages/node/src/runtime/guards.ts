/** What stands between a container and the kernel's own files in its /proc and /sys. */
import { text } from "./call-program.ts";
import type { KernelPaths } from "./kernel-paths.ts";
import type { NamedCall } from "./named-call.ts";

const readOnlyFlag = 1;
const quiet = 2 | 4 | 8; // no set-user-id, no devices, no programs
const remount = 32;
const bind = 4_096;
const detach = 2;
const currentDirectory = -100;
const regularFile = 0o100_444;

/**
 * As system calls of the process that becomes the container's first. Bubblewrap would read the machine's whole table of
 * mounts for each of them, which grows with the number of pods.
 */
export function guardCalls({ maskedFiles, maskedDirectories, readOnly }: KernelPaths): NamedCall[] {
  return [...maskCalls(maskedFiles, maskedDirectories), ...readOnly.flatMap((path) => covered(path, path))];
}

/** One place at another, to read only. */
function covered(source: string, path: string): NamedCall[] {
  return [mount(source, path, { flags: bind }), sealed(path)];
}

/** The mount alone, and not its file system: one in which a file is gone but in use cannot be sealed. */
function sealed(path: string): NamedCall {
  return mount("none", path, { flags: bind | remount | quiet | readOnlyFlag });
}

/**
 * Directories are covered by one that is empty, files by an empty one that lay in it: /dev/null may be a volume's by now.
 * Nothing is unmounted where that can be helped: the kernel waits for all processors then.
 */
function maskCalls(files: readonly string[], [first, ...others]: readonly string[]): NamedCall[] {
  const stage = first ?? "/proc/sys";
  const empty = `${stage}/empty`;
  const failure = "cannot make an empty file";
  return [
    mount("tmpfs", stage, { type: "tmpfs", flags: quiet, options: "mode=555" }),
    { name: "mknodat", args: [currentDirectory, text(empty), regularFile, 0], failure },
    ...files.flatMap((path) => covered(empty, path)),
    { name: "unlinkat", args: [currentDirectory, text(empty), 0], failure },
    sealed(stage),
    ...others.flatMap((path) => covered(stage, path)),
    ...(first === undefined ? [{ name: "umount2", args: [text(stage), detach], failure }] : []),
  ];
}

/** As arguments of bubblewrap, where the container's first process may not mount. */
export function guardArguments({ maskedFiles, maskedDirectories, readOnly }: KernelPaths): string[] {
  return [
    ...maskedFiles.flatMap((path) => ["--dev-bind", "/dev/null", path]),
    ...maskedDirectories.flatMap((path) => ["--tmpfs", path, "--remount-ro", path]),
    // What is bound is the node's view of the same thing: none of it depends on who mounted it.
    ...readOnly.flatMap((path) => ["--ro-bind", path, path]),
  ];
}

function mount(
  source: string,
  target: string,
  { type, flags, options }: { readonly type?: string; readonly flags: number; readonly options?: string },
): NamedCall {
  return {
    name: "mount",
    args: [text(source), text(target), type ? text(type) : 0, flags, options ? text(options) : 0],
    failure: `cannot guard ${target}`,
  };
}
