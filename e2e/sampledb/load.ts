/** Clients that write through the Service, at a steady rate, and remember what was acknowledged and how. */
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { RedisConnection } from "@keelson/sampledb-operator";

export const load = { waiting: 12, plain: 4, writesPerSecond: 160 } as const;

const attemptMs = 800;
/** A time without any acknowledged write that is longer than this is an outage. */
const outageMs = 1_000;

export interface LoadOptions {
  /** The way into the cluster's network: a line names host and port, and all after it is theirs. */
  readonly socket: string;
  /** The address of the Service for writes, and the password; asked again when the password is refused. */
  readonly binding: () => Promise<{ readonly ip: string; readonly port: number; readonly password: string }>;
  readonly prefix: string;
  /** How many replicas WAIT asks for; 0 for a database without replicas. */
  readonly wait: number;
}

/** A stretch of time as clients felt it. */
export interface Felt {
  readonly acknowledged: number;
  readonly longestGapMs: number;
  readonly errors: readonly string[];
}

export interface Verdict {
  readonly acknowledged: number;
  readonly perSecond: number;
  /** Writes that WAIT acknowledged and that are gone: there must be none. */
  readonly lostByWait: readonly string[];
  /** Writes with a plain acknowledgement that are gone. */
  readonly lostPlain: number;
}

interface Writer {
  readonly key: string;
  readonly waits: boolean;
  /** The newest acknowledged value. */
  acknowledged: number;
}

export class Load {
  readonly #options: LoadOptions;
  readonly #writers: Writer[];
  readonly #running: Promise<void>[];
  readonly #ends: number[] = [];
  readonly #errors: { readonly atMs: number; readonly why: string }[] = [];
  readonly #startedMs = performance.now();
  #lostByWait: string[] = [];
  #lostPlain = 0;
  #binding: ReturnType<LoadOptions["binding"]> | undefined;
  #stopped = false;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#writers = Array.from({ length: load.waiting + load.plain }, (_, index) => ({
      key: `${options.prefix}/${index}`,
      waits: index < load.waiting,
      acknowledged: 0,
    }));
    this.#running = this.#writers.map((writer, index) => this.#write(writer, index));
  }

  get now(): number {
    return performance.now();
  }

  felt(sinceMs: number, untilMs = this.now): Felt {
    const ends = this.#ends.filter((end) => end >= sinceMs && end <= untilMs);
    const moments = [sinceMs, ...ends, untilMs];
    const gaps = moments.slice(1).map((moment, index) => moment - (moments[index] ?? moment));
    const errors = this.#errors
      .filter(({ atMs }) => atMs >= sinceMs && atMs <= untilMs)
      .map(({ why }) => why);
    return { acknowledged: ends.length, longestGapMs: Math.max(0, ...gaps), errors: [...new Set(errors)] };
  }

  /** Resolves when writes have gone on for a second without an outage. */
  async steady(withinMs: number): Promise<void> {
    const until = this.now + withinMs;
    for (;;) {
      const { acknowledged } = this.felt(this.now - 1_000);
      if (acknowledged > load.writesPerSecond / 4) return;
      if (this.now > until)
        throw new Error(
          `writes did not go on within ${withinMs / 1_000} s: ${this.felt(this.now - 3_000).errors.join("; ")}`,
        );
      await sleep(50);
    }
  }

  /** Reads every key: nothing that WAIT acknowledged may be missing. */
  async check(): Promise<void> {
    const before = this.#writers.map(({ acknowledged }) => acknowledged);
    await this.#persistently(30_000, async (redis) => {
      for (const [index, writer] of this.#writers.entries()) {
        const is = Number((await redis.call(["GET", writer.key])) ?? 0);
        const missing = (before[index] ?? 0) - is;
        if (missing <= 0) continue;
        if (writer.waits && this.#options.wait > 0)
          this.#lostByWait.push(`${writer.key} was ${before[index]} and is ${is}`);
        else this.#lostPlain += missing;
      }
    });
  }

  /** How many keys the clients have written. */
  get keys(): number {
    return this.#writers.filter(({ acknowledged }) => acknowledged > 0).length;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }

  async finish(options: { readonly check: boolean } = { check: true }): Promise<Verdict> {
    await this.stop();
    if (options.check) await this.check();
    const seconds = (this.now - this.#startedMs) / 1_000;
    return {
      acknowledged: this.#ends.length,
      perSecond: Math.round(this.#ends.length / seconds),
      lostByWait: [...new Set(this.#lostByWait)],
      lostPlain: this.#lostPlain,
    };
  }

  /** What was written so far may be gone: the database is restored to an earlier state. */
  forget(): void {
    for (const writer of this.#writers) writer.acknowledged = 0;
  }

  async #write(writer: Writer, offset: number): Promise<void> {
    const { wait } = this.#options;
    const pauseMs = (1_000 * this.#writers.length) / load.writesPerSecond;
    let redis: RedisConnection | undefined;
    let due = this.now + (offset / this.#writers.length) * pauseMs;
    for (let value = 1; !this.#stopped; value++) {
      await sleep(Math.max(0, due - this.now));
      due = Math.max(due + pauseMs, this.now);
      try {
        redis ??= await this.#connect();
        const commands = [
          ["SET", writer.key, value],
          ...(writer.waits && wait > 0 ? [["WAIT", wait, attemptMs - 100]] : []),
        ];
        const replies = await redis.batch(commands, { timeoutMs: attemptMs });
        const failed = replies.find((reply) => reply instanceof Error);
        if (failed) throw failed;
        if (replies.length > 1 && Number(replies[1]) < wait) throw new Error("too few replicas acknowledged");
        writer.acknowledged = value;
        this.#ends.push(this.now);
      } catch (error) {
        this.#errors.push({ atMs: this.now, why: error instanceof Error ? error.message : String(error) });
        if ((error as { code?: string }).code === "Denied") this.#binding = undefined;
        // A write without enough acknowledgements may be there or not; the connection is good if Redis answered.
        redis?.close();
        redis = undefined;
        due = this.now + 20;
      }
    }
    redis?.close();
  }

  async #connect(): Promise<RedisConnection> {
    this.#binding ??= this.#options.binding();
    const { ip, port, password } = await this.#binding;
    const socket = connect(this.#options.socket);
    socket.setNoDelay(true);
    socket.on("error", () => undefined);
    socket.write(`${ip} ${port}\n`);
    return await RedisConnection.over(socket, `${ip}:${port}`, {
      credentials: { username: "default", password },
      timeoutMs: attemptMs,
    });
  }

  async #persistently(withinMs: number, work: (redis: RedisConnection) => Promise<void>): Promise<void> {
    const until = this.now + withinMs;
    for (;;) {
      try {
        await using redis = await this.#connect();
        return await work(redis);
      } catch (error) {
        if ((error as { code?: string }).code === "Denied") this.#binding = undefined;
        if (this.now > until) throw error;
        await sleep(100);
      }
    }
  }

  /** Times in which nobody got an acknowledgement. */
  outages(sinceMs: number): number {
    const { longestGapMs } = this.felt(sinceMs);
    return longestGapMs > outageMs ? longestGapMs : 0;
  }
}
