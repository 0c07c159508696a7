/** Prepares the program that takes on a container's user after its root is in place. */
import { existsSync } from "node:fs";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { copyProgram } from "@keelson/images/internal";
import { switcherTarget, type UserSwitcher } from "./bubblewrap.ts";

/**
 * Copies setpriv, its libraries and their loader into `directory`. The loader is started by its own path, so
 * that the program runs in any root file system, also one without a C library.
 */
export async function prepareUserSwitcher(setpriv: string, directory: string): Promise<UserSwitcher> {
  if (!existsSync(join(directory, "setpriv"))) {
    await mkdir(directory, { recursive: true });
    await copyProgram(setpriv, directory, "setpriv", "flat");
  }
  const names = await readdir(directory);
  const loader = names.find((name) => /^ld-(linux|musl)/.test(name) || /^ld\d*\.so/.test(name));
  const program = join(switcherTarget, "setpriv");
  const command =
    loader === undefined
      ? [program]
      : [join(switcherTarget, loader), "--library-path", switcherTarget, program];
  return { directory, command };
}
