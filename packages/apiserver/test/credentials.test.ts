/** What a server knows itself and its users by, over restarts. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FlagError, type RunningApiServer, startApiServer } from "../src/index.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "keelson-credentials-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const start = (more = {}) =>
  startApiServer({
    port: 0,
    dataDir: join(directory, "data"),
    disableAdmissionPlugins: "ServiceAccount",
    ...more,
  });

async function send(server: RunningApiServer, method: string, path: string, body?: object) {
  const response = await server.api.http.request({
    method,
    path,
    headers: { "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = Buffer.concat(await Array.fromAsync(response.body)).toString();
  return { status: response.status, body: JSON.parse(text) };
}

describe("with a data directory", () => {
  test("a service account's token is valid after a restart", async () => {
    let token: string;
    {
      await using server = await start();
      const accounts = "/api/v1/namespaces/default/serviceaccounts";
      await send(server, "POST", accounts, {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name: "a" },
      });
      const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
      const made = await send(server, "POST", `${accounts}/a/token`, request);
      token = made.body.status.token;
    }
    await using server = await start();
    const review = await send(server, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token },
    });
    expect(review.body.status.user?.username).toBe("system:serviceaccount:default:a");
  });

  test("the administrator's token stays the same, and nobody else can read it", async () => {
    const tokens: string[] = [];
    for (let i = 0; i < 2; i++) {
      await using server = await start();
      tokens.push(server.token);
    }
    expect(tokens[0]).toBe(tokens[1]);
    for (const name of ["token", "sa.key", "ca.key"])
      expect(statSync(join(directory, "data", "pki", name)).mode & 0o077).toBe(0);
    expect(statSync(join(directory, "data", "pki")).mode & 0o077).toBe(0);
  });
});

describe("a token in a file", () => {
  test("is used and not kept", async () => {
    const tokenFile = join(directory, "token");
    writeFileSync(tokenFile, "from-a-file\n");
    await using server = await start({ tokenFile });
    expect(server.token).toBe("from-a-file");
    expect(readFileSync(server.kubeconfig, "utf8")).toContain('"from-a-file"');
  });

  test("is missed when the file is empty", async () => {
    const tokenFile = join(directory, "token");
    writeFileSync(tokenFile, "\n");
    await expect(start({ tokenFile })).rejects.toThrow(FlagError);
  });
});
