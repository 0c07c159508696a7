/** A real PostgreSQL server: its data directory, its process, its tools. */

import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { NoAnswer, PgError, type PgRow, quoteLiteral, scramVerifier } from "../engine/pg-client.ts";
import { type Lsn, maxLsn } from "../ha/lsn.ts";
import type { Vote } from "../ha/quorum.ts";
import type { Local } from "../ha/step.ts";
import { archiveFolder } from "./archive.ts";
import { archiveAgain } from "./archive-status.ts";
import { replicationUser, withFloors } from "./configuration.ts";
import { readControl } from "./control-file.ts";
import { DataDirectory } from "./data-directory.ts";
import { LineageFile } from "./lineage.ts";
import { MajorUpgrade } from "./major-upgrade.ts";
import type { Configuration, Engine, Log, Primaryship, Replication, Upstream } from "./ports.ts";
import { endProcess } from "./process-tree.ts";
import { Rejoining } from "./rejoining.ts";
import { type Restore, type RestoreInPlace, Restoring } from "./restoring.ts";
import { ServerFiles } from "./server-files.ts";
import { ServerProcess } from "./server-process.ts";
import { ServerWords } from "./server-words.ts";
import { lsnOf, Synchronous } from "./synchronous.ts";
import { hasNoRoom, Tools, writeDurably } from "./tools.ts";
import type { Watchdog } from "./watchdog.ts";

export interface PostgresOptions {
  readonly name: string;
  /** The volume: the data directory lies in it, beside what the agent keeps. */
  readonly directory: string;
  /** Where PostgreSQL's programs are, and their major version. */
  readonly programs: string;
  readonly major: string;
  /** Where those of the version before are, when the data is to be taken from it to this one. */
  readonly oldPrograms?: string;
  readonly socketDirectory: string;
  /** The name that an instance has in the network. */
  readonly hostOf: (name: string) => string;
  readonly password: () => Promise<string>;
  readonly watchdog: Watchdog;
  readonly log: Log;
  readonly tls?: { readonly directory: string; readonly require: boolean };
  readonly archiveCommand?: string;
  /** In place of an empty database: the data of a backup, and the log up to a moment. */
  readonly restore?: Restore;
  /** A backup of its own, with the way to the log after it. */
  readonly ownBackup?: (name: string) => Omit<Restore, "targetTime">;
  /** Brings a segment of a system's log that this database has archived. */
  readonly restoreCommand?: (systemId: string) => string;
  readonly initdbOptions?: readonly string[];
}

/** A server that starts, or has no connection left, says so at once. One that says nothing for so long hangs. */
const silenceMs = 30_000;

export class Postgres implements Engine {
  readonly #options: PostgresOptions;
  /** Clients are kept out, and the last one is gone. */
  isClosed = false;
  readonly #words = new ServerWords();
  #failedRewinds = 0;
  #isPrepared = false;
  #silentSinceMs: number | undefined;
  /** What the spec asks for. */
  wanted: Readonly<{ [name: string]: string }> = {};
  /** Those of the spec that it has come to know last, and has taken or refused. */
  taken: Readonly<{ [name: string]: string }> | undefined;
  /** Why it does not get it. */
  settingsProblem: string | undefined;
  readonly tools: Tools;
  readonly #lineage: LineageFile;
  readonly #files: ServerFiles;
  readonly #data: DataDirectory;
  readonly #process: ServerProcess;
  readonly #synchronous: Synchronous;
  readonly #rejoining: Rejoining;
  readonly #restoring: Restoring;

