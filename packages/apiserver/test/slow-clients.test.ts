/** Clients that are slow, or take more than their share. */
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { UserInfo } from "../src/contracts/authentication.ts";
import type { InFlightLimits } from "../src/http/in-flight.ts";
import { listenOnSocket, type Patience } from "../src/http/listener.ts";
import { configMap, configMaps, Server } from "./harness.ts";

const reader: UserInfo = { name: "reader", groups: [] };
const protobuf = "application/vnd.kubernetes.protobuf";

/** A server on a socket, where everybody is the reader and may do everything. */
async function listening(options: { patience?: Patience; inFlight?: InFlightLimits; user?: UserInfo } = {}) {
  const stack = new AsyncDisposableStack();
  const server = stack.use(
    await Server.start({
      authorizationMode: "AlwaysAllow",
      ...(options.inFlight && { inFlight: options.inFlight }),
    }),
  );
  const directory = mkdtempSync(join(tmpdir(), "keelson-slow-"));
  stack.defer(() => rmSync(directory, { recursive: true }));
  const socketPath = join(directory, "s");
  const { patience } = options;
  const listener = await listenOnSocket({
    dispatch: server.api.dispatch,
    socketPath,
    user: options.user ?? reader,
    ...(patience && { patience }),
  });
  stack.defer(() => listener.close());
  const sockets = stack.use(new DisposableSockets());
  return {
    server,
    /** A connection that has sent this text and reads nothing by itself; one that goes on may send after the answer. */
    open: (text: string, { goesOn = false } = {}) => sockets.open(socketPath, text, goesOn),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

class DisposableSockets implements Disposable {
  readonly #sockets: Socket[] = [];

  open(path: string, text: string, allowHalfOpen: boolean): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ path, allowHalfOpen }, () => socket.write(text, () => resolve(socket)));
      socket.on("error", reject);
      this.#sockets.push(socket);
    });
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

const get = (path: string, headers = "") => `GET ${path} HTTP/1.1\r\nhost: x\r\n${headers}\r\n`;

/** The status line, once it is there; the rest of the answer stays where it is. */
function statusOf(socket: Socket): Promise<number> {
  return new Promise((resolve) => {
    socket.once("readable", () => {
      const line = (socket.read(12) as Buffer | null)?.toString() ?? "";
      resolve(Number(line.slice(-3)));
    });
    socket.once("close", () => resolve(0));
  });
}

async function filled(server: Server, count: number, bytes: number): Promise<void> {
  for (let i = 0; i < count; i++) await server.post(configMaps, configMap(`c${i}`, { a: "x".repeat(bytes) }));
}

describe("a client that sends slowly", () => {
  test.for<[string, string]>([
    ["a head", `GET ${configMaps} HTTP/1.1\r\nhost:`],
    ["a body", `POST ${configMaps} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"metadata"`],
    [
      "a body of which nothing comes",
      `POST ${configMaps} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n`,
    ],
  ])("and does not finish %s is cut off", async ([, text]) => {
    await using at = await listening({ patience: { requestMs: 50 } });
    const socket = await at.open(text);
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.resume();
    await closed;
  });

  test("and has sent nothing yet is cut off without an answer, which it would take for one to its next request", async () => {
    await using at = await listening({ patience: { requestMs: 50 } });
    const socket = await at.open("");
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    await new Promise((resolve) => socket.once("close", resolve));
    expect(text).toBe("");
  });

  test("may leave a watch open for longer than its request may take", async () => {
    await using at = await listening({ patience: { requestMs: 50 } });
    const socket = await at.open(get(`${configMaps}?watch=1`));
    expect(await statusOf(socket)).toBe(200);
    const slow = await at.open(`GET ${configMaps} HTTP/1.1\r\nhost:`);
    const closed = new Promise((resolve) => slow.once("close", resolve));
    slow.resume();
    await closed;
    const told = new Promise<string>((resolve) => {
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk;
        if (text.includes("ADDED")) resolve(text);
      });
    });
    await at.server.post(configMaps, configMap("late"));
    expect(await told).toContain('"late"');
  });
});

