/** Passwords: generated once, taken from a Secret where one is given, and changed without anyone losing access. */

import { hash } from "node:crypto";
import { parseJson } from "keelson";
import { annotations } from "../api/names.ts";
import type { SampleDBObject } from "../api/sampledb.ts";
import type { DatabaseMemory } from "../observe/memory.ts";
import type { Access } from "../resources/access.ts";
import type { SampleDBContext } from "../resources/declaration.ts";
import { databaseName, objectNames } from "../resources/names.ts";
import { endsInMs, type StoredHistory, turned, validDigests } from "../resources/password-history.ts";
import { decoded, plainSecret } from "../resources/secrets.ts";
import { systemUsers } from "../resources/settings.ts";
import { aclLines } from "../resources/users.ts";

const stateKey = "digests.json";

export async function keepPasswords(
  db: SampleDBObject,
  ctx: SampleDBContext,
  memory: DatabaseMemory,
): Promise<Access> {
  const internal = await keepInternal(db, ctx, memory);
  const { passwords, problem } = await applicationPasswords(db, ctx);
  const before = await rememberedDigests(ctx);
  const nowMs = ctx.clock.now();
  const overlapMs = db.spec.passwordOverlapSeconds * 1_000;
  const wanted = { ...internal, ...passwords };
  const after: Record<string, StoredHistory> = {};
  const digests: Record<string, readonly string[]> = {};
  const ends: number[] = [];
  const keep = (user: string, digest: string) => {
    const history = turned(before[user], digest, { nowMs, overlapMs });
    after[user] = history;
    digests[user] = validDigests(history);
    const end = endsInMs(history, { nowMs, overlapMs });
    if (end !== undefined) ends.push(end);
  };
  for (const [user, password] of Object.entries(wanted)) keep(user, hash("sha256", password));
  // A Secret that cannot be read changes nobody's password.
  if (problem !== undefined) {
    for (const [user, { current }] of Object.entries(before)) if (!after[user]) keep(user, current);
  }
  const lines = aclLines(db.spec, digests);
  const name = databaseName(db);
  const data = { "users.acl": `${lines.join("\n")}\n`, [stateKey]: JSON.stringify(after) };
  await ctx.own.acl.apply(plainSecret(name, objectNames(name).acl, data));
  return {
    operator: internal[systemUsers.operator] ?? "",
    replica: internal[systemUsers.replica] ?? "",
    application: passwords["default"] ?? "",
    aclLines: lines,
    problem,
    endsInMs: ends.length === 0 ? undefined : Math.min(...ends),
  };
}

async function rememberedDigests(ctx: SampleDBContext): Promise<Record<string, StoredHistory>> {
  const secret = ctx.own.acl.get() ?? (await ctx.own.acl.live());
  const text = decoded(secret)[stateKey];
  return text === undefined ? {} : (parseJson(text) as unknown as Record<string, StoredHistory>);
}

/**
 * Generated once: a cache that has not seen the Secret yet is no reason for another. A Secret that someone deletes is put
 * back as it was, because servers would refuse an operator with another password.
 */
async function keepInternal(
  db: SampleDBObject,
  ctx: SampleDBContext,
  memory: DatabaseMemory,
): Promise<Record<string, string>> {
  const name = databaseName(db);
  const secret = ctx.own.internal.get() ?? (await ctx.own.internal.live());
  const known = decoded(secret);
  const users = [systemUsers.operator, systemUsers.replica, systemUsers.backup];
  const all = Object.fromEntries(
    users.map((user) => [user, known[user] ?? memory.internal[user] ?? generated(ctx)]),
  );
  await ctx.own.internal.apply(plainSecret(name, objectNames(name).internal, all));
  memory.internal = all;
  return all;
}

async function applicationPasswords(
  db: SampleDBObject,
  ctx: SampleDBContext,
): Promise<{ passwords: Record<string, string>; problem?: string }> {
  const { spec } = db;
  const name = databaseName(db);
  if (spec.credentialsSecret !== undefined) {
    const data = decoded(ctx.read.given);
    const keys = [["default", "password"], ...spec.users.map((user) => [user.name, user.passwordKey])];
    const missing = keys.filter(([, key]) => !data[key as string]).map(([, key]) => key);
    const problem = ctx.read.given
      ? `the Secret ${spec.credentialsSecret} lacks ${missing.join(", ")}`
      : `the Secret ${spec.credentialsSecret} does not exist`;
    if (missing.length > 0) return { passwords: {}, problem };
    return {
      passwords: Object.fromEntries(keys.map(([user, key]) => [user, data[key as string] as string])),
    };
  }
  const secret = ctx.own.credentials.get() ?? (await ctx.own.credentials.live());
  const known = decoded(secret);
  const request = db.metadata.annotations?.[annotations.rotatePasswords];
  const rotate = request !== undefined && known["rotation"] !== request && known["password"] !== undefined;
  const all: Record<string, string> = {
    username: "default",
    ...(request === undefined ? {} : { rotation: request }),
  };
  for (const key of ["password", ...spec.users.map(({ passwordKey }) => passwordKey)]) {
    all[key] = rotate ? generated(ctx) : (known[key] ?? generated(ctx));
  }
  await ctx.own.credentials.apply(plainSecret(name, objectNames(name).credentials, all));
  if (rotate) ctx.event("Normal", "PasswordsRotated", "new passwords are valid beside the old ones");
  const users = [
    ["default", "password"],
    ...spec.users.map((user) => [user.name, user.passwordKey]),
  ] as const;
  return {
    passwords: Object.fromEntries(users.map(([user, key]) => [user as string, all[key as string] as string])),
  };
}

/** 192 random bits. */
function generated(ctx: SampleDBContext): string {
  return Buffer.from(ctx.random.bytes(24)).toString("base64url");
}
