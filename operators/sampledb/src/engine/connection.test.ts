import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
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
  await using silent = await RedisConnection.open(address, { timeoutMs: 50 });
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
