/** Makes data of a backup and the log after it: in an empty volume, or in the place of what is there. */
import { existsSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseKnownJson } from "../ha/json.ts";
import type { Upgrade } from "../ha/state.ts";
import { isArchived } from "./archive-status.ts";
import type { BackupManifest } from "./base-backups.ts";
import { newestTimeline, readControl, systemOf } from "./control-file.ts";
import type { Horizon } from "./horizon.ts";
import type { LineageFile } from "./lineage.ts";
import { gapAfter, gapText, type LogPosition, readHistory } from "./log-end.ts";
import type { Log } from "./ports.ts";
import { PrivateServer } from "./private-server.ts";
import { Replacement } from "./replacement.ts";
import type { ServerFiles } from "./server-files.ts";
import { type Tools, writeDurably } from "./tools.ts";

export interface Restore {
  /** What it is called. */
  readonly backup: string;
  /** Whose data it is, and when its last byte was copied: a server that is started from it is never older. */
  readonly facts: () => Promise<Pick<BackupManifest, "systemId" | "finishedAt"> | undefined>;
  /** Makes a data directory of it. */
  readonly copy: (target: string) => Promise<void>;
  /** Brings a segment of a system's log, or only what is known of its timelines. */
  readonly restoreCommand: (systemId: string, what?: "histories") => string;
  /** How far the log of a system goes; undefined when nobody has said so. */
  readonly horizon: (systemId: string) => Promise<Horizon | undefined>;
  /** Default: as far as the log goes. */
  readonly targetTime?: string;
}

/** A moment of which it is not known yet that the archive has everything up to it. */
export class BeyondArchive extends Error {
  override readonly name = "BeyondArchive";
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
  /** Brings a segment of a system's log that this database has archived. */
  readonly restoreCommand?: (systemId: string) => string;
}

/** What a restore in place is told; `id` and `since` tell it from every other one. */
export type RestoreInPlace = NonNullable<Upgrade["restore"]> & {
  readonly id: string;
  /** The epoch of the one who restores. */
  readonly epoch: number;
};

/** How far the last restore in place has come. */
interface Progress {
  readonly request: string;
  readonly isInPlace: boolean;
}

/** What a recovery found. */
interface Recovered {
  readonly history: readonly LogPosition[];
  /** When the last transaction was committed that was replayed; undefined without any. */
  readonly lastCommit: string | undefined;
}

