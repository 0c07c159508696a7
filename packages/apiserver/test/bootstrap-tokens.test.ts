/** Bootstrap tokens: who brings one may ask for a certificate, and do nothing else. */
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ApiServer, apiServer, startApiServer } from "../src/index.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "keelson-bootstrap-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const nowMs = Date.UTC(2026, 0, 1);
const secrets = "/api/v1/namespaces/kube-system/secrets";

/** The status, and the body where there is one. */
async function ask(api: ApiServer, token: string, method: string, path: string, body?: object) {
  const answer = await api.dispatch({
    method,
    target: path,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: async () => Buffer.from(body ? JSON.stringify(body) : ""),
    signal: new AbortController().signal,
  });
  const chunks = Array.isArray(answer.body) ? answer.body : [answer.body];
  const text = chunks.map((chunk) => Buffer.from(chunk as Uint8Array).toString()).join("");
  return { status: answer.status, body: JSON.parse(text) };
}

const whoAmI = (api: ApiServer, token: string) =>
  ask(api, token, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {
    apiVersion: "authentication.k8s.io/v1",
    kind: "SelfSubjectReview",
  });

async function serverWith(stringData: Record<string, string>, more: object = {}, flag = "true") {
  const clock = { now: () => nowMs, monotonic: () => nowMs, timer: () => () => {} };
  const api = await apiServer({
    clock,
    flags: { "authorization-mode": "RBAC", "enable-bootstrap-token-auth": flag },
  });
  const response = await api.http.request({
    method: "POST",
    path: secrets,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "bootstrap-token-abcdef" },
      type: "bootstrap.kubernetes.io/token",
      stringData: {
        "token-id": "abcdef",
        "token-secret": "0123456789abcdef",
        "usage-bootstrap-authentication": "true",
        ...stringData,
      },
      ...more,
    }),
  });
  expect(response.status).toBe(201);
  return api;
}

const token = "abcdef.0123456789abcdef";

describe("a bootstrap token", () => {
  test("names its bearer and the groups of its Secret", async () => {
    await using api = await serverWith({
      "auth-extra-groups": "system:bootstrappers:a,system:bootstrappers:b:c",
    });
    const { status, body } = await whoAmI(api, token);
    expect(status).toBe(201);
    expect(body.status.userInfo).toMatchObject({
      username: "system:bootstrap:abcdef",
      groups: [
        "system:bootstrappers",
        "system:bootstrappers:a",
        "system:bootstrappers:b:c",
        "system:authenticated",
      ],
    });
  });

  test.for<[string, Record<string, string>, object?, string?]>([
    ["has expired", { expiration: "2025-12-31T23:59:59Z" }],
    ["expires at a time that nobody can read", { expiration: "tomorrow" }],
    ["is not for authentication", { "usage-bootstrap-authentication": "false" }],
    ["says of authentication something else than true", { "usage-bootstrap-authentication": "True" }],
    ["is in a Secret with another id", { "token-id": "fedcba" }],
    ["has another secret", { "token-secret": "0123456789abcdee" }],
    ["asks for a group of administrators", { "auth-extra-groups": "system:masters" }],
    [
      "asks for a group of administrators beside its own",
      { "auth-extra-groups": "system:bootstrappers:a,system:masters" },
    ],
    ["is in a Secret of another type", {}, { type: "Opaque" }],
    ["is in a Secret of another name", {}, { metadata: { name: "bootstrap-token-fedcba" } }],
    ["is not turned on", {}, {}, "false"],
  ])("is refused when it %s", async ([, data, more = {}, flag]) => {
    await using api = await serverWith(data, more, flag);
    expect((await whoAmI(api, token)).status).toBe(401);
  });

  test("is refused in every other form", async () => {
    await using api = await serverWith({});
    for (const form of [
      "abcdef",
      "abcdef.",
      ".0123456789abcdef",
      "ABCDEF.0123456789abcdef",
      `${token}x`,
      `x${token}`,
      "../abc.0123456789abcdef",
    ])
      expect([form, (await whoAmI(api, form)).status]).toEqual([form, 401]);
    expect((await whoAmI(api, token)).status).toBe(201);
  });
});

describe("a server that runs", () => {
  const start = () => startApiServer({ port: 0, dataDir: join(directory, "data") });
  const tokenIn = (path: string) => JSON.parse(readFileSync(path, "utf8")).users[0].user.token as string;

  test("writes a kubeconfig for nodes that only its owner reads, with the same token after a restart", async () => {
    const tokens: string[] = [];
    for (let i = 0; i < 2; i++) {
      await using server = await start();
      expect(statSync(server.bootstrapKubeconfig).mode & 0o077).toBe(0);
      tokens.push(tokenIn(server.bootstrapKubeconfig));
      expect((await whoAmI(server.api, tokens[i] as string)).body.status.userInfo.groups).toContain(
        "system:bootstrappers",
      );
    }
    expect(tokens[0]).toMatch(/^[a-z0-9]{6}\.[a-z0-9]{16}$/);
    expect(tokens[1]).toBe(tokens[0]);
  });

  test("lets the token ask for a certificate, and nothing else", async () => {
    await using server = await start();
    const bearer = tokenIn(server.bootstrapKubeconfig);
    const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    expect((await ask(server.api, bearer, "GET", requests)).status).toBe(200);
    for (const [method, path] of [
      ["GET", secrets],
      ["GET", "/api/v1/nodes"],
      ["POST", "/api/v1/nodes"],
      ["GET", "/api/v1/pods"],
      ["PUT", `${requests}/x/approval`],
      ["PUT", `${requests}/x/status`],
      ["DELETE", `${requests}/x`],
      ["POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"],
    ] as const)
      expect([method, path, (await ask(server.api, bearer, method, path)).status]).toEqual([
        method,
        path,
        403,
      ]);
  });
});
