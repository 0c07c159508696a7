/** Field selectors on a version into which a webhook converts. */
import type { JsonObject } from "@keelson/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Server, settle } from "./harness.ts";

const group = "stable.example.com";
let server: Server;

/** v1 has `hostPort`, v2 has `host` and `port`. */
function convert(object: JsonObject, apiVersion: string): JsonObject {
  const { host, port, hostPort, ...rest } = object;
  const [given, number] = String(hostPort ?? `${host}:${port}`).split(":");
  return apiVersion.endsWith("/v2")
    ? { ...rest, apiVersion, host: given ?? "", port: number ?? "" }
    : { ...rest, apiVersion, hostPort: `${given}:${number}` };
}

beforeAll(async () => {
  server = await Server.start({
    callWebhook: async (_, body) => {
      const { request } = JSON.parse(body) as {
        request: { uid: string; desiredAPIVersion: string; objects: JsonObject[] };
      };
      const convertedObjects = request.objects.map((object) => convert(object, request.desiredAPIVersion));
      return {
        status: 200,
        body: JSON.stringify({
          apiVersion: "apiextensions.k8s.io/v1",
          kind: "ConversionReview",
          response: { uid: request.uid, result: { status: "Success" }, convertedObjects },
        }),
      };
    },
  });
  const text = { type: "string" };
  const version = (name: string, storage: boolean, fields: readonly string[]) => ({
    ...{ name, served: true, storage },
    schema: {
      openAPIV3Schema: {
        type: "object",
        properties: Object.fromEntries(fields.map((field) => [field, text])),
      },
    },
    selectableFields: fields.map((field) => ({ jsonPath: `.${field}` })),
  });
  const made = await server.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `servers.${group}` },
    spec: {
      group,
      names: { plural: "servers", singular: "server", kind: "Server", listKind: "ServerList" },
      scope: "Namespaced",
      versions: [version("v1", true, ["hostPort"]), version("v2", false, ["host", "port"])],
      conversion: {
        strategy: "Webhook",
        webhook: { conversionReviewVersions: ["v1"], clientConfig: { url: "https://example.com/convert" } },
      },
    },
  });
  expect(made.status).toBe(201);
});
afterAll(() => server[Symbol.asyncDispose]());

const path = (version: string) => `/apis/${group}/${version}/namespaces/default/servers`;

const create = (name: string, hostPort: string) =>
  server.post(path("v1"), { apiVersion: `${group}/v1`, kind: "Server", metadata: { name }, hostPort });

test("select converted objects, in lists, pages and watches, and for deletion", async () => {
  await create("a", "one:80");
  await create("b", "two:80");
  await create("c", "one:8080");
  const names = ({ body }: { body: { items: { metadata: { name: string } }[] } }) =>
    body.items.map(({ metadata }) => metadata.name);
  expect(names(await server.get(path("v2"), { fieldSelector: "host=one" }))).toEqual(["a", "c"]);
  expect(names(await server.get(path("v2"), { fieldSelector: "host=one,port=80" }))).toEqual(["a"]);
  expect(names(await server.get(path("v1"), { fieldSelector: "hostPort=one:80" }))).toEqual(["a"]);
  const page = await server.get(path("v2"), { fieldSelector: "host=one", limit: "1" });
  expect(names(page)).toEqual(["a"]);
  const next = { fieldSelector: "host=one", continue: page.body.metadata.continue as string };
  expect(names(await server.get(path("v2"), next))).toEqual(["c"]);

  const watching = await server.watch(path("v2"), { fieldSelector: "host=one" });
  await create("d", "one:1");
  await server.merge(`${path("v1")}/b`, { hostPort: "one:2" });
  await server.merge(`${path("v1")}/a`, { hostPort: "three:2" });
  await server.del(path("v2"), { fieldSelector: "host=one" });
  for (let i = 0; i < 20; i++) await settle();
  expect(watching.seen).toEqual([
    ...["ADDED a", "ADDED c", "ADDED d", "ADDED b", "DELETED a"],
    ...["DELETED b", "DELETED c", "DELETED d"],
  ]);
  expect(watching.events[0]?.object).toMatchObject({ apiVersion: `${group}/v2`, host: "one", port: "80" });
  watching.stop();
  expect(names(await server.get(path("v1")))).toEqual(["a"]);
});
