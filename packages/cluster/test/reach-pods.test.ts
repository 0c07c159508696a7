/** What the API server sends to pods goes through the cluster's own network, and never leaves it. */
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { isApiError } from "@keelson/client";
import type { JsonObject } from "@keelson/core";
import { Pod, type Service } from "@keelson/core/kinds";
import { createAuthority, createLeaf } from "@keelson/pki";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, startCluster } from "../src/cluster.ts";

const hour = 3_600_000;
const authority = createAuthority("hooks", Date.now() - hour, Date.now() + hour);
const leafFor = (name: string) =>
  createLeaf(authority, {
    subject: { commonName: name },
    names: [name],
    usages: ["server"],
    notBeforeMs: Date.now() - hour,
    notAfterMs: Date.now() + hour,
  });
const caBundle = Buffer.from(authority.certificate).toString("base64");

/** Answers reviews of both kinds, and says hello to everyone else. Runs in the pod, and here for a webhook by URL. */
function answer(path: string, body: string, place: string): object {
  const { request } = JSON.parse(body || "{}") as { request?: Record<string, unknown> };
  if (path.startsWith("/label")) {
    const patch = [{ op: "add", path: "/metadata/labels", value: { labelled: place } }];
    return {
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      response: {
        uid: request?.["uid"],
        allowed: true,
        patchType: "JSONPatch",
        patch: Buffer.from(JSON.stringify(patch)).toString("base64"),
      },
    };
  }
  if (path.startsWith("/convert")) {
    const convertedObjects = ((request?.["objects"] ?? []) as object[]).map((object) => ({
      ...object,
      apiVersion: request?.["desiredAPIVersion"],
      convertedBy: place,
    }));
    return {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "ConversionReview",
      response: { uid: request?.["uid"], result: { status: "Success" }, convertedObjects },
    };
  }
  return { hello: path };
}

const program = `
  const answer = ${answer.toString()};
  const serve = (request, response) => {
    let body = "";
    request.on("data", (chunk) => { body += chunk; });
    request.on("end", () => response.end(JSON.stringify(answer(request.url, body, "in-the-pod"))));
  };
  require("node:https").createServer({ cert: process.env.CERT, key: process.env.KEY }, serve).listen(8443);
  require("node:http").createServer(serve).listen(8080);`;

const cluster = await startCluster();
afterAll(() => cluster.stop(), 60_000);

