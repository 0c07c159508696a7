/** Base backups when the schedule says so, and no more of them than should stay. */
import { backupStamp, decideSchedule, expiredBackups } from "@keelson/kit";
import type { DatabaseObject } from "../api/database.ts";
import { type AgentAccess, askAgent } from "../observe/observe.ts";
import type { DatabaseContext } from "../resources/declaration.ts";
import { databaseName } from "../resources/names.ts";
import { isStoredIn, nameInStore, type StorePlace } from "../resources/store.ts";

/** Returns the newest due time that is dealt with. */
export async function keepSchedule(
  object: DatabaseObject,
  ctx: DatabaseContext,
  agent: {
    /** One that stores there. */
    readonly instance: string | undefined;
    readonly access: AgentAccess | undefined;
    readonly place: StorePlace | undefined;
  },
): Promise<string | undefined> {
  const { metadata, spec, status } = object;
  const { backup } = spec;
  if (!backup) return undefined;
  // What lies elsewhere, of other data of this name or in a store of before, is not within reach: it stays.
  const own = [...ctx.own.backups.entries()].filter(
    ([key, each]) => key.startsWith("at-") && isStoredIn(agent.place, each),
  );
  const expired = expiredBackups(
    own.map(([key, { metadata: its, status: is }]) => {
      const takenMs = Date.parse(is?.finishedAt ?? its.creationTimestamp ?? "") || 0;
      return {
        key,
        state: is?.phase === "Done" ? "good" : is?.phase === "Failed" ? "failed" : "running",
        takenMs,
      };
    }),
    { count: backup.keep },
    ctx.clock.now(),
  );
  for (const key of expired) {
    const backup = ctx.own.backups.get(key);
    // What cannot be removed from the store now is tried again: its object stays as long.
    if (backup && (await isRemoved(object, ctx, { ...agent, name: nameInStore(backup) })))
      await ctx.own.backups.delete(key);
  }
  if (backup.schedule === undefined) return status?.lastScheduled;
  const running = own.some(([, { status: is }]) => is?.phase !== "Done" && is?.phase !== "Failed");
  const decision = decideSchedule(
    {
      schedule: backup.schedule,
      timeZone: "UTC",
      suspend: false,
      createdAt: metadata.creationTimestamp ?? new Date(ctx.clock.now()).toISOString(),
      ...(status?.lastScheduled !== undefined && { lastScheduled: status.lastScheduled }),
      running,
    } as Parameters<typeof decideSchedule>[0],
    (expression, options) => ctx.cron(expression, options),
  );
  if (decision.do === "invalid") {
    ctx.event("Warning", "InvalidSchedule", decision.message);
    return status?.lastScheduled;
  }
  if (decision.do === "take") {
    // Several missed times make one backup.
    const stamp = backupStamp(decision.at);
    await ctx.own.backups.apply(`at-${stamp}`, {
      metadata: { name: `${metadata.name}-${stamp}` },
      spec: { database: metadata.name },
    });
  }
  return decision.lastScheduled ?? status?.lastScheduled;
}

async function isRemoved(
  object: DatabaseObject,
  ctx: DatabaseContext,
  {
    instance,
    access,
    name,
  }: {
    readonly instance: string | undefined;
    readonly access: AgentAccess | undefined;
    readonly name: string;
  },
): Promise<boolean> {
  if (instance === undefined || access === undefined) return false;
  const { namespace } = databaseName(object);
  try {
    const question = { path: "/backup/remove", body: { name }, timeoutMs: 60_000 };
    await askAgent(ctx, { namespace, name: instance }, question, access);
    return true;
  } catch (error) {
    ctx.event("Warning", "BackupNotRemoved", `${name}: ${(error as Error).message}`);
    return false;
  }
}
