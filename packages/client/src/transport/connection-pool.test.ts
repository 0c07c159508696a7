/** Connections that are kept: how many there are, what is sent on which, and what becomes of requests when they break. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { systemClock } from "@keelson/core";
import { afterEach, expect, it } from "vitest";
import { collect } from "./answer.ts";
import { ConnectionPool } from "./connection-pool.ts";
import { parseServer } from "./server-address.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A server of bytes: `onRequest` is called with the text of each read. */
async function pooled(onRequest: (text: string, socket: Socket) => void, connections = 4) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", (chunk) => onRequest(chunk.toString("latin1"), socket));
  });
  server.listen({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const pool = new ConnectionPool(
    { server: parseServer(address), clock: systemClock },
    { connections, idleMs: 30_000 },
  );
  cleanups.push(async () => {
    for (const socket of sockets) socket.destroy();
    await pool.close();
    await new Promise((resolve) => server.close(resolve));
  });
  const ask = async (path: string, options: { signal?: AbortSignal; method?: string } = {}) => {
    const response = await pool.request({ method: "GET", path, ...options }, {});
    return (await collect(response)).toString();
  };
  return { server, pool, ask, sockets };
}

const pathOf = (text: string) => text.split(" ")[1] ?? "";
const answer = (body: string, head = "") =>
  `HTTP/1.1 200 OK\r\n${head}content-length: ${body.length}\r\n\r\n${body}`;

it("carries so many requests at once, and the others in their order", async () => {
  const waiting: [string, Socket][] = [];
  const { ask, sockets } = await pooled((text, socket) => waiting.push([pathOf(text), socket]), 2);
  const asked = ["/1", "/2", "/3", "/4", "/5"].map((path) => ask(path));
  const seen: string[] = [];
  while (seen.length < 5) {
    await expect.poll(() => waiting.length).toBeGreaterThan(0);
    const [path, socket] = waiting.shift() as [string, Socket];
    seen.push(path);
    socket.write(answer(`of ${path}`));
  }
  expect(await Promise.all(asked)).toEqual(["of /1", "of /2", "of /3", "of /4", "of /5"]);
  expect(seen.slice(2)).toEqual(["/3", "/4", "/5"]);
  expect(sockets).toHaveLength(2);
});

it("does not send what may not be sent any more when its turn comes", async () => {
  const waiting: [string, Socket][] = [];
  const { pool, ask } = await pooled((text, socket) => waiting.push([pathOf(text), socket]), 1);
  let leads = true;
  const check = () => {
    if (!leads) throw new Error("does not lead");
  };
  const first = pool.request({ method: "PATCH", path: "/1", check }, {});
  const second = pool.request({ method: "PATCH", path: "/2", check }, {});
  const third = ask("/3");
  await expect.poll(() => waiting.length).toBe(1);
  leads = false;
  waiting[0]?.[1].write(answer("one"));
  await expect(second).rejects.toThrow("does not lead");
  expect((await collect(await first)).toString()).toBe("one");
  await expect.poll(() => waiting.length).toBe(2);
  waiting[1]?.[1].write(answer("three"));
  expect(await third).toBe("three");
  expect(waiting.map(([path]) => path)).toEqual(["/1", "/3"]);
  await expect(pool.request({ method: "PATCH", path: "/4", check }, {})).rejects.toThrow("does not lead");
});

it("puts an answer together from pieces, and keeps it when the next is read into the same memory", async () => {
  const { pool } = await pooled((text, socket) => {
    const whole = answer(`of ${pathOf(text)}`);
    for (const byte of whole) socket.write(byte);
  });
  const one = await collect(await pool.request({ method: "GET", path: "/one" }, {}));
  const two = await collect(await pool.request({ method: "GET", path: "/two" }, {}));
  expect([one.toString(), two.toString()]).toEqual(["of /one", "of /two"]);
});

it("does not use a connection again that the server closes, or that says too much", async () => {
  const { ask, sockets } = await pooled((text, socket) => {
    if (pathOf(text) === "/close") socket.write(answer("a", "connection: close\r\n"));
    else if (pathOf(text) === "/end") socket.end(answer("b"));
    else if (pathOf(text) === "/rest") socket.end("HTTP/1.1 200 OK\r\n\r\nc");
    else socket.write(answer("d"));
  });
  expect(await ask("/close")).toBe("a");
  expect(await ask("/d")).toBe("d");
  expect(sockets).toHaveLength(2);
  expect(await ask("/end")).toBe("b");
  await once(sockets[1] as Socket, "close");
  expect(await ask("/rest")).toBe("c");
  expect(await ask("/d")).toBe("d");
  const idle = sockets.at(-1) as Socket;
  idle.write(answer("nobody asked"));
  await once(idle, "close");
  const before = sockets.length;
  expect(await ask("/d")).toBe("d");
  expect(sockets).toHaveLength(before + 1);
});

it("tells what was not sent from what may have arrived", async () => {
  const { ask, server, pool } = await pooled((_text, socket) => socket.resetAndDestroy());
  await expect(ask("/lost")).rejects.toMatchObject({ code: "ConnectionLost" });
  await new Promise((resolve) => server.close(resolve));
  await expect(ask("/never")).rejects.toMatchObject({ code: "ConnectionFailed" });
  await expect(pool.request({ method: "GET", path: "/with space" }, {})).rejects.toMatchObject({
    code: "InvalidRequest",
  });
  await expect(pool.request({ method: "GET", path: "/" }, { "x-a": "1\r\nx-b: 2" })).rejects.toMatchObject({
    code: "InvalidRequest",
  });
});

it("frees the connection of a request that is aborted, and the place of one that waits", async () => {
  const { ask, sockets } = await pooled((text, socket) => {
    if (pathOf(text) === "/next") socket.write(answer("next"));
  }, 1);
  const [first, second] = [new AbortController(), new AbortController()];
  const asked = [ask("/silent", { signal: first.signal }), ask("/waits", { signal: second.signal })];
  const next = ask("/next");
  await expect.poll(() => sockets.length).toBe(1);
  second.abort(new Error("waited long enough"));
  first.abort(new Error("heard nothing"));
  const reasons = (await Promise.allSettled(asked)).map((each) => String((each as { reason: Error }).reason));
  expect(reasons).toEqual(["Error: heard nothing", "Error: waited long enough"]);
  expect(await next).toBe("next");
  expect(sockets).toHaveLength(2);
});

it("lets what is under way finish when it is closed, and takes nothing new", async () => {
  const sent: Socket[] = [];
  const { ask, pool } = await pooled((_text, socket) => sent.push(socket));
  const asked = ask("/slow");
  await expect.poll(() => sent.length).toBe(1);
  const closing = pool.close();
  await expect(ask("/late")).rejects.toMatchObject({ code: "ConnectionFailed" });
  sent[0]?.write(answer("done"));
  expect(await asked).toBe("done");
  await closing;
});

it("answers HEAD, whose answer has a length and no body", async () => {
  const { pool, ask } = await pooled((text, socket) =>
    socket.write(text.startsWith("HEAD") ? "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n" : answer("get")),
  );
  const response = await pool.request({ method: "HEAD", path: "/" }, {});
  expect((await collect(response)).length).toBe(0);
  expect(await ask("/")).toBe("get");
});

it("holds the server back when nobody reads", async () => {
  const size = 64 << 20;
  let written = 0;
  const { pool } = await pooled((_text, socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n`);
    const chunk = Buffer.alloc(64 << 10);
    const write = () => {
      while (written < size) {
        written += chunk.length;
        if (!socket.write(chunk)) return void socket.once("drain", write);
      }
    };
    write();
  });
  const { body } = await pool.request({ method: "GET", path: "/" }, {});
  let last = -1;
  while (written !== last) {
    last = written;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(written).toBeLessThan(size / 2);
  let read = 0;
  for await (const chunk of body) read += chunk.byteLength;
  expect(read).toBe(size);
});

it("uses no connection that the server has said to close by now", async () => {
  const { ask, sockets } = await pooled((text, socket) => {
    socket.write(answer("a", `keep-alive: timeout=${pathOf(text).slice(1)}\r\n`));
  });
  await ask("/9");
  await ask("/9");
  expect(sockets).toHaveLength(1);
  await ask("/1");
  await ask("/9");
  expect(sockets).toHaveLength(2);
});
