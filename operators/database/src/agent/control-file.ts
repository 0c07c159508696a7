/** What a data directory says of itself while no server runs on it. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Lsn, parseLsn } from "../ha/lsn.ts";
import type { Tools } from "./tools.ts";

export interface Control {
  readonly systemId: string;
  readonly state: string;
  readonly timeline: number;
  readonly checkpoint: Lsn;
  /** What the primary allowed that wrote its log last: a standby that allows less does not start. */
  readonly limits: Readonly<{ [name: string]: string }>;
}

/** As `pg_controldata` calls them. */
const limitLabels = {
  max_connections: "max_connections setting",
  max_worker_processes: "max_worker_processes setting",
  max_wal_senders: "max_wal_senders setting",
  max_prepared_transactions: "max_prepared_xacts setting",
  max_locks_per_transaction: "max_locks_per_xact setting",
} as const;

export async function readControl(tools: Tools, directory: string): Promise<Control> {
  const { stdout } = await tools.run("pg_controldata", ["-D", directory], { LC_ALL: "C" });
  const of = (label: string) => new RegExp(`^${label}:\\s+(.*)$`, "m").exec(stdout)?.[1] ?? "";
  return {
    systemId: of("Database system identifier"),
    state: of("Database cluster state"),
    timeline: Math.max(
      Number(of("Latest checkpoint's TimeLineID")),
      Number(of("Min recovery ending loc's timeline")),
    ),
    checkpoint: parseLsn(of("Latest checkpoint location")),
    limits: Object.fromEntries(Object.entries(limitLabels).map(([name, label]) => [name, of(label) || "0"])),
  };
}

/** The control file learns of a new timeline late; the names of the log's files know it at once. */
export async function newestTimeline(directory: string): Promise<number> {
  const names = await readdir(join(directory, "pg_wal")).catch(() => []);
  const timelines = names
    .filter((name) => /^[0-9A-F]{24}$/.test(name))
    .map((name) => Number.parseInt(name.slice(0, 8), 16));
  return Math.max(0, ...timelines);
}

/** The identifier of a data directory: the first field of its control file, in every version. */
export async function systemOf(directory: string): Promise<string> {
  const control = await readFile(join(directory, "global", "pg_control"));
  return String(control.readBigUInt64LE(0));
}
