/** Whom PostgreSQL's commits wait for: what it was told, and whether every sender has taken that up. */
import { setTimeout as sleep } from "node:timers/promises";
import type { PgRow } from "../engine/pg-client.ts";
import { type Lsn, parseLsn } from "../ha/lsn.ts";
import { limits } from "./configuration.ts";
import type { Replication } from "./ports.ts";
import type { ServerFiles } from "./server-files.ts";

export interface SynchronousOptions {
  readonly files: ServerFiles;
  readonly query: (sql: string) => Promise<PgRow[]>;
}

export class Synchronous {
  readonly #options: SynchronousOptions;
  /** What each standby had said when the names were changed last. */
  #replies = new Map<string, string>();

  constructor(options: SynchronousOptions) {
    this.#options = options;
  }

  /** It has just been promoted: every sender starts with the names as they are. */
  begin(): void {
    this.#replies = new Map();
  }

  async look(): Promise<Replication> {
    const rows = await this.#options.query(
      "SELECT application_name AS name, state, flush_lsn AS flushed, sync_state AS sync, reply_time AS reply FROM pg_stat_replication",
    );
    const [own] = await this.#options.query(
      "SELECT pg_current_wal_flush_lsn() AS lsn, current_setting('synchronous_standby_names') AS names," +
        " (SELECT substring(last_archived_wal FROM '^[0-9A-F]{24}$') FROM pg_stat_archiver) AS archived, " +
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
      ...(own?.["archived"] && { archived: own["archived"] }),
    };
  }

  /** Each sender shows in shared memory whether it counts; one that has heard from its standby since has reread the rest. */
  #isEffective(rows: readonly PgRow[], names: string): boolean {
    if (names !== this.#options.files.synchronousNames) return false;
    return rows.every((row) => {
      const counted = row["sync"] === "quorum" || row["sync"] === "sync";
      const isNamed = names.includes(`"${row["name"]}"`);
      const before = this.#replies.get(row["name"] ?? "");
      return counted === isNamed && (before === undefined || before !== row["reply"]);
    });
  }

  async set(value: string): Promise<void> {
    const { files, query } = this.#options;
    const rows = await query("SELECT application_name AS name, reply_time AS reply FROM pg_stat_replication");
    files.synchronousNames = value;
    this.#replies = new Map(rows.map((row) => [row["name"] ?? "", row["reply"] ?? ""]));
    await files.writeKeelsonConf();
    // Somebody may have set it by hand, and that would win over our file.
    await query("ALTER SYSTEM RESET synchronous_standby_names");
    await query("SELECT pg_reload_conf()");
    for (let tries = 0; tries < 100; tries++) {
      const [row] = await query("SELECT current_setting('synchronous_standby_names') AS names");
      if (row?.["names"] === value) return;
      await sleep(10);
    }
  }
}

export function lsnOf(value: string | null | undefined): Lsn | undefined {
  return value ? parseLsn(value) : undefined;
}
