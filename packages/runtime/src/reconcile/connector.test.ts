import type { Client } from "@keelson/client";
import { describe, expect, test } from "vitest";
import { directConnector, forwardConnector } from "./connector.ts";

interface World {
  readonly pod?: object;
  readonly service?: object;
  readonly pods?: readonly object[];
}

function clientOf({ pod, service, pods = [] }: World) {
  const asked: unknown[] = [];
  const client = {
    kind: ({ kind }: { kind: string }) => ({
      find: async (ref: object) => {
        asked.push({ kind, ...ref });
        return kind === "Pod" ? pod : service;
      },
      list: async ({ namespace, labels }: { namespace: string; labels: string }) => {
        asked.push({ kind, namespace, labels });
        return { items: pods };
      },
    }),
  } as unknown as Client;
  return { client, asked };
}
const scope = { namespace: "shop", signal: new AbortController().signal };

describe("a way inside the cluster", () => {
  test("to a service is its name there, and nobody is asked", async () => {
    const { client, asked } = clientOf({});
    const connect = directConnector(client);
    expect(await connect({ service: { name: "db" } }, 80, scope)).toMatchObject({
      host: "db.shop.svc",
      port: 80,
    });
    expect(await connect({ service: { name: "db", namespace: "x" } }, 80, scope)).toMatchObject({
      host: "db.x.svc",
    });
    const nowhere = { ...scope, namespace: undefined };
    expect(await connect({ service: { name: "db" } }, 80, nowhere)).toMatchObject({ host: "db.default.svc" });
    expect(asked).toEqual([]);
  });

  test("to a pod is its address", async () => {
    const { client, asked } = clientOf({ pod: { status: { podIP: "10.0.0.7" } } });
    const way = await directConnector(client)({ pod: { name: "db-0" } }, 80, scope);
    expect(way).toMatchObject({ host: "10.0.0.7", port: 80 });
    await way[Symbol.asyncDispose]();
    expect(asked).toEqual([{ kind: "Pod", namespace: "shop", name: "db-0" }]);
  });

  test.each([
    ["does not exist", undefined, "it does not exist"],
    ["has no address", { status: {} }, "it has no address yet"],
  ])("does not lead to a pod that %s", async (_, pod, why) => {
    const { client } = clientOf({ ...(pod ? { pod } : {}) });
    const failing = directConnector(client)({ pod: { name: "db-0" } }, 80, scope);
    await expect(failing).rejects.toMatchObject({
      code: "Unreachable",
      message: `cannot connect to port 80 of Pod shop/db-0: ${why}`,
    });
  });
});

describe("a service that leads nowhere from outside", () => {
  const ready = (change: object = {}, metadata: object = {}) => ({
    metadata: { name: "db-0", namespace: "shop", ...metadata },
    status: { conditions: [{ type: "Ready", status: "True" }] },
    ...change,
  });
  const service = {
    spec: { selector: { app: "db", tier: "1" }, ports: [{ port: 80 }, { port: 81, targetPort: "web" }] },
  };
  const unready = ready({ status: { conditions: [{ type: "Ready", status: "False" }] } });
  const going = ready({}, { deletionTimestamp: "2026-01-01T00:00:00Z" });

  test.each<[string, World, number, string]>([
    ["it is not there", {}, 80, "cannot connect to port 80 of Service shop/db: it does not exist"],
    ["it selects nothing", { service: { spec: {} } }, 80, "it selects no pods"],
    ["it has no spec", { service: {} }, 80, "it selects no pods"],
    [
      "none of its pods is ready",
      { service, pods: [unready, going, { metadata: {} }] },
      80,
      "none of its 3 pods is ready",
    ],
    ["it has other ports", { service, pods: [ready()] }, 82, "it has only the ports 80, 81"],
    [
      "its pod has no such port",
      { service, pods: [unready, ready()] },
      81,
      'cannot connect to Service shop/db: pod db-0 has no port "web"',
    ],
    [
      "its pod names another port",
      {
        service,
        pods: [ready({ spec: { containers: [{}, { ports: [{ name: "other", containerPort: 1 }] }] } })],
      },
      81,
      'has no port "web"',
    ],
  ])("%s", async (_, world, port, message) => {
    const failing = forwardConnector(clientOf(world).client)({ service: { name: "db" } }, port, scope);
    await expect(failing).rejects.toThrow(message);
  });

  test("its pods are looked for by all labels of the selector", async () => {
    const { client, asked } = clientOf({ service });
    await expect(forwardConnector(client)({ service: { name: "db" } }, 80, scope)).rejects.toThrow(
      "none of its 0 pods",
    );
    expect(asked).toEqual([
      { kind: "Service", namespace: "shop", name: "db" },
      { kind: "Pod", namespace: "shop", labels: "app=db,tier=1" },
    ]);
  });
});
