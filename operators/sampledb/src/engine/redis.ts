/** A Redis server as the operator uses it. */
import { type Command, type Credentials, type RedisAddress, RedisConnection } from "./connection.ts";
import { RedisError } from "./errors.ts";
import { factsFrom, type ServerFacts } from "./info.ts";
import type { Reply } from "./resp.ts";

export const redisPort = 6379;

/**
 * Where a server without a primary is told to look for one: nobody listens there. The port says what the volume was
 * when the process started, because an empty one must never become the primary of a database with data; or that it has
 * followed somebody since.
 */
export const nowhere = { host: "127.0.0.1", portWithData: 1, portWhenEmpty: 2, portDetached: 3 } as const;

/**
 * Carries the identity of the volume: a server says in it on which one it has started. Nothing changes it while a server
 * runs, and Redis uses it only when it logs to syslog.
 */
export const identitySetting = "syslog-ident";
/** Before the identity. Without it, whoever started the server did not know of identities. */
export const identityPrefix = "keelson-";

/** With fewer replicas than this the primary takes no writes. */
export const guardSetting = "min-replicas-to-write";

/** How soon a server must answer. */
export const patienceMs = 1_000;

/** A server that can be spoken to. Every call rejects when it is not answered in time. */
export interface Redis extends AsyncDisposable {
  /** SHA-256 of the certificate that the server presented; undefined without TLS. */
  readonly fingerprint: string | undefined;
  facts(): Promise<ServerFacts>;
  /** Makes it the primary. */
  lead(): Promise<void>;
  /** Makes it a replica of that server, or of nobody. */
  follow(upstream: { readonly host: string; readonly port: number }): Promise<void>;
  settings(names: readonly string[]): Promise<ReadonlyMap<string, string>>;
  set(settings: ReadonlyMap<string, string>): Promise<void>;
  /** The users as lines of an ACL file. */
  users(): Promise<readonly string[]>;
  /** Makes a user be exactly this line, or removes it. */
  setUser(line: string): Promise<void>;
  removeUser(name: string): Promise<void>;
  /** Writes of clients wait until this ends by itself or by `resume`. */
  pauseWrites(forMs: number): Promise<void>;
  resume(): Promise<void>;
  /** Ends the connections of clients, so that they look for the primary again. */
  dropClients(): Promise<void>;
  call(command: Command, options?: { readonly timeoutMs?: number }): Promise<Reply>;
}

export type Dial = (address: RedisAddress, credentials: Credentials, signal: AbortSignal) => Promise<Redis>;

/** Over the network. */
export const dialRedis: Dial = async (address, credentials, signal) =>
  new RedisServer(await RedisConnection.open(address, { credentials, signal, timeoutMs: patienceMs }));

function volumeIn(identity = ""): string | undefined {
  return identity.startsWith(identityPrefix) ? identity.slice(identityPrefix.length) : undefined;
}

export class RedisServer implements Redis {
  readonly #connection: RedisConnection;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
  }

  get fingerprint(): string | undefined {
    return this.#connection.fingerprint;
  }

  async facts(): Promise<ServerFacts> {
    const names = [guardSetting, identitySetting, "databases"];
    const replies = await this.#connection.batch([["INFO"], ...names.map((name) => ["CONFIG", "GET", name])]);
    for (const reply of replies) if (reply instanceof RedisError) throw reply;
    const [info, guard, identity, databases] = replies;
    return factsFrom(String(info), {
      guard: Number((guard as readonly string[])[1] ?? 0),
      volume: volumeIn((identity as readonly string[])[1]),
      databases: Number((databases as readonly string[])[1] ?? 16),
    });
  }

  async lead(): Promise<void> {
    await this.call(["REPLICAOF", "NO", "ONE"]);
  }

  async follow({ host, port }: { readonly host: string; readonly port: number }): Promise<void> {
    await this.call(["REPLICAOF", host, port]);
  }

  async settings(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (names.length === 0) return new Map();
    const reply = (await this.call(["CONFIG", "GET", ...names])) as readonly string[];
    const pairs = reply.flatMap((name, at) => (at % 2 === 0 ? [[name, String(reply[at + 1])] as const] : []));
    return new Map(pairs);
  }

  async set(settings: ReadonlyMap<string, string>): Promise<void> {
    if (settings.size > 0) await this.call(["CONFIG", "SET", ...[...settings].flat()]);
  }

  async users(): Promise<readonly string[]> {
    return (await this.call(["ACL", "LIST"])) as readonly string[];
  }

  async setUser(line: string): Promise<void> {
    const [, name = "", ...rules] = line.split(" ");
    await this.call(["ACL", "SETUSER", name, "reset", ...rules]);
  }

  async removeUser(name: string): Promise<void> {
    await this.call(["ACL", "DELUSER", name]);
  }

  async pauseWrites(forMs: number): Promise<void> {
    await this.call(["CLIENT", "PAUSE", forMs, "WRITE"]);
  }

  async resume(): Promise<void> {
    await this.call(["CLIENT", "UNPAUSE"]);
  }

  async dropClients(): Promise<void> {
    await this.call(["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    await this.call(["CLIENT", "KILL", "TYPE", "pubsub"]);
  }

  async call(command: Command, options?: { readonly timeoutMs?: number }): Promise<Reply> {
    const reply = await this.#connection.call(command, options);
    if (reply instanceof RedisError) throw reply;
    return reply;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connection.close();
  }
}
