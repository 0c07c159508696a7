import { once } from "node:events";
import { connect as dial } from "node:net";
import { apiServer } from "@keelson/apiserver";
import { createClient } from "@keelson/client";
import type { HttpRequest } from "@keelson/core";
import { Pod, Service } from "@keelson/core/kinds";
import { directConnector, forwardConnector } from "@keelson/runtime";
import { describe, expect, test } from "vitest";

const scope = { namespace: "default", signal: new AbortController().signal };

async function setup() {
  const server = await apiServer({ flags: { "disable-admission-plugins": "ServiceAccount" } });
  const upgrades: string[] = [];
  const http = {
    request: (request: HttpRequest) => server.http.request(request),
    upgrade: async (request: HttpRequest) => {
      upgrades.push(request.path);
      throw new Error("no kubelet here");
    },
  };
  const client = createClient({ http });
  const pod = async (name: string, ready: boolean) => {
    const object = await client.kind(Pod).create({
      metadata: { namespace: "default", name, labels: { app: "db" } },
      spec: { containers: [{ name: "db", image: "db", ports: [{ name: "sql", containerPort: 5432 }] }] },
    });
    await client
      .kind(Pod)
      .subresource("status")
      .update({
        ...object,
        status: {
          phase: "Running",
          podIP: "10.0.0.7",
          podIPs: [{ ip: "10.0.0.7" }],
          conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
        },
      });
  };
  await client.kind(Service).create({
    metadata: { namespace: "default", name: "db" },
    spec: { selector: { app: "db" }, ports: [{ port: 80, targetPort: "sql" }] },
  });
  return { client, pod, upgrades };
}

describe("inside the cluster", () => {
  test("a pod is its address and a service its name", async () => {
    const { client, pod } = await setup();
    await pod("db-0", true);
    const connect = directConnector(client);
    expect(await connect({ pod: { name: "db-0" } }, 5432, scope)).toMatchObject({
      host: "10.0.0.7",
      port: 5432,
    });
    expect(await connect({ service: { name: "db" } }, 80, scope)).toMatchObject({
      host: "db.default.svc",
      port: 80,
    });
    await expect(connect({ pod: { name: "gone" } }, 1, scope)).rejects.toThrow(
      "cannot connect to port 1 of Pod default/gone: it does not exist",
    );
  });
});

describe("from outside", () => {
  test("a service leads to the named port of one of its ready pods", async () => {
    const { client, pod, upgrades } = await setup();
    const connect = forwardConnector(client);
    await expect(connect({ service: { name: "db" } }, 80, scope)).rejects.toThrow(
      "none of its 0 pods is ready",
    );
    await pod("db-0", false);
    await pod("db-1", true);
    await expect(connect({ service: { name: "db" } }, 81, scope)).rejects.toThrow("it has only the ports 80");
    {
      await using link = await connect({ service: { name: "db" } }, 80, scope);
      const socket = dial(link.port, link.host);
      socket.on("error", () => {});
      await once(socket, "close");
    }
    expect(upgrades).toEqual([expect.stringContaining("/api/v1/namespaces/default/pods/db-1/portforward")]);
  });
});
