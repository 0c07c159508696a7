/** A real PostgreSQL server: its data directory, its process, its tools. */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { PgClient, type PgRow, quoteLiteral, scramVerifier } from "../engine/pg-client.ts";
import { type Lsn, maxLsn, parseLsn } from "../ha/lsn.ts";
import type { Vote } from "../ha/quorum.ts";
import type { Upgrade } from "../ha/state.ts";
import type { Local } from "../ha/step.ts";
import { archiveFolder } from "./archive.ts";
import { limits, replicationUser, withFloors } from "./configuration.ts";
import { type Control, newestTimeline, readControl, systemOf } from "./control-file.ts";
import { LineageFile } from "./lineage.ts";
import { MajorUpgrade, majorOf } from "./major-upgrade.ts";
import type { Configuration, Engine, Log, Replication, Upstream } from "./ports.ts";
import { PrivateServer } from "./private-server.ts";
import { isAlive, killTree } from "./process-tree.ts";
import { Rejoining } from "./rejoining.ts";
import { Replacement } from "./replacement.ts";
import { ServerFiles } from "./server-files.ts";
import { ServerWords } from "./server-words.ts";
import { serverEnvironment, Tools, writeDurably } from "./tools.ts";
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
  readonly initdbOptions?: readonly string[];
}

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

/** How long a restore may take to replay the log. */
const restoreMs = 24 * 3_600_000;
/** After so many attempts in a row the control file counts as unreadable. */
const readAttempts = 4;
/** How long a start is waited for before the round goes on without it. */
const startMs = 5_000;

export class Postgres implements Engine {
  readonly #options: PostgresOptions;
  #process: ChildProcess | undefined;
  #startedAs: "primary" | "standby" | undefined;
  #client: PgClient | undefined;
  /** Clients are kept out, and the last one is gone. */
  isClosed = false;
  readonly #words = new ServerWords();
  #failedRewinds = 0;
  #failedReads = 0;
  #systemId: string | undefined;
  /** What the spec asks for. */
  wanted: Readonly<{ [name: string]: string }> = {};
  /** Why it does not get it. */
  settingsProblem: string | undefined;
  #reload = { atMs: 0, replies: new Map<string, string>() };
  readonly tools: Tools;
  readonly #lineage: LineageFile;
  readonly #files: ServerFiles;
  readonly #rejoining: Rejoining;

