import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { dialRedis } from "../engine/redis.ts";
import { ask } from "./ask.ts";

test("with TLS, the only server is not silent when it closes connections: it has too many clients", async () => {
  const listener = createServer((socket) => socket.on("error", () => undefined).end()).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  const states = async (names: readonly string[], tls?: { ca: string; serverName: string }) => {
    const connect = async () => ({ host: "127.0.0.1", port, [Symbol.asyncDispose]: async () => undefined });
    const servers = names.map((name) => ({ name, connect, ...(tls && { tls }) }));
    const credentials = { username: "u", password: "p" };
    const { signal } = new AbortController();
    await using answers = await ask(servers, { dial: dialRedis, credentials, signal });
    return names.map((name) => answers.byServer.get(name)?.state);
  };
  const tls = { ca: "", serverName: "db" };
  try {
    expect(await states(["db-0"], tls)).toEqual(["busy"]);
    expect(await states(["db-0"])).toEqual(["silent"]);
    expect(await states(["db-0", "db-1"], tls)).toEqual(["silent", "silent"]);
  } finally {
    listener.close();
  }
});
