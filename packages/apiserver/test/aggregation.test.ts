/** Another server's API, served through this one. */
import { once } from "node:events";
import { createServer, type Server as TlsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import type { TLSSocket } from "node:tls";
import { createAuthority, createLeaf } from "@keelson/pki";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Server } from "./harness.ts";

const hour = 3_600_000;
const [from, to] = [Date.now() - hour, Date.now() + hour];
const serving = createAuthority("serving", from, to);
const front = createAuthority("front", from, to);
const leaf = (authority: typeof serving, commonName: string, names: string[], usage: "server" | "client") =>
  createLeaf(authority, {
    subject: { commonName },
    names,
    usages: [usage],
    notBeforeMs: from,
    notAfterMs: to,
  });

const group = "wardle.example.com";
const gv = `/apis/${group}/v1alpha1`;
const documents: Record<string, object> = {
  [gv]: {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: `${group}/v1alpha1`,
    resources: [
      {
        name: "flunders",
        singularName: "flunder",
        namespaced: true,
        kind: "Flunder",
        verbs: ["get", "list"],
      },
      { name: "flunders/status", singularName: "", namespaced: true, kind: "Flunder", verbs: ["get"] },
    ],
  },
  "/openapi/v2": {
    swagger: "2.0",
    paths: { [`${gv}/flunders`]: { get: {} }, "/apis/apps/v1/": { get: { operationId: "not theirs" } } },
    definitions: { "com.example.Flunder": { type: "object" } },
  },
  "/openapi/v3": { paths: { [gv.slice(1)]: { serverRelativeURL: `/openapi/v3${gv}?hash=A` } } },
  [`/openapi/v3${gv}?hash=A`]: { openapi: "3.0.0", paths: {} },
};

interface Asked {
  readonly line: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly shown: string | undefined;
}

let listener: TlsServer;
let server: Server;
let asked: Asked[] = [];
let isWorking = true;

beforeAll(async () => {
  const { certificate, key } = leaf(serving, "sample", ["sample-api.aggregator.svc"], "server");
  listener = createServer(
    { cert: certificate, key, ca: front.certificate, requestCert: true, rejectUnauthorized: false },
    async (request, response) => {
      let body = "";
      for await (const chunk of request) body += String(chunk);
      const socket = request.socket as TLSSocket;
      const shown = socket.authorized ? (socket.getPeerCertificate().subject.CN as string) : undefined;
      asked.push({ line: `${request.method} ${request.url}`, body, headers: request.headers, shown });
      const document = documents[request.url ?? ""];
      response.writeHead(isWorking ? (document || request.url?.startsWith(gv) ? 200 : 404) : 500, {
        "content-type": "application/json",
      });
      response.end(JSON.stringify(document ?? { kind: "Flunder", metadata: { name: "theirs" } }));
    },
  ).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  server = await Server.start({
    dialer: { dial: async () => connect(port, "127.0.0.1") },
    frontProxy: { ...leaf(front, "front-proxy-client", [], "client"), authority: front.certificate },
    caCertificate: serving.certificate,
  });
  await server.post("/api/v1/namespaces", {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "aggregator" },
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  listener.close();
});
beforeEach(() => {
  asked = [];
  isWorking = true;
});

const apiServices = "/apis/apiregistration.k8s.io/v1/apiservices";

/** The condition, once it has the reason. */
async function condition(reason: string) {
  for (;;) {
    await server.clock.advance(30_000);
    await new Promise((resolve) => setImmediate(resolve));
    const { body } = await server.get(`${apiServices}/v1alpha1.${group}`);
    const [found] = body.status?.conditions ?? [];
    if (found?.reason === reason) return found;
  }
}

test("an extension is available when its service, its endpoints and it itself are there", async () => {
  const made = await server.post(apiServices, {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: `v1alpha1.${group}` },
    spec: {
      group,
      version: "v1alpha1",
      service: { namespace: "aggregator", name: "sample-api", port: 7443 },
      groupPriorityMinimum: 2000,
      versionPriority: 200,
      caBundle: Buffer.from(serving.certificate).toString("base64"),
    },
  });
  expect(made.status).toBe(201);
  expect((await condition("ServiceNotFound")).message).toBe(
    'service/sample-api in "aggregator" is not present',
  );
  const refused = await server.get(`${gv}/flunders`);
  expect([refused.status, refused.text]).toEqual([503, "service unavailable\n"]);
  await server.post("/api/v1/namespaces/aggregator/services", {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "sample-api" },
    spec: { ports: [{ port: 7443, targetPort: 443 }] },
  });
  await condition("EndpointsNotFound");
  await server.post("/apis/discovery.k8s.io/v1/namespaces/aggregator/endpointslices", {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "sample-api", labels: { "kubernetes.io/service-name": "sample-api" } },
    addressType: "IPv4",
    ports: [{ name: "", port: 443 }],
    endpoints: [{ addresses: ["10.244.0.9"] }],
  });
  isWorking = false;
  expect((await condition("FailedDiscoveryCheck")).status).toBe("False");
  isWorking = true;
  expect(await condition("Passed")).toMatchObject({ status: "True", message: "all checks passed" });
  expect(asked.at(-1)?.headers).toMatchObject({ "x-remote-user": "system:kube-aggregator" });
});

