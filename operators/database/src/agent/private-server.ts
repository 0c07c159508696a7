/** A PostgreSQL that only its starter reaches: for restores, proofs and upgrades. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { PgClient, type PgRow } from "../engine/pg-client.ts";
import { serverEnvironment } from "./tools.ts";

export interface PrivateServerOptions {
  readonly programs: string;
  readonly directory: string;
  /** Where its socket is. */
  readonly socketDirectory: string;
  readonly settings?: readonly string[];
  /** How long it may take to answer. Default: ten minutes. */
  readonly timeoutMs?: number;
}

/** What it answers to us while it recovers. Not why it ended. */
const notYet = /FATAL: {2}the database system is |DETAIL: {2}Hot standby mode is disabled/;

export class PrivateServer implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #socket: string;
  #words = "";

  private constructor(child: ChildProcess, socket: string) {
    this.#child = child;
    this.#socket = socket;
    if (child.stderr) {
      createInterface({ input: child.stderr }).on("line", (line) => {
        if (notYet.test(line)) return;
        process.stdout.write(`${line}\n`);
        if (/\b(FATAL|PANIC|ERROR):/.test(line)) this.#words = line;
      });
    }
  }

  /** Resolves when it has recovered and answers. */
  static async start(options: PrivateServerOptions): Promise<PrivateServer> {
    const { programs, directory, socketDirectory, settings = [], timeoutMs = 600_000 } = options;
    await mkdir(socketDirectory, { recursive: true, mode: 0o700 });
    const fixed = [
      ...["listen_addresses=", "archive_mode=off", "synchronous_standby_names=", "primary_conninfo="],
      ...["ssl=off", `unix_socket_directories=${socketDirectory}`],
      // What the user has chosen for all sessions is not for those that work on the data.
      ...["default_transaction_isolation=read committed", "default_transaction_read_only=off"],
    ];
    const args = ["-D", directory, ...[...fixed, ...settings].flatMap((setting) => ["-c", setting])];
    const child = spawn(join(programs, "postgres"), args, {
      stdio: ["ignore", "ignore", "pipe"],
      env: serverEnvironment(),
    });
    const server = new PrivateServer(child, socketDirectory);
    const untilMs = performance.now() + timeoutMs;
    while (child.exitCode === null && child.signalCode === null && performance.now() < untilMs) {
      const rows = await server.query("SELECT pg_is_in_recovery() AS recovery").catch(() => []);
      if (rows[0]?.["recovery"] === "f") return server;
      await sleep(100);
    }
    child.kill("SIGKILL");
    throw new Error(`PostgreSQL does not start: ${server.#words || "it does not say why"}`);
  }

  async query(
    sql: string,
    options: { readonly database?: string; readonly timeoutMs?: number } = {},
  ): Promise<PgRow[]> {
    await using client = await PgClient.connect({
      host: this.#socket,
      port: 5432,
      user: "postgres",
      database: options.database ?? "postgres",
    });
    return await client.query(sql, { timeoutMs: options.timeoutMs ?? 60_000 });
  }

  /** Ends it cleanly. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGINT");
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
