import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { RedisError } from "../engine/errors.ts";
import type { ServerFacts } from "../engine/info.ts";
import { dialRedis, type Redis } from "../engine/redis.ts";
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

test("a server that is not needed is not waited for when the others have answered, and is when they have not", async () => {
  const facts = { role: "replica", loading: false } as ServerFacts;
  const states = async (first: "answers" | "refuses") => {
    const late = Promise.withResolvers<void>();
    const closed: string[] = [];
    const dial = async ({ host }: { host: string }) => {
      if (host === "db-1") await late.promise;
      else if (first === "refuses") throw new RedisError("Refused", "nobody listens");
      return {
        facts: async () => facts,
        [Symbol.asyncDispose]: async () => void closed.push(host),
      } as unknown as Redis;
    };
    const servers = ["db-0", "db-1"].map((name) => ({
      ...{ name, isSpare: name === "db-1" },
      connect: async () => ({ host: name, port: 1, [Symbol.asyncDispose]: async () => undefined }),
    }));
    const { signal } = new AbortController();
    const asking = ask(servers, { dial, credentials: { username: "u", password: "p" }, signal });
    if (first === "refuses") setImmediate(late.resolve);
    const answers = await asking;
    const found = servers.map(({ name }) => answers.byServer.get(name)?.state);
    late.resolve();
    await nextTurn();
    await answers[Symbol.asyncDispose]();
    return { found, closed: closed.sort() };
  };
  expect(await states("answers")).toEqual({ found: ["facts", "silent"], closed: ["db-0", "db-1"] });
  expect(await states("refuses")).toEqual({ found: ["refused", "facts"], closed: ["db-1"] });
});
