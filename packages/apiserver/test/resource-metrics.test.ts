/** `metrics.k8s.io`, as `kubectl top` asks for it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ProxyTransport } from "../src/proxy/transport.ts";
import { Server } from "./harness.ts";

let server: Server;
let seconds = 100;

/** A kubelet whose one pod uses half a core. */
const transport: ProxyTransport = {
  async request(_, { path }) {
    const figures = {
      cpu: { usageCoreNanoSeconds: seconds * 1e9 },
      memory: { workingSetBytes: 3 * 1024 * 1024 },
    };
    seconds += 0.5;
    const { body } = await server.get("/api/v1/namespaces/default/pods/p");
    const pods = [
      {
        podRef: { name: "p", namespace: "default", uid: body.metadata.uid },
        containers: [{ name: "c", ...figures }],
      },
      { podRef: { name: "gone", namespace: "default", uid: "x" }, containers: [{ name: "c", ...figures }] },
    ];
    const text = JSON.stringify({ node: { nodeName: "n", ...figures }, pods });
    return {
      status: path === "/stats/summary" ? 200 : 404,
      headers: {},
      body: (async function* () {
        yield Buffer.from(text);
      })(),
    };
  },
  upgrade: () => Promise.reject(new Error("nobody upgrades here")),
};

beforeAll(async () => {
  server = await Server.start({ transport, resourceMetrics: true });
  await server.post("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "n" } });
  await server.merge("/api/v1/nodes/n/status", {
    status: {
      addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    },
  });
  await server.post("/api/v1/namespaces/default/pods", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", labels: { app: "a" } },
    spec: { nodeName: "n", containers: [{ name: "c", image: "i" }] },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const api = "/apis/metrics.k8s.io/v1beta1";

/** Time passes while the kubelets are looked at twice. */
async function get(path: string, query?: Record<string, string>) {
  const answer = server.get(path, query);
  await server.clock.advance(0);
  await server.clock.advance(1_000);
  return await answer;
}

test("nodes and pods show cores and bytes of the time between two looks", async () => {
  const { body: pods } = await get(`${api}/namespaces/default/pods`);
  expect(pods.items).toEqual([
    expect.objectContaining({
      kind: "PodMetrics",
      metadata: expect.objectContaining({ name: "p", namespace: "default", labels: { app: "a" } }),
      window: "1s",
      containers: [{ name: "c", usage: { cpu: "500000000n", memory: "3072Ki" } }],
    }),
  ]);
  const { body: node } = await get(`${api}/nodes/n`);
  expect(node).toMatchObject({ kind: "NodeMetrics", usage: { cpu: "500000000n", memory: "3072Ki" } });
  expect((await get(`${api}/pods`, { labelSelector: "app=b" })).body.items).toEqual([]);
  expect((await get(`${api}/namespaces/default/pods/gone`)).status).toBe(404);
});

test("discovery lists them, and nothing can be written", async () => {
  expect((await server.get(api)).body.resources.map(({ name }: { name: string }) => name)).toEqual([
    "nodes",
    "pods",
  ]);
  const { body } = await server.get("/apis");
  expect(body.groups.map(({ name }: { name: string }) => name)).toContain("metrics.k8s.io");
  expect((await server.post(`${api}/nodes`, {})).status).toBe(405);
  expect(
    (await server.get("/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io")).status,
  ).toBe(200);
});

test("a server without kubelets does not offer them", async () => {
  await using alone = await Server.start();
  expect((await alone.get(api)).status).toBe(404);
});
