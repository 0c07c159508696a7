/** Passwords: made once, never made again while they are in use, and changed when that is asked for. */
import { randomBytes } from "node:crypto";
import type { DatabaseObject } from "../api/database.ts";
import { annotations } from "../api/names.ts";
import type { DatabaseContext } from "../resources/declaration.ts";
import { agentSecret, databaseName, postgresPort, roleSecret, selectorLabels } from "../resources/names.ts";

/** 192 bits, in characters that no connection string has to escape. */
function password(): string {
  return randomBytes(24).toString("base64url");
}

/** The Secret that agents and standbys share; returns the agents' key. */
export async function keepAgentSecret(
  object: DatabaseObject,
  ctx: DatabaseContext,
): Promise<Buffer | undefined> {
  const database = databaseName(object);
  const existing = ctx.own.secrets.get("agent") ?? (await ctx.own.secrets.live("agent"));
  const data = existing?.data ?? {};
  const kept = (name: string, fresh: () => string) => data[name] ?? Buffer.from(fresh()).toString("base64");
  const secret = {
    key: kept("key", () => randomBytes(32).toString("base64")),
    replication: kept("replication", password),
  };
  await ctx.own.secrets.apply("agent", {
    metadata: { name: agentSecret(database), labels: selectorLabels(database) },
    type: "Opaque",
    data: secret,
  });
  return Buffer.from(Buffer.from(secret.key, "base64").toString(), "base64");
}

export interface RolePassword {
  readonly role: string;
  readonly password: string;
}

/** The role that applications begin with, in a Secret as bindings expect it. */
export async function keepRoleSecret(
  object: DatabaseObject,
  ctx: DatabaseContext,
  wanted: { readonly role: string; readonly database: string; readonly authority: string },
): Promise<RolePassword> {
  const database = databaseName(object);
  const { role } = wanted;
  const slot = `role-${role}`;
  const existing = ctx.own.secrets.get(slot) ?? (await ctx.own.secrets.live(slot));
  const read = (name: string) => {
    const value = existing?.data?.[name];
    return value === undefined ? undefined : Buffer.from(value, "base64").toString();
  };
  const rotation = object.metadata.annotations?.[annotations.rotatePasswords] ?? "";
  const isCurrent = (existing?.metadata.annotations?.[annotations.rotatePasswords] ?? "") === rotation;
  const secret = (isCurrent ? read("password") : undefined) ?? password();
  const host = `${database.name}.${database.namespace}.svc`;
  const fields = {
    type: "postgresql",
    provider: "keelson",
    host,
    port: String(postgresPort),
    database: wanted.database,
    username: role,
    password: secret,
    "ca.crt": wanted.authority,
    uri: `postgresql://${encodeURIComponent(role)}:${secret}@${host}:${postgresPort}/${encodeURIComponent(wanted.database)}`,
  };
  await ctx.own.secrets.apply(slot, {
    metadata: {
      name: roleSecret(database, role),
      labels: selectorLabels(database),
      annotations: { [annotations.rotatePasswords]: rotation },
    },
    type: "servicebinding.io/postgresql",
    data: Object.fromEntries(
      Object.entries(fields).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
    ),
  });
  return { role, password: secret };
}
