import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTls } from "node:tls";
import { leafFor, newAuthority } from "@keelson/kit";
import { expect, test } from "vitest";
import { RedisConnection } from "./connection.ts";

async function listening(onSocket: (socket: Socket) => void): Promise<Server & AsyncDisposable> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    onSocket(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return Object.assign(server, {
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  });
}

function addressOf(server: Server): { host: string; port: number } {
  return { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
}

test("nobody listening is told apart from nobody answering", async () => {
  const server = await listening(() => undefined);
  const address = addressOf(server);
  await using silent = await RedisConnection.open(address, { timeoutMs: 1_000 });
  await expect(silent.call(["PING"])).rejects.toMatchObject({ code: "Unreachable" });
  await server[Symbol.asyncDispose]();
  await expect(RedisConnection.open(address, { timeoutMs: 1_000 })).rejects.toMatchObject({
    code: "Refused",
  });
});

test("connecting has a deadline of its own, where the other side accepts and says nothing", async () => {
  await using server = await listening(() => undefined);
  const tls = { ca: "", serverName: "db.default.svc" };
  const opening = RedisConnection.open({ ...addressOf(server), tls }, { timeoutMs: 50 });
  await expect(opening).rejects.toMatchObject({ code: "Unreachable" });
});

test("connecting ends with the reconcile that wanted it", async () => {
  await using server = await listening(() => undefined);
  const tls = { ca: "", serverName: "db.default.svc" };
  const stop = new AbortController();
  const opening = RedisConnection.open(
    { ...addressOf(server), tls },
    { timeoutMs: 60_000, signal: stop.signal },
  );
  stop.abort(new Error("the lease is lost"));
  await expect(opening).rejects.toThrow("the lease is lost");
});

test("a server that presents a certificate of someone else is told apart from one that says nothing", async () => {
  const nowMs = Date.now();
  const [authority, other] = [newAuthority("a", { nowMs }), newAuthority("b", { nowMs })];
  const names = ["db.default.svc"];
  const spec = { commonName: "", names, usages: ["server"] as const, lifetimeMs: 3_600_000 };
  const { certificate, key } = leafFor(authority, spec, undefined, nowMs);
  const server = createTls({ cert: certificate, key }, (socket) => socket.on("error", () => undefined));
  server.on("tlsClientError", () => undefined).listen(0, "127.0.0.1");
  await once(server, "listening");
  const open = async (ca: string) =>
    await RedisConnection.open(
      { ...addressOf(server), tls: { ca, serverName: "db.default.svc" } },
      { timeoutMs: 5_000 },
    );
  try {
    await expect(open(other.certificate)).rejects.toMatchObject({ code: "Untrusted" });
    await using trusted = await open(authority.certificate);
    expect(trusted.fingerprint).toBeDefined();
  } finally {
    server.close();
  }
});

test("a connection that did not answer once is not used again", async () => {
  await using server = await listening((socket) => socket.once("data", () => undefined));
  await using connection = await RedisConnection.open(addressOf(server), { timeoutMs: 50 });
  await expect(connection.call(["PING"])).rejects.toMatchObject({ code: "Unreachable" });
  await expect(connection.call(["PING"])).rejects.toMatchObject({ code: "Unreachable" });
});

test("a refused password is an error of its own, and closes the connection", async () => {
  await using server = await listening((socket) =>
    socket.on("data", () => socket.write("-WRONGPASS invalid\r\n")),
  );
  const credentials = { username: "default", password: "x" };
  await expect(
    RedisConnection.open(addressOf(server), { timeoutMs: 500, credentials }),
  ).rejects.toMatchObject({ code: "Denied" });
});
