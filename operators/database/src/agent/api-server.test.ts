import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority, createLeaf } from "keelson/pki";
import { afterEach, beforeEach, expect, test } from "vitest";
import { apiServer } from "./api-server.ts";

let credentials: string;
let server: Server;
/** In the order in which they were opened. */
let connections: Socket[];
/** Requests, by the connection that brought them. */
let asked: number[];
let answers: boolean;

beforeEach(async () => {
  credentials = mkdtempSync(join(tmpdir(), "keelson-credentials-"));
  const lifetime = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 };
  const authority = createAuthority("test", lifetime.notBeforeMs, lifetime.notAfterMs);
  const { certificate, key } = createLeaf(authority, {
    subject: { commonName: "api" },
    names: ["127.0.0.1"],
    usages: ["server"],
    ...lifetime,
  });
  writeFileSync(join(credentials, "ca.crt"), authority.certificate);
  writeFileSync(join(credentials, "token"), "secret");
  [connections, asked, answers] = [[], [], true];
  server = createServer({ cert: certificate, key }, (incoming, response) => {
    asked.push(connections.indexOf(incoming.socket));
    if (answers) setImmediate(() => response.end("{}"));
  });
  server.on("secureConnection", (socket: Socket) => connections.push(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  process.env["KUBERNETES_SERVICE_HOST"] = "127.0.0.1";
  process.env["KUBERNETES_SERVICE_PORT"] = String((server.address() as AddressInfo).port);
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(credentials, { recursive: true });
});

test("after a request without an answer no open connection brings another", async () => {
  const send = apiServer({ timeoutMs: 500, credentials });
  await Promise.all([send("GET", "/a"), send("GET", "/b"), send("GET", "/c")]);
  expect(asked).toEqual([0, 1, 2]);
  answers = false;
  await expect(send("PATCH", "/lease", {})).rejects.toThrow("aborted");
  await expect(send("PATCH", "/lease", {})).rejects.toThrow("aborted");
  const [, , , first, second] = asked;
  expect(first).toBeLessThan(3);
  expect(second).toBe(3);
});
