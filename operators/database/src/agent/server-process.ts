/** The process of a PostgreSQL server, and the connections that its agent has to it. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { PgClient, type PgRow } from "../engine/pg-client.ts";
import type { Log } from "./ports.ts";
import { isAlive, killLeft, killTree } from "./process-tree.ts";
import type { ServerWords } from "./server-words.ts";
import { serverEnvironment } from "./tools.ts";
import type { Watchdog } from "./watchdog.ts";

export interface ServerProcessOptions {
  readonly programs: string;
  readonly dataDirectory: string;
  readonly socketDirectory: string;
  readonly watchdog: Watchdog;
  readonly words: ServerWords;
  readonly log: Log;
}

/** How long a start is waited for before the round goes on without it. */
const startMs = 5_000;

/** What was killed is waited for so long. A disk that does not answer may hold it up, but it never runs again. */
const killedMs = 10_000;

/**
 * What we do ourselves never waits for standbys: we are needed to bring them. And what the user has chosen for all sessions
 * is not for ours: a standby answers nothing to one that is serializable, and a read-only one prepares no primary.
 */
const ownSession = [
  "SET synchronous_commit = local",
  "SET statement_timeout = 0",
  "SET lock_timeout = 0",
  "SET default_transaction_isolation = 'read committed'",
  "SET default_transaction_read_only = off",
].join(";");

export class ServerProcess {
  readonly #options: ServerProcessOptions;
  #process: ChildProcess | undefined;
  #client: PgClient | undefined;
  #startedAs: "primary" | "standby" | undefined;

  constructor(options: ServerProcessOptions) {
    this.#options = options;
  }

  get startedAs(): "primary" | "standby" | undefined {
    return this.#startedAs;
  }

  get isRunning(): boolean {
    const { pid, exitCode, signalCode } = this.#process ?? {};
    return pid !== undefined && exitCode === null && signalCode === null && isAlive(pid);
  }

  /** From now on it is a primary: the watchdog ends it when the lease runs out. */
  becomesPrimary(): void {
    const pid = this.#process?.pid;
    if (pid === undefined) throw new Error("PostgreSQL does not run");
    this.#startedAs = "primary";
    this.#options.watchdog.arm(pid, this.#options.dataDirectory);
  }

  /** Returns when it answers, or after a while: a start may take long. */
  async start(as: "primary" | "standby"): Promise<void> {
    const { programs, dataDirectory, socketDirectory, words, log, watchdog } = this.#options;
    await mkdir(socketDirectory, { recursive: true, mode: 0o700 });
    await this.#endLeft();
    // The process of before is gone: its lock means nothing, even if something else has its number by now.
    await rm(join(dataDirectory, "postmaster.pid"), { force: true });
    this.#client = undefined;
    words.isFull = false;
    this.#startedAs = as;
    const child = spawn(join(programs, "postgres"), ["-D", dataDirectory], {
      stdio: ["ignore", "ignore", "pipe"],
      env: serverEnvironment(),
    });
    this.#process = child;
    if (as === "primary" && child.pid !== undefined) watchdog.arm(child.pid, dataDirectory);
    if (child.stderr) createInterface({ input: child.stderr }).on("line", (line) => words.heard(line));
    child.once("exit", (code, signal) => {
      const left = this.#process === child ? killLeft(dataDirectory) : 0;
      log.info("postgres ended", { code, signal, ...(left > 0 && { left }) });
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

  /** One server at a time works on the data. */
  async #endLeft(): Promise<void> {
    for (let tries = 0; killLeft(this.#options.dataDirectory) > 0; tries++) {
      if (tries > 200) throw new Error("what the PostgreSQL before has left does not end");
      await sleep(10);
    }
  }

  async stop(how: "fast" | "kill"): Promise<void> {
    const child = this.#process;
    if (!child?.pid || !this.isRunning) return;
    const ended = new Promise<void>((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) resolve();
      else child.once("exit", () => resolve());
    });
    const { dataDirectory } = this.#options;
    if (how === "kill") killTree(child.pid, dataDirectory);
    else {
      this.#client?.close().catch(() => undefined);
      process.kill(child.pid, "SIGINT");
      const waited = await Promise.race([ended.then(() => true), sleep(20_000, false)]);
      if (!waited) killTree(child.pid, dataDirectory);
    }
    await Promise.race([ended, sleep(killedMs)]);
    this.#client = undefined;
    if (how === "fast" && this.isRunning) throw new Error("PostgreSQL does not end");
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
    await client.query(ownSession);
    return client;
  }
}
