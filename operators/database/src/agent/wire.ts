/**
 * How agents and the operator speak to an agent: HTTP over TLS with a key that both have, so that each knows the other
 * and nobody listens in, without certificates that could run out in the middle of a failover.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, Agent as HttpsAgent, type RequestOptions, request, type Server } from "node:https";
import type { Socket } from "node:net";
import { parseKnownJson } from "../ha/json.ts";
import { Gone } from "./ports.ts";

export const agentPort = 8009;
/** For the kubelet, which has no key: says whether the instance serves, and nothing else. */
export const probePort = 8008;

const ciphers = "ECDHE-PSK-CHACHA20-POLY1305:DHE-PSK-AES256-GCM-SHA384:PSK-AES256-GCM-SHA384";
const version = { minVersion: "TLSv1.2", maxVersion: "TLSv1.2" } as const;
const identity = "keelson";

/** What Node's types of HTTPS requests leave out. */
interface TlsKey {
  readonly pskCallback: () => { readonly psk: Buffer; readonly identity: string };
}

export interface CallOptions {
  readonly host: string;
  readonly port?: number;
  readonly path: string;
  readonly body?: unknown;
  readonly key: Buffer;
  /** From the first packet to the last byte. */
  readonly timeoutMs: number;
  readonly method?: "GET" | "POST";
}

/** Calls an agent, over the network or in a simulation. */
export type AgentCall = <T>(options: CallOptions) => Promise<T>;

/** Answers are JSON; positions are strings in it. */
export async function call<T>(options: CallOptions): Promise<T> {
  const { host, port = agentPort, path, body, key, timeoutMs } = options;
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const text = body === undefined ? undefined : encode(body);
  const target: RequestOptions & TlsKey = {
    host,
    port,
    path,
    method: options.method ?? (text === undefined ? "GET" : "POST"),
    // One connection for each call: a connection that broke in between would cost a whole deadline to find out.
    agent: new HttpsAgent({ keepAlive: false }),
    ...version,
    ciphers,
    pskCallback: () => ({ psk: key, identity }),
    checkServerIdentity: () => undefined,
    headers: {
      "content-type": "application/json",
      ...(text !== undefined && { "content-length": Buffer.byteLength(text) }),
    },
    // Covers connecting too: a packet that is dropped must not hold us for two minutes.
    signal: AbortSignal.timeout(timeoutMs),
  };
  const outgoing = request(target, (answer) => {
    const chunks: Buffer[] = [];
    answer.on("data", (chunk: Buffer) => chunks.push(chunk));
    answer.on("error", reject);
    answer.on("end", () => {
      const said = Buffer.concat(chunks).toString();
      if (answer.statusCode === 200) resolve(decode(said) as T);
      else reject(new Error(`${host} answers ${answer.statusCode}: ${said.slice(0, 500)}`));
    });
  });
  outgoing.on("error", (error: NodeJS.ErrnoException) => {
    const gone = error.code === "ECONNREFUSED";
    reject(gone ? new Gone(`${host} refuses connections`, { cause: error }) : error);
  });
  outgoing.end(text);
  return await promise;
}

export type Handler = (body: unknown, url: URL) => Promise<unknown>;

/** Serves handlers by `METHOD /path`. */
export function serve(handlers: ReadonlyMap<string, Handler>, key: () => Buffer): Server {
  const server = createServer(
    {
      ...version,
      ciphers,
      pskCallback: (_socket: Socket, name: string) => (name === identity ? key() : null),
      pskIdentityHint: identity,
    } as Parameters<typeof createServer>[0],
    (incoming, outgoing) => void answer(handlers, incoming, outgoing),
  );
  server.on("tlsClientError", () => undefined);
  return server;
}

async function answer(
  handlers: ReadonlyMap<string, Handler>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const send = (code: number, text: string) => {
    outgoing.writeHead(code, { "content-type": "application/json" });
    outgoing.end(text);
  };
  try {
    const url = new URL(incoming.url ?? "/", "http://agent");
    const handler = handlers.get(`${incoming.method} ${url.pathname}`);
    if (!handler) return send(404, '"there is nothing here"');
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    send(200, encode((await handler(text === "" ? undefined : decode(text), url)) ?? null));
  } catch (error) {
    send(500, encode((error as Error).message));
  }
}

/** Large integers travel as `{"$lsn": "123"}`. */
export function encode(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === "bigint" ? { $lsn: String(each) } : each,
  );
}

export function decode(text: string): unknown {
  return parseKnownJson(text, (_, each: unknown) => {
    const lsn = typeof each === "object" && each !== null && "$lsn" in each ? each.$lsn : undefined;
    return typeof lsn === "string" ? BigInt(lsn) : each;
  });
}
