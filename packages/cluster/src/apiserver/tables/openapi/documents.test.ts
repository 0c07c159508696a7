import type { JsonObject, JsonValue } from "@keelson/core";
import { startControlPlane } from "@keelson/reference/control-plane";
import { locateKubernetes } from "@keelson/reference/locate";
import { describe, expect, it } from "vitest";
import { openApiV2, openApiV3, openApiV3Paths } from "../index.ts";

const at = (value: JsonValue | undefined, ...keys: string[]): JsonValue | undefined =>
  keys.reduce<JsonValue | undefined>((inner, key) => (inner as JsonObject | undefined)?.[key], value);

describe("documents", () => {
  it("tell kubectl that a kind can be validated by the server", () => {
    const patch = at(
      openApiV3("apis/apps/v1"),
      "paths",
      "/apis/apps/v1/namespaces/{namespace}/deployments/{name}",
      "patch",
    );
    expect(at(patch, "x-kubernetes-group-version-kind")).toEqual({
      group: "apps",
      version: "v1",
      kind: "Deployment",
    });
    expect(at(patch, "x-kubernetes-action")).toBe("patch");
    expect(at(patch, "parameters")).toContainEqual({
      name: "fieldValidation",
      in: "query",
      schema: { type: "string", uniqueItems: true },
    });
  });

  it("hold every definition they refer to", () => {
    for (const path of openApiV3Paths()) {
      const document = openApiV3(path);
      const known = new Set(Object.keys((at(document, "components", "schemas") ?? {}) as JsonObject));
      const used = JSON.stringify(document).matchAll(/#\/components\/schemas\/([^"]+)/g);
      expect([...used].map((match) => match[1] ?? "").filter((name) => !known.has(name))).toEqual([]);
    }
  });

  it("exist for what is served and for nothing else", () => {
    expect(openApiV3Paths()).toEqual(
      expect.arrayContaining(["api/v1", "apis/apps/v1", "apis/apps", "version"]),
    );
    expect(openApiV3("apis/example.com/v1")).toBeUndefined();
  });

  it("are new at each call", () => {
    expect(openApiV2()).not.toBe(openApiV2());
  });
});

const reference = locateKubernetes();
const reason = "missing" in reference ? reference.missing : "";

describe.skipIf(reason !== "")(`beside the real server${reason && ` (${reason})`}`, () => {
  it("say the same in every document, apart from descriptions", async () => {
    await using controlPlane = await startControlPlane();
    const get = async (path: string): Promise<JsonObject> => {
      const headers = { authorization: `Bearer ${controlPlane.token}`, accept: "application/json" };
      return (await fetchJson(controlPlane.server + path, headers)) as JsonObject;
    };
    const index = at(await get("/openapi/v3"), "paths") as JsonObject;
    expect(openApiV3Paths().sort()).toEqual(Object.keys(index).sort());
    for (const [path, entry] of Object.entries(index)) {
      const real = await get(String(at(entry, "serverRelativeURL")));
      expect(normalized(openApiV3(path) ?? null, {}), path).toEqual(normalized(real, {}));
    }
    const { parameters = {}, ...real } = await get("/openapi/v2");
    expect(normalized(openApiV2(), {})).toEqual(normalized(real, parameters as JsonObject));
  });
});

/** Descriptions away, shared parameters in place, lists that are sets in order. */
function normalized(value: JsonValue, parameters: JsonObject): JsonValue {
  if (Array.isArray(value)) return value.map((item) => normalized(item, parameters));
  if (typeof value !== "object" || value === null) return value;
  const { allOf, $ref, ...rest } = value;
  if (typeof $ref === "string" && $ref.startsWith("#/parameters/")) {
    return normalized(parameters[$ref.slice("#/parameters/".length)] ?? null, parameters);
  }
  if (Array.isArray(allOf)) return normalized({ ...(allOf[0] as JsonObject), ...rest }, parameters);
  const result: JsonObject = $ref === undefined ? {} : { $ref };
  for (const [key, inner] of Object.entries(rest)) {
    if (key === "description" && typeof inner === "string") continue;
    const written = normalized(inner, parameters);
    const isSet = (key === "required" || key === "parameters") && Array.isArray(written);
    result[key] = isSet ? written.map((item) => JSON.stringify(item, sortedKeys)).sort() : written;
  }
  return result;
}

function sortedKeys(_: string, value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function fetchJson(url: string, headers: Record<string, string>): Promise<unknown> {
  const { request } = await import("node:https");
  const { json } = await import("node:stream/consumers");
  return await new Promise((resolve, reject) => {
    const outgoing = request(url, { headers, rejectUnauthorized: false }, (response) =>
      resolve(json(response)),
    );
    outgoing.on("error", reject);
    outgoing.end();
  });
}
