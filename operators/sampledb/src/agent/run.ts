/** Which task is done by whom. */
import { readFile } from "node:fs/promises";
import { type Credentials, RedisConnection } from "../engine/connection.ts";
import { type Redis, RedisServer } from "../engine/redis.ts";
import { type Initialization, initializationHash } from "../resources/initialize.ts";
import { applyInitialization } from "./initialize.ts";
import type { AgentTask, RedisAccess } from "./task.ts";

export async function runTask(task: AgentTask): Promise<Record<string, unknown>> {
  switch (task.do) {
    case "initialize": {
      const content = JSON.parse(await readFile(task.contentFile, "utf8")) as Initialization;
      const hash = initializationHash(content);
      if (hash !== task.hash)
        throw new Error(`the content is ${hash}, not ${task.hash}: the spec has changed since`);
      await using servers = await connectAll(task.access);
      return { ...(await applyInitialization(await servers.primary(), servers.all, content)) };
    }
  }
}

export interface Servers extends AsyncDisposable {
  readonly all: readonly Redis[];
  primary(): Promise<Redis>;
}

/** Connects to every server that answers. */
export async function connectAll(access: RedisAccess): Promise<Servers> {
  const all: Redis[] = [];
  const problems: string[] = [];
  for (const host of access.hosts) {
    try {
      all.push(await connectTo(access, host));
    } catch (error) {
      problems.push((error as Error).message);
    }
  }
  if (all.length === 0) throw new Error(`no server answers: ${problems.join("; ")}`);
  return {
    all,
    primary: async () => {
      for (const redis of all) if ((await redis.facts()).role === "primary") return redis;
      throw new Error("no server is the primary");
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.allSettled(all.map((redis) => redis[Symbol.asyncDispose]()));
    },
  };
}

async function connectTo(access: RedisAccess, host: string): Promise<Redis> {
  return new RedisServer(await openConnection(access, host));
}

export async function openConnection(access: RedisAccess, host: string): Promise<RedisConnection> {
  const { port, username, passwordFile, tls } = access;
  const credentials: Credentials = { username, password: (await readFile(passwordFile, "utf8")).trim() };
  const trust = tls && { ca: await readFile(tls.caFile, "utf8"), serverName: tls.serverName };
  return await RedisConnection.open(
    { host, port, ...(trust && { tls: trust }) },
    { credentials, timeoutMs: 10_000 },
  );
}
