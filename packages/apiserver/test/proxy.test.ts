/** What may be reached through `/proxy`, and what is shown to it. */
import { once } from "node:events";
import { createServer, type Server as TlsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketConnection } from "@keelson/client/internal/websocket";
import { createAuthority, createLeaf } from "@keelson/pki";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AdmissionRequest } from "../src/contracts/admission.ts";
import type { Destination, ProxyRequest, ProxyTransport } from "../src/proxy/transport.ts";
import { socketTransport } from "../src/proxy/transport.ts";
import { defaultPlugins } from "../src/server/plugins.ts";
import { Server } from "./harness.ts";

const hour = 3_600_000;
const authority = createAuthority("test", Date.now() - hour, Date.now() + hour);
const leaf = (commonName: string, usages: ("server" | "client")[]) =>
  createLeaf(authority, {
    subject: { commonName },
    names: ["127.0.0.1"],
    usages,
    notBeforeMs: Date.now() - hour,
    notAfterMs: Date.now() + hour,
  });

describe("the server's own certificate", () => {
  let listener: TlsServer;
  const shown: (string | undefined)[] = [];

  beforeAll(async () => {
    const { certificate, key } = leaf("somebody", ["server"]);
    listener = createServer(
      { cert: certificate, key, ca: authority.certificate, requestCert: true, rejectUnauthorized: false },
      (request, response) => {
        const { subject } = (request.socket as import("node:tls").TLSSocket).getPeerCertificate();
        shown.push(subject?.CN as string | undefined);
        response.end("ok");
      },
    );
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
  });
  afterAll(() => void listener.close());

  const ask = async (of: Destination["of"]) => {
    const { port } = listener.address() as AddressInfo;
    const identity = { user: "kubelet-client", ...leaf("kubelet-client", ["client"]) };
    const transport = socketTransport(identity, { dial: async () => connect(port, "127.0.0.1") });
    const to = { of, scheme: "https", host: "127.0.0.1", port } as const;
    const { body } = await transport.request(to, { method: "GET", path: "/", headers: {} });
    await Array.fromAsync(body);
    return shown.pop();
  };

  test("is shown to kubelets and to no pod", async () => {
    expect(await ask("kubelet")).toBe("kubelet-client");
    expect(await ask("pod")).toBeUndefined();
  });
});

function answerOf(status: number, headers: Record<string, string>, text: string) {
  return {
    status,
    headers,
    body: {
      async *[Symbol.asyncIterator]() {
        yield Buffer.from(text);
      },
    },
  };
}

