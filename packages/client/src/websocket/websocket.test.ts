import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Duplex, duplexPair } from "node:stream";
import { systemRandom } from "@keelson/core";
import { describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { createTransport } from "../transport/transport.ts";
import { WebSocketConnection, webSocketAccept } from "./connection.ts";
import { tunnel } from "./tunnel.ts";

function pair() {
  const [near, far] = duplexPair() as [Duplex, Duplex];
  return {
    client: new WebSocketConnection(near, { role: "client", random: systemRandom }),
    server: new WebSocketConnection(far, { role: "server", maxMessageBytes: 1 << 20 }),
    near,
    far,
  };
}

async function gather(socket: WebSocketConnection): Promise<string[]> {
  const seen: string[] = [];
  for await (const { binary, data } of socket) seen.push(`${binary ? "b" : "t"}:${data.toString()}`);
  return seen;
}

describe("WebSocket", () => {
  it("carries messages of every size class both ways and ends politely", async () => {
    const { client, server } = pair();
    const sizes = [0, 1, 125, 126, 65_535, 65_536, 300_000];
    const sending = (async () => {
      for (const size of sizes) await client.send(Buffer.alloc(size, 97));
      await client.send("grüße");
      await client.close();
    })();
    const seen = await gather(server);
    expect(seen.map((line) => line.length - 2)).toEqual([...sizes, 5]);
    expect(seen.at(-1)).toBe("t:grüße");
    await sending;
    expect(await gather(client)).toEqual([]);
  });

  it("puts fragments together and answers a ping between them", async () => {
    const { server, near } = pair();
    const frame = (first: number, text: string) => {
      const payload = Buffer.from(text);
      return Buffer.concat([Buffer.from([first, 0x80 | payload.length, 0, 0, 0, 0]), payload]);
    };
    const all = Buffer.concat([
      frame(0x02, "one "),
      frame(0x89, "hi"),
      frame(0x00, "two "),
      frame(0x80, "three"),
      frame(0x88, ""),
    ]);
    for (const byte of all) near.write(Buffer.from([byte]));
    expect(await gather(server)).toEqual(["b:one two three"]);
    const answers = near.read() as Buffer;
    expect([...answers.subarray(0, 4)]).toEqual([0x8a, 2, ...Buffer.from("hi")]);
  });

  it.each([
    ["an unmasked frame", [0x82, 0x01, 0x61], "a frame is not masked"],
    ["a reserved bit", [0xc2, 0x80, 0, 0, 0, 0], "a reserved bit is set"],
    ["an unknown opcode", [0x83, 0x80, 0, 0, 0, 0], "there is no opcode 3"],
    ["a fragment of nothing", [0x80, 0x80, 0, 0, 0, 0], "a message went on that never began"],
    ["a huge message", [0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], "too large"],
    ["an endless ping", [0x89, 0xfe, 0, 126, 0, 0, 0, 0], "a control frame is too long"],
  ])("refuses %s", async (_what, bytes, message) => {
    const { server, near } = pair();
    near.write(Buffer.from(bytes));
    await expect(gather(server)).rejects.toThrow(message);
  });

  it("throws when the connection ends without a goodbye, or with a bad one", async () => {
    const first = pair();
    first.near.end();
    await expect(gather(first.server)).rejects.toThrow("without a goodbye");
    const second = pair();
    const reading = gather(second.client);
    void second.server.close(1011, "no such container").catch(() => {});
    await expect(reading).rejects.toThrow("the peer closed with code 1011: no such container");
  });

  it("agrees with another implementation as a client", async () => {
    const http = createServer();
    const peer = new WebSocketServer({ server: http });
    peer.on("connection", (socket) => {
      socket.on("message", (data, binary) => {
        socket.send(data, { binary });
        if (!binary) socket.close(1000, "bye");
      });
      socket.ping();
    });
    http.listen(0, "127.0.0.1");
    await once(http, "listening");
    const transport = createTransport({ server: `http://127.0.0.1:${(http.address() as AddressInfo).port}` });
    const { stream } = await transport.upgrade({
      method: "GET",
      path: "/",
      headers: {
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": Buffer.alloc(16, 1).toString("base64"),
      },
    });
    const socket = new WebSocketConnection(stream, { role: "client", random: systemRandom });
    await socket.send(Buffer.alloc(70_000, 98));
    await socket.send("end");
    const seen = await gather(socket);
    expect(seen.map((line) => line.length)).toEqual([70_002, 5]);
    await transport.close();
    peer.close();
    http.close();
  });

  it("agrees with another implementation as a server", async () => {
    const http = createServer();
    const served = new Promise<string[]>((resolve, reject) => {
      http.on("upgrade", (request, stream: Duplex) => {
        const accept = webSocketAccept(request.headers["sec-websocket-key"] ?? "");
        stream.write(
          `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
        );
        gather(new WebSocketConnection(stream, { role: "server" })).then(resolve, reject);
      });
    });
    http.listen(0, "127.0.0.1");
    await once(http, "listening");
    const peer = new WebSocket(`ws://127.0.0.1:${(http.address() as AddressInfo).port}`, {
      perMessageDeflate: false,
    });
    await once(peer, "open");
    peer.send(Buffer.alloc(70_000, 98));
    peer.send("end");
    peer.close();
    expect((await served).map((line) => line.length)).toEqual([70_002, 5]);
    http.close();
  });

  it("tunnels a byte stream in order, with back-pressure, to its end", async () => {
    const { client, server } = pair();
    const near = tunnel(client);
    const far = tunnel(server);
    const sent = Buffer.alloc(3 << 20);
    for (let i = 0; i < sent.length; i++) sent[i] = (i * 13) ^ (i >> 9);
    for (let at = 0; at < sent.length; at += 50_000) near.write(sent.subarray(at, at + 50_000));
    near.end();
    const received: Buffer[] = [];
    for await (const chunk of far) received.push(chunk as Buffer);
    expect(Buffer.concat(received).equals(sent)).toBe(true);
  });
});
