import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, createConnection } from "node:net";
import { type Duplex, duplexPair } from "node:stream";
import { promisify } from "node:util";
import type { HttpPort, HttpRequest, HttpUpgrade } from "@keelson/core";
import { systemRandom } from "@keelson/core";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/fake-clock.ts";
import { body, failure, LiveBody, ScriptedHttp } from "../../test/scripted-http.ts";
import { SpdyConnection, type SpdyStream } from "../spdy/connection.ts";
import { createClient } from "../verbs/create-client.ts";
import { WebSocketConnection, webSocketAccept } from "../websocket/connection.ts";
import { tunnel } from "../websocket/tunnel.ts";
import { pods } from "./pods.ts";

const pod = { namespace: "default", name: "web" };

/** An HTTP port whose upgrades end in a function instead of a server. */
class StreamingHttp implements HttpPort {
  readonly asked: HttpRequest[] = [];
  readonly #protocol: (offered: string) => string;
  readonly #serve: (socket: WebSocketConnection, far: Duplex) => void;

  constructor(
    serve: (socket: WebSocketConnection, far: Duplex) => void,
    protocol = (offered: string) => offered.split(", ")[0] ?? "",
  ) {
    this.#serve = serve;
    this.#protocol = protocol;
  }

  async request(): Promise<never> {
    throw new Error("only upgrades are expected");
  }

