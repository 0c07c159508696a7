/** Makes data of a backup and the log after it: in an empty volume, or in the place of what is there. */
import { existsSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Upgrade } from "../ha/state.ts";
import { newestTimeline, readControl, systemOf } from "./control-file.ts";
import type { LineageFile } from "./lineage.ts";
import type { Log } from "./ports.ts";
import { PrivateServer } from "./private-server.ts";
import { Replacement } from "./replacement.ts";
import type { ServerFiles } from "./server-files.ts";
import type { Tools } from "./tools.ts";

export interface Restore {
  /** What it is called. */
  readonly backup: string;
  /** When its last byte was copied: a server that is started from it is never older. */
  readonly finishedAt: () => Promise<string | undefined>;
  /** Makes a data directory of it. */
  readonly copy: (target: string) => Promise<void>;
  /** Brings a segment of a system's log. */
  readonly restoreCommand: (systemId: string) => string;
  /** Default: as far as the log goes. */
  readonly targetTime?: string;
}

export interface RestoringOptions {
  /** The volume. */
  readonly directory: string;
  readonly programs: string;
  readonly tools: Tools;
  readonly files: ServerFiles;
  readonly lineage: LineageFile;
  readonly log: Log;
  /** A backup of its own, with the way to the log after it. */
  readonly ownBackup?: (name: string) => Omit<Restore, "targetTime">;
}

/** How long a restore may take to replay the log. */
const restoreMs = 24 * 3_600_000;

/** For a server that does not run. */
export class Restoring {
  readonly #options: RestoringOptions;

  constructor(options: RestoringOptions) {
    this.#options = options;
  }

  get #dataDirectory(): string {
    return join(this.#options.directory, "pgdata");
  }

  /** Replays the log onto the backup beside the place of the data, and moves it there when it is complete. */
  async intoEmpty(restore: Restore, fresh: string): Promise<void> {
    await this.#options.lineage.forget();
    await this.#replay(restore, fresh);
    await rename(fresh, this.#dataDirectory);
    await this.#begin(1);
  }

  /** Replaces the data by that of a backup, or by what was there before; keeps what is there now. */
  async inPlace(options: NonNullable<Upgrade["restore"]> & { readonly epoch: number }): Promise<string> {
    const { directory, files, ownBackup } = this.#options;
    const { backup, targetTime, undo = false, epoch } = options;
    const work = new Replacement(directory);
    if (undo) await work.undo();
    else {
      if (!ownBackup || backup === undefined) throw new Error("this instance has no store for backups");
      const fresh = join(directory, "pgdata.new");
      // One that is complete already was made by an attempt that was stopped while it was put in place.
      const isReady = existsSync(join(directory, "restored"));
      if (!isReady) {
        await this.#replay({ ...ownBackup(backup), ...(targetTime !== undefined && { targetTime }) }, fresh);
        await rename(fresh, join(directory, "restored"));
      }
      await work.replace("restored");
    }
    files.upstream = undefined;
    await this.#begin(epoch);
    return undo ? "what was there before is back" : `restored from ${backup}`;
  }

  async #replay(
    { backup, finishedAt, copy, restoreCommand, targetTime }: Restore,
    fresh: string,
  ): Promise<void> {
    const { programs, directory, files, tools, log } = this.#options;
    log.info("restore", { backup, targetTime });
    const since = await finishedAt();
    if (targetTime !== undefined && since !== undefined && Date.parse(targetTime) < Date.parse(since))
      throw new Error(`backup ${backup} is of ${since}, which is after ${targetTime}; choose an older one`);
    await rm(fresh, { recursive: true, force: true });
    await copy(fresh);
    await files.configure(fresh, { restoreCommand: restoreCommand(await systemOf(fresh)) });
    await rm(join(fresh, "standby.signal"), { force: true });
    await writeFile(join(fresh, "recovery.signal"), "");
    const socketDirectory = join(directory, "restore");
    const moment = targetTime === undefined ? [] : [`recovery_target_time=${numericZone(targetTime)}`];
    const settings = ["recovery_target_action=promote", ...moment];
    const server = await PrivateServer.start({
      programs,
      directory: fresh,
      socketDirectory,
      settings,
      timeoutMs: restoreMs,
    });
    await server.query("CHECKPOINT", { timeoutMs: 600_000 });
    await server.stop();
    await rm(socketDirectory, { recursive: true, force: true });
    await files.configure(fresh);
    await tools.run("initdb", ["-D", fresh, "--sync-only"]);
  }

  /** The timeline that the data is on now is one of this epoch. */
  async #begin(epoch: number): Promise<void> {
    const { timeline } = await readControl(this.#options.tools, this.#dataDirectory);
    const newest = Math.max(timeline, await newestTimeline(this.#dataDirectory));
    await this.#options.lineage.write({ timeline: newest, epoch });
  }
}

/** PostgreSQL reads this setting before it knows the names of time zones. */
function numericZone(time: string): string {
  return time.replace("T", " ").replace(/Z$/, "+00");
}
