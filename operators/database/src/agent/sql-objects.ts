/** Roles and databases of the spec, brought about on the primary. */
import { quoteIdentifier, quoteLiteral } from "../engine/pg-client.ts";
import type { Postgres } from "./postgres.ts";

export interface SqlObjects {
  readonly roles: readonly SqlRole[];
  readonly databases: readonly SqlDatabase[];
}

export interface SqlRole {
  readonly name: string;
  /** As `pg_authid` keeps it; absent leaves the password alone. */
  readonly verifier?: string;
  readonly login: boolean;
  readonly superuser: boolean;
  readonly createdb: boolean;
  readonly createrole: boolean;
  readonly replication: boolean;
  readonly connectionLimit: number;
  readonly memberOf: readonly string[];
}

export interface SqlDatabase {
  readonly name: string;
  readonly owner: string;
  readonly extensions: readonly string[];
}

/** What was done, in words. Nothing is dropped: what the spec no longer names stays as it is. */
export async function reconcileObjects(
  engine: Postgres,
  { roles, databases }: SqlObjects,
): Promise<string[]> {
  const done: string[] = [];
  const known = new Map(
    (await engine.queryAside("SELECT rolname AS name, rolpassword AS password FROM pg_authid")).map((row) => [
      row["name"],
      row["password"],
    ]),
  );
  for (const role of roles) {
    const options = [
      role.login ? "LOGIN" : "NOLOGIN",
      role.superuser ? "SUPERUSER" : "NOSUPERUSER",
      role.createdb ? "CREATEDB" : "NOCREATEDB",
      role.createrole ? "CREATEROLE" : "NOCREATEROLE",
      role.replication ? "REPLICATION" : "NOREPLICATION",
      `CONNECTION LIMIT ${Math.trunc(role.connectionLimit)}`,
      ...(role.verifier === undefined ? [] : [`PASSWORD ${quoteLiteral(role.verifier)}`]),
    ].join(" ");
    if (!known.has(role.name)) {
      await engine.queryAside(`CREATE ROLE ${quoteIdentifier(role.name)} WITH ${options}`);
      done.push(`role ${role.name} was made`);
    } else await engine.queryAside(`ALTER ROLE ${quoteIdentifier(role.name)} WITH ${options}`);
    for (const group of role.memberOf)
      await engine.queryAside(`GRANT ${quoteIdentifier(group)} TO ${quoteIdentifier(role.name)}`);
  }
  const existing = new Set(
    (await engine.queryAside("SELECT datname AS name FROM pg_database")).map((row) => row["name"]),
  );
  for (const { name, owner, extensions } of databases) {
    if (!existing.has(name)) {
      await engine.queryAside(`CREATE DATABASE ${quoteIdentifier(name)} OWNER ${quoteIdentifier(owner)}`, {
        timeoutMs: 120_000,
      });
      done.push(`database ${name} was made`);
    } else
      await engine.queryAside(`ALTER DATABASE ${quoteIdentifier(name)} OWNER TO ${quoteIdentifier(owner)}`);
    for (const extension of extensions) {
      await engine.queryAside(`CREATE EXTENSION IF NOT EXISTS ${quoteIdentifier(extension)}`, {
        database: name,
        timeoutMs: 60_000,
      });
    }
  }
  return done;
}
