/** How far the archive of the log reaches, in time: until when everything that was committed can be restored. */
import { Readable } from "node:stream";
import { isBackupError, readAll, type Store } from "@keelson/kit/store";
import type { PgRow } from "../engine/pg-client.ts";
import { parseKnownJson } from "../ha/json.ts";

/** Everything that was committed until then is in the archive, before this position of the log. */
export interface Horizon {
  readonly time: string;
  readonly lsn: string;
  /** The timeline of that position. Absent in what older releases wrote. */
  readonly timeline?: number;
}

/** What a primary says of itself at one moment. */
export interface Moment {
  readonly time: string;
  readonly lsn: string;
  /** The segment that it writes. */
  readonly segment: string;
  /** PostgreSQL's snapshot of transactions: the same as before when nothing was committed since. */
  readonly snapshot: string;
}

/**
 * Asks a primary. The time is a little earlier than the rest: a commit takes its time before it is in the log.
 * A clock that counts fractions of a second writes them in six digits.
 */
export const momentQuery =
  "SELECT to_char((clock_timestamp() - interval '1 second') AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') AS time," +
  " pg_current_snapshot() AS snapshot, pg_current_wal_insert_lsn() AS lsn," +
  " pg_walfile_name(pg_current_wal_insert_lsn()) AS segment";

/** Of one primary in one epoch. */
export class HorizonWatch {
  /** Moments whose segment is not archived yet; the newest of each segment. */
  readonly #waiting = new Map<string, Moment>();
  /** What is archived whole: while nothing is committed, the horizon goes on with the clock. */
  #settled: Moment | undefined;

  /** `archived` is the last segment that reached the archive; those before it are there too. */
  look(now: Moment, archived = ""): Horizon | undefined {
    for (const [segment, moment] of this.#waiting) {
      if (segment > archived) continue;
      this.#settled = moment;
      this.#waiting.delete(segment);
    }
    if (this.#settled?.snapshot === now.snapshot) this.#settled = { ...this.#settled, time: now.time };
    else this.#waiting.set(now.segment, now);
    if (!this.#settled) return undefined;
    const { time, lsn, segment } = this.#settled;
    return { time, lsn, timeline: timelineOf(segment) };
  }
}

function timelineOf(segment: string): number {
  return Number.parseInt(segment.slice(0, 8), 16);
}

export interface HorizonOptions {
  readonly store: () => Promise<Store>;
  readonly query: (sql: string) => Promise<PgRow[]>;
}

/** What is worth writing down while only the clock goes on. */
const writeEveryMs = 10_000;

/** As primary: finds the horizon, and writes it beside the log. */
export class HorizonKeeper {
  readonly #options: HorizonOptions;
  #watch: { readonly epoch: number; readonly of: HorizonWatch } | undefined;
  #written: Horizon | undefined;
  latest: Horizon | undefined;

  constructor(options: HorizonOptions) {
    this.#options = options;
  }

  async round({
    epoch,
    systemId,
    archived,
  }: {
    readonly epoch: number;
    readonly systemId: string;
    readonly archived: string | undefined;
  }): Promise<void> {
    if (this.#watch?.epoch !== epoch) {
      this.#watch = { epoch, of: new HorizonWatch() };
      this.#written = undefined;
    }
    const [row] = await this.#options.query(momentQuery);
    const { time, lsn, segment, snapshot } = row ?? {};
    if (!time || !lsn || !segment || !snapshot) return;
    const horizon = this.#watch.of.look({ time, lsn, segment, snapshot }, archived);
    if (!horizon) return;
    const written = this.#written;
    const isDue =
      written?.lsn !== horizon.lsn || Date.parse(horizon.time) - Date.parse(written.time) >= writeEveryMs;
    if (isDue) {
      await writeHorizon(await this.#options.store(), systemId, horizon);
      this.#written = horizon;
    }
    this.latest = this.#written;
  }
}

export async function writeHorizon(store: Store, systemId: string, horizon: Horizon): Promise<void> {
  await store.put(keyOf(systemId), Readable.from([Buffer.from(JSON.stringify(horizon))]));
}

/** Undefined when no primary has written one, as those of older releases. */
export async function readHorizon(store: Store, systemId: string): Promise<Horizon | undefined> {
  try {
    return parseKnownJson((await readAll(store.get(keyOf(systemId)))).toString()) as Horizon;
  } catch (error) {
    if (isBackupError(error, "NotFound")) return undefined;
    throw error;
  }
}

function keyOf(systemId: string): string {
  return `horizons/${systemId}.json`;
}
