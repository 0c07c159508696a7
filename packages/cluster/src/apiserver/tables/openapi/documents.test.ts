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
