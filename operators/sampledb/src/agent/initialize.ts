/** Applies the initial configuration. Everything in it can be applied twice without harm. */
import { hash } from "node:crypto";
import { guardSetting, type Redis } from "../engine/redis.ts";
import type { Reply } from "../engine/resp.ts";
import type { Initialization } from "./initialization.ts";

/** The one key that the operator keeps in the database: what has run, and when. */
export const schemaKey = "keelson:schema";

const longMs = 600_000;

export async function applyInitialization(
  primary: Redis,
  everyone: readonly Redis[],
  content: Initialization,
): Promise<{ readonly schemaVersion: number; readonly ran: readonly number[] }> {
  for (const server of everyone) for (const line of content.users) await server.setUser(line);
  for (const code of content.functions) await primary.call(["FUNCTION", "LOAD", "REPLACE", code]);
  await seed(primary, content.commands);
  const ran = await migrate(primary, content.migrations);
  return { schemaVersion: await schemaVersionOf(primary), ran };
}

/**
 * In one transaction with the record that it ran, so that it runs once. A command that fails takes back none of the
 * others, so what failed is not run again: it would be there twice.
 */
async function seed(redis: Redis, commands: Initialization["commands"]): Promise<void> {
  if (commands.length === 0) return;
  const field = `seed:${hash("sha256", JSON.stringify(commands)).slice(0, 16)}`;
  await redis.call(["WATCH", schemaKey]);
  const record = await redis.call(["HGET", schemaKey, field]);
  if (String(record).startsWith(failedPrefix))
    throw new Error(
      `the seed data was applied in part before, and ${record}; correct spec.initialize.commands`,
    );
  if (record !== null) {
    await redis.call(["UNWATCH"]);
    return;
  }
  await redis.call(["MULTI"]);
  for (const command of commands) await redis.call(command);
  await redis.call(["HSET", schemaKey, field, new Date().toISOString()]);
  await transaction(redis, "the seed data", async (message) => {
    await redis.call(["HSET", schemaKey, field, `${failedPrefix}${message}`]);
  });
}

const failedPrefix = "failed: ";

/**
 * Each in one transaction with the record that it ran, in order; those that ran are passed over. One that was added below
 * those that ran is refused: it was written for data that is not there any more.
 *
 * With a guard that keeps everybody from writing, each transaction lifts it for itself alone: nobody else's command runs
 * in the middle of one, whatever becomes of us.
 */
export async function migrate(
  redis: Redis,
  migrations: Initialization["migrations"],
  { guard }: { readonly guard?: number | undefined } = {},
): Promise<number[]> {
  const ran: number[] = [];
  for (const [at, { version, name, script }] of migrations.entries()) {
    const what = `migration ${version} (${name})`;
    if (migrations[at - 1]?.version === version)
      throw new Error(`${what} has the version of another one; give each a version of its own`);
    await redis.call(["WATCH", schemaKey]);
    const recorded = await recordedMigrations(redis);
    if (recorded.includes(version)) {
      await redis.call(["UNWATCH"]);
      continue;
    }
    const newest = Math.max(0, ...recorded);
    if (newest > version)
      throw new Error(`${what} has never run, though ${newest} has; give it a version above ${newest}`);
    await redis.call(["MULTI"]);
    const record = `${name} ${new Date().toISOString()}`;
    if (guard !== undefined) await redis.call(["CONFIG", "SET", guardSetting, 0]);
    await redis.call(["EVAL", recording(script), 1, schemaKey, version, record]);
    if (guard !== undefined) await redis.call(["CONFIG", "SET", guardSetting, guard]);
    await transaction(redis, what);
    ran.push(version);
  }
  return ran;
}

const recordPrefix = "migration:";

/** The versions that ran. */
async function recordedMigrations(redis: Redis): Promise<readonly number[]> {
  const fields = (await redis.call(["HKEYS", schemaKey])) as readonly string[];
  return fields.flatMap((field) =>
    field.startsWith(recordPrefix) ? [Number(field.slice(recordPrefix.length))] : [],
  );
}

/** The newest migration that ran, as the server says. */
export async function schemaVersionOf(redis: Redis): Promise<number> {
  return Math.max(0, ...(await recordedMigrations(redis)));
}

/** A transaction goes on after an error, so the script itself records that it ran, as the last thing it does. */
function recording(script: string): string {
  return [
    "local function migrate()",
    script,
    "end",
    "local answer = migrate()",
    "if type(answer) == 'table' and answer.err then return answer end",
    `redis.call('HSET', KEYS[1], 'version', ARGV[1], '${recordPrefix}' .. ARGV[1], ARGV[2])`,
  ].join("\n");
}

/** Redis goes on after an error inside a transaction, so every answer is looked at. */
async function transaction(
  redis: Redis,
  what: string,
  onFailure?: (message: string) => Promise<void>,
): Promise<void> {
  const replies = (await redis.call(["EXEC"], { timeoutMs: longMs })) as readonly Reply[] | null;
  if (replies === null) throw new Error(`${what} was changed by someone else at the same time`);
  const failed = replies.find((reply) => reply instanceof Error);
  if (!failed) return;
  const { message } = failed as Error;
  await onFailure?.(message);
  throw new Error(`${what} failed: ${message}`);
}