test("requests are passed on with the user, by a certificate that only the server has", async () => {
  const port = server.api.as({
    name: "jane",
    uid: "7",
    groups: ["a", "system:masters"],
    extra: { "example.com/Scope": ["x"] },
  });
  const response = await port.request({
    method: "POST",
    path: `${gv}/namespaces/default/flunders?dryRun=All`,
    headers: {
      "content-type": "application/json",
      "x-remote-user": "admin",
      "x-remote-group": "system:masters",
    },
    body: "{}",
  });
  expect(response.status).toBe(200);
  const { line, body, headers, shown } = asked.find((each) => each.line.startsWith("POST")) as Asked;
  expect([line, body, shown]).toEqual([
    `POST ${gv}/namespaces/default/flunders?dryRun=All`,
    "{}",
    "front-proxy-client",
  ]);
  expect(headers).toMatchObject({
    "x-remote-user": "jane",
    "x-remote-uid": "7",
    "x-remote-group": "a, system:masters, system:authenticated",
    "x-remote-extra-example.com%2fscope": "x",
  });
  expect(headers.authorization).toBeUndefined();
});

test("discovery and OpenAPI have what the extension has", async () => {
  const { body: groups } = await server.get("/apis");
  expect(groups.groups.find(({ name }: { name: string }) => name === group)).toEqual({
    name: group,
    versions: [{ groupVersion: `${group}/v1alpha1`, version: "v1alpha1" }],
    preferredVersion: { groupVersion: `${group}/v1alpha1`, version: "v1alpha1" },
  });
  expect((await server.get(`/apis/${group}`)).body.kind).toBe("APIGroup");
  expect((await server.get(gv)).body.resources).toHaveLength(2);
  const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const { body: aggregated } = await server.send("GET", "/apis", undefined, { headers: { accept } });
  const found = aggregated.items.find(
    ({ metadata }: { metadata: { name: string } }) => metadata.name === group,
  );
  expect(found.versions[0]).toMatchObject({
    freshness: "Current",
    resources: [{ resource: "flunders", scope: "Namespaced", subresources: [{ subresource: "status" }] }],
  });
  const { body: v2 } = await server.get("/openapi/v2");
  expect(v2.paths[`${gv}/flunders`]).toEqual({ get: {} });
  expect(v2.paths["/apis/apps/v1/"].get.operationId).not.toBe("not theirs");
  expect(v2.definitions["com.example.Flunder"]).toEqual({ type: "object" });
  const { paths } = JSON.parse((await server.get("/openapi/v3")).text);
  expect(paths[gv.slice(1)].serverRelativeURL).toBe(`/openapi/v3${gv}?hash=A`);
  expect((await server.get(`/openapi/v3${gv}`, { hash: "A" })).body.openapi).toBe("3.0.0");
});

test("an extension whose registration is changed stays available", async () => {
  const at = `${apiServices}/v1alpha1.${group}`;
  const patch = { spec: { versionPriority: 400 } };
  const type = "application/merge-patch+json";
  expect((await server.send("PATCH", at, JSON.stringify(patch), { type })).status).toBe(200);
  expect((await server.get(`${gv}/flunders`)).status).toBe(200);
});

test("an extension that goes takes its API with it", async () => {
  isWorking = false;
  await condition("FailedDiscoveryCheck");
  expect((await server.get(`${gv}/flunders`)).status).toBe(503);
  const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const { body } = await server.send("GET", "/apis", undefined, { headers: { accept } });
  const found = body.items.find(({ metadata }: { metadata: { name: string } }) => metadata.name === group);
  expect(found.versions[0]).toEqual({ version: "v1alpha1", freshness: "Stale" });
  await server.del(`${apiServices}/v1alpha1.${group}`);
  expect((await server.get(`${gv}/flunders`)).status).toBe(404);
});

test("extensions read whom to believe", async () => {
  const { body } = await server.get(
    "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication",
  );
  expect(body.data).toMatchObject({
    "requestheader-client-ca-file": front.certificate,
    "requestheader-allowed-names": '["front-proxy-client"]',
    "requestheader-username-headers": '["X-Remote-User"]',
  });
});
