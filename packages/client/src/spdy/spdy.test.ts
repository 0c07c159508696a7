import { createHash } from "node:crypto";
import { once } from "node:events";
import { type Duplex, duplexPair } from "node:stream";
import { constants, createDeflate } from "node:zlib";
import { describe, expect, it } from "vitest";
import { SpdyConnection, type SpdyStream } from "./connection.ts";
import { headerDictionary } from "./dictionary.ts";
import { HeaderReader, HeaderWriter } from "./header-block.ts";

function pair(onStream: (stream: SpdyStream) => void = () => {}) {
  const [near, far] = duplexPair() as [Duplex, Duplex];
  return {
    client: new SpdyConnection(near, { role: "client" }),
    server: new SpdyConnection(far, { role: "server", onStream }),
    near,
    far,
  };
}

async function text(stream: Duplex): Promise<string> {
  let out = "";
  for await (const chunk of stream) out += (chunk as Buffer).toString();
  return out;
}

describe("SPDY headers", () => {
  it("have the protocol's dictionary", () => {
    expect(createHash("sha256").update(headerDictionary()).digest("hex")).toBe(
      "51d27341373f923f3cd88e1eb7162aeaa3723d7585ff2399201dc06498407f02",
    );
  });

  it("are read as they were written, block after block", async () => {
    const writer = new HeaderWriter();
    const reader = new HeaderReader();
    for (let i = 0; i < 3; i++) {
      const headers = { streamtype: "data", port: "80", requestid: String(i), empty: "" };
      expect(await reader.read(writer.write(headers))).toEqual(headers);
    }
    expect(await reader.read(writer.write({}))).toEqual({});
    reader.close();
  });

  it("are read when another peer compressed them with the dictionary, in one context", async () => {
    const deflate = createDeflate({ dictionary: headerDictionary() });
    const reader = new HeaderReader();
    for (const value of ["error", "data", "error"]) {
      const plain = Buffer.concat([
        Buffer.from([0, 0, 0, 1, 0, 0, 0, 10]),
        Buffer.from("StreamType"),
        Buffer.from([0, 0, 0, value.length]),
        Buffer.from(value),
      ]);
      deflate.write(plain);
      await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, resolve));
      expect(await reader.read(deflate.read() as Buffer)).toEqual({ streamtype: value });
    }
    reader.close();
    deflate.close();
  });
});

describe("SPDY connection", () => {
  it("carries streams with headers both ways, and half-closes them", async () => {
    const { client, server } = pair((stream) => {
      void text(stream).then((said) => stream.end(`${stream.headers.name}: ${said.toUpperCase()}`));
    });
    const streams = await Promise.all(["a", "b"].map((name) => client.createStream({ name })));
    expect(streams.map(({ id }) => id)).toEqual([1, 3]);
    for (const stream of streams) stream.end("hello");
    expect(await Promise.all(streams.map(text))).toEqual(["a: HELLO", "b: HELLO"]);
    await client.close();
    expect(await server.closed).toBeUndefined();
  });

  it("opens streams from the server's side too", async () => {
    const [near, far] = duplexPair() as [Duplex, Duplex];
    const client = new SpdyConnection(near, {
      role: "client",
      onStream: (stream) => stream.end(stream.headers.q),
    });
    const server = new SpdyConnection(far, { role: "server" });
    expect(await text(await server.createStream({ q: "why" }))).toBe("why");
    await client.close();
  });

  it("carries megabytes in order through a slow reader", async () => {
    const received: Buffer[] = [];
    let finished: (() => void) | undefined;
    const done = new Promise<void>((resolve) => {
      finished = resolve;
    });
    const { client } = pair((stream) => {
      void (async () => {
        for await (const chunk of stream) {
          received.push(chunk as Buffer);
          await new Promise((resolve) => setImmediate(resolve));
        }
        finished?.();
      })();
    });
    const stream = await client.createStream({});
    const sent = Buffer.alloc(5 << 20);
    for (let i = 0; i < sent.length; i++) sent[i] = (i * 7) ^ (i >> 8);
    stream.end(sent);
    await done;
    expect(Buffer.concat(received).equals(sent)).toBe(true);
    await client.close();
  });

  it("holds the sender back while a reader rests", async () => {
    let theirs: SpdyStream | undefined;
    const { client } = pair((stream) => {
      theirs = stream;
    });
    const stream = await client.createStream({});
    let written = 0;
    for (let i = 0; i < 100; i++) stream.write(Buffer.alloc(100_000), () => written++);
    for (let i = 0; i < 500; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(written).toBeLessThan(20);
    theirs?.resume();
    stream.end();
    await once(theirs as SpdyStream, "end");
    expect(written).toBe(100);
    await client.close();
  });

  it("answers pings from either side", async () => {
    const { client, server } = pair();
    await Promise.all([client.ping(), server.ping(), client.ping()]);
    await client.close();
  });

  it("refuses a stream that its owner does not want, and nothing else", async () => {
    const { client } = pair((stream) => {
      if (stream.headers.ok !== "yes") throw new Error("no");
      stream.end("fine");
    });
    const refused = await client.createStream({ ok: "no" });
    await expect(text(refused)).rejects.toThrow("the peer reset the stream");
    expect(await text(await client.createStream({ ok: "yes" }))).toBe("fine");
    await client.close();
  });

  it("tells the peer when a stream is destroyed", async () => {
    let theirs: SpdyStream | undefined;
    const { client } = pair((stream) => {
      theirs = stream;
    });
    const stream = await client.createStream({});
    stream.destroy();
    const [error] = (await once(theirs as SpdyStream, "error")) as [Error];
    expect(error.message).toBe("the peer reset the stream");
    await client.close();
  });

  it("breaks its streams when the connection breaks, or talks nonsense", async () => {
    const { client, near } = pair();
    const stream = await client.createStream({});
    near.destroy(new Error("gone"));
    await expect(text(stream)).rejects.toThrow("gone");
    const [a, b] = duplexPair() as [Duplex, Duplex];
    const other = new SpdyConnection(a, { role: "client" });
    const opening = other.createStream({});
    b.write(Buffer.from([0xff, 0xff, 0, 0, 0, 0, 0, 0]));
    await expect(opening).rejects.toMatchObject({ code: "StreamBroken" });
  });
});
