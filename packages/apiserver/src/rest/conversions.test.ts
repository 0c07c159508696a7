import type { JsonObject } from "@keelson/core";
import { describe, expect, it } from "vitest";
import { type ApiServer, apiServer } from "../index.ts";
import { Conversions } from "./conversions.ts";

const group = "example.com";
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Two versions that call the same number by two names. */
const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `boxes.${group}` },
  spec: {
    group,
    scope: "Cluster",
    names: { plural: "boxes", kind: "Box" },
    versions: ["v1", "v2"].map((name) => ({
      name,
      served: true,
      storage: name === "v1",
      schema: {
        openAPIV3Schema: {
          type: "object",
          properties: {
            spec: {
              type: "object",
              properties: {
                [name === "v1" ? "size" : "length"]: { type: "integer" },
                note: { type: "string" },
              },
            },
          },
        },
      },
    })),
    conversion: {
      strategy: "Webhook",
      webhook: { conversionReviewVersions: ["v1"], clientConfig: { url: "https://converter.test/" } },
    },
  },
};

function converted(object: JsonObject, apiVersion: string): JsonObject {
  const { size, length, ...rest } = (object.spec ?? {}) as JsonObject;
  const value = size ?? length;
  const name = apiVersion.endsWith("/v1") ? "size" : "length";
  return { ...object, apiVersion, spec: { ...rest, ...(value !== undefined && { [name]: value }) } };
}

async function start(): Promise<ApiServer> {
  const server = await apiServer({
    callWebhook: async (_target, body) => {
      const { request } = JSON.parse(body) as { request: JsonObject };
      const objects = request.objects as JsonObject[];
      const convertedObjects = objects.map((object) => converted(object, String(request.desiredAPIVersion)));
      const response = { uid: request.uid, convertedObjects, result: { status: "Success" } };
      const kind = { apiVersion: "apiextensions.k8s.io/v1", kind: "ConversionReview" };
      return { status: 200, body: JSON.stringify({ ...kind, response }) };
    },
  });
  await call(server, "POST", definitions, definition);
  return server;
}

async function call(
  server: ApiServer,
  method: string,
  path: string,
  body: JsonObject,
  type = method === "PATCH" ? "application/apply-patch+yaml" : "application/json",
): Promise<JsonObject> {
  const headers = { "content-type": type };
  const response = await server.http.request({ method, path, headers, body: JSON.stringify(body) });
  return JSON.parse(Buffer.concat(await Array.fromAsync(response.body)).toString()) as JsonObject;
}

function apply(server: ApiServer, version: string, manager: string, spec: JsonObject): Promise<JsonObject> {
  const path = `/apis/${group}/${version}/boxes/a?fieldManager=${manager}`;
  const body = { apiVersion: `${group}/${version}`, kind: "Box", metadata: { name: "a" }, spec };
  return call(server, "PATCH", path, body);
}

describe("owners across versions that a webhook converts", () => {
  it("a field that is owned under another name conflicts", async () => {
    await using server = await start();
    await apply(server, "v1", "one", { size: 1 });
    expect(await apply(server, "v2", "two", { length: 2 })).toMatchObject({ code: 409, reason: "Conflict" });
    expect(await apply(server, "v2", "two", { length: 1 })).toMatchObject({ spec: { length: 1 } });
  });

  it("what its manager gives up in another version goes", async () => {
    await using server = await start();
    await apply(server, "v1", "one", { size: 1, note: "x" });
    expect(await apply(server, "v2", "one", { length: 1 })).toMatchObject({ spec: { length: 1 } });
    const { spec } = await apply(server, "v1", "one", { size: 1 });
    expect(spec).toEqual({ size: 1 });
  });
});

describe("owners in a version that the definition has no more", () => {
  const { conversion: _, ...spec } = definition.spec;
  const onlyV2 = spec.versions
    .filter(({ name }) => name === "v2")
    .map((version) => ({ ...version, storage: true }));
  const path = `/apis/${group}/v2/boxes/a`;

  /** A box that v1 was applied to, and then v1 is taken away. */
  async function startWithout(): Promise<ApiServer> {
    const server = await apiServer();
    await call(server, "POST", definitions, { ...definition, spec });
    await apply(server, "v1", "one", { note: "x" });
    const own = `${definitions}/${definition.metadata.name}`;
    const merge = (suffix: string, body: JsonObject) =>
      call(server, "PATCH", `${own}${suffix}`, body, "application/merge-patch+json");
    await merge("", { spec: { versions: spec.versions.map((v) => ({ ...v, storage: v.name === "v2" })) } });
    await merge("/status", { status: { storedVersions: ["v2"] } });
    await merge("", { spec: { versions: onlyV2 } });
    return server;
  }

  it("an apply fails, as the API server cannot say what they own", async () => {
    await using server = await startWithout();
    expect(await apply(server, "v2", "two", { note: "y" })).toMatchObject({
      code: 500,
      message: `request to convert CR to an invalid group/version: ${group}/v1`,
    });
  });

  it("any other write goes through and forgets who owned what", async () => {
    await using server = await startWithout();
    const updated = await call(
      server,
      "PATCH",
      path,
      { spec: { note: "y" } },
      "application/merge-patch+json",
    );
    expect(updated).toMatchObject({ spec: { note: "y" } });
    expect(updated.metadata).not.toHaveProperty("managedFields");
    expect(await apply(server, "v2", "two", { length: 1 })).toMatchObject({ spec: { note: "y", length: 1 } });
  });
});

it("a merge is repeated until all its conversions are made", async () => {
  const conversions = new Conversions();
  let runs = 0;
  const at = (version: string) =>
    conversions.of({ a: 1 }, version, async () => ({ apiVersion: version, metadata: { name: "a" } }));
  const result = await conversions.settle(() => {
    runs++;
    return [at("v2"), at("v3")].map((object) => object?.apiVersion);
  });
  expect([result, runs]).toEqual([["v2", "v3"], 3]);
});
