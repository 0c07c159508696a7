/**
 * Ends PostgreSQL when the time of its lease has run out. A process of its own: an agent that is stalled, stopped or busy
 * cannot delay it. Both read the same monotonic clock, which no correction of the date moves.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseKnownJson } from "../ha/json.ts";
import type { Guard, Log } from "./ports.ts";
import { killTree } from "./process-tree.ts";

interface Order {
  /** The postmaster that may run until the deadline; 0 for none. */
  readonly pid: number;
  /** Where its data lies. */
  readonly directory: string;
  readonly deadlineMs: number;
}

const nothing: Order = { pid: 0, directory: "", deadlineMs: 0 };

export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

/** The agent's side. */
export class Watchdog implements Guard, AsyncDisposable {
  readonly #log: Log;
  #child: ChildProcess | undefined;
  #order = nothing;
  #ended = false;

  constructor(log: Log) {
    this.#log = log;
    this.#start();
  }

  extend(deadlineMs: number): void {
    this.#send({ ...this.#order, deadlineMs });
  }

  /** From now on this postmaster is ended when the deadline passes. */
  arm(pid: number, directory: string): void {
    this.#send({ ...this.#order, pid, directory });
  }

  disarm(): void {
    this.#send({ ...this.#order, pid: 0 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true;
    this.#child?.kill("SIGKILL");
  }

  #send(order: Order): void {
    this.#order = order;
    this.#child?.stdin?.write(`${JSON.stringify(order)}\n`);
  }

  #start(): void {
    const child = spawn(process.execPath, [join(import.meta.dirname, "watchdog-main.ts")], {
      stdio: ["pipe", "inherit", "inherit"],
      env: { PATH: process.env["PATH"] ?? "", NODE_NO_WARNINGS: "1" },
    });
    this.#child = child;
    child.stdin?.on("error", () => undefined);
    child.once("exit", (code, signal) => {
      if (this.#ended) return;
      // Without it nobody would end PostgreSQL in time: until the next one runs, nothing is left to run.
      this.#log.warn("the watchdog ended", { code, signal });
      const { pid, directory } = this.#order;
      if (pid > 0) killTree(pid, directory);
      this.#start();
      this.#send(this.#order);
    });
  }
}

/** The watchdog's side: reads orders, and acts on the last one. */
export function guard(input: NodeJS.ReadableStream): void {
  let order = nothing;
  let timer: NodeJS.Timeout | undefined;
  const look = () => {
    clearTimeout(timer);
    if (order.pid === 0) return;
    const left = order.deadlineMs - monotonicMs();
    if (left > 0) {
      timer = setTimeout(look, Math.max(1, Math.ceil(left)));
      return;
    }
    const killed = killTree(order.pid, order.directory);
    process.stdout.write(
      `${JSON.stringify({ level: "warn", message: "the lease has run out: PostgreSQL is ended", killed })}\n`,
    );
    order = { ...order, pid: 0 };
  };
  createInterface({ input }).on("line", (line) => {
    order = parseKnownJson(line) as Order;
    look();
  });
  // The agent is gone: its orders will not be extended, and are not needed any more.
  input.on("end", () => {
    if (order.pid > 0) killTree(order.pid, order.directory);
    process.exit(0);
  });
}
