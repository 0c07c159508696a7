import type { JsonObject, JsonValue } from "@keelson/core";
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
      description: expect.any(String),
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

  it("describe operations, parameters and lists", () => {
    const list = at(openApiV2(), "paths", "/api/v1/namespaces/{namespace}/services", "get");
    expect(at(list, "description")).toBe("list or watch objects of kind Service");
    expect((at(list, "parameters") as JsonObject[]).filter(({ description }) => !description)).toEqual([]);
    const items = at(openApiV2(), "definitions", "io.k8s.api.core.v1.ServiceList", "properties", "items");
    expect(at(items, "description")).toBe("List of services.");
    const log = at(openApiV2(), "paths", "/api/v1/namespaces/{namespace}/pods/{name}/log", "get");
    expect(at(log, "description")).toBe("read log of the specified Pod");
  });

  it("are new at each call", () => {
    expect(openApiV2()).not.toBe(openApiV2());
  });
});