const lastCommitQuery =
  "SELECT to_char(pg_last_xact_replay_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') AS time";

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

  /**
   * Replaces the data by that of a backup, or by what was there before; keeps what is there now. An agent that is stopped on
   * the way and asked again goes on from where it was, and does nothing twice.
   */
  async inPlace({ id, since, epoch, ...wanted }: RestoreInPlace): Promise<string> {
    const { directory, files } = this.#options;
    const work = new Replacement(directory);
    const request = `${id}@${since}`;
    const before = await this.#readProgress();
    const isKnown = before?.request === request;
    if (!isKnown) {
      await work.settle();
      await this.#writeProgress({ request, isInPlace: false });
    }
    const done = async () => await this.#writeProgress({ request, isInPlace: true });
    if (isKnown && before.isInPlace) await work.finish();
    else if (wanted.undo) await work.undo({ prepare: async (place) => await this.#branchOff(place), done });
    else {
      if (!work.isHalfDone) await this.#prepare(wanted);
      await work.replace("restored", done);
    }
    files.upstream = undefined;
    await this.#begin(epoch);
    return wanted.undo ? "what was there before is back" : `restored from ${wanted.backup}`;
  }

  /** What was restored meanwhile is in the archive too: this data goes on as a branch of its own, the newest of all. */
  async #branchOff(directory: string): Promise<void> {
    const { restoreCommand } = this.#options;
    if (!restoreCommand) return;
    await this.#recover(directory, restoreCommand(await systemOf(directory)), [
      "recovery_target_timeline=current",
    ]);
  }

  /** Makes `restored`, if an attempt before has not done so. */
  async #prepare({ backup, targetTime }: Pick<RestoreInPlace, "backup" | "targetTime">): Promise<void> {
    const { directory, ownBackup } = this.#options;
    if (!ownBackup || backup === undefined) throw new Error("this instance has no store for backups");
    const [restored, fresh] = [join(directory, "restored"), join(directory, "pgdata.new")];
    if (existsSync(restored)) return;
    const { state } = await readControl(this.#options.tools, this.#dataDirectory);
    await this.#replay({ ...ownBackup(backup), ...(targetTime !== undefined && { targetTime }) }, fresh, {
      isComplete: state === "shut down" && (await isArchived(this.#dataDirectory)),
    });
    await rename(fresh, restored);
  }

  get #progressPath(): string {
    return join(this.#options.directory, "keelson", "restore-in-place.json");
  }

  async #readProgress(): Promise<Progress | undefined> {
    const text = await readFile(this.#progressPath, "utf8").catch(() => undefined);
    return text === undefined ? undefined : (parseKnownJson(text) as Progress);
  }

  async #writeProgress(progress: Progress): Promise<void> {
    await writeDurably(this.#progressPath, JSON.stringify(progress));
  }

  /**
   * A moment is in the archive when a primary has said that everything up to it is, or when the server that wrote it has
   * ended after it had archived everything (`isComplete`). Before that PostgreSQL would give up at the end of the log.
   */
  async #replay(restore: Restore, fresh: string, { isComplete = false } = {}): Promise<void> {
    const { log } = this.#options;
    const { backup, targetTime } = restore;
    log.info("restore", { backup, targetTime });
    const facts = await restore.facts();
    if (targetTime !== undefined && facts && Date.parse(targetTime) < Date.parse(facts.finishedAt))
      throw new Error(
        `backup ${backup} is of ${facts.finishedAt}, which is after ${targetTime}; choose an older one`,
      );
    const horizon = facts && (await restore.horizon(facts.systemId));
    if (
      targetTime !== undefined &&
      horizon &&
      !isComplete &&
      Date.parse(horizon.time) < Date.parse(targetTime)
    )
      throw new BeyondArchive(
        `the archive reaches ${horizon.time}, and ${targetTime} is later: this waits until the log of that moment is` +
          " archived; if it never will be, choose an earlier targetTime",
      );
    await rm(fresh, { recursive: true, force: true });
    await restore.copy(fresh);
    const system = await systemOf(fresh);
    const moment = targetTime === undefined ? [] : [`recovery_target_time=${numericZone(targetTime)}`];
    const settle = (recovered: Recovered) => refuseGap(recovered, horizon, targetTime);
    try {
      const recovered = await this.#recover(fresh, restore.restoreCommand(system), moment);
      if (targetTime === undefined) settle(recovered);
    } catch (error) {
      const isEnd = (error as Error).message.includes("recovery ended before configured recovery target");
      if (!isEnd || !(isComplete || horizon)) throw error;
      // Nothing was committed after that moment. What was archived since the attempt began may be of later.
      settle(await this.#recover(fresh, restore.restoreCommand(system, "histories"), []));
    }
    log.info("restored", { backup });
  }

  /**
   * Replays the log, and ends on a timeline that is in nobody's archive yet. That one is archived by the server that is
   * started on the data: a later restore from the same backup must find the way to it. Returns where it ended.
   */
  async #recover(directory: string, restoreCommand: string, settings: readonly string[]): Promise<Recovered> {
    const { programs, files, tools } = this.#options;
    await files.configure(directory, { restoreCommand });
    await rm(join(directory, "standby.signal"), { force: true });
    await writeFile(join(directory, "recovery.signal"), "");
    const socketDirectory = join(this.#options.directory, "restore");
    const archiving = ["archive_mode=on", "archive_command="];
    // Nobody reads meanwhile: then PostgreSQL does not mind that it allows fewer connections than the primary of that time.
    const closed = "hot_standby=off";
    const server = await PrivateServer.start({
      programs,
      directory,
      socketDirectory,
      settings: ["recovery_target_action=promote", closed, ...archiving, ...settings],
      timeoutMs: restoreMs,
    });
    const [row] = await server.query(lastCommitQuery);
    const history = await readHistory(directory);
    await server.query("CHECKPOINT", { timeoutMs: 600_000 });
    await server.stop();
    await rm(socketDirectory, { recursive: true, force: true });
    await files.configure(directory);
    await tools.run("initdb", ["-D", directory, "--sync-only"]);
    return { history, lastCommit: row?.["time"] ?? undefined };
  }

  /** The timeline that the data is on now is one of this epoch. */
  async #begin(epoch: number): Promise<void> {
    const { timeline } = await readControl(this.#options.tools, this.#dataDirectory);
    const newest = Math.max(timeline, await newestTimeline(this.#dataDirectory));
    await this.#options.lineage.write({ timeline: newest, epoch });
  }
}

/** A segment that is missing looks like the end of the log. What is asked for may lie before it. */
function refuseGap(
  { history, lastCommit }: Recovered,
  horizon: Horizon | undefined,
  targetTime: string | undefined,
): void {
  const gap = gapAfter(history, horizon);
  if (!gap) return;
  const hasAll =
    targetTime !== undefined && lastCommit !== undefined && Date.parse(targetTime) <= Date.parse(lastCommit);
  if (!hasAll) throw new Error(gapText(gap, lastCommit));
}

/** PostgreSQL reads this setting before it knows the names of time zones. */
function numericZone(time: string): string {
  return time.replace("T", " ").replace(/Z$/, "+00");
}
