/** The client of a drill: writes as an application does, and says what was acknowledged and what of it is gone. */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { ClientReport } from "@keelson/kit";
import { RedisConnection } from "../engine/connection.ts";
import { bindingVariables } from "./task.ts";

const everyMs = 50;
const attemptMs = 1_000;
/** What a drill has written goes by itself. */
const keptSeconds = 86_400;
const reportPort = 8080;

/** Writes until its container is stopped. */
export async function keepLedger(): Promise<never> {
  const ledger = new Ledger(`keelson:drill:${randomUUID()}`);
  createServer((_, answer) => {
    void ledger.report().then(
      (report) => answer.end(JSON.stringify(report)),
      (error: Error) => answer.writeHead(503).end(error.message),
    );
  }).listen(reportPort);
  return await ledger.write();
}

class Ledger {
  readonly #key: string;
  readonly #startedMs = performance.now();
  #connection: RedisConnection | undefined;
  #waits = false;
  #writes = 0;
  /** The newest value that was acknowledged. */
  #newest = 0;
  #lastMs = performance.now();
  #longestGapMs = 0;

  constructor(key: string) {
    this.#key = key;
  }

  async write(): Promise<never> {
    for (let value = 1; ; value++) {
      try {
        await this.#write(value);
        if (this.#writes > 0)
          this.#longestGapMs = Math.max(this.#longestGapMs, performance.now() - this.#lastMs);
        this.#lastMs = performance.now();
        this.#newest = value;
        this.#writes++;
      } catch {
        this.#connection?.close();
        this.#connection = undefined;
      }
      await sleep(everyMs);
    }
  }

  /** Rejects while the database cannot be read. */
  async report(): Promise<ClientReport> {
    const newest = this.#newest;
    await using connection = await connect();
    const found = Number((await connection.call(["GET", this.#key])) ?? 0);
    const gapMs = performance.now() - (this.#writes > 0 ? this.#lastMs : this.#startedMs);
    return {
      acknowledged: this.#writes,
      lost: Math.max(0, newest - found),
      longestGapMs: Math.round(Math.max(this.#longestGapMs, gapMs)),
    };
  }

  async #write(value: number): Promise<void> {
    if (!this.#connection) {
      this.#connection = await connect();
      const info = String(await this.#connection.call(["INFO", "replication"]));
      this.#waits = /connected_slaves:[1-9]/.test(info);
    }
    const commands = [
      ["SET", this.#key, value, "EX", keptSeconds],
      ...(this.#waits ? [["WAIT", 1, attemptMs]] : []),
    ];
    const replies = await this.#connection.batch(commands, { timeoutMs: 2 * attemptMs });
    const failed = replies.find((reply) => reply instanceof Error);
    if (failed) throw failed;
    if (this.#waits && Number(replies[1]) < 1) throw new Error("no replica has acknowledged it");
  }
}

async function connect(): Promise<RedisConnection> {
  const { host, port, password, authority } = bindingVariables;
  const ca = process.env[authority];
  const serverName = process.env[host] ?? "";
  return await RedisConnection.open(
    { host: serverName, port: Number(process.env[port]), ...(ca ? { tls: { ca, serverName } } : {}) },
    { timeoutMs: attemptMs, credentials: { username: "default", password: process.env[password] ?? "" } },
  );
}
