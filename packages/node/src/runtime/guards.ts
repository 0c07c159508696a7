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
  return [
    ...maskCalls(maskedFiles),
    ...maskedDirectories.map((path) =>
      mount("tmpfs", path, { type: "tmpfs", flags: quiet | readOnlyFlag, options: "mode=555" }),
    ),
    ...readOnly.flatMap((path) => [
      mount(path, path, { flags: bind }),
      mount("none", path, { flags: bind | remount | quiet | readOnlyFlag }),
    ]),
  ];
}

/** Files are covered by an empty one of nobody's: /dev/null may be a volume's by now. */
function maskCalls(paths: readonly string[]): NamedCall[] {
  const stage = "/proc/sys";
  const empty = `${stage}/empty`;
  const failure = "cannot make an empty file";
  return [
    mount("tmpfs", stage, { type: "tmpfs", flags: quiet }),
    { name: "mknodat", args: [currentDirectory, text(empty), regularFile, 0], failure },
    mount("none", stage, { flags: remount | quiet | readOnlyFlag }),
    ...paths.map((path) => mount(empty, path, { flags: bind })),
    { name: "umount2", args: [text(stage), detach], failure },
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
