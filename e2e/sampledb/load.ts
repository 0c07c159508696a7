/** Clients that write through the Service, at a steady rate, and remember what was acknowledged and how. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { RedisConnection } from "@keelson/sampledb-operator";

export const load = { waiting: 12, plain: 4, writesPerSecond: 160 } as const;

const attemptMs = 800;
/** A time without any acknowledged write that is longer than this is an outage. */
const outageMs = 1_000;

export interface LoadOptions {
  /** The way into the cluster's network: a line names host and port, and all after it is theirs. */
  readonly socket: string;
  /** What applications bind to; asked again when nobody answers as it says. */
  readonly binding: () => Promise<Binding>;
  readonly prefix: string;
  /** How many replicas WAIT asks for; 0 for a database without replicas. */
  readonly wait: number;
}

/** The Service for writes, the password, and the authority where TLS is spoken. */
export interface Binding {
  readonly ip: string;
  readonly host: string;
  readonly password: string;
  readonly authority?: string;
}

/** Connects through the way into the cluster's network, and logs in. */
export async function logIn(
  path: string,
  { ip, host, password, authority }: Binding,
  timeoutMs: number,
): Promise<RedisConnection> {
  const plain = connect(path);
  plain.setNoDelay(true);
  plain.on("error", () => undefined);
  plain.write(`${ip} 6379\n`);
  let socket: Socket = plain;
  try {
    if (authority !== undefined) {
      socket = connectTls({ socket: plain, ca: authority, servername: host });
      await once(socket, "secureConnect", { signal: AbortSignal.timeout(timeoutMs) });
      socket.on("error", () => undefined);
    }
    const credentials = { username: "default", password };
    return await RedisConnection.over(socket, `${ip}:6379`, { credentials, timeoutMs });
  } catch (error) {
    socket.destroy();
    plain.destroy();
    throw error;
  }
}

/** A stretch of time as clients felt it. */
export interface Felt {
  readonly acknowledged: number;
  readonly longestGapMs: number;
  /** The longest time in which WAIT reported no write on as many replicas as it was asked for. */
  readonly longestWaitMs: number;
  /** The longest gap in words: when it was, counted from the beginning, and what clients met meanwhile. */
  readonly story: string;
  readonly errors: readonly string[];
}

export interface LoadReport {
  readonly acknowledged: number;
  readonly perSecond: number;
  /** Whether every key was read after the last write: without that nothing is known of losses. Older results lack it. */
  readonly read?: boolean;
  /** Why the keys could not be read at the end. */
  readonly unreadable?: string;
  /** Writes that WAIT acknowledged and that are gone: there must be none. */
  readonly lostByWait: readonly string[];
  /** Writes with a plain acknowledgement that are gone. */
  readonly lostPlain: number;
}

