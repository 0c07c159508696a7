/** How the agent reaches servers. */
import { readFile } from "node:fs/promises";
import { RedisConnection } from "../engine/connection.ts";
import { leaderOf } from "../engine/leader.ts";
import { type Redis, RedisServer, redisPort } from "../engine/redis.ts";
import { hostsVariable, portVariable, type RedisAccess } from "./task.ts";

const timeoutMs = 10_000;

export function hostsOf({ hosts }: RedisAccess): readonly string[] {
  return hosts ?? (process.env[hostsVariable] ?? "").split(",").filter((host) => host !== "");
}

export async function openConnection(access: RedisAccess, host: string): Promise<RedisConnection> {
  const { username, passwordFile, tls } = access;
  const port = access.port ?? Number(process.env[portVariable] ?? redisPort);
  const password = passwordFile && (await readFile(passwordFile, "utf8")).trim();
  const trust = tls && { ca: await readFile(tls.caFile, "utf8"), serverName: tls.serverName };
  return await RedisConnection.open(
    { host, port, ...(trust && { tls: trust }) },
    { timeoutMs, ...(password === undefined ? {} : { credentials: { username, password } }) },
  );
}

export interface Servers extends AsyncDisposable {
  readonly all: readonly Redis[];
  primary(): Promise<Redis>;
}

/** Connects to every server that answers. */
export async function connectAll(access: RedisAccess): Promise<Servers> {
  const all: Redis[] = [];
  const problems: string[] = [];
  for (const host of hostsOf(access)) {
    try {
      all.push(new RedisServer(await openConnection(access, host)));
    } catch (error) {
      problems.push((error as Error).message);
    }
  }
  if (all.length === 0) throw new Error(`no server answers: ${problems.join("; ")}`);
  return {
    all,
    primary: async () => {
      const asked = await Promise.all(all.map(async (redis) => ({ redis, facts: await redis.facts() })));
      const leader = leaderOf(asked);
      if (!leader) throw new Error("no server is the only primary");
      return leader.redis;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.allSettled(all.map((redis) => redis[Symbol.asyncDispose]()));
    },
  };
}
