/** What may be reached through `/proxy`, and what is shown to it. */
import { once } from "node:events";
import { createServer, type Server as TlsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { createAuthority, createLeaf } from "@keelson/pki";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Destination, ProxyRequest, ProxyTransport } from "../src/proxy/transport.ts";
import { socketTransport } from "../src/proxy/transport.ts";
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

describe("where requests are passed on to", () => {
  const asked: { to: Destination; request: ProxyRequest }[] = [];
  const transport: ProxyTransport = {
    async request(to, request) {
      asked.push({ to, request });
      return { status: 200, headers: {}, body: (async function* () {})() };
    },
    upgrade: () => Promise.reject(new Error("nobody upgrades here")),
  };
  let server: Server;

  beforeAll(async () => {
    server = await Server.start({ transport });
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
          addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
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

  test("is a node's kubelet and no other port of its machine", async () => {
    const kubelet = { of: "kubelet", scheme: "https", host: "127.0.0.1", port: 10250 };
    expect(await proxied("/api/v1/nodes/n/proxy/pods")).toEqual(kubelet);
    expect(await proxied("/api/v1/nodes/https:n:10250/proxy/pods")).toEqual(kubelet);
    expect(await proxied("/api/v1/nodes/https:n:6443/proxy/api")).toBe("400 address not allowed");
  });
});