describe.skipIf(cluster.pods !== "real")("a pod that serves TLS behind a service", () => {
  const send: Send = async (method, path, body) => {
    try {
      const found = await cluster.client.raw({
        method,
        path,
        ...(body === undefined ? {} : { body: body as JsonObject }),
      });
      return { status: 200, body: found };
    } catch (error) {
      if (!isApiError(error)) throw error;
      return { status: error.code, body: { message: error.message } };
    }
  };

  beforeAll(async () => {
    const { certificate, key } = leafFor("hook.default.svc");
    await send("POST", "/api/v1/namespaces/default/pods", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "hook", labels: { app: "hook" } },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [
          {
            name: "hook",
            image: "node",
            command: ["node", "-e", program],
            env: [
              { name: "CERT", value: certificate },
              { name: "KEY", value: key },
            ],
            ports: [{ containerPort: 8080 }],
            readinessProbe: { tcpSocket: { port: 8443 }, periodSeconds: 1 },
          },
        ],
      },
    });
    const service: Service = {
      metadata: { name: "hook" },
      spec: {
        selector: { app: "hook" },
        ports: [
          { name: "tls", port: 443, targetPort: 8443 },
          { name: "web", port: 80, targetPort: 8080 },
        ],
      },
    };
    await send("POST", "/api/v1/namespaces/default/services", {
      apiVersion: "v1",
      kind: "Service",
      ...service,
    });
    await untilReady(cluster);
  }, 180_000);

  test("is reached through the proxies of pods and services", async () => {
    const base = "/api/v1/namespaces/default";
    for (const path of [
      "pods/hook",
      "pods/hook:8080",
      "pods/https:hook:8443",
      "services/hook:web",
      "services/https:hook:443",
    ])
      expect(await send("GET", `${base}/${path}/proxy/there`)).toEqual({
        status: 200,
        body: { hello: "/there" },
      });
  });

  test("answers admission reviews", async () => {
    await configure(send, { service: { namespace: "default", name: "hook", path: "/label" }, caBundle });
    const made = await send("POST", "/api/v1/namespaces/default/configmaps", configMap("labelled"));
    expect(made.body.metadata.labels).toEqual({ labelled: "in-the-pod" });
    await send("DELETE", hooks);
  });

  test("converts custom resources", async () => {
    const version = (name: string, storage: boolean) => ({
      name,
      storage,
      served: true,
      schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    });
    const made = await send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "things.example.com" },
      spec: {
        group: "example.com",
        names: { plural: "things", kind: "Thing" },
        scope: "Cluster",
        versions: [version("v1", true), version("v2", false)],
        conversion: {
          strategy: "Webhook",
          webhook: {
            conversionReviewVersions: ["v1"],
            clientConfig: { service: { namespace: "default", name: "hook", path: "/convert" }, caBundle },
          },
        },
      },
    });
    expect(made.status).toBe(200);
    const things = (apiVersion: string) => `/apis/example.com/${apiVersion}/things`;
    const thing = { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "one" } };
    await expect.poll(async () => (await send("POST", things("v1"), thing)).status).not.toBe(404);
    expect((await send("GET", `${things("v2")}/one`)).body.convertedBy).toBe("in-the-pod");
  });

  test("leaves a webhook on the developer's machine to be called there", async () => {
    const { certificate, key } = leafFor("127.0.0.1");
    const server = createServer({ cert: certificate, key }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () =>
        response.end(JSON.stringify(answer(request.url ?? "", Buffer.concat(chunks).toString(), "outside"))),
      );
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    await configure(send, { url: `https://127.0.0.1:${port}/label`, caBundle });
    const made = await send("POST", "/api/v1/namespaces/default/configmaps", configMap("outside"));
    expect(made.body.metadata.labels).toEqual({ labelled: "outside" });
    await send("DELETE", hooks);
    server.close();
    server.closeAllConnections();
  });

  test("has no company outside the cluster's ranges", async () => {
    await send("POST", "/api/v1/namespaces/default/services", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "away" },
      spec: { ports: [{ port: 443 }] },
    });
    await send("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: "away", labels: { "kubernetes.io/service-name": "away" } },
      addressType: "IPv4",
      ports: [{ name: "", port: 443 }],
      endpoints: [{ addresses: ["192.0.2.7"] }],
    });
    await configure(send, { service: { namespace: "default", name: "away", path: "/label" }, caBundle });
    const refused = await send("POST", "/api/v1/namespaces/default/configmaps", configMap("away"));
    expect(refused.status).toBe(500);
    expect(refused.body.message).toContain("192.0.2.7 is no address of a pod or a service of this cluster");
    await send("DELETE", hooks);
  });
});

const hooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/hook";
const configMap = (name: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });

type Send = (method: string, path: string, body?: unknown) => Promise<{ status: number; body: Answer }>;
// biome-ignore lint/suspicious/noExplicitAny: answers are read freely in tests.
type Answer = any;

async function configure(send: Send, clientConfig: object): Promise<void> {
  const made = await send("POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: "hook" },
    webhooks: [
      {
        name: "hook.example.com",
        clientConfig,
        rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      },
    ],
  });
  expect(made.status).toBe(200);
}

async function untilReady({ client }: Cluster): Promise<void> {
  const selected = { namespace: "default", fields: "metadata.name=hook" };
  for await (const event of client.kind(Pod).reflect(selected)) {
    if (event.type !== "item" && event.type !== "added" && event.type !== "modified") continue;
    const { conditions = [] } = event.object.status ?? {};
    if (conditions.some(({ type, status }) => type === "Ready" && status === "True")) return;
  }
}