  constructor(options: PostgresOptions) {
    this.#options = options;
    this.tools = new Tools(options.programs);
    this.#lineage = new LineageFile(this.#keep("lineage.json"));
    this.#files = new ServerFiles(options);
    this.#data = new DataDirectory(join(options.directory, "pgdata"), {
      major: options.major,
      tools: this.tools,
      lineage: this.#lineage,
    });
    this.#process = new ServerProcess({
      ...options,
      dataDirectory: this.#data.path,
      words: this.#words,
    });
    this.#synchronous = new Synchronous({ files: this.#files, query: (sql) => this.query(sql) });
    const parts = { tools: this.tools, files: this.#files, lineage: this.#lineage };
    this.#rejoining = new Rejoining({ ...options, ...parts });
    this.#restoring = new Restoring({ ...options, ...parts });
  }

  /** What the server or a tool said last, to explain why something failed. */
  get lastWords(): string {
    return this.#words.last || this.tools.lastWords;
  }

  get dataDirectory(): string {
    return this.#data.path;
  }

  get isRunning(): boolean {
    return this.#process.isRunning;
  }

  /** For the agent's own rounds: they follow one another. */
  async query(sql: string, options: { readonly timeoutMs?: number } = {}): Promise<PgRow[]> {
    return await this.#process.query(sql, options);
  }

  /** For those who ask from outside: whatever they want, the agent's own questions do not wait for it. */
  async queryAside(
    sql: string,
    options: { readonly database?: string; readonly timeoutMs?: number } = {},
  ): Promise<PgRow[]> {
    return await this.#process.queryAside(sql, options);
  }

  // ---------------------------------------------------------------------------------------- looking

  async inspect(): Promise<Local> {
    const { name, major } = this.#options;
    const data = await this.#present();
    const noRoom = await hasNoRoom(this.#options.directory);
    const common = {
      name,
      major,
      ...(data && { data }),
      complaint: this.#words.complaint,
      failedRewinds: this.#failedRewinds,
      isFull: this.#words.isFull && noRoom,
      noRoom,
    };
    if (!this.isRunning) {
      this.#silentSinceMs = undefined;
      return { ...common, server: "stopped" };
    }
    const inRecovery = this.#process.startedAs === "standby";
    try {
      const [row] = await this.query(
        "SELECT pg_is_in_recovery() AS recovery, (SELECT status FROM pg_stat_wal_receiver) AS receiver",
      );
      this.#silentSinceMs = undefined;
      return {
        ...common,
        server: "running",
        inRecovery: row?.["recovery"] === "t",
        upstream: this.#files.upstream?.name,
        upstreamEpoch: this.#files.upstream?.timelineEpoch,
        receiving: row?.["receiver"] === "streaming",
      };
    } catch (error) {
      this.#silentSinceMs = isSilence(error) ? (this.#silentSinceMs ?? performance.now()) : undefined;
      const isSilent =
        this.#silentSinceMs !== undefined && performance.now() - this.#silentSinceMs >= silenceMs;
      return { ...common, server: "starting", inRecovery, ...(isSilent && { isSilent }) };
    }
  }

  async position(by: "query" | "aside" = "query"): Promise<Vote | undefined> {
    const ask = (sql: string) => (by === "aside" ? this.queryAside(sql) : this.query(sql));
    const [row] = await ask(
      "SELECT pg_is_in_recovery() AS recovery, pg_last_wal_receive_lsn() AS received, pg_last_wal_replay_lsn() AS replayed," +
        " (SELECT wait_event FROM pg_stat_activity WHERE backend_type = 'startup') AS waits",
    ).catch(() => []);
    const data = await this.#present();
    if (row?.["recovery"] !== "t" || !data || data.timelineEpoch < 0) return undefined;
    const [received, replayed] = [lsnOf(row["received"]), lsnOf(row["replayed"])];
    // Without a stream since its start, only a server that has read all its own log knows where that ends.
    const waits = ["RecoveryRetrieveRetryInterval", "RecoveryWalStream", "RecoveryWalAll"].includes(
      row["waits"] ?? "",
    );
    if (received === undefined && !waits) return undefined;
    const { systemId, timeline, timelineEpoch } = data;
    return { name: this.#options.name, systemId, timeline, timelineEpoch, lsn: maxLsn(received, replayed) };
  }

  async replication(): Promise<Replication> {
    await this.#prepare();
    return await this.#synchronous.look();
  }

  async #present(): Promise<Local["data"]> {
    return await this.#data.read({ isRunning: this.isRunning });
  }

  async #timeline(): Promise<number> {
    return (await this.#present())?.timeline ?? 0;
  }

  #keep(file: string): string {
    return join(this.#options.directory, "keelson", file);
  }

  // ---------------------------------------------------------------------------------------- starting and stopping

  async initialise(): Promise<void> {
    const { directory, initdbOptions = [] } = this.#options;
    await mkdir(join(directory, "keelson"), { recursive: true });
    // Half a database of an earlier attempt is none; a whole one is never touched.
    const fresh = join(directory, "pgdata.new");
    await rm(fresh, { recursive: true, force: true });
    if (this.#options.restore) return await this.#restoring.intoEmpty(this.#options.restore, fresh);
    await this.#tool("initdb", [
      ...[
        "-D",
        fresh,
        "--username=postgres",
        "--auth=trust",
        "--encoding=UTF8",
        "--data-checksums",
        "--no-sync",
      ],
      ...(initdbOptions.length > 0 ? initdbOptions : ["--locale=C.UTF-8"]),
    ]);
    await this.#files.configure(fresh);
    await this.#lineage.forget();
    await this.#tool("initdb", ["-D", fresh, "--sync-only"]);
    await rename(fresh, this.dataDirectory);
    await this.#lineage.write({ timeline: 1, epoch: 1 });
  }

  async startPrimary({ epoch, synchronousNames }: Primaryship): Promise<void> {
    await this.#archiveAs(epoch);
    this.#files.synchronousNames = synchronousNames;
    this.#files.upstream = undefined;
    await rm(join(this.dataDirectory, "standby.signal"), { force: true });
    await rm(join(this.dataDirectory, "recovery.signal"), { force: true });
    this.#isPrepared = false;
    await this.#start("primary");
    await this.#prepare();
  }

  /** Before the first segment of a primary's time is archived, where it goes. */
  async #archiveAs(epoch: number): Promise<void> {
    const folder = archiveFolder((await this.#present())?.systemId ?? "", epoch);
    const known = await readFile(this.#keep("archive-folder"), "utf8").catch(() => "");
    if (known !== folder) await writeDurably(this.#keep("archive-folder"), folder);
  }

  async restoreInPlace(options: RestoreInPlace): Promise<string> {
    await this.stop("fast");
    const message = await this.#restoring.inPlace(options);
    this.#data.forget();
    return message;
  }

  async startStandby(upstream: Upstream | undefined): Promise<void> {
    await this.demote();
    this.#files.upstream = upstream;
    this.#words.complaint = undefined;
    if (upstream)
      await this.#lineage.expect(
        { timeline: upstream.timeline, epoch: upstream.timelineEpoch },
        await this.#timeline(),
      );
    await this.#start("standby");
  }

  async demote(): Promise<void> {
    await writeFile(join(this.dataDirectory, "standby.signal"), "");
  }

  async #start(as: "primary" | "standby"): Promise<void> {
    if (this.isRunning) return;
    this.#silentSinceMs = undefined;
    // What is asked for may be lower since the log was written, and nobody may be there who says what the primary allowed.
    const floors = as === "standby" ? (await readControl(this.tools, this.dataDirectory)).limits : {};
    await this.#files.configure(this.dataDirectory, { floors });
    await this.#process.start(as);
  }

  async stop(how: "fast" | "kill"): Promise<void> {
    await this.#process.stop(how);
  }

  async endOfLog(): Promise<Lsn> {
    const { state, checkpoint } = await readControl(this.tools, this.dataDirectory);
    if (state !== "shut down") throw new Error(`PostgreSQL did not end cleanly: it is "${state}"`);
    return checkpoint;
  }

  // ---------------------------------------------------------------------------------------- changing roles

  async follow(upstream: Upstream | undefined): Promise<void> {
    if (upstream)
      await this.#lineage.expect(
        { timeline: upstream.timeline, epoch: upstream.timelineEpoch },
        await this.#timeline(),
      );
    this.#files.upstream = upstream;
    this.#words.complaint = undefined;
    await this.#files.writeKeelsonConf();
    await this.query("SELECT pg_reload_conf()");
    if (upstream) return;
    // Only when the receiver is gone is what was received final. One that still connects is not in pg_stat_wal_receiver, and
    // until the settings are read another one may be started as before.
    for (let tries = 0; tries < 200; tries++) {
      const [row] = await this.query(
        "SELECT current_setting('primary_conninfo') AS told," +
          " (SELECT pid FROM pg_stat_activity WHERE backend_type = 'walreceiver') AS receiver",
      );
      const receiver = row?.["receiver"];
      if (row?.["told"] === "" && receiver === null) return;
      // PostgreSQL ends it by itself, but late where a reader holds up the log. It signals only sessions for others.
      if (receiver) endProcess(Number(receiver));
      await sleep(10);
    }
    throw new Error("the receiver of the log does not end");
  }

  async promote({ epoch, synchronousNames, archived }: Primaryship): Promise<void> {
    await this.#lineage.expect({ epoch }, await this.#timeline());
    await this.#archiveAs(epoch);
    await archiveAgain(this.dataDirectory, archived);
    // Commits wait for whom they must wait from the first one on.
    this.#files.synchronousNames = synchronousNames;
    this.#files.upstream = undefined;
    await this.#files.writeKeelsonConf();
    await this.query("SELECT pg_reload_conf()");
    this.#process.becomesPrimary();
    await this.query("SELECT pg_promote(false)");
    for (;;) {
      const [row] = await this.query("SELECT pg_is_in_recovery() AS recovery");
      if (row?.["recovery"] === "f") break;
      await sleep(10);
    }
    const timeline = (await this.#present())?.timeline ?? 0;
    await this.#lineage.write({ timeline, epoch: await this.#lineage.epochOf(timeline) });
    this.#synchronous.begin();
    // Others can follow already: what its predecessor prepared came with the data.
    this.#isPrepared = false;
  }

  async upgrade({ epoch, link }: { readonly epoch: number; readonly link: boolean }): Promise<string> {
    const { directory, programs, oldPrograms, major, initdbOptions = [], log } = this.#options;
    if (oldPrograms === undefined) throw new Error("the programs of the version before are not here");
    await this.stop("fast");
    const work = new MajorUpgrade({
      directory,
      programs,
      oldPrograms,
      scratch: join(directory, "upgrade"),
      initdbOptions,
      configure: async (place) => await this.#files.configure(place, { isUpgrade: true }),
      log,
    });
    this.#data.forget();
    this.#files.upstream = undefined;
    try {
      const message = await work.run({ link, to: major });
      await this.#lineage.write({ timeline: 1, epoch });
      return message;
    } catch (error) {
      if (work.isSpoiled) await this.#rejoining.setAside("its files were shared with an upgrade that failed");
      throw error;
    }
  }

  async setSynchronousNames(value: string): Promise<void> {
    await this.#synchronous.set(value);
  }

  /** Makes PostgreSQL read its files again. */
  async reload(): Promise<void> {
    if (this.isRunning) await this.queryAside("SELECT pg_reload_conf()");
  }

  async checkpoint(): Promise<void> {
    await this.queryAside("CHECKPOINT", { timeoutMs: 120_000 });
  }

  /** Settings that PostgreSQL would not start with are refused, and those of before stay. */
  async configure({ parameters, floors, closed }: Configuration): Promise<void> {
    const before = this.#files.parameters ?? (await this.#files.goodParameters());
    this.#files.isClosed = closed;
    this.isClosed = false;
    this.wanted = parameters;
    this.#files.parameters = withFloors(parameters, floors);
    try {
      await this.#files.configure(this.dataDirectory);
      await this.#tool("postgres", ["-C", "max_connections", "-D", this.dataDirectory]);
      this.settingsProblem = undefined;
      await this.#files.keepGood(parameters);
    } catch (error) {
      this.settingsProblem = (error as Error).message;
      this.#files.parameters = withFloors(before, floors);
      await this.#files.configure(this.dataDirectory);
    }
    if (this.isRunning) await this.query("SELECT pg_reload_conf()");
    this.taken = parameters;
    if (!this.isRunning || !closed) return;
    await this.#endClients();
    this.isClosed = true;
  }

  /** What clients have begun and not committed is lost to them, as with every restart. */
  async #endClients(): Promise<void> {
    const clients =
      "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND client_addr IS NOT NULL";
    // The server takes a moment to close its door: the last look comes after one that saw nobody.
    for (let [tries, quiet] = [0, 0]; quiet < 3; tries++) {
      if (tries > 100) throw new Error("clients do not leave");
      quiet = (await this.query(clients)).length === 0 ? quiet + 1 : 0;
      await this.query(`SELECT pg_terminate_backend(pid) FROM (${clients}) AS those`);
      await sleep(100);
    }
  }

  // ---------------------------------------------------------------------------------------- replacing data

  async rewind(from: Upstream): Promise<void> {
    await this.stop("fast");
    try {
      await this.#rejoining.rewind(from);
      this.#failedRewinds = 0;
      this.#words.complaint = undefined;
    } catch (error) {
      this.#failedRewinds++;
      throw error;
    }
  }

  async clone(from: Upstream, reason: string): Promise<void> {
    await this.stop("fast");
    await this.#rejoining.clone(from, reason);
    this.#data.forget();
    this.#words.complaint = undefined;
    this.#failedRewinds = 0;
  }

  /** Removes what was set aside, and the data of before an upgrade, when it is a day old. */
  async tidy(nowMs: number): Promise<void> {
    await this.#rejoining.tidy(nowMs);
  }

  /** What a server needs once it is a primary. One that recovers for long answers only after its start was given up. */
  async #prepare(): Promise<void> {
    if (this.#isPrepared) return;
    await this.#ensureReplicationRole();
    // After a crash the checkpointer may have gone to sleep while recovery was not quite over: it follows archive_timeout
    // only from its next waking, up to checkpoint_timeout later. A signal wakes it.
    await this.query("SELECT pg_reload_conf()");
    this.#isPrepared = true;
  }

  /** The role by which standbys follow and rewind, with the password that everybody has. */
  async #ensureReplicationRole(): Promise<void> {
    // As the server keeps it: the password itself goes into no statement and no log.
    const password = quoteLiteral(scramVerifier(await this.#options.password()));
    const functions = [
      "pg_ls_dir(text, boolean, boolean)",
      "pg_stat_file(text, boolean)",
      "pg_read_binary_file(text)",
      "pg_read_binary_file(text, bigint, bigint, boolean)",
    ];
    await this.query(
      `DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${replicationUser}') THEN CREATE ROLE ${replicationUser}; END IF; END $$;` +
        `ALTER ROLE ${replicationUser} WITH LOGIN REPLICATION PASSWORD ${password};` +
        functions
          .map((each) => `GRANT EXECUTE ON FUNCTION pg_catalog.${each} TO ${replicationUser};`)
          .join(""),
    );
  }

  async #tool(program: string, args: readonly string[], env: Readonly<{ [name: string]: string }> = {}) {
    return await this.tools.run(program, args, env);
  }
}

/** Whether somebody listens who does not answer. */
function isSilence(error: unknown): boolean {
  if (error instanceof PgError) return error.cause instanceof NoAnswer;
  const { code } = error as NodeJS.ErrnoException;
  return code !== "ENOENT" && code !== "ECONNREFUSED";
}
