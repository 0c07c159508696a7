/** Collations whose rules have changed with the operating system: indexes that were sorted by the old ones are rebuilt. */
import { quoteIdentifier, quoteLiteral } from "../engine/pg-client.ts";

/** Asks one database. */
export type Ask = (
  sql: string,
  options?: { readonly database?: string; readonly timeoutMs?: number },
) => Promise<readonly Readonly<{ [column: string]: string | null }>[]>;

export interface Mismatch {
  readonly database: string;
  /** Collations of the database, and `default` for the one that it has itself. */
  readonly collations: readonly string[];
}

const rebuildMs = 6 * 3_600_000;

/** A collation that came with PostgreSQL, and the version by which indexes of one database are sorted. */
export interface BuiltIn {
  readonly database: string;
  readonly name: string;
  readonly encoding: string;
  readonly version: string;
}

/** Those that indexes are sorted by. pg_upgrade takes a user's own collations along, but of these it keeps no version. */
export async function builtInVersions(ask: Ask): Promise<BuiltIn[]> {
  const databases = await ask("SELECT datname AS name FROM pg_database WHERE datallowconn ORDER BY datname");
  const found: BuiltIn[] = [];
  for (const row of databases) {
    const database = row["name"] ?? "";
    const used = await ask(
      "SELECT collname AS name, collencoding AS encoding, collversion AS version FROM pg_collation" +
        " WHERE collnamespace = 'pg_catalog'::regnamespace AND collversion IS NOT NULL" +
        " AND oid IN (SELECT unnest(indcollation) FROM pg_index)",
      { database },
    );
    for (const { name, encoding, version } of used)
      found.push({ database, name: name ?? "", encoding: encoding ?? "", version: version ?? "" });
  }
  return found;
}

/** After pg_upgrade: what the indexes were sorted by, and not what initdb found when it made the new data. */
export async function recordVersions(ask: Ask, versions: readonly BuiltIn[]): Promise<void> {
  for (const { database, name, encoding, version } of versions) {
    await ask(
      `UPDATE pg_collation SET collversion = ${quoteLiteral(version)}` +
        " WHERE collnamespace = 'pg_catalog'::regnamespace" +
        ` AND collname = ${quoteLiteral(name)} AND collencoding = ${Number(encoding)}`,
      { database },
    );
  }
}

/** Where the version that was recorded is not the one that is there now. */
export async function findMismatches(ask: Ask): Promise<Mismatch[]> {
  const databases = await ask(
    "SELECT datname AS name, datcollversion IS DISTINCT FROM pg_database_collation_actual_version(oid)" +
      " AND datcollversion IS NOT NULL AS changed FROM pg_database WHERE datallowconn ORDER BY datname",
  );
  const found: Mismatch[] = [];
  for (const { name, changed } of databases) {
    const database = name ?? "";
    const rows = await ask(`SELECT format('%I.%I', nspname, collname) AS name ${changedCollations}`, {
      database,
    });
    const collations = [...(changed === "t" ? ["default"] : []), ...rows.map((row) => row["name"] ?? "")];
    if (collations.length > 0) found.push({ database, collations });
  }
  return found;
}

const changedCollations =
  "FROM pg_collation c JOIN pg_namespace n ON n.oid = c.collnamespace" +
  " WHERE collversion IS NOT NULL AND collversion IS DISTINCT FROM pg_collation_actual_version(c.oid)";

/** Rebuilds what depends on them, and records the versions that are there now. Returns how many indexes were rebuilt. */
export async function rebuild(ask: Ask, mismatches: readonly Mismatch[]): Promise<number> {
  let rebuilt = 0;
  for (const { database, collations } of mismatches) {
    const isDefault = collations.includes("default");
    const indexes = await ask(
      "SELECT format('%I.%I', n.nspname, i.relname) AS name FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid" +
        " JOIN pg_namespace n ON n.oid = i.relnamespace WHERE i.relkind = 'i' AND EXISTS (" +
        `SELECT FROM unnest(x.indcollation) AS used WHERE used IN (SELECT c.oid ${changedCollations})` +
        `${isDefault ? " OR used = 100" : ""})`,
      { database },
    );
    for (const { name } of indexes) await ask(`REINDEX INDEX ${name}`, { database, timeoutMs: rebuildMs });
    rebuilt += indexes.length;
    for (const name of collations) {
      const refresh =
        name === "default"
          ? `ALTER DATABASE ${quoteIdentifier(database)} REFRESH COLLATION VERSION`
          : `ALTER COLLATION ${name} REFRESH VERSION`;
      await ask(refresh, { database });
    }
  }
  return rebuilt;
}
