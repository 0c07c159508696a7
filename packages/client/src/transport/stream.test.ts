import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createTransport } from "./transport.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Answers each request by `handler`; gives a transport to it. */
async function answering(handler: (response: ServerResponse) => void) {
  const server = createServer((_request, response) => handler(response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const transport = createTransport({
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
  cleanups.push(
    () => server.close(),
    () => server.closeAllConnections(),
    () => transport.close(),
  );
  return transport;
}

/** 8 MB of lines, each with its number, in chunks of all sizes. */
async function writeLines(response: ServerResponse): Promise<void> {
  for (let line = 0, size = 1; line < 80_000; line += size, size = (size % 900) + 1) {
    const last = Math.min(80_000, line + size);
    let text = "";
    for (let i = line; i < last; i++) text += `${i} ${"x".repeat(90)}\n`;
    if (!response.write(text)) await once(response, "drain");
  }
  response.end();
}

function numbersIn(text: string): number[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => Number.parseInt(line, 10));
}

const all = Array.from({ length: 80_000 }, (_, index) => index);

describe("a stream", () => {
  it("leaves what it handed out as it is", async () => {
    const transport = await answering((response) => void writeLines(response));
    const { body } = await transport.request({ method: "GET", path: "/", streaming: true });
    const kept: Uint8Array[] = [];
    for await (const chunk of body) kept.push(chunk);
    expect(numbersIn(Buffer.concat(kept).toString())).toEqual(all);
  });

  it("that may use its memory again does so, and never while a chunk is in use", async () => {
    const transport = await answering((response) => void writeLines(response));
    const { body } = await transport.request({ method: "GET", path: "/", streaming: true, reuse: true });
    const buffers = new Set<ArrayBufferLike>();
    let text = "";
    let chunks = 0;
    for await (const chunk of body) {
      buffers.add(chunk.buffer);
      // More arrives meanwhile.
      if (chunks++ % 3 === 0) await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      text += Buffer.from(chunk).toString("latin1");
    }
    expect(numbersIn(text)).toEqual(all);
    expect(buffers.size).toBeLessThan(10);
  });

  it.each([
    ["closes within the answer", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello"],
    ["speaks another protocol within it", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n!!!"],
  ])("breaks when the server %s", async (_what, answer) => {
    const server = createTcpServer((socket) => {
      socket.on("error", () => {});
      socket.end(answer);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const port = (server.address() as AddressInfo).port;
    const transport = createTransport({ server: `http://127.0.0.1:${port}` });
    cleanups.push(
      () => server.close(),
      () => transport.close(),
    );
    const reading = async () => {
      const { body } = await transport.request({ method: "GET", path: "/", streaming: true });
      for await (const _chunk of body);
    };
    await expect(reading()).rejects.toMatchObject({ code: "ConnectionLost" });
  });

  it("refuses what would be two headers", async () => {
    const transport = await answering((response) => response.end());
    const headers = { "x-name": "a\r\nimpersonate-user: admin" };
    await expect(
      transport.request({ method: "GET", path: "/", streaming: true, headers }),
    ).rejects.toMatchObject({ code: "InvalidRequest" });
  });
});
