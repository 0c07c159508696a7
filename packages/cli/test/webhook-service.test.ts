/** Generated manifests lead the API server through a Service to every replica, and it believes them. */
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { apiServer } from "@keelson/apiserver";
import { createClient, systemWorld } from "@keelson/client";
import { dynamicKind } from "@keelson/core";
import { EndpointSlice } from "@keelson/core/kinds";
import { operator, silentLogger } from "@keelson/runtime";
import { expect, test } from "vitest";
import { manifestsFor } from "../src/generate/manifests.ts";
import { loadOperator, readProject } from "../src/project.ts";

const ticket = (version: string) =>
  dynamicKind({
    group: "fair.keelson.dev",
    version,
    kind: "Ticket",
    resource: "tickets",
    scope: "Namespaced",
  });

test("webhooks and conversions are answered by two replicas behind their Service", {
  timeout: 60_000,
}, async () => {
  const ports = new Map<string, number>();
  const asked = new Set<string>();
  const dial = async (host: string) => {
    asked.add(host);
    const socket = connect(ports.get(host) ?? 0, "127.0.0.1");
    await once(socket, "connect");
    return socket;
  };
  await using server = await apiServer({ dialer: { dial } });
  const project = readProject(join(import.meta.dirname, "../../../e2e/deploy/operator"));
  const parts = await loadOperator(project);
  const client = createClient({ http: server.http, namespace: parts.name });
  for (const manifest of manifestsFor(project, parts, {
    namespace: parts.name,
    image: "ticket-operator:1",
  })) {
    const kind = await client.discover(manifest.apiVersion, manifest.kind);
    await client.kind(kind).apply(manifest as never, { force: true });
  }
  const inPod = { ...systemWorld.process, env: { KUBERNETES_SERVICE_HOST: "here" } };
  const { controllers, name, webhooks } = parts;
  const replica = () =>
    operator({
      ...{ name, controllers, webhooks, client, log: silentLogger, leaderElection: false, endpoints: false },
      world: { ...systemWorld, process: inPod },
      webhookServer: { port: 0, host: "127.0.0.1" },
    }).start();
  const replicas = await Promise.all([replica(), replica()]);
  try {
    await expect
      .poll(() => replicas.map((each) => each.ready()), { timeout: 20_000 })
      .toEqual([undefined, undefined]);
    for (const [index, { webhookPort = 0 }] of replicas.entries())
      ports.set(`10.0.0.${index + 1}`, webhookPort);
    await client.kind(EndpointSlice).create({
      metadata: {
        name: "webhook",
        namespace: name,
        labels: { "kubernetes.io/service-name": `${name}-webhook` },
      },
      addressType: "IPv4",
      endpoints: [...ports.keys()].map((address) => ({ addresses: [address], conditions: { ready: true } })),
      ports: [{ name: "webhook", port: 9443, protocol: "TCP" }],
    });
    const make = (version: string, called: string, spec: object) =>
      client
        .kind(ticket(version))
        .create({ metadata: { name: called, namespace: "default" }, spec } as never);
    for (const called of ["one", "two", "three"]) await make("v1", called, { amount: 12 });
    await expect(make("v1", "four", { amount: 13 })).rejects.toThrow(/nobody sits in row 13/);
    await make("v1alpha1", "old", { price: "7 USD" });
    const stored = await client.kind(ticket("v1")).get({ namespace: "default", name: "old" });
    expect(stored).toMatchObject({ spec: { amount: 7, currency: "USD" } });
    expect(asked).toEqual(new Set(["10.0.0.1", "10.0.0.2"]));
  } finally {
    await Promise.all(replicas.map((each) => each.stop()));
  }
});