describe("a client whose request cannot be read", () => {
  test("gets its answer although it has more to send", async () => {
    await using at = await listening();
    const socket = await at.open("BREW / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n", {
      goesOn: true,
    });
    const errors: Error[] = [];
    socket.on("error", (error) => errors.push(error));
    expect(await statusOf(socket)).toBe(400);
    for (let piece = 0; piece < 20; piece++)
      await new Promise((resolve) => socket.write("x".repeat(20_000), resolve));
    socket.end();
    socket.resume();
    await new Promise((resolve) => socket.once("close", resolve));
    expect(errors).toEqual([]);
  });

  test("is cut off when it does not stop", async () => {
    await using at = await listening();
    const socket = await at.open("BREW / HTTP/1.1\r\nhost: x\r\n\r\n", { goesOn: true });
    expect(await statusOf(socket)).toBe(400);
    await new Promise<void>((resolve) => {
      const more = () => socket.writable && socket.write("x".repeat(1_000), () => setImmediate(more));
      socket.once("close", resolve).on("error", () => undefined);
      more();
    });
  });
});

describe("a client that does not read", () => {
  test("is cut off, and gives its place to others", async () => {
    await using at = await listening({ patience: { answerMs: 100 }, inFlight: { perUser: 1 } });
    await filled(at.server, 100, 100_000);
    const stuck = await at.open(get(configMaps));
    expect(await statusOf(stuck)).toBe(200);
    expect(await statusOf(await at.open(get("/api/v1/nodes")))).toBe(429);
    await expect
      .poll(async () => statusOf(await at.open(get("/api/v1/nodes"))), { timeout: 20_000, interval: 20 })
      .toBe(200);
  });

  test.for<[string, string]>([
    ["protobuf", `accept: ${protobuf}\r\n`],
    ["JSON", ""],
    ["compressed JSON", "accept-encoding: gzip\r\n"],
    ["JSON by way of an upgrade", "connection: upgrade\r\nupgrade: websocket\r\n"],
  ])("does not make the server hold its list in %s", async ([, headers]) => {
    await using at = await listening();
    await filled(at.server, 100, 200_000);
    const first = await at.open(get(configMaps, headers));
    expect(await statusOf(first)).toBe(200);
    first.destroy();
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 15; i++) expect(await statusOf(await at.open(get(configMaps, headers)))).toBe(200);
    // A copy for each of them would be 300 MB.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(60e6);
  });
});

describe("a user with many requests", () => {
  const upgrade = "connection: upgrade\r\nupgrade: websocket\r\n";

  test("is told to wait, and others are not", async () => {
    await using at = await listening({ inFlight: { perUser: 3 } });
    await filled(at.server, 100, 100_000);
    const statuses: number[] = [];
    for (let i = 0; i < 5; i++) statuses.push(await statusOf(await at.open(get(configMaps))));
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    const other = await at.server.api
      .as({ name: "other", groups: [] })
      .request({ method: "GET", path: "/api/v1/nodes" });
    expect(other.status).toBe(200);
  });

  test("does not get around the limit by asking for an upgrade", async () => {
    await using at = await listening({ inFlight: { perUser: 3 } });
    await filled(at.server, 100, 100_000);
    const statuses: number[] = [];
    for (let i = 0; i < 5; i++) statuses.push(await statusOf(await at.open(get(configMaps, upgrade))));
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
  });

  test("has its places back when its requests are answered, or its connections are gone", async () => {
    await using at = await listening({ inFlight: { perUser: 2 } });
    await filled(at.server, 50, 100_000);
    for (const headers of ["", upgrade])
      for (let i = 0; i < 6; i++) {
        const short = await at.open(get("/api/v1/nodes", headers));
        expect([headers, i, await statusOf(short)]).toEqual([headers, i, 200]);
        const long = await at.open(get(configMaps, headers));
        expect(await statusOf(long)).toBe(200);
        long.destroy();
        await expect
          .poll(async () => statusOf(await at.open(get("/api/v1/nodes"))), { interval: 5 })
          .toBe(200);
      }
  });

  test("may watch as much as it likes", async () => {
    await using at = await listening({ inFlight: { perUser: 1 } });
    for (let i = 0; i < 5; i++) expect(await statusOf(await at.open(get(`${configMaps}?watch=1`)))).toBe(200);
    expect(await statusOf(await at.open(get("/api/v1/nodes")))).toBe(200);
  });
});

test("bodies that wait for their end hold no more than a fixed amount", async () => {
  await using at = await listening();
  const head = `POST ${configMaps} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 3000000\r\n\r\n`;
  const body = " ".repeat(2_900_000);
  const sockets = await Promise.all(Array.from({ length: 100 }, () => at.open(head + body)));
  const first = await Promise.race(sockets.map(statusOf));
  expect(first).toBe(429);
});
