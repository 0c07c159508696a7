/** Asks every server what it is, all at once; silence is an answer too. */
import type { Connection } from "keelson";
import type { Credentials, TlsTrust } from "../engine/connection.ts";
import { isRedisError } from "../engine/errors.ts";
import type { Dial, Redis } from "../engine/redis.ts";
import type { Answer } from "./observed.ts";

export interface Reachable {
  readonly name: string;
  readonly connect: () => Promise<Connection>;
  readonly tls?: TlsTrust;
  /** Not waited for when all others have told what they are: it is silent then. Default: false. */
  readonly isSpare?: boolean;
}

/** Holds connections: dispose of it when the pass is over. */
export interface Answers extends AsyncDisposable {
  readonly byServer: ReadonlyMap<string, Answer>;
  /** The client of a server that answered. */
  redis(name: string): Redis | undefined;
}

export interface AskOptions {
  readonly dial: Dial;
  readonly credentials: Credentials;
  readonly signal: AbortSignal;
}

export async function ask(servers: readonly Reachable[], options: AskOptions): Promise<Answers> {
  const byServer = new Map<string, Answer>();
  const clients = new Map<string, Redis>();
  const open: AsyncDisposable[] = [];
  let isOver = false;
  const hold = (each: AsyncDisposable) => {
    if (isOver) void Promise.allSettled([each[Symbol.asyncDispose]()]);
    else open.push(each);
  };
  const asked = servers.map(async (server) => {
    try {
      const connection = await server.connect();
      hold(connection);
      const { host, port } = connection;
      const address = { host, port, ...(server.tls && { tls: server.tls }) };
      const redis = await options.dial(address, options.credentials, options.signal);
      hold(redis);
      const facts = await redis.facts();
      if (isOver) return;
      clients.set(server.name, redis);
      byServer.set(
        server.name,
        facts.loading ? { state: "loading", message: "it loads its data" } : { state: "facts", facts },
      );
    } catch (error) {
      if (isOver) return;
      const isCrowded = server.tls !== undefined && servers.length === 1 && wasClosed(error);
      byServer.set(server.name, isCrowded ? crowded : unanswered(error));
    }
  });
  await Promise.all(asked.filter((_, index) => !servers[index]?.isSpare));
  const needed = servers.filter(({ isSpare }) => !isSpare);
  const isEnough = needed.length > 0 && needed.every(({ name }) => byServer.get(name)?.state === "facts");
  if (!isEnough) await Promise.all(asked);
  isOver = true;
  for (const { name } of servers) if (!byServer.has(name)) byServer.set(name, passedOver);
  options.signal.throwIfAborted();
  return {
    byServer,
    redis: (name) => clients.get(name),
    [Symbol.asyncDispose]: async () => {
      await Promise.allSettled(open.reverse().map((each) => each[Symbol.asyncDispose]()));
    },
  };
}

const passedOver: Answer = { state: "silent", message: "it was silent, and others did not wait for it" };

/**
 * A server with TLS that has too many clients says so by closing the connection. So may what stands in front of a process
 * that is gone: with replicas, they say whether they hear it.
 */
const crowded: Answer = {
  state: "busy",
  message: "it closes connections before TLS begins, as with the max number of clients reached",
};

function wasClosed(error: unknown): boolean {
  return isRedisError(error, "Unreachable") && (error.cause as { code?: unknown })?.code === "ECONNRESET";
}

function unanswered(error: unknown): Answer {
  const message = error instanceof Error ? error.message : String(error);
  if (isRedisError(error, "Refused")) return { state: "refused", message };
  if (isRedisError(error, "Loading")) return { state: "loading", message };
  if (isRedisError(error, "Denied")) return { state: "denied", message };
  if (isRedisError(error, "Untrusted")) return { state: "untrusted", message };
  if (isRedisError(error, "Answered")) return { state: "busy", message };
  return { state: "silent", message };
}
