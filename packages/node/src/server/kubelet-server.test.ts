/** What strangers may send to a node's port: it answers, refuses or hangs up, and goes on. */
import { once } from "node:events";
import { connect as connectPlain } from "node:net";
import { connect } from "node:tls";
import { systemClock } from "@keelson/core";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { NodeApi } from "../api/api.ts";
import { KubeletServer } from "./kubelet-server.ts";

describe("a node's port, without credentials", () => {
  const server = new KubeletServer({
    api: {
      reviewToken: () => Promise.resolve({ authenticated: false, username: "", groups: [] }),
    } as Partial<NodeApi> as NodeApi,
    clock: systemClock,
    nodeName: "n",
    pods: { workers: () => [], find: () => undefined },
    log: () => undefined,
  });
  beforeAll(() => server.listen({ host: "127.0.0.1", port: 0 }));
  afterAll(() => server.close());

  /** The first line of the answer; empty when the server hangs up. */
  const send = async (bytes: string | Uint8Array, over: "tls" | "plain" = "tls"): Promise<string> => {
    const options = { host: "127.0.0.1", port: server.port, rejectUnauthorized: false };
    const socket = over === "tls" ? connect(options) : connectPlain(options);
    let answer = "";
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      answer += chunk.toString("latin1");
      if (answer.includes("\r\n")) socket.destroy();
    });
    socket.end(bytes);
    await once(socket, "close");
    return answer.split("\r\n")[0] ?? "";
  };
  const isWell = async () =>
    expect(await send("GET /healthz HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n")).toBe(
      "HTTP/1.1 200 OK",
    );
  const request = (line: string, ...headers: string[]) =>
    [line, "Host: n", "Connection: close", ...headers, "", ""].join("\r\n");
  const upgrade = (target: string, kind: string) =>
    [`GET ${target} HTTP/1.1`, "Host: n", "Connection: Upgrade", `Upgrade: ${kind}`, "", ""].join("\r\n");

  test.each(["/%zz", "/%", "/pods/%c0%80", "//", "http://[", "http://%zz/", "/exec/%ff/x/y"])(
    "the target %s is malformed, as a request and as an upgrade",
    async (target) => {
      expect(await send(request(`GET ${target} HTTP/1.1`))).toMatch(/^HTTP\/1.1 (400|401)/);
      for (const kind of ["SPDY/3.1", "websocket", "nonsense"]) {
        expect(await send(upgrade(target, kind))).toMatch(/^HTTP\/1.1 (400|401)/);
      }
      await isWell();
    },
  );

  test.each([
    ...["/", "/pods", "/stats/summary", "/metrics", "/containerLogs/a/b/c?tailLines=x", "/run/a/b/c?cmd=id"],
    ...[
      "/exec/a/b/c?command=id",
      "/attach/a/b/c",
      "/portForward/a/b",
      "/constructor",
      "/__proto__",
      "/configz",
    ],
  ])("%s asks who is there", async (target) => {
    expect(await send(request(`GET ${target} HTTP/1.1`))).toBe("HTTP/1.1 401 Unauthorized");
    expect(await send(request(`POST ${target} HTTP/1.1`, "Authorization: Bearer nobody"))).toBe(
      "HTTP/1.1 401 Unauthorized",
    );
    expect(await send(upgrade(target, "SPDY/3.1"))).toBe("HTTP/1.1 401 Unauthorized");
  });

  test.each([
    ["no TLS", "GET /healthz HTTP/1.1\r\n\r\n", "plain"],
    ["half a handshake", "\x16\x03\x01\x02\x00\x01", "plain"],
    ["no HTTP", "\0\xff\xfe garbage \r\n\r\n\r\n", "tls"],
    ["a tunnel", request("CONNECT 10.0.0.1:80 HTTP/1.1"), "tls"],
    ["endless headers", `GET / HTTP/1.1\r\n${"X: y\r\n".repeat(10_000)}\r\n`, "tls"],
    ["two lengths", request("POST /pods HTTP/1.1", "Content-Length: 5", "Content-Length: 6"), "tls"],
    ["a smuggled body", request("POST /pods HTTP/1.1", "Transfer-Encoding: chunked, x"), "tls"],
  ] as const)("%s is refused", async (_, bytes, over) => {
    expect(await send(Buffer.from(bytes, "latin1"), over)).not.toMatch(/^HTTP\/1.1 2/);
    await isWell();
  });

  test("random targets and bytes do no harm", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: "binary", maxLength: 40 }),
        fc.uint8Array({ maxLength: 60 }),
        async (target, bytes) => {
          await send(request(`GET /${target.replaceAll(/[\r\n]/g, "")} HTTP/1.1`));
          await send(bytes, "plain");
        },
      ),
      { numRuns: 15 },
    );
    await isWell();
  });
});
