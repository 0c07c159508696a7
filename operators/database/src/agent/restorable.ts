/** A store that data is restored from: its backups, and the commands by which PostgreSQL archives log and gets it back. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { openStore, type StoreLocation } from "@keelson/kit/store";
import { archiveCommands } from "./archive.ts";
import { BaseBackups } from "./base-backups.ts";
import { readHorizon } from "./horizon.ts";
import type { Restore } from "./restoring.ts";
import { writeChanged } from "./tools.ts";

export interface Restorable {
  readonly commands: ReturnType<typeof archiveCommands>;
  readonly backup: (name: string) => Omit<Restore, "targetTime">;
}

/** `keep` is where the agent keeps its own files. */
export async function restorable(
  location: StoreLocation,
  { keep, place }: { readonly keep: string; readonly place: string },
): Promise<Restorable> {
  const path = join(keep, place);
  await mkdir(keep, { recursive: true });
  await writeChanged(path, JSON.stringify(location));
  const commands = archiveCommands({ node: [process.execPath, ...process.execArgv], keep, place: path });
  return {
    commands,
    backup: (name) => ({
      backup: name,
      facts: async () => await new BaseBackups(await openStore(location)).manifest(name),
      horizon: async (systemId) => await readHorizon(await openStore(location), systemId),
      copy: async (target) => await new BaseBackups(await openStore(location)).copy(name, target),
      restoreCommand: commands.fetch,
    }),
  };
}
