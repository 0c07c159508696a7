/** Roles and databases of the spec, applied on the primary when they or their passwords change. */
import { Secret } from "keelson/kinds";
import type { SqlObjects, SqlRole } from "../agent/sql-objects.ts";
import { reasons } from "../api/conditions.ts";
import type { DatabaseObject } from "../api/database.ts";
import { scramVerifier } from "../engine/pg-client.ts";
import type { Published } from "../ha/state.ts";
import { type AgentAccess, askAgent } from "../observe/observe.ts";
import type { DatabaseContext } from "../resources/declaration.ts";
import {
  agentSecret,
  authoritySecret,
  databaseName,
  poolerName,
  roleSecret,
  tlsSecret,
} from "../resources/names.ts";
import { digestOf } from "../resources/recipe.ts";
import { keepRoleSecret } from "./secrets.ts";

const firstRole = "app";

export type SqlOutcome =
  | {
      readonly hash: string /** Of the roles that can log in. */;
      readonly passwords: ReadonlyMap<string, string>;
    }
  | { readonly reason: string; readonly message: string };

export async function applySql(
  object: DatabaseObject,
  ctx: DatabaseContext,
  options: {
    readonly primary: string;
    readonly access: AgentAccess;
    readonly done: string | undefined;
    /** Which data it is: other data may have other passwords, as after a failover or a restore in place. */
    readonly data: Pick<Published, "systemId" | "timeline" | "timelineEpoch">;
    /** Whom clients trust. */
    readonly authority: string;
  },
): Promise<SqlOutcome> {
  const { spec } = object;
  const { namespace } = databaseName(object);
  const shared = sharedSecret(object);
  if (shared !== undefined) return { reason: reasons.invalidSpec, message: shared };
  const databases = spec.databases.some(({ name }) => name === firstRole)
    ? spec.databases
    : [{ name: firstRole, owner: firstRole, extensions: [] }, ...spec.databases];
  const named = spec.roles.some(({ name }) => name === firstRole)
    ? spec.roles
    : [plainRole(firstRole), ...spec.roles];
  const passwords = new Map<string, string>();
  for (const { name, login, passwordSecret } of named) {
    if (!login) continue;
    if (passwordSecret === undefined) {
      const database = databases.find(({ owner }) => owner === name)?.name ?? firstRole;
      passwords.set(
        name,
        (await keepRoleSecret(object, ctx, { role: name, database, authority: options.authority })).password,
      );
      continue;
    }
    const secret = await ctx.client.kind(Secret).find({ namespace, name: passwordSecret });
    const value = secret?.data?.["password"];
    // A Secret that cannot be read is no reason to take a password away.
    if (value === undefined) {
      return {
        reason: reasons.secretMissing,
        message: `role ${name}: Secret ${passwordSecret} has no key password`,
      };
    }
    passwords.set(name, Buffer.from(value, "base64").toString());
  }
  const hash = digestOf({
    named,
    databases,
    passwords: [...passwords].map(([name, value]) => [name, digestOf(value)]),
    data: options.data,
  });
  if (hash === options.done) return { hash, passwords };
  const roles: SqlRole[] = named.map(({ passwordSecret: _, ...role }) => {
    const password = passwords.get(role.name);
    return { ...role, ...(password !== undefined && { verifier: scramVerifier(password) }) };
  });
  const body: SqlObjects = { roles, databases };
  try {
    const instance = { namespace, name: options.primary };
    const question = { path: "/objects", body, timeoutMs: 30_000 };
    const done = await askAgent<string[]>(ctx, instance, question, options.access);
    for (const sentence of done) ctx.event("Normal", "SqlApplied", sentence);
    return { hash, passwords };
  } catch (error) {
    return { reason: reasons.sqlFailed, message: `roles and databases: ${(error as Error).message}` };
  }
}

function plainRole(name: string) {
  return {
    name,
    login: true,
    superuser: false,
    createdb: false,
    createrole: false,
    replication: false,
    connectionLimit: -1,
    memberOf: [] as string[],
    passwordSecret: undefined,
  };
}

/** Names of Secrets allow less than names of roles: what two would write is neither's. */
function sharedSecret(object: DatabaseObject): string | undefined {
  const database = databaseName(object);
  const own = [agentSecret, authoritySecret, tlsSecret, poolerName].map((name) => name(database));
  const taken = new Map(own.map((name) => [name, "the operator itself"]));
  const made = object.spec.roles.filter(({ login, passwordSecret }) => login && passwordSecret === undefined);
  for (const { name } of [{ name: firstRole }, ...made.filter((role) => role.name !== firstRole)]) {
    const secret = roleSecret(database, name);
    const other = taken.get(secret);
    if (other !== undefined)
      return `the Secret ${secret} of role ${name} is that of ${other} too: give the role a passwordSecret`;
    taken.set(secret, `role ${name}`);
  }
  return undefined;
}
