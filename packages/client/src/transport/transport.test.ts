import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import {
  type AddressInfo,
  createConnection,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../test/fake-clock.ts";
import { ConfigMap, configMap } from "../../test/kinds.ts";
import { ClientError, isOutcomeUnknown } from "../errors.ts";
import { createClient } from "../verbs/create-client.ts";
import { createTransport, type Transport, type TransportSettings } from "./transport.ts";

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function httpServer(handler: Handler, path?: string): Promise<{ server: Server; address: string }> {
  const server = createServer(handler);
  server.listen(path ?? { port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return {
    server,
    address: path ? `unix:${path}` : `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  };
}

async function tcpServer(
  onSocket: (socket: Socket) => void,
): Promise<{ server: TcpServer; address: string }> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    onSocket(socket);
  });
  server.listen({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return { server, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function transport(server: string, settings: Partial<TransportSettings> = {}): Transport {
  const made = createTransport({ server, ...settings });
  cleanups.push(() => made.close());
  return made;
}

function clientOf(server: string, settings: Partial<TransportSettings> = {}, retries = 5) {
  return createClient({ http: transport(server, settings), retries }).kind(ConfigMap);
}

async function readAll(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts).toString("utf8");
}

describe("transport", () => {
  it("sends method, path, headers and body, and returns status, headers and body", async () => {
    const { address } = await httpServer(async (request, response) => {
      const body = await readAll(request);
      response.writeHead(201, { "x-answer": "yes" });
      response.end(JSON.stringify([request.method, request.url, request.headers["x-ask"], body]));
    });
    const answer = await transport(`${address}/prefix/`).request({
      method: "POST",
      path: "/api?x=1",
      headers: { "x-ask": "please" },
      body: "grüß",
    });
    expect(answer.status).toBe(201);
    expect(answer.headers["x-answer"]).toBe("yes");
    expect(JSON.parse(await readAll(answer.body))).toEqual(["POST", "/prefix/api?x=1", "please", "grüß"]);
  });

  it("reaches a server on a Unix socket", async () => {
    const path = join(tmpdir(), `keelson-${process.pid}-${Date.now()}.sock`);
    const { address } = await httpServer(
      (_request, response) => response.end(JSON.stringify(configMap("a", 1))),
      path,
    );
    expect((await clientOf(address).get({ namespace: "default", name: "a" })).metadata.name).toBe("a");
  });

  it("uses a connection again for the next request, and one of its own for each stream", async () => {
    const sockets = new Set<Socket>();
    const { address } = await httpServer((request, response) => {
      sockets.add(request.socket);
      if (request.url === "/stream") response.flushHeaders();
      else response.end("ok");
    });
    const http = transport(address);
    for (let i = 0; i < 9; i++) await readAll((await http.request({ method: "GET", path: "/" })).body);
    const shared = sockets.size;
    expect(shared).toBeLessThan(3);
    await http.request({ method: "GET", path: "/stream", streaming: true });
    await http.request({ method: "GET", path: "/stream", streaming: true });
    expect(sockets.size).toBe(shared + 2);
  });

  it("holds the server back when nobody reads", async () => {
    let written = 0;
    const { address } = await httpServer((_request, response) => {
      const chunk = Buffer.alloc(64 << 10);
      const write = () => {
        while (written < 64 << 20) {
          written += chunk.length;
          if (!response.write(chunk)) return void response.once("drain", write);
        }
        response.end();
      };
      write();
    });
    const answer = await transport(address).request({ method: "GET", path: "/", streaming: true });
    let last = -1;
    while (written !== last) {
      last = written;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(written).toBeLessThan(32 << 20);
    let read = 0;
    for await (const chunk of answer.body) read += chunk.byteLength;
    expect(read).toBe(64 << 20);
  });

  it("closes the connection when the consumer leaves early or aborts", async () => {
    const closed: Promise<unknown>[] = [];
    const { address } = await httpServer((request, response) => {
      closed.push(once(request.socket, "close"));
      response.write("begin");
    });
    const http = transport(address);
    const left = await http.request({ method: "GET", path: "/", streaming: true });
    for await (const _chunk of left.body) break;
    await closed[0];
    const stop = new AbortController();
    const aborted = await http.request({ method: "GET", path: "/", streaming: true, signal: stop.signal });
    const reading = readAll(aborted.body);
    stop.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
    await closed[1];
  });

  it("says that nobody listens, and that nothing was sent", async () => {
    const { server, address } = await tcpServer(() => {});
    await new Promise((resolve) => server.close(resolve));
    const error = await clientOf(address, {}, 0)
      .create(configMap("a", 1))
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "ConnectionFailed" });
    expect((error as Error).message).toBe(
      `cannot create ConfigMap default/a: no connection to ${address}: nobody listens there (connection refused); is the API server running?`,
    );
  });

  it("sends a write again when the server was not up yet", async () => {
    const { server, address } = await tcpServer(() => {});
    const port = (server.address() as AddressInfo).port;
    await new Promise((resolve) => server.close(resolve));
    const creating = clientOf(address).create(configMap("a", 1));
    const late = createServer((_request, response) => response.end(JSON.stringify(configMap("a", 1))));
    await new Promise<void>((resolve) => setTimeout(() => late.listen(port, "127.0.0.1", resolve), 50));
    cleanups.push(() => new Promise((resolve) => late.close(resolve)));
    expect((await creating).metadata.name).toBe("a");
  });

  it("never repeats a write whose answer was lost, and repeats a read", async () => {
    let requests = 0;
    const { address } = await tcpServer((socket) => {
      socket.once("data", () => {
        requests++;
        if (requests < 3) socket.resetAndDestroy();
        else socket.end(`HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}`);
      });
    });
    const configMaps = clientOf(address);
    const error = await configMaps.create(configMap("a", 1)).catch((reason: unknown) => reason);
    expect(requests).toBe(1);
    expect(isOutcomeUnknown(error)).toBe(true);
    expect((error as Error).message).toContain("cannot tell the outcome of create ConfigMap default/a");
    await configMaps.get({ namespace: "default", name: "a" });
    expect(requests).toBe(3);
  });

  it("reports a watch that is reset in the middle of an event", async () => {
    const { address } = await tcpServer((socket) => {
      socket.once("data", () => {
        const line = `${JSON.stringify({ type: "ADDED", object: configMap("a", 1) })}\n`;
        const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
        socket.write(
          `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunk(line)}${chunk(line.slice(0, 40))}`,
          () => setTimeout(() => socket.resetAndDestroy(), 50),
        );
      });
    });
    const seen: string[] = [];
    const error = await (async () => {
      for await (const event of clientOf(address).watch()) seen.push(event.type);
    })().catch((reason: unknown) => reason);
    expect(seen).toEqual(["added"]);
    expect(error).toMatchObject({ code: "ConnectionLost" });
    expect((error as Error).message).toContain("cannot watch ConfigMap");
  });

  it("reports a watch whose chunked body simply stops", async () => {
    const { address } = await tcpServer((socket) => {
      socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"));
    });
    const watching = (async () => {
      for await (const _event of clientOf(address).watch()) void 0;
    })();
    await expect(watching).rejects.toMatchObject({ code: "ConnectionLost" });
  });

  it("finds a socket that went silent, and follows on from where it was", async () => {
    const clock = new FakeClock();
    const asked: string[] = [];
    const { address } = await httpServer((request, response) => {
      asked.push(request.url ?? "");
      if (!request.url?.includes("watch=true")) {
        const resourceVersion = asked.length === 1 ? "5" : "7";
        response.end(JSON.stringify({ metadata: { resourceVersion }, items: [] }));
        return;
      }
      const bookmark = { type: "BOOKMARK", object: { metadata: { resourceVersion: "7" } } };
      response.write(`${JSON.stringify(bookmark)}\n`);
    });
    const client = createClient({ http: transport(address, { clock }), clock });
    const stop = new AbortController();
    const seen: string[] = [];
    const events = client.kind(ConfigMap).reflect({ initial: "list", signal: stop.signal });
    const running = (async () => {
      for await (const event of events) seen.push(event.type);
    })();
    await expect.poll(() => seen).toEqual(["restart", "synced", "bookmark"]);
    await settle();
    await clock.advance(149_999);
    expect(asked).toHaveLength(2);
    await clock.advance(1_000);
    await expect.poll(() => seen.slice(3)).toEqual(["interrupted", "resumed", "bookmark"]);
    expect(asked[2]).toContain("limit=1");
    expect(asked[3]).toContain("resourceVersion=7");
    stop.abort();
    await running;
  });

  it("follows on when the server restarts", async () => {
    let served = 0;
    const handler: Handler = (request, response) => {
      if (!request.url?.includes("watch=true")) {
        response.end(JSON.stringify({ metadata: { resourceVersion: "5" }, items: [] }));
        return;
      }
      served++;
      response.write(`${JSON.stringify({ type: "ADDED", object: configMap(`a${served}`, 5 + served) })}\n`);
    };
    const { server, address } = await httpServer(handler);
    const { port } = server.address() as AddressInfo;
    const client = createClient({ http: transport(address) });
    const stop = new AbortController();
    const seen: string[] = [];
    const running = (async () => {
      for await (const event of client.kind(ConfigMap).reflect({ initial: "list", signal: stop.signal })) {
        seen.push("object" in event ? `${event.type} ${event.object.metadata.name}` : event.type);
      }
    })();
    await expect.poll(() => seen).toEqual(["restart", "synced", "added a1"]);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await expect.poll(() => seen).toContain("interrupted");
    const again = createServer(handler).listen(port, "127.0.0.1");
    cleanups.push(() => {
      again.closeAllConnections();
      again.close();
    });
    await expect.poll(() => seen, { timeout: 10_000 }).toContain("added a2");
    expect(seen.filter((line) => line === "resumed")).toHaveLength(1);
    stop.abort();
    await running;
  });

  it("gives up on an answer that never comes, and frees the connection", async () => {
    let closed: Promise<unknown> | undefined;
    const { address } = await httpServer((request) => {
      closed = once(request.socket, "close");
    });
    const reading = clientOf(address).get({ namespace: "default", name: "a" }, { timeoutMs: 100 });
    await expect(reading).rejects.toThrow("cannot get ConfigMap default/a: no answer within 100 ms");
    await closed;
  });

  it("asks for new credentials after 401 and tries once more", async () => {
    const seen: (string | undefined)[] = [];
    const { address } = await httpServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(request.headers.authorization === "Bearer new" ? 200 : 401).end("{}");
    });
    let token = "old";
    const http = transport(address, {
      credentials: {
        current: async () => ({ headers: { authorization: `Bearer ${token}` } }),
        refused: async () => {
          token = "new";
          return true;
        },
      },
    });
    expect((await http.request({ method: "GET", path: "/" })).status).toBe(200);
    expect(seen).toEqual(["Bearer old", "Bearer new"]);
  });

  it("goes through an HTTP proxy with its user and password", async () => {
    const { address } = await httpServer((_request, response) => response.end("hello"));
    const asked: (string | undefined)[] = [];
    const proxy = createServer();
    proxy.on("connect", (request: IncomingMessage, socket: Socket) => {
      asked.push(request.url, request.headers["proxy-authorization"]);
      const [host, port] = (request.url ?? "").split(":");
      const upstream = createConnection(Number(port), host ?? "");
      upstream.once("connect", () => socket.write("HTTP/1.1 200 Connection established\r\n\r\n"));
      socket.pipe(upstream).pipe(socket);
      cleanups.push(() => void upstream.destroy());
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    cleanups.push(() => {
      proxy.closeAllConnections();
      proxy.close();
    });
    const http = transport(address, {
      proxy: `http://me:se%20cret@127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    });
    expect(await readAll((await http.request({ method: "GET", path: "/" })).body)).toBe("hello");
    expect(asked).toEqual([new URL(address).host, `Basic ${Buffer.from("me:se cret").toString("base64")}`]);
  });

  it("goes through a SOCKS5 proxy", async () => {
    const { address } = await httpServer((_request, response) => response.end("hello"));
    const { address: proxy } = await tcpServer((socket) => {
      socket.once("data", () => {
        socket.write(Buffer.from([5, 0]));
        socket.once("data", (request: Buffer) => {
          const length = request[4] ?? 0;
          const host = request.toString("latin1", 5, 5 + length);
          const upstream = createConnection(request.readUInt16BE(5 + length), host);
          upstream.once("connect", () => {
            socket.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 80]));
            socket.pipe(upstream).pipe(socket);
          });
        });
      });
    });
    const http = transport(address, { proxy: proxy.replace("http:", "socks5:") });
    expect(await readAll((await http.request({ method: "GET", path: "/" })).body)).toBe("hello");
  });

  it("says what a proxy answered instead of a connection", async () => {
    const { address: proxy } = await tcpServer((socket) => {
      socket.once("data", () => socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"));
    });
    await expect(
      transport("https://api.example.com", { proxy }).request({ method: "GET", path: "/" }),
    ).rejects.toThrow(
      'gave no connection to https://api.example.com: it answered "HTTP/1.1 407 Proxy Authentication Required"',
    );
  });

  it("upgrades a connection and hands over what came with the answer", async () => {
    const { server, address } = await httpServer(() => {});
    server.on("upgrade", (request: IncomingMessage, socket: Socket) => {
      socket.on("end", () => socket.destroy());
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: SPDY/3.1\r\nx-stream-protocol-version: v4\r\n\r\nhi ${request.headers.upgrade}`,
      );
    });
    const { protocol, stream } = await transport(address).upgrade({
      method: "POST",
      path: "/exec",
      headers: { connection: "Upgrade", upgrade: "SPDY/3.1" },
    });
    expect(protocol).toBe("v4");
    const [chunk] = (await once(stream, "data")) as [Buffer];
    expect(chunk.toString()).toBe("hi SPDY/3.1");
    stream.destroy();
  });

  it("rejects an upgrade with the server's own words", async () => {
    const { address } = await httpServer((_request, response) => {
      response
        .writeHead(403)
        .end(JSON.stringify({ kind: "Status", code: 403, reason: "Forbidden", message: "no exec" }));
    });
    await expect(
      transport(address).upgrade({ method: "GET", path: "/exec", headers: { upgrade: "websocket" } }),
    ).rejects.toMatchObject({ reason: "Forbidden", message: "cannot upgrade /exec: no exec (Forbidden)" });
  });

  it("refuses addresses it cannot use, with the reason", () => {
    expect(() => createTransport({ server: "ftp://x" })).toThrow("its scheme must be https, http or unix");
    expect(() => createTransport({ server: "unix:relative" })).toThrow("must begin with a slash");
    expect(() => createTransport({ server: "https://a", proxy: "ftp://x" })).toThrow(ClientError);
  });
});
