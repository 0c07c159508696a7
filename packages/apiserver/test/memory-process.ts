/**
 * A server and its clients in one process, which says how much memory it holds after each trial, in MiB, as JSON.
 * Run with --expose-gc.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listenOnSocket } from "../src/http/listener.ts";
import { administrator, apiServer } from "../src/index.ts";

const api = await apiServer();
const directory = mkdtempSync(join(tmpdir(), "memory-"));
const socketPath = join(directory, "s");
const listener = await listenOnSocket({ dispatch: api.dispatch, socketPath, user: administrator });
const maps = "/api/v1/namespaces/default/configmaps";

async function heldMb(): Promise<number> {
  // What is closed is let go of in later turns of the loop.
  for (let i = 0; i < 5; i++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    globalThis.gc?.();
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1024 / 1024;
}

async function write(method: string, path: string, body: unknown): Promise<number> {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const headers = { "content-type": type };
  const response = await api.http.request({ method, path, headers, body: Buffer.from(JSON.stringify(body)) });
  for await (const _ of response.body);
  return response.status;
}

const head = (method: string, path: string, rest = "") =>
  `${method} ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${rest}\r\n`;

function dial(text: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath, () => socket.write(text, () => resolve(socket)));
    // The queue of connections that are not yet accepted may be full.
    socket.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EAGAIN" ? setTimeout(() => resolve(dial(text)), 10) : reject(error),
    );
  });
}

const closed = (socket: Socket) => new Promise<void>((resolve) => socket.once("close", () => resolve()));

/** Opens watches, sees their first bytes and goes away. */
async function watchAndLeave(count: number): Promise<void> {
  const sockets = await Promise.all(
    Array.from({ length: count }, () => dial(head("GET", `${maps}?watch=1`))),
  );
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once("data", resolve))));
  await Promise.all(
    sockets.map((socket) => {
      const gone = closed(socket);
      socket.destroy();
      return gone;
    }),
  );
}

async function breakOff(count: number): Promise<void> {
  const text = `${head("POST", maps, "content-length: 100000\r\n")}{"metadata":{"name":"${"x".repeat(5_000)}`;
  const sockets = await Promise.all(Array.from({ length: count }, () => dial(text)));
  for (const socket of sockets) socket.destroy();
  await Promise.all(sockets.map(closed));
}

async function sendTooMuch(count: number): Promise<void> {
  const body = Buffer.alloc(3 * 1024 * 1024 + 1, " ");
  for (let i = 0; i < count; i++) {
    const socket = await dial(head("POST", maps, `content-length: ${body.length}\r\n`));
    socket.on("error", () => undefined);
    socket.resume();
    socket.write(body);
    await closed(socket);
  }
}

/** What watchers that never read make the server hold, and how many bytes each got when they read at last. */
async function neverRead(count: number): Promise<{ heldMb: number; received: number[] }> {
  const before = await heldMb();
  const sockets = await Promise.all(
    Array.from({ length: count }, () => dial(head("GET", `${maps}?watch=1&resourceVersion=0`))),
  );
  await Promise.all(
    sockets.map(async (socket) => {
      await new Promise((resolve) => socket.once("data", resolve));
      socket.pause();
    }),
  );
  await write("POST", maps, { metadata: { name: "busy" } });
  const change = async (times: number, text: string) => {
    for (let i = 0; i < times; i++) {
      await write("PATCH", `${maps}/busy`, { data: { text: `${i}${text}` } });
      // Writes in process leave the sockets no turn by themselves.
      if (i % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await change(500, "y".repeat(20_000));
  const during = await heldMb();
  // Past what the server remembers.
  await change(11_500, "");
  const received = await Promise.all(
    sockets.map(async (socket) => {
      let bytes = 0;
      socket.on("data", (chunk) => {
        bytes += chunk.length;
      });
      socket.on("error", () => undefined);
      const gone = closed(socket);
      socket.resume();
      await gone;
      return bytes;
    }),
  );
  return { heldMb: during - before, received };
}

await write("POST", maps, { metadata: { name: "seen" } });
await watchAndLeave(200);
await breakOff(50);
await sendTooMuch(2);
const figures: Record<string, unknown> = { before: await heldMb() };
for (let round = 0; round < 100; round++) await watchAndLeave(100);
figures["watched"] = await heldMb();
for (let round = 0; round < 10; round++) await breakOff(100);
figures["brokenOff"] = await heldMb();
await sendTooMuch(20);
figures["sentTooMuch"] = await heldMb();
figures["slow"] = await neverRead(40);
process.stdout.write(JSON.stringify(figures));
await listener.close();
await api.close();
rmSync(directory, { recursive: true });
