/** Provokes every error of the SampleDB operator: by Redis' own words, and by servers that do not behave. */
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createServer as createTls } from "node:tls";
import { leafFor, newAuthority } from "@keelson/kit";
import { RedisConnection } from "../../../operators/sampledb/src/engine/connection.ts";
import { answeredError, type RedisErrorCode } from "../../../operators/sampledb/src/engine/errors.ts";
import { readHeader } from "../../../operators/sampledb/src/engine/rdb.ts";
import type { Provocations } from "../provoked.ts";

export const sampledb: Provocations<RedisErrorCode> = {
  Refused: () => RedisConnection.open({ host: "127.0.0.1", port: 1 }, { timeoutMs: 1000 }),
  Unreachable: () => asked((socket) => socket.end()),
  Denied: () => answeredError("NOAUTH Authentication required."),
  Untrusted: presented,
  Loading: () => answeredError("LOADING Redis is loading the dataset in memory"),
  ReadOnly: () => answeredError("READONLY You can't write against a read only replica."),
  NoReplicas: () => answeredError("NOREPLICAS Not enough good replicas to write."),
  Answered: () => asked((socket) => socket.write("-ERR unknown command\r\n")),
  Protocol: () => asked((socket) => socket.write("HTTP/1.1 400 Bad Request\r\n")),
  Damaged: () => readHeader(Buffer.from("not a dump")),
};

/** The error of a command that a server answers in this way. */
async function asked(answer: (socket: Socket) => void): Promise<unknown> {
  const server = createServer((socket) => socket.once("data", () => answer(socket)));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  try {
    await using connection = await RedisConnection.open({ host: "127.0.0.1", port }, { timeoutMs: 5000 });
    return await connection.call(["PING"]);
  } finally {
    server.close();
  }
}

/** The error of a connection to a server with a certificate of an authority that is not trusted. */
async function presented(): Promise<unknown> {
  const nowMs = Date.now();
  const spec = { commonName: "", names: ["db"], usages: ["server"] as const, lifetimeMs: 60_000 };
  const { certificate, key } = leafFor(newAuthority("one", { nowMs }), spec, undefined, nowMs);
  const server = createTls({ cert: certificate, key }).on("tlsClientError", () => undefined);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const tls = { ca: newAuthority("another", { nowMs }).certificate, serverName: "db" };
  try {
    return await RedisConnection.open({ host: "127.0.0.1", port, tls }, { timeoutMs: 5000 });
  } finally {
    server.close();
  }
}
