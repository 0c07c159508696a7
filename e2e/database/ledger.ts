/** Clients that commit through the Service and on every instance directly, and remember each acknowledgement. */
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { PgClient, type PgRow } from "@keelson/database-operator";

export interface Target {
  readonly host: string;
  /** Names of instances whose own addresses are tried, beside the Service. */
  readonly instances: () => readonly { readonly name: string; readonly ip: string }[];
  /** Default: `app`. */
  readonly user?: string;
  /** A function where it may change. */
  readonly password: string | (() => string);
  /** How long a client waits for an acknowledgement. */
  readonly patienceMs: number;
  /** The way into the cluster's network. */
  readonly socket: string;
  /** Is told of each write that comes through the Service, and runs it. Rejects as it does. */
  readonly record?: (key: string, run: () => Promise<void>) => Promise<void>;
}

/** One acknowledged commit. */
export interface Commit {
  readonly writer: number;
  readonly seq: number;
  /** The instance that acknowledged it. */
  readonly server: string;
  /** After a major upgrade timelines are counted from one again: the major version comes first. */
  readonly timeline: number;
  readonly startMs: number;
  readonly endMs: number;
}

const writers = 6;
const pauseMs = 60;
/** Probes ask every instance whether it takes a write: only the primary may. */
const probeEveryMs = 100;
const firstProbe = 1_000;

export class Ledger {
  readonly commits: Commit[] = [];
  readonly errors: { readonly atMs: number; readonly message: string }[] = [];
  readonly #target: Target;
  readonly #running: Promise<void>[] = [];
  #stopped = false;

  constructor(target: Target) {
    this.#target = target;
  }

  async start(): Promise<void> {
    await using client = await this.#connect(this.#target.host);
    await client.query(
      "CREATE TABLE IF NOT EXISTS ledger (writer int, seq bigint, PRIMARY KEY (writer, seq)); TRUNCATE ledger",
      { timeoutMs: 30_000 },
    );
    for (let writer = 0; writer < writers; writer++) this.#running.push(this.#write(writer));
    this.#running.push(this.#probeAll());
  }

  get now(): number {
    return performance.now();
  }

  /** The longest time without any acknowledgement, since then. */
  gapSince(sinceMs: number): number {
    const ends = this.commits.filter(({ writer }) => writer < firstProbe).map(({ endMs }) => endMs);
    const moments = [sinceMs, ...ends.filter((end) => end > sinceMs).sort((a, b) => a - b), this.now];
    return moments.slice(1).reduce((most, moment, at) => Math.max(most, moment - (moments[at] ?? moment)), 0);
  }

  /** Resolves when a client that comes through the Service has had a commit acknowledged that it began after that. */
  async acknowledgedSince(sinceMs: number, withinMs: number): Promise<void> {
    const until = this.now + withinMs;
    while (!this.commits.some(({ writer, startMs }) => writer < firstProbe && startMs >= sinceMs)) {
      if (this.now > until) throw new Error(`no commit was acknowledged for ${withinMs / 1_000} s`);
      await sleep(20);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }

  /** Acknowledged commits that the database does not hold. */
  async lost(sinceMs = 0): Promise<Commit[]> {
    for (let tries = 0; ; tries++) {
      try {
        await using client = await this.#connect(this.#target.host);
        const rows = await client.query("SELECT writer, seq FROM ledger", { timeoutMs: 30_000 });
        return this.missingFrom(rows).filter(({ endMs }) => endMs > sinceMs);
      } catch (error) {
        if (tries > 100) throw error;
        await sleep(200);
      }
    }
  }

  /**
   * How long two primaries acknowledged at the same time: commits of an older timeline that began after one of a newer
   * timeline was acknowledged. One timeline that two instances wrote counts as for ever.
   */
  overlapMs(): number {
    const timelines = Map.groupBy(this.commits, ({ timeline }) => timeline);
    let overlap = 0;
    for (const [timeline, commits] of timelines) {
      if (new Set(commits.map(({ server }) => server)).size > 1) return Number.POSITIVE_INFINITY;
      const firstMs = Math.min(...commits.map(({ endMs }) => endMs));
      for (const older of this.commits) {
        if (older.timeline < timeline) overlap = Math.max(overlap, older.startMs - firstMs);
      }
    }
    return overlap;
  }

  /** Commits that were acknowledged until then and are not among these rows. */
  missingFrom(rows: readonly PgRow[], untilMs = Number.POSITIVE_INFINITY): Commit[] {
    const there = new Set(rows.map((row) => `${row["writer"]}/${row["seq"]}`));
    return this.commits.filter(
      ({ writer, seq, endMs }) => endMs <= untilMs && !there.has(`${writer}/${seq}`),
    );
  }

  /** One statement of somebody else. */
  async query(text: string, options: { readonly timeoutMs?: number } = {}): Promise<PgRow[]> {
    await using client = await this.#connect(this.#target.host);
    return await client.query(text, { timeoutMs: 10_000, ...options });
  }

  async #write(writer: number): Promise<void> {
    let client: PgClient | undefined;
    for (let seq = 1; !this.#stopped; seq++) {
      await sleep(pauseMs);
      const startMs = this.now;
      try {
        const commit = async () => {
          client ??= await this.#connect(this.#target.host);
          await this.#commit(client, writer, seq, startMs);
        };
        await (this.#target.record?.(`${writer}/${seq}`, commit) ?? commit());
      } catch (error) {
        this.errors.push({ atMs: this.now, message: (error as Error).message });
        await client?.close();
        client = undefined;
      }
    }
    await client?.close();
  }

  async #probeAll(): Promise<void> {
    const clients = new Map<string, PgClient>();
    for (let seq = 1; !this.#stopped; seq++) {
      await sleep(probeEveryMs);
      await Promise.all(
        this.#target.instances().map(async ({ name, ip }, index) => {
          const startMs = this.now;
          try {
            const client = clients.get(ip) ?? (await this.#connect(ip));
            clients.set(ip, client);
            await this.#commit(
              client,
              firstProbe + index + Number(name.split("-").at(-1)) * 10,
              seq,
              startMs,
            );
          } catch {
            await clients.get(ip)?.close();
            clients.delete(ip);
          }
        }),
      );
    }
    for (const client of clients.values()) await client.close();
  }

  async #commit(client: PgClient, writer: number, seq: number, startMs: number): Promise<void> {
    const [row] = await client.query(
      `INSERT INTO ledger VALUES (${writer}, ${seq}) RETURNING current_setting('cluster_name') AS server, pg_walfile_name(pg_current_wal_insert_lsn()) AS file, current_setting('server_version_num') AS version`,
      { timeoutMs: this.#target.patienceMs },
    );
    const major = Math.floor(Number(row?.["version"]) / 10_000);
    const timeline = major * 1_000_000 + Number.parseInt(row?.["file"]?.slice(0, 8) ?? "0", 16);
    this.commits.push({ writer, seq, server: row?.["server"] ?? "", timeline, startMs, endMs: this.now });
  }

  async #connect(host: string): Promise<PgClient> {
    const { socket, password: secret, user = "app" } = this.#target;
    const password = typeof secret === "function" ? secret() : secret;
    return await PgClient.connect({
      host,
      port: 5432,
      user,
      database: "app",
      password,
      connectTimeoutMs: 1_500,
      dial: async () => await dial(socket, host, 5432),
    });
  }
}

/** A line names host and port, and all after it is theirs. */
async function dial(path: string, host: string, port: number): Promise<Socket> {
  const socket = connect(path);
  socket.write(`${host} ${port}\n`);
  return socket;
}
