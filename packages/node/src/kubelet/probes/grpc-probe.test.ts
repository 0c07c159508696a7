/** What the kubelet says of these servers was asked of its own prober, of Kubernetes 1.36. */
import { once } from "node:events";
import { createServer as createHttp1 } from "node:http";
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { probeGrpc } from "./grpc-probe.ts";

type Answer = (stream: ServerHttp2Stream, asked: string) => void;

const grpc = { ":status": 200, "content-type": "application/grpc" };
const framed = (...body: number[]) => Buffer.from([0, 0, 0, 0, body.length, ...body]);

/** A health server: the trailers come after the message, as gRPC wants it. */
const replies =
  (message: Buffer, trailers = { "grpc-status": "0" } as Record<string, string>): Answer =>
  (stream) => {
    stream.respond(grpc, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    stream.end(message);
  };
const refuses =
  (code: string, message: string): Answer =>
  (stream) =>
    stream.respond({ ...grpc, "grpc-status": code, "grpc-message": message }, { endStream: true });

async function probed(answer: Answer, service = "", timeoutMs = 5_000): Promise<string> {
  const server = createServer();
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => void sessions.add(session.on("error", () => {})));
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => answer(stream, Buffer.concat(chunks).toString("latin1")));
  });
  try {
    return await probeOf(server, service, timeoutMs);
  } finally {
    for (const session of sessions) session.destroy();
    server.close();
  }
}

async function probeOf(server: Server, service = "", timeoutMs = 5_000): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const { ok, message } = await probeGrpc({ host: "127.0.0.1", port, service, timeoutMs });
  return ok ? "ok" : message.replace(String(port), "PORT");
}

describe("a gRPC probe", () => {
  test("is content with a server that serves, and with no other", async () => {
    expect(await probed(replies(framed(8, 1)))).toBe("ok");
    const unhealthy = (status: string) => `service unhealthy (responded with "${status}")`;
    expect(await probed(replies(framed(8, 2)))).toBe(unhealthy("NOT_SERVING"));
    expect(await probed(replies(framed()))).toBe(unhealthy("UNKNOWN"));
    expect(await probed(replies(framed(8, 7)))).toBe(unhealthy("7"));
  });

  test("asks for its service by name, however long that is", async () => {
    const asked: string[] = [];
    const hear: Answer = (stream, message) => {
      asked.push(message);
      replies(framed(8, 1))(stream, message);
    };
    await probed(hear);
    await probed(hear, "readiness");
    await probed(hear, "s".repeat(200));
    expect(asked).toEqual([
      "\0\0\0\0\0",
      "\0\0\0\0\x0b\x0a\x09readiness",
      `\0\0\0\0\xcb\x0a\xc8\x01${"s".repeat(200)}`,
    ]);
  });

  test("quotes a server that refuses", async () => {
    const failed = "error: health rpc probe failed: rpc error: code =";
    expect(await probed(refuses("5", "unknown service"))).toBe(`${failed} NotFound desc = unknown service`);
    expect(
      await probed(replies(Buffer.alloc(0), { "grpc-status": "5", "grpc-message": "un%C3%A9 %25" })),
    ).toBe(`${failed} NotFound desc = uné %`);
    expect(await probed(refuses("77", "odd"))).toBe(`${failed} Code(77) desc = odd`);
    expect(await probed(refuses("12", "unknown service grpc.health.v1.Health"))).toBe(
      "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): " +
        "unknown service grpc.health.v1.Health",
    );
  });

  test("says what it met where no gRPC is spoken", async () => {
    const answers = (status: number, type?: string): Answer => {
      const headers = { ":status": status, ...(type === undefined ? {} : { "content-type": type }) };
      return (stream) => {
        stream.respond(headers);
        stream.end("hello");
      };
    };
    const unexpected = "unexpected HTTP status code received from server:";
    expect(await probed(answers(200, "text/html"))).toBe(
      `error: health rpc probe failed: rpc error: code = Unknown desc = ${unexpected} 200 (OK); ` +
        'transport: received unexpected content-type "text/html"',
    );
    expect(await probed(answers(404, "text/plain"))).toBe(
      "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): " +
        `${unexpected} 404 (Not Found); transport: received unexpected content-type "text/plain"`,
    );
    expect(await probed(answers(503))).toBe(
      `error: health rpc probe failed: rpc error: code = Unavailable desc = ${unexpected} 503 ` +
        "(Service Unavailable); malformed header: missing HTTP content-type",
    );
  });

  test("says what it missed in an answer that breaks off", async () => {
    const internal = "error: health rpc probe failed: rpc error: code = Internal desc =";
    expect(await probed((stream) => stream.close(2))).toBe(
      `${internal} stream terminated by RST_STREAM with error code: INTERNAL_ERROR`,
    );
    const silent: Answer = (stream) => {
      stream.respond(grpc);
      stream.end(framed(8, 1));
    };
    expect(await probed(silent)).toBe(`${internal} server closed the stream without sending trailers`);
    expect(await probed(replies(Buffer.alloc(0)))).toBe(
      `${internal} cardinality violation: received no response message from non-server-streaming RPC`,
    );
    expect(await probed((stream) => stream.session?.destroy())).toMatch(
      /^error: health rpc probe failed: rpc error: code = Unavailable desc = /,
    );
  });

  test("gives up in time, and tells a server that is not reached from one that does not answer", async () => {
    expect(await probed(() => {}, "", 200)).toBe("timeout: health rpc did not complete within 0.2s");
    const unreached =
      'timeout: failed to connect service "127.0.0.1:PORT" within 1m0s: context deadline exceeded';
    using http1 = new Closing(createHttp1((_request, response) => response.end("hello")));
    expect(await probeOf(http1.server, "", 60_000)).toBe(unreached);
    using mute = new Closing(createTcp(() => {}));
    expect(await probeOf(mute.server, "", 200)).toBe(unreached.replace("1m0s", "0.2s"));
    const { port } = mute.server.address() as AddressInfo;
    mute.server.close();
    const closed = await probeGrpc({ host: "127.0.0.1", port, service: "", timeoutMs: 60_000 });
    expect(closed.message.replace(String(port), "PORT")).toBe(unreached);
  });
});

/** A server that takes its connections along when it closes. */
class Closing implements Disposable {
  readonly server: Server;
  readonly #sockets: Socket[] = [];

  constructor(server: Server) {
    this.server = server.on("connection", (socket) => void this.#sockets.push(socket));
  }

  [Symbol.dispose](): void {
    this.server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