/** Acknowledged writes that are gone, as sentences. */
export interface Loss {
  readonly byWait: readonly string[];
  readonly plain: readonly string[];
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
  /** Of writes that WAIT reported. */
  readonly #waits: number[] = [];
  readonly #errors: { readonly atMs: number; readonly why: string }[] = [];
  readonly #startedMs = performance.now();
  readonly #lostByWait = new Set<string>();
  /** How many writes are gone, by the sentence that says so: a loss that is met again counts once. */
  readonly #lostPlain = new Map<string, number>();
  /** How many writes there were when every key was read last. */
  #readAt = -1;
  #bind: LoadOptions["binding"];
  #binding: ReturnType<LoadOptions["binding"]> | undefined;
  #boundMs = performance.now();
  #stopped = false;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#bind = options.binding;
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
    const { moments, gaps } = gapsIn(this.#ends, sinceMs, untilMs);
    const longestGapMs = Math.max(0, ...gaps);
    const fromMs = moments[gaps.indexOf(longestGapMs)] ?? sinceMs;
    const errors = this.#met(sinceMs, untilMs);
    const story = `${seconds(fromMs - sinceMs)} to ${seconds(fromMs + longestGapMs - sinceMs)} after it began: ${this.#met(
      fromMs,
      fromMs + longestGapMs + 50,
    )
      .map(({ atMs, why }) => `${seconds(atMs - sinceMs)} ${why}`)
      .join("; ")}`;
    return {
      acknowledged: moments.length - 2,
      longestGapMs,
      longestWaitMs: Math.max(0, ...gapsIn(this.#waits, sinceMs, untilMs).gaps),
      story,
      errors: [...new Set(errors.map(({ why }) => why))],
    };
  }

  /** What clients met in a stretch of time, each error when it came first. */
  #met(sinceMs: number, untilMs: number): { readonly atMs: number; readonly why: string }[] {
    const within = this.#errors.filter(({ atMs }) => atMs >= sinceMs && atMs <= untilMs);
    return within.filter(({ why }, index) => within.findIndex((other) => other.why === why) === index);
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

  /** Reads every key, and says which of the newest acknowledged values are not there. */
  async check(): Promise<Loss> {
    const before = this.#writers.map(({ acknowledged }) => acknowledged);
    const writes = this.#ends.length;
    const values = await this.#persistently(30_000, async (redis) => {
      const read: number[] = [];
      for (const { key } of this.#writers) read.push(Number((await redis.call(["GET", key])) ?? 0));
      return read;
    });
    const byWait: string[] = [];
    const plain: string[] = [];
    for (const [index, writer] of this.#writers.entries()) {
      const [was = 0, is = 0] = [before[index], values[index]];
      if (is >= was) continue;
      const sentence = `${writer.key} was acknowledged as ${was} and is ${is}`;
      if (writer.waits && this.#options.wait > 0) {
        byWait.push(sentence);
        this.#lostByWait.add(sentence);
      } else {
        plain.push(sentence);
        this.#lostPlain.set(sentence, was - is);
      }
    }
    this.#readAt = writes;
    return { byWait, plain };
  }

  /** From now on keys are read there: the Service of the database is gone. */
  moveTo(binding: Binding): void {
    this.#bind = async () => binding;
    this.#binding = undefined;
  }

  /** How many keys the clients have written. */
  get keys(): number {
    return this.#writers.filter(({ acknowledged }) => acknowledged > 0).length;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }

  async finish(options: { readonly check: boolean } = { check: true }): Promise<LoadReport> {
    await this.stop();
    let unreadable: string | undefined;
    if (options.check)
      await this.check().catch((error: unknown) => {
        unreadable = error instanceof Error ? error.message : String(error);
      });
    const seconds = (this.now - this.#startedMs) / 1_000;
    return {
      acknowledged: this.#ends.length,
      perSecond: Math.round(this.#ends.length / seconds),
      read: this.#readAt === this.#ends.length && unreadable === undefined,
      ...(unreadable === undefined ? {} : { unreadable }),
      lostByWait: [...this.#lostByWait],
      lostPlain: [...this.#lostPlain.values()].reduce((total, each) => total + each, 0),
    };
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
        if (replies.length > 1) this.#waits.push(this.now);
      } catch (error) {
        this.#errors.push({ atMs: this.now, why: error instanceof Error ? error.message : String(error) });
        this.#bindAgain(error);
        // A write without enough acknowledgements may be there or not; the connection is good if Redis answered.
        redis?.close();
        redis = undefined;
        due = this.now + 20;
      }
    }
    redis?.close();
  }

  async #connect(): Promise<RedisConnection> {
    this.#binding ??= this.#bind();
    return await logIn(this.#options.socket, await this.#binding, attemptMs);
  }

  /** An application reads what it is bound to again when it is turned away, or when it does not understand the server. */
  #bindAgain(error: unknown): void {
    const { code } = error as { code?: string };
    if (code === "Denied" || this.now - this.#boundMs > 1_000) {
      this.#binding = undefined;
      this.#boundMs = this.now;
    }
  }

  async #persistently<T>(withinMs: number, work: (redis: RedisConnection) => Promise<T>): Promise<T> {
    const until = this.now + withinMs;
    for (;;) {
      try {
        await using redis = await this.#connect();
        return await work(redis);
      } catch (error) {
        this.#bindAgain(error);
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

/** The moments in a stretch of time, with its beginning and end, and the time between each and the next. */
function gapsIn(ends: readonly number[], sinceMs: number, untilMs: number) {
  const moments = [sinceMs, ...ends.filter((end) => end >= sinceMs && end <= untilMs), untilMs];
  const gaps = moments.slice(1).map((moment, index) => moment - (moments[index] ?? moment));
  return { moments, gaps };
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}
