/** A client of etcd as careful applications have one: several members, short patience, retries that cannot harm. */
import { randomBytes } from "node:crypto";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import type { Security } from "./security.ts";

const attemptMs = 800;

/** A member that serves: the name and address of its pod. */
export interface Endpoint {
  readonly pod: string;
  readonly ip: string;
  /** Of a cluster with TLS and a password. */
  readonly security?: Security | undefined;
}

/**
 * Ways into the members' client ports from inside the cluster's network, past the API server: clients of a database do
 * not go through it either.
 */
export class Connections {
  readonly #socket: string;
  readonly #agents = new Map<string, Agent>();

  /** `socket` leads into the cluster's network: a line names host and port, and all after it is theirs. */
  constructor(socket: string) {
    this.#socket = socket;
  }

  agent(to: Endpoint): Agent {
    const id = `${to.pod} ${to.ip}`;
    let agent = this.#agents.get(id);
    if (!agent) {
      agent = new Agent({ keepAlive: true, maxSockets: 64 });
      agent.createConnection = (_, created) => void this.#dial(to, created as Created);
      this.#agents.set(id, agent);
    }
    return agent;
  }

  #dial({ pod, ip, security }: Endpoint, created: Created): void {
    const socket = connect(this.#socket);
    socket.on("error", created);
    // Nothing of TLS may be sent before this line.
    socket.write(`${ip} 2379\n`, (error) => {
      if (!error) created(null, security ? connectTls({ socket, ...security.toMember(pod) }) : socket);
    });
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
  }
}

type Created = (error: Error | null, socket?: Duplex) => void;

export interface Answer {
  readonly revision: bigint;
  readonly value: number;
}

type Json = { readonly [key: string]: unknown };

/**
 * Writes `value` unless the key is there already: an attempt without an answer may be repeated, since it can
 * neither happen twice nor undo what came after it.
 */
export async function raise(
  connections: Connections,
  to: Endpoint,
  key: string,
  value: number,
): Promise<Answer> {
  const text = padded(value);
  const body = {
    compare: [{ key: base64(key), target: "VALUE", result: "LESS", value: base64(text) }],
    success: [{ requestPut: { key: base64(key), value: base64(text) } }],
    failure: [{ requestRange: { key: base64(key) } }],
  };
  const answer = await call(connections, to, "/v3/kv/txn", body);
  const revision = BigInt(String((answer["header"] as Json)["revision"]));
  if (answer["succeeded"] === true) return { revision, value };
  const [response] = (answer["responses"] ?? []) as Json[];
  const range = (response?.["response_range"] ?? {}) as Json;
  const [found] = (range["kvs"] ?? []) as Json[];
  // The first value of a key has nothing to compare with.
  if (!found) return await create(connections, to, key, text);
  const there = numberOf(found["value"]);
  if (there !== value) throw new Error(`${key} is ${there} where ${value} was to be written`);
  return { revision: BigInt(String(found["mod_revision"])), value };
}

async function create(connections: Connections, to: Endpoint, key: string, text: string): Promise<Answer> {
  const body = {
    compare: [{ key: base64(key), target: "CREATE", createRevision: "0", result: "EQUAL" }],
    success: [{ requestPut: { key: base64(key), value: base64(text) } }],
  };
  const answer = await call(connections, to, "/v3/kv/txn", body);
  if (answer["succeeded"] !== true) throw new Error(`${key} came to be in between`);
  return { revision: BigInt(String((answer["header"] as Json)["revision"])), value: Number(text) };
}

export async function read(
  connections: Connections,
  to: Endpoint,
  key: string,
  options: { readonly serializable?: boolean } = {},
): Promise<Answer> {
  const answer = await call(connections, to, "/v3/kv/range", { key: base64(key), ...options });
  const [found] = (answer["kvs"] ?? []) as Json[];
  const revision = BigInt(String((answer["header"] as Json)["revision"]));
  return { revision, value: found ? numberOf(found["value"]) : 0 };
}

/** Writes a key of so many bytes, whatever there was. */
export async function fill(
  connections: Connections,
  to: Endpoint,
  key: string,
  bytes: number,
): Promise<void> {
  const value = randomBytes(bytes).toString("base64");
  await call(connections, to, "/v3/kv/put", { key: base64(key), value }, 10_000);
}

/** One request of etcd's JSON gateway. */
export async function call(
  connections: Connections,
  to: Endpoint,
  path: string,
  body: Json,
  patienceMs = attemptMs,
): Promise<Json> {
  const { security } = to;
  if (!security) return await send(connections, to, { path, body, patienceMs });
  security.token ??= authenticate(connections, to, security);
  const used = security.token;
  const forget = () => {
    if (security.token === used) security.token = undefined;
  };
  const token = await used.catch((error: unknown) => {
    forget();
    throw error;
  });
  return await send(connections, to, { path, body, patienceMs, token }).catch((error: unknown) => {
    // Members forget tokens when they restart, and after a while.
    if (/ answered 40[013]: /.test(String(error))) forget();
    throw error;
  });
}

async function authenticate(connections: Connections, to: Endpoint, { password }: Security): Promise<string> {
  const body = { name: "root", password };
  // etcd takes its time to compare passwords.
  const answer = await send(connections, to, { path: "/v3/auth/authenticate", body, patienceMs: 3_000 });
  return String(answer["token"]);
}

interface Sent {
  readonly path: string;
  readonly body: Json;
  readonly patienceMs: number;
  readonly token?: string;
}

async function send(connections: Connections, to: Endpoint, sent: Sent): Promise<Json> {
  const { path, body, patienceMs, token } = sent;
  const { pod, ip } = to;
  const payload = JSON.stringify(body);
  return await new Promise<Json>((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(payload),
      ...(token === undefined ? {} : { authorization: token }),
    };
    const asked = request(
      { host: ip, port: 2379, path, method: "POST", headers, agent: connections.agent(to) },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("error", reject);
        response.on("end", () => {
          if (response.statusCode !== 200)
            return reject(new Error(`${pod} answered ${response.statusCode}: ${text.trim()}`));
          try {
            resolve(JSON.parse(text) as Json);
          } catch (error) {
            reject(error);
          }
        });
      },
    );
    const patience = setTimeout(
      () => asked.destroy(new Error(`${pod} did not answer in ${patienceMs} ms`)),
      patienceMs,
    );
    asked.on("error", reject);
    asked.on("close", () => clearTimeout(patience));
    asked.end(payload);
  });
}

function padded(value: number): string {
  return String(value).padStart(12, "0");
}

function numberOf(encoded: unknown): number {
  return Number(Buffer.from(String(encoded), "base64").toString());
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
