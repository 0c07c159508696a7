/** Settings and users that servers learn while they run: told when they differ, read back, and repaired when changed. */
import { hash } from "node:crypto";
import type { SampleDBObject } from "../api/sampledb.ts";
import { RedisError } from "../engine/errors.ts";
import type { Redis } from "../engine/redis.ts";
import type { DatabaseMemory } from "../observe/memory.ts";
import type { Gathered } from "../observe/observe.ts";
import { factsOf } from "../observe/observed.ts";
import type { Access } from "../resources/access.ts";
import type { SampleDBContext } from "../resources/declaration.ts";
import { liveSettings } from "../resources/settings.ts";
import { refusedSetting } from "../resources/settings-to-run.ts";
import { userOf } from "../resources/users.ts";

/** How often a server is asked whether it is still as it was told. */
const lookAgainMs = 10_000;

export interface ToldAll {
  /** Every server that answers knows the users as they are now. */
  readonly users: boolean;
  readonly problem: string | undefined;
}

export async function tellServers(
  db: SampleDBObject,
  ctx: SampleDBContext,
  options: { readonly gathered: Gathered; readonly access: Access; readonly memory: DatabaseMemory },
): Promise<ToldAll> {
  const { gathered, access, memory } = options;
  const settings = new Map(refusedSetting(db, ctx.own) === undefined ? liveSettings(db.spec) : []);
  // Read when a server starts; a replica that connects again later needs the one that holds by then.
  settings.set("masterauth", access.replica);
  const wanted = hash("sha256", JSON.stringify([[...settings], access.aclLines]));
  const nowMs = ctx.clock.monotonic();
  let users = gathered.observed.servers.some((server) => factsOf(server) !== undefined);
  let problem: string | undefined;
  for (const server of gathered.observed.servers) {
    const facts = factsOf(server);
    const redis = gathered.answers.redis(server.name);
    if (!facts || !redis) continue;
    const known = memory.told.get(facts.runId);
    if (known?.applied === wanted && nowMs - known.atMs < lookAgainMs) continue;
    try {
      const is = known?.applied === wanted ? await readBack(redis, settings) : undefined;
      if (is === undefined || is !== known?.readBack) {
        await tell(redis, settings, access.aclLines);
        memory.told.set(facts.runId, {
          applied: wanted,
          readBack: await readBack(redis, settings),
          atMs: nowMs,
        });
      } else memory.told.set(facts.runId, { ...known, atMs: nowMs });
    } catch (error) {
      if (!(error instanceof RedisError)) throw error;
      users = false;
      if (error.code === "Answered") problem ??= `${server.name}: ${error.message}`;
    }
  }
  return { users, problem };
}

async function tell(
  redis: Redis,
  settings: ReadonlyMap<string, string>,
  lines: readonly string[],
): Promise<void> {
  for (const line of lines) await redis.setUser(line);
  const names = new Set(lines.map(userOf));
  for (const line of await redis.users()) if (!names.has(userOf(line))) await redis.removeUser(userOf(line));
  await redis.set(settings);
}

async function readBack(redis: Redis, settings: ReadonlyMap<string, string>): Promise<string> {
  const values = await redis.settings([...settings.keys()]);
  const users = await redis.users();
  return hash("sha256", JSON.stringify([[...values].sort(), [...users].sort()]));
}