describe("where requests are passed on to", () => {
  const asked: { to: Destination; request: ProxyRequest }[] = [];
  const transport: ProxyTransport = {
    async request(to, request) {
      asked.push({ to, request });
      return answer;
    },
    upgrade: () => Promise.reject(new Error("nobody upgrades here")),
  };
  let server: Server;
  let answer = answerOf(200, {}, "");
  const connections: AdmissionRequest[] = [];
  const plugins = [
    ...defaultPlugins,
    () => ({
      admission: [
        { name: "Recorder", validate: (request: AdmissionRequest) => void connections.push(request) },
      ],
    }),
  ];

  beforeAll(async () => {
    server = await Server.start({ transport, plugins });
    const podPath = "/api/v1/namespaces/default/pods";
    const addresses = {
      good: "10.244.0.5",
      own: "127.0.0.1",
      link: "169.254.169.254",
      six: "::1",
      any: "0.0.0.0",
    };
    for (const [name, ip] of Object.entries(addresses)) {
      await server.send("POST", podPath, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name },
        spec: { nodeName: "n", containers: [{ name: "c", image: "i", ports: [{ containerPort: 8080 }] }] },
      });
      await server.send(
        "PATCH",
        `${podPath}/${name}/status`,
        { status: { podIP: ip, podIPs: [{ ip }] } },
        { type: "application/merge-patch+json" },
      );
    }
    for (const name of ["good", "stray", "foreign", "lying"]) {
      await server.send("POST", "/api/v1/namespaces/default/services", {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name },
        spec: {
          ports: [
            { name: "web", port: 80 },
            { name: "tls", port: 443 },
          ],
        },
      });
    }
    const endpoints = {
      good: { addresses: ["10.244.0.5"], targetRef: { kind: "Pod", namespace: "default", name: "good" } },
      stray: { addresses: ["10.244.0.5"] },
      foreign: {
        addresses: ["10.244.0.5"],
        targetRef: { kind: "Pod", namespace: "kube-system", name: "good" },
      },
      lying: { addresses: ["10.9.9.9"], targetRef: { kind: "Pod", namespace: "default", name: "good" } },
    };
    for (const [name, endpoint] of Object.entries(endpoints)) {
      const made = await server.send("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { name, labels: { "kubernetes.io/service-name": name } },
        addressType: "IPv4",
        ports: [{ name: "web", port: 8080 }],
        endpoints: [endpoint],
      });
      expect(made.status).toBe(201);
    }
    await server.send("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "n" } });
    await server.send(
      "PATCH",
      "/api/v1/nodes/n/status",
      {
        status: {
          addresses: [
            { type: "InternalIP", address: "127.0.0.1" },
            { type: "InternalDNS", address: "localhost" },
          ],
          daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
        },
      },
      { type: "application/merge-patch+json" },
    );
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const proxied = async (path: string) => {
    asked.length = 0;
    const { status, body } = await server.send("GET", path);
    return status === 200 ? asked[0]?.to : `${status} ${body.message}`;
  };
  const pods = "/api/v1/namespaces/default/pods";
  const services = "/api/v1/namespaces/default/services";

  test("is a pod's address, unless that is the machine's or the link's own", async () => {
    expect(await proxied(`${pods}/good/proxy/x`)).toEqual({
      of: "pod",
      scheme: "http",
      host: "10.244.0.5",
      port: 8080,
    });
    for (const name of ["own", "link", "six", "any"])
      expect(await proxied(`${pods}/${name}/proxy/x`)).toBe("400 address not allowed");
  });

  test("is an endpoint of a service only where it is a pod of the service's namespace", async () => {
    const expected = { of: "pod", scheme: "https", host: "10.244.0.5", port: 8080 };
    expect(await proxied(`${services}/https:good:web/proxy/`)).toEqual(expected);
    expect(await proxied(`${services}/https:good:80/proxy/`)).toEqual(expected);
    for (const name of ["stray", "foreign", "lying"])
      expect(await proxied(`${services}/${name}:web/proxy/`)).toBe(
        `503 no endpoints available for service "${name}:web"`,
      );
  });

  test("is not the API server behind the service of its own", async () => {
    const path = `${services}/https:kubernetes:https/proxy/apis/authentication.k8s.io/v1/selfsubjectreviews`;
    expect(await proxied(path)).toBe('503 no endpoints available for service "https:kubernetes:https"');
  });

  test.for(["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"])("takes %s", async (method) => {
    asked.length = 0;
    expect((await server.send(method, `${pods}/good/proxy/x?a=b%20c`)).status).toBe(200);
    expect(asked[0]?.request).toMatchObject({ method, path: "/x?a=b%20c" });
  });

  test("is the root for a path with a slash, and a redirect there without one", async () => {
    asked.length = 0;
    const redirected = await server.send("GET", `${pods}/good/proxy?a=b`);
    expect([redirected.status, redirected.headers.location]).toEqual([301, `${pods}/good/proxy/?a=b`]);
    expect((await server.send("POST", `${pods}/good/proxy`)).status).toBe(200);
    expect((await server.send("GET", `${pods}/good/proxy/`)).status).toBe(200);
    expect(asked.map(({ request }) => request.path)).toEqual(["/", "/"]);
  });

  test("is rewritten in the links of a page and in a redirect", async () => {
    const page = '<a href="/x/">x</a><a href=y>y</a><IMG SRC=\'http://10.244.0.5:8080/z\'><p href="/x">';
    answer = answerOf(200, { "content-type": "text/html; charset=utf-8" }, page);
    const prefix = `${pods}/good/proxy`;
    expect((await server.send("GET", `${prefix}/p`)).text).toBe(
      `<a href="${prefix}/x/">x</a><a href=y>y</a><IMG SRC='${prefix}/z'><p href="/x">`,
    );
    answer = answerOf(302, { location: "/there?a#b" }, "");
    expect((await server.send("GET", `${prefix}/p`)).headers.location).toBe(`${prefix}/there?a#b`);
    answer = answerOf(200, {}, "");
  });

  test("is admitted as a connection with its options", async () => {
    connections.length = 0;
    await server.send("GET", `${pods}/good/proxy/x/`);
    await server.send("GET", "/api/v1/nodes/n/proxy/pods");
    await server.send("POST", `${pods}/good/exec?command=ls&command=-l&stdout=true&container=c`);
    await server.send("POST", `${pods}/good/attach?stdin=true&tty=1`);
    await server.send("POST", `${pods}/good/portforward?ports=80`);
    const seen = connections.filter(({ operation }) => operation === "CONNECT");
    expect(seen.map(({ kind, subresource, object }) => [kind.kind, subresource, object])).toEqual([
      ["PodProxyOptions", "proxy", { kind: "PodProxyOptions", apiVersion: "v1", path: "/x/" }],
      ["NodeProxyOptions", "proxy", { kind: "NodeProxyOptions", apiVersion: "v1", path: "/pods" }],
      [
        "PodExecOptions",
        "exec",
        { kind: "PodExecOptions", apiVersion: "v1", stdout: true, container: "c", command: ["ls", "-l"] },
      ],
      ["PodAttachOptions", "attach", { kind: "PodAttachOptions", apiVersion: "v1", stdin: true, tty: true }],
      [
        "PodPortForwardOptions",
        "portforward",
        { kind: "PodPortForwardOptions", apiVersion: "v1", ports: [80] },
      ],
    ]);
  });

  test("is read over a WebSocket where a log is asked for so", async () => {
    answer = answerOf(200, {}, "one\ntwo\n");
    const upgraded = await server.api.http.upgrade?.({
      method: "GET",
      path: `${pods}/good/log`,
      headers: {
        upgrade: "websocket",
        connection: "Upgrade",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
        "sec-websocket-protocol": "binary.k8s.io",
      },
    });
    const stream = upgraded?.stream as Duplex;
    const socket = new WebSocketConnection(stream, {
      role: "client",
      random: { bytes: (n) => new Uint8Array(n) },
    });
    const messages: string[] = [];
    for await (const { data } of socket) messages.push(data.toString());
    expect(messages).toEqual(["", "one\ntwo\n"]);
    answer = answerOf(200, {}, "");
  });

  test("is a node's kubelet and no other port of its machine", async () => {
    const kubelet = { of: "kubelet", scheme: "https", host: "localhost", port: 10250 };
    expect(await proxied("/api/v1/nodes/n/proxy/pods")).toEqual(kubelet);
    expect(await proxied("/api/v1/nodes/https:n:10250/proxy/pods")).toEqual(kubelet);
    expect(await proxied("/api/v1/nodes/https:n:6443/proxy/api")).toBe("400 address not allowed");
  });
});