  constructor(options: PostgresOptions) {
    this.#options = options;
    this.tools = new Tools(options.programs);
    this.#lineage = new LineageFile(this.#keep("lineage.json"));
    this.#files = new ServerFiles(options);
    this.#rejoining = new Rejoining({
      ...options,
      tools: this.tools,
      files: this.#files,
      lineage: this.#lineage,
    });
  }

  /** What the server or a tool said last, to explain why something failed. */
  get lastWords(): string {
    return this.#words.last || this.tools.lastWords;
  }

  get dataDirectory(): string {
    return join(this.#options.directory, "pgdata");
  }

  get isRunning(): boolean {
    const { pid, exitCode, signalCode } = this.#process ?? {};
    return pid !== undefined && exitCode === null && signalCode === null && isAlive(pid);
  }

  // ---------------------------------------------------------------------------------------- looking

  async inspect(): Promise<Local> {
    const { name, major } = this.#options;
    const data = await this.#data();
    const common = {
      name,
      major,
      ...(data && { data }),
      complaint: this.#words.complaint,
      failedRewinds: this.#failedRewinds,
      isFull: this.#words.isFull,
    };
    if (!this.isRunning) return { ...common, server: "stopped" };
    const inRecovery = this.#startedAs === "standby";
    try {
      const [row] = await this.query(
        "SELECT pg_is_in_recovery() AS recovery, (SELECT status FROM pg_stat_wal_receiver) AS receiver",
      );
      return {
        ...common,
        server: "running",
        inRecovery: row?.["recovery"] === "t",
        upstream: this.#files.upstream?.name,
        receiving: row?.["receiver"] === "streaming",
      };
    } catch {
      return { ...common, server: "starting", inRecovery };
    }
  }

  async position(by: "query" | "aside" = "query"): Promise<Vote | undefined> {
    const ask = (sql: string) => (by === "aside" ? this.queryAside(sql) : this.query(sql));
    const [row] = await ask(
      "SELECT pg_is_in_recovery() AS recovery, pg_last_wal_receive_lsn() AS received, pg_last_wal_replay_lsn() AS replayed," +
        " (SELECT wait_event FROM pg_stat_activity WHERE backend_type = 'startup') AS waits",
    ).catch(() => []);
    const data = await this.#data();
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
    const rows = await this.query(
      "SELECT application_name AS name, state, flush_lsn AS flushed, sync_state AS sync, reply_time AS reply FROM pg_stat_replication",
    );
    const [own] = await this.query(
      "SELECT pg_current_wal_flush_lsn() AS lsn, current_setting('synchronous_standby_names') AS names, " +
        limits.map((name) => `current_setting('${name}') AS ${name}`).join(", "),
    );
    const names = own?.["names"] ?? "";
    const standbys = rows.map((row) => ({
      name: row["name"] ?? "",
      streaming: row["state"] === "streaming",
      flushed: lsnOf(row["flushed"]) ?? 0n,
      counted: row["sync"] === "quorum" || row["sync"] === "sync",
    }));
    return {
      lsn: lsnOf(own?.["lsn"]) ?? 0n,
      standbys,
      synchronousNames: names,
      effective: this.#isEffective(rows, names),
      limits: Object.fromEntries(limits.map((name) => [name, own?.[name] ?? "0"])),
    };
  }

  /** Each sender shows in shared memory whether it counts; one that has heard from its standby since has reread the rest. */
  #isEffective(rows: readonly PgRow[], names: string): boolean {
    if (names !== this.#files.synchronousNames) return false;
    return rows.every((row) => {
      const counted = row["sync"] === "quorum" || row["sync"] === "sync";
      const isNamed = names.includes(`"${row["name"]}"`);
      const before = this.#reload.replies.get(row["name"] ?? "");
      return counted === isNamed && (before === undefined || before !== row["reply"]);
    });
  }

  /** For the agent's own rounds: they follow one another. */
  async query(sql: string, options: { readonly timeoutMs?: number } = {}): Promise<PgRow[]> {
    if (!this.#client || this.#client.isClosed) this.#client = await this.#connect("postgres");
    return await this.#client.query(sql, options);
  }

  /** For those who ask from outside: whatever they want, the agent's own questions do not wait for it. */
  async queryAside(
    sql: string,
    options: { readonly database?: string; readonly timeoutMs?: number } = {},
  ): Promise<PgRow[]> {
    await using client = await this.#connect(options.database ?? "postgres");
    return await client.query(sql, options);
  }

  async #connect(database: string): Promise<PgClient> {
    const host = this.#options.socketDirectory;
    const client = await PgClient.connect({
      host,
      port: 5432,
      user: "postgres",
      database,
      applicationName: "keelson-agent",
    });
    // What we do ourselves never waits for standbys: we are needed to bring them.
    await client.query("SET synchronous_commit = local; SET statement_timeout = 0");
    return client;
  }

  async #data(): Promise<Local["data"]> {
    if (!existsSync(join(this.dataDirectory, "global", "pg_control"))) return undefined;
    const major = await majorOf(this.dataDirectory);
    if (major !== undefined && major !== this.#options.major) return await this.#foreignData(major);
    const isKnown = this.#systemId !== undefined && this.isRunning;
    const control = isKnown ? undefined : await this.#readControl();
    // Data that its own tools cannot read belongs to nobody.
    if (control === "unreadable") return { systemId: "", timeline: 0, timelineEpoch: -1, kind: "standby" };
    this.#systemId = control?.systemId ?? this.#systemId;
    const timeline = Math.max(control?.timeline ?? 0, await newestTimeline(this.dataDirectory));
    const kind = existsSync(join(this.dataDirectory, "standby.signal")) ? "standby" : "primary";
    return {
      systemId: this.#systemId ?? "",
      timeline,
      timelineEpoch: await this.#lineage.epochOf(timeline),
      kind,
    };
  }

  /** Of data that another major version wrote only the identifier can be read, which is the first field in all of them. */
  async #foreignData(major: string): Promise<Local["data"]> {
    const kind = existsSync(join(this.dataDirectory, "standby.signal")) ? "standby" : "primary";
    return { systemId: await systemOf(this.dataDirectory), timeline: 0, timelineEpoch: -1, kind, major };
  }

  /** One failure may have another cause than the file. */
  async #readControl(): Promise<Control | "unreadable"> {
    try {
      const control = await readControl(this.tools, this.dataDirectory);
      this.#failedReads = 0;
      return control;
    } catch (error) {
      if (++this.#failedReads < readAttempts) throw error;
      return "unreadable";
    }
  }

  async #timeline(): Promise<number> {
    return (await this.#data())?.timeline ?? 0;
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
    if (this.#options.restore) return await this.#restore(this.#options.restore, fresh);
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
    await rm(this.#keep("lineage.json"), { force: true });
    await this.#tool("initdb", ["-D", fresh, "--sync-only"]);
    await rename(fresh, this.dataDirectory);
    await this.#lineage.write({ timeline: 1, epoch: 1 });
  }

  async startPrimary({
    epoch,
    synchronousNames,
  }: {
    readonly epoch: number;
    readonly synchronousNames: string;
  }): Promise<void> {
    await this.#archiveAs(epoch);
    this.#files.synchronousNames = synchronousNames;
    this.#files.upstream = undefined;
    await rm(join(this.dataDirectory, "standby.signal"), { force: true });
    await rm(join(this.dataDirectory, "recovery.signal"), { force: true });
    await this.#start("primary");
    await this.#ensureReplicationRole();
    // After a crash the checkpointer may have gone to sleep while recovery was not quite over: it follows archive_timeout
    // only from its next waking, up to checkpoint_timeout later. A signal wakes it.
    await this.query("SELECT pg_reload_conf()");
  }

  /** Replays the log onto the backup beside the place of the data, and moves it there when it is complete. */
  async #restore(restore: Restore, fresh: string): Promise<void> {
    await rm(this.#keep("lineage.json"), { force: true });
    await this.#replay(restore, fresh);
    await rename(fresh, this.dataDirectory);
    await this.#begin(1);
  }

  /** The timeline that the data is on now is one of this epoch. */
  async #begin(epoch: number): Promise<void> {
    const { timeline } = await readControl(this.tools, this.dataDirectory);
    const newest = Math.max(timeline, await newestTimeline(this.dataDirectory));
    await this.#lineage.write({ timeline: newest, epoch });
  }

  /** Before the first segment of a primary's time is archived, where it goes. */
  async #archiveAs(epoch: number): Promise<void> {
    const folder = archiveFolder((await this.#data())?.systemId ?? "", epoch);
    const known = await readFile(this.#keep("archive-folder"), "utf8").catch(() => "");
    if (known !== folder) await writeDurably(this.#keep("archive-folder"), folder);
  }

  async #replay(
    { backup, finishedAt, copy, restoreCommand, targetTime }: Restore,
    fresh: string,
  ): Promise<void> {
    const { programs, directory, log } = this.#options;
    log.info("restore", { backup, targetTime });
    const since = await finishedAt();
    if (targetTime !== undefined && since !== undefined && Date.parse(targetTime) < Date.parse(since))
      throw new Error(`backup ${backup} is of ${since}, which is after ${targetTime}; choose an older one`);
    await rm(fresh, { recursive: true, force: true });
    await copy(fresh);
    await this.#files.configure(fresh, { restoreCommand: restoreCommand(await systemOf(fresh)) });
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
    await this.#files.configure(fresh);
    await this.#tool("initdb", ["-D", fresh, "--sync-only"]);
  }

  async restoreInPlace(
    options: NonNullable<Upgrade["restore"]> & { readonly epoch: number },
  ): Promise<string> {
    const { directory, ownBackup } = this.#options;
    const { backup, targetTime, undo = false, epoch } = options;
    await this.stop("fast");
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
    this.#systemId = undefined;
    this.#files.upstream = undefined;
    await this.#begin(epoch);
    return undo ? "what was there before is back" : `restored from ${backup}`;
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
    const { programs, socketDirectory, log, watchdog } = this.#options;
    await this.#files.configure(this.dataDirectory);
    await mkdir(socketDirectory, { recursive: true, mode: 0o700 });
    // The process of before is gone: its lock means nothing, even if something else has its number by now.
    await rm(join(this.dataDirectory, "postmaster.pid"), { force: true });
    this.#client = undefined;
    this.#words.isFull = false;
    this.#startedAs = as;
    const child = spawn(join(programs, "postgres"), ["-D", this.dataDirectory], {
      stdio: ["ignore", "ignore", "pipe"],
      env: serverEnvironment(),
    });
    this.#process = child;
    if (as === "primary" && child.pid !== undefined) watchdog.arm(child.pid);
    if (child.stderr) createInterface({ input: child.stderr }).on("line", (line) => this.#words.heard(line));
    child.once("exit", (code, signal) => {
      log.info("postgres ended", { code, signal });
      if (as === "primary" || this.#startedAs === "primary") watchdog.disarm();
    });
    child.once("error", (error) => log.warn("postgres cannot be started", { error: error.message }));
    const untilMs = performance.now() + startMs;
    let pauseMs = 30;
    while (this.isRunning && performance.now() < untilMs) {
      if (await this.query("SELECT 1").catch(() => undefined)) return;
      await sleep(pauseMs);
      pauseMs = Math.min(250, pauseMs * 1.5);
    }
  }

  async stop(how: "fast" | "kill"): Promise<void> {
    const child = this.#process;
    if (!child?.pid || !this.isRunning) return;
    const ended = new Promise<void>((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) resolve();
      else child.once("exit", () => resolve());
    });
    if (how === "kill") killTree(child.pid);
    else {
      this.#client?.close().catch(() => undefined);
      process.kill(child.pid, "SIGINT");
      const waited = await Promise.race([ended.then(() => true), sleep(20_000, false)]);
      if (!waited) killTree(child.pid);
    }
    await ended;
    this.#client = undefined;
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
    // Only when the receiver is gone is what was received final.
    for (let tries = 0; tries < 200; tries++) {
      const rows = await this.query("SELECT pid, conninfo FROM pg_stat_wal_receiver");
      if (rows.length === 0) return;
      await this.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'walreceiver'",
      );
      await sleep(10);
    }
    throw new Error("the receiver of the log does not end");
  }

  async promote({
    epoch,
    synchronousNames,
  }: {
    readonly epoch: number;
    readonly synchronousNames: string;
  }): Promise<void> {
    const pid = this.#process?.pid;
    if (pid === undefined) throw new Error("PostgreSQL does not run");
    await this.#lineage.expect({ epoch }, await this.#timeline());
    await this.#archiveAs(epoch);
    // Commits wait for whom they must wait from the first one on.
    this.#files.synchronousNames = synchronousNames;
    this.#files.upstream = undefined;
    await this.#files.writeKeelsonConf();
    await this.query("SELECT pg_reload_conf()");
    this.#startedAs = "primary";
    this.#options.watchdog.arm(pid);
    await this.query("SELECT pg_promote(false)");
    for (;;) {
      const [row] = await this.query("SELECT pg_is_in_recovery() AS recovery");
      if (row?.["recovery"] === "f") break;
      await sleep(10);
    }
    const timeline = (await this.#data())?.timeline ?? 0;
    await this.#lineage.write({ timeline, epoch: await this.#lineage.epochOf(timeline) });
    this.#reload = { atMs: performance.now(), replies: new Map() };
    await this.#ensureReplicationRole();
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
    this.#systemId = undefined;
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
    const rows = await this.query(
      "SELECT application_name AS name, reply_time AS reply FROM pg_stat_replication",
    );
    this.#files.synchronousNames = value;
    this.#reload = {
      atMs: performance.now(),
      replies: new Map(rows.map((row) => [row["name"] ?? "", row["reply"] ?? ""])),
    };
    await this.#files.writeKeelsonConf();
    // Somebody may have set it by hand, and that would win over our file.
    await this.query("ALTER SYSTEM RESET synchronous_standby_names");
    await this.query("SELECT pg_reload_conf()");
    for (let tries = 0; tries < 100; tries++) {
      const [row] = await this.query("SELECT current_setting('synchronous_standby_names') AS names");
      if (row?.["names"] === value) return;
      await sleep(10);
    }
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
    if (!this.isRunning) return;
    await this.query("SELECT pg_reload_conf()");
    if (!closed) return;
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
    this.#systemId = undefined;
    this.#words.complaint = undefined;
    this.#failedRewinds = 0;
  }

  /** Removes what was set aside, and the data of before an upgrade, when it is a day old. */
  async tidy(nowMs: number): Promise<void> {
    await this.#rejoining.tidy(nowMs);
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

/** PostgreSQL reads this setting before it knows the names of time zones. */
function numericZone(time: string): string {
  return time.replace("T", " ").replace(/Z$/, "+00");
}

function lsnOf(value: string | null | undefined): Lsn | undefined {
  return value ? parseLsn(value) : undefined;
}