  async upgrade(request: HttpRequest): Promise<HttpUpgrade> {
    this.asked.push(request);
    const [near, far] = duplexPair() as [Duplex, Duplex];
    this.#serve(new WebSocketConnection(far, { role: "server" }), far);
    return { protocol: this.#protocol(String(request.headers?.["sec-websocket-protocol"])), stream: near };
  }
}

const message = (channel: number, text: string) => Buffer.concat([Buffer.from([channel]), Buffer.from(text)]);
const success = message(3, JSON.stringify({ status: "Success" }));
const exited = (code: number) =>
  message(
    3,
    JSON.stringify({
      status: "Failure",
      reason: "NonZeroExitCode",
      message: `command terminated with non-zero exit code`,
      details: { causes: [{ reason: "ExitCode", message: String(code) }] },
    }),
  );

describe("logs", () => {
  it("come as lines, whatever the chunks, with a last line that has no end", async () => {
    const http = new ScriptedHttp(
      body("one\ntw", Buffer.from("ö\n").subarray(0, 1), Buffer.from("ö\n").subarray(1), "last"),
    );
    const lines: string[] = [];
    const options = { container: "c", tailLines: 5, sinceSeconds: 60, timestamps: true, previous: true };
    for await (const line of pods(createClient({ http })).logs(pod, options)) lines.push(line);
    expect(lines).toEqual(["one", "twö", "last"]);
    expect(http.paths).toEqual([
      "/api/v1/namespaces/default/pods/web/log?container=c&previous=true&sinceSeconds=60&tailLines=5&timestamps=true",
    ]);
  });

  it("are followed until the consumer leaves or aborts", async () => {
    const live = new LiveBody();
    const logs = pods(createClient({ http: new ScriptedHttp(live.answer) }))
      .logs(pod, { follow: true })
      [Symbol.asyncIterator]();
    live.write("one\n");
    expect((await logs.next()).value).toBe("one");
    await logs.return?.();
    expect(live.closed).toBe(true);
    const stop = new AbortController();
    const other = new LiveBody();
    const aborted = pods(createClient({ http: new ScriptedHttp(other.answer) }))
      .logs(pod, { follow: true, signal: stop.signal })
      [Symbol.asyncIterator]();
    const next = aborted.next();
    stop.abort();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  it("say whose log could not be read", async () => {
    const http = new ScriptedHttp(failure(400, "BadRequest", 'container "c" is waiting to start'));
    const reading = pods(createClient({ http })).logs(pod)[Symbol.asyncIterator]().next();
    await expect(reading).rejects.toThrow(
      'cannot read the log of Pod default/web: container "c" is waiting to start (BadRequest)',
    );
  });
});

describe("exec", () => {
  it("feeds a command and returns what it printed and its exit code", async () => {
    const http = new StreamingHttp(async (socket) => {
      let input = "";
      for await (const { data } of socket) {
        if (data[0] === 0) input += data.toString("utf8", 1);
        if (data[0] !== 255) continue;
        expect(data[1]).toBe(0);
        await socket.send(message(1, input.toUpperCase()));
        await socket.send(message(2, "warning"));
        await socket.send(exited(3));
        await socket.close();
      }
    });
    const result = await pods(createClient({ http })).run(pod, {
      container: "c",
      command: ["tr", "a b"],
      input: "grüße",
    });
    expect(result).toEqual({ code: 3, stdout: "GRÜSSE", stderr: "warning" });
    expect(http.asked[0]?.path).toBe(
      "/api/v1/namespaces/default/pods/web/exec?container=c&stdin=true&stdout=true&stderr=true&command=tr&command=a%20b",
    );
  });

  it("gives live streams, resizes a terminal and ends with zero", async () => {
    const sizes: string[] = [];
    const http = new StreamingHttp(async (socket) => {
      for await (const { data } of socket) {
        if (data[0] === 4) sizes.push(data.toString("utf8", 1));
        if (data[0] === 0) await socket.send(message(1, `echo ${data.toString("utf8", 1)}`));
        if (data.toString("utf8", 1) === "exit") {
          await socket.send(success);
          await socket.close();
        }
      }
    });
    const process = await pods(createClient({ http })).exec(pod, { command: ["sh"], stdin: true, tty: true });
    await process.resize({ columns: 80, rows: 24 });
    process.stdin?.write("hi");
    const [chunk] = (await once(process.stdout, "data")) as [Buffer];
    expect(chunk.toString()).toBe("echo hi");
    process.stdin?.write("exit");
    expect(await process.exit).toBe(0);
    expect(sizes).toEqual(['{"Width":80,"Height":24}']);
    expect(http.asked[0]?.path).toContain("stderr=false&tty=true");
  });

  it("tells a command that could not be started from one that failed", async () => {
    const http = new StreamingHttp((socket) => {
      void socket.send(
        message(
          3,
          JSON.stringify({ status: "Failure", code: 500, reason: "InternalError", message: "no such file" }),
        ),
      );
      void socket.close();
    });
    await expect(pods(createClient({ http })).run(pod, { command: ["nope"] })).rejects.toThrow(
      "cannot run nope in Pod default/web: no such file (InternalError)",
    );
  });

  it("never takes a broken connection for an end", async () => {
    const http = new StreamingHttp((socket, far) => {
      void socket.send(message(1, "half")).then(() => far.destroy());
    });
    const process = await pods(createClient({ http })).exec(pod, { command: ["x"] });
    process.stdout.resume();
    await expect(process.exit).rejects.toMatchObject({ code: "StreamBroken" });
  });

  it("gives up on a command that takes too long", async () => {
    const clock = new FakeClock();
    const http = new StreamingHttp(async (socket) => {
      for await (const _message of socket) void 0;
    });
    const running = pods(createClient({ http, clock })).run(pod, { command: ["sleep"], timeoutMs: 5_000 });
    running.catch(() => {});
    await clock.advance(5_000);
    await expect(running).rejects.toThrow("it did not end within 5000 ms; it may still be running");
  });

  it("refuses a server that speaks another protocol", async () => {
    const http = new StreamingHttp(
      () => {},
      () => "",
    );
    await expect(pods(createClient({ http })).exec(pod, { command: ["x"] })).rejects.toThrow(
      "the server chose no protocol, and we speak v5.channel.k8s.io or v4.channel.k8s.io",
    );
    await expect(
      pods(createClient({ http: new ScriptedHttp() })).exec(pod, { command: ["x"] }),
    ).rejects.toThrow("this connection carries no streams");
  });

  it("holds the container back when nobody reads its output", async () => {
    let sent = 0;
    const http = new StreamingHttp(async (socket) => {
      for (let i = 0; i < 200; i++) {
        await socket.send(message(1, "x".repeat(100_000)));
        sent++;
      }
      await socket.send(success);
      await socket.close();
    });
    const process = await pods(createClient({ http })).exec(pod, { command: ["yes"] });
    for (let i = 0; i < 500; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toBeLessThan(30);
    let length = 0;
    for await (const chunk of process.stdout) length += (chunk as Buffer).length;
    expect(length).toBe(20_000_000);
    expect(await process.exit).toBe(0);
  });
});

/** The pod's side of port-forward: an upper-casing echo on port 80, and nothing elsewhere. */
function servePorts(transport: Duplex): void {
  const errors = new Map<string, SpdyStream>();
  new SpdyConnection(transport, {
    role: "server",
    onStream: (stream) => {
      const { streamtype, port, requestid = "" } = stream.headers;
      if (streamtype === "error") {
        errors.set(requestid, stream);
        stream.resume();
        return;
      }
      const error = errors.get(requestid);
      if (port !== "80") {
        error?.end(`nobody listens on port ${port}`);
        stream.end();
        return;
      }
      error?.end();
      stream.on("data", (chunk: Buffer) => stream.write(chunk.toString().toUpperCase()));
      stream.on("end", () => stream.end());
    },
  });
}

describe("port-forward", () => {
  const http = new StreamingHttp((socket) => servePorts(tunnel(socket)));
  const forwarding = pods(createClient({ http }));

  it("gives a stream into the pod that half-closes", async () => {
    const stream = await forwarding.portForward(pod, 80);
    stream.end("hello");
    let said = "";
    for await (const chunk of stream) said += (chunk as Buffer).toString();
    expect(said).toBe("HELLO");
    expect(http.asked[0]).toMatchObject({
      path: "/api/v1/namespaces/default/pods/web/portforward",
      headers: { "sec-websocket-protocol": "SPDY/3.1+portforward.k8s.io" },
    });
  });

  it("fails with the pod's own words", async () => {
    const stream = await forwarding.portForward(pod, 81);
    await expect(once(stream, "end")).rejects.toThrow(
      "cannot connect to port 81 of Pod default/web: nobody listens on port 81",
    );
  });

  it("listens here for many connections, until it is closed", async () => {
    const forwarded = await forwarding.forward(pod, { port: 80 });
    const talk = async (text: string) => {
      const socket = createConnection(forwarded.localPort, "127.0.0.1");
      socket.end(text);
      let said = "";
      for await (const chunk of socket) said += (chunk as Buffer).toString();
      return said;
    };
    expect(await Promise.all(["a", "b", "c"].map(talk))).toEqual(["A", "B", "C"]);
    await forwarded.close();
    await expect(talk("d")).rejects.toThrow("ECONNREFUSED");
  });

  it("tells why a connection could not be made", async () => {
    const errors: string[] = [];
    const forwarded = await forwarding.forward(pod, {
      port: 81,
      onError: (error) => errors.push(error.message),
    });
    const socket = createConnection(forwarded.localPort, "127.0.0.1");
    await once(socket, "close").catch(() => {});
    expect(errors).toEqual(["cannot connect to port 81 of Pod default/web: nobody listens on port 81"]);
    await forwarded.close();
  });
});

/** Just enough of an API server for kubectl to find one running pod and stream with it. */
async function fakeApiServer(stream: (request: IncomingMessage, socket: WebSocketConnection) => void) {
  const answers: Record<string, object> = {
    "/api": { kind: "APIVersions", versions: ["v1"] },
    "/apis": { kind: "APIGroupList", apiVersion: "v1", groups: [] },
    "/api/v1": {
      kind: "APIResourceList",
      groupVersion: "v1",
      resources: [{ name: "pods", singularName: "pod", kind: "Pod", namespaced: true, verbs: ["get"] }],
    },
    "/api/v1/namespaces/default/pods/web": {
      kind: "Pod",
      apiVersion: "v1",
      metadata: { name: "web", namespace: "default" },
      spec: { containers: [{ name: "c" }] },
      status: { phase: "Running" },
    },
  };
  const server = createServer((request, response) => {
    const answer = answers[(request.url ?? "").split("?")[0] ?? ""];
    response
      .writeHead(answer ? 200 : 404, { "content-type": "application/json" })
      .end(JSON.stringify(answer ?? {}));
  });
  const sockets = new Set<Duplex>();
  server.on("upgrade", (request, socket: Duplex) => {
    sockets.add(socket);
    const protocol = String(request.headers["sec-websocket-protocol"]).split(",")[0]?.trim();
    const accept = webSocketAccept(String(request.headers["sec-websocket-key"]));
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: ${accept}\r\nsec-websocket-protocol: ${protocol}\r\n\r\n`,
    );
    stream(request, new WebSocketConnection(socket, { role: "server", random: systemRandom }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Whether this machine has a kubectl that streams over WebSockets. */
const modernKubectl = await promisify(execFile)("kubectl", ["version", "--client", "-o", "json"]).then(
  ({ stdout }) => Number.parseInt(JSON.parse(stdout).clientVersion.minor, 10) >= 31,
  () => false,
);

describe.skipIf(!modernKubectl)(
  "the server's half, with kubectl as its client (needs kubectl 1.31 or later)",
  () => {
    it("carries kubectl port-forward", async () => {
      const server = await fakeApiServer((_request, socket) => servePorts(tunnel(socket)));
      const kubectl = execFile("kubectl", ["--server", server.address, "port-forward", "pod/web", ":80"]);
      const [line] = (await once(kubectl.stdout ?? kubectl, "data")) as [string];
      const port = Number(/127\.0\.0\.1:(\d+)/.exec(line)?.[1]);
      for (const text of ["hello", "x".repeat(200_000)]) {
        const socket = createConnection(port, "127.0.0.1");
        socket.end(text);
        let said = "";
        for await (const chunk of socket) said += (chunk as Buffer).toString();
        expect(said === text.toUpperCase()).toBe(true);
      }
      kubectl.kill();
      await once(kubectl, "close");
      server.close();
    });

    it("carries kubectl exec, its input, output and exit code", async () => {
      const server = await fakeApiServer(async (request, socket) => {
        expect(request.headers["sec-websocket-protocol"]).toContain("v5.channel.k8s.io");
        let input = "";
        for await (const { data } of socket) {
          if (data[0] === 0) input += data.toString("utf8", 1);
          if (data[0] !== 255) continue;
          await socket.send(message(1, input.toUpperCase()));
          await socket.send(exited(7));
          await socket.close();
        }
      });
      const kubectl = execFile("kubectl", ["--server", server.address, "exec", "-i", "web", "--", "tr"]);
      kubectl.stdin?.end("hello");
      let said = "";
      kubectl.stdout?.on("data", (text: string) => {
        said += text;
      });
      const [code] = (await once(kubectl, "close")) as [number];
      expect([said, code]).toEqual(["HELLO", 7]);
      server.close();
    });
  },
);
