import { request } from "node:https";
import { json } from "node:stream/consumers";
import type { JsonObject, JsonValue, KubeObject } from "@keelson/core";
import { type ControlPlane, startControlPlane } from "@keelson/reference/control-plane";
import { locateKubernetes } from "@keelson/reference/locate";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  bootstrapObjects,
  fieldSelectorRefusal,
  fieldSelectors,
  groupVersions,
  openApiV2,
  openApiV3,
  openApiV3Paths,
  resources,
  tableColumns,
} from "./index.ts";

const reference = locateKubernetes();
const reason = "missing" in reference ? reference.missing : "";

describe.skipIf(reason !== "")(`beside the real server${reason && ` (${reason})`}`, () => {
  let controlPlane: ControlPlane;
  beforeAll(async () => {
    controlPlane = await startControlPlane();
  });
  afterAll(async () => {
    await controlPlane[Symbol.asyncDispose]();
  });

  const get = async (path: string, accept = "application/json"): Promise<JsonObject> => {
    const headers = { authorization: `Bearer ${controlPlane.token}`, accept };
    return await new Promise((resolve, reject) => {
      const options = { headers, rejectUnauthorized: false };
      const outgoing = request(controlPlane.server + path, options, (response) => {
        json(response).then((body) => resolve(body as JsonObject), reject);
      });
      outgoing.on("error", reject);
      outgoing.end();
    });
  };

  it("every OpenAPI v3 document says the same, apart from descriptions", async () => {
    const index = (await get("/openapi/v3")).paths as Record<string, JsonObject>;
    expect(openApiV3Paths().sort()).toEqual(Object.keys(index).sort());
    for (const [path, entry] of Object.entries(index)) {
      const real = await get(String(entry.serverRelativeURL));
      expect(normalized(openApiV3(path) ?? null, {}), path).toEqual(normalized(real, {}));
    }
  });

  it("the OpenAPI v2 document says the same, apart from descriptions", async () => {
    const { parameters = {}, ...real } = await get("/openapi/v2");
    expect(normalized(openApiV2(), {})).toEqual(normalized(real, parameters as JsonObject));
  });

  it("discovery lists the same resources, in the same order", async () => {
    const ours = groupVersions().map((entry) => ({
      groupVersion: entry.groupVersion,
      resources: entry.resources.flatMap((resource) => [
        [
          resource.name,
          resource.singular,
          resource.kind,
          resource.namespaced,
          resource.verbs,
          resource.storageVersionHash,
        ],
        ...resource.subresources.map((sub) => [
          `${resource.name}/${sub.name}`,
          "",
          sub.kind,
          resource.namespaced,
          sub.verbs,
          undefined,
        ]),
      ]),
    }));
    for (const { groupVersion, resources: expected } of ours) {
      const list = await get(groupVersion.includes("/") ? `/apis/${groupVersion}` : `/api/${groupVersion}`);
      const real = (list.resources as JsonObject[]).map((entry) => [
        entry.name,
        entry.singularName,
        entry.kind,
        entry.namespaced,
        entry.verbs,
        entry.storageVersionHash,
      ]);
      expect(expected).toEqual(real);
    }
    const groups = (await get("/apis")).groups as JsonObject[];
    const versions = groups.flatMap((group) =>
      (group.versions as JsonObject[]).map((version) => version.groupVersion),
    );
    expect(ours.map((entry) => entry.groupVersion)).toEqual(["v1", ...versions]);
  });

  it("tables have the same columns, and selectors take the same fields", async () => {
    for (const resource of resources().filter((entry) => entry.verbs.includes("list"))) {
      const path = `${resource.group ? "/apis" : "/api"}/${resource.groupVersion}/${resource.name}`;
      const table = await get(path, "application/json;as=Table;v=v1;g=meta.k8s.io");
      const columns = (table.columnDefinitions as JsonObject[]).map(
        ({ description: _, ...column }) => column,
      );
      expect(columns, path).toEqual(tableColumns(resource));
      for (const label of fieldSelectors(resource)) {
        expect(await get(`${path}?fieldSelector=${label}=x`), `${path} ${label}`).toHaveProperty("items");
      }
      const refused = await get(`${path}?fieldSelector=not.there=x`);
      const answer = refused.code === undefined ? "" : String(refused.message);
      expect(answer).toBe(fieldSelectorRefusal(resource, "not.there"));
    }
  });

  it("a fresh server holds the same bootstrap objects", async () => {
    for (const [kind, members] of Map.groupBy(
      bootstrapObjects(),
      (object) => `${object.apiVersion} ${object.kind}`,
    )) {
      const [apiVersion = "", name = ""] = kind.split(" ");
      const resource = resources().find((entry) => entry.groupVersion === apiVersion && entry.kind === name);
      const list = await get(`/apis/${apiVersion}/${resource?.name}`);
      const items = list.items as (KubeObject & JsonObject)[];
      expect(items.map(stripped).sort(byIdentity)).toEqual(members.map(stripped).sort(byIdentity));
    }
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

function stripped({
  apiVersion: _,
  kind: __,
  metadata,
  status: ___,
  description: ____,
  ...rest
}: KubeObject & JsonObject) {
  const { name, namespace, labels, annotations } = metadata ?? {};
  return { name, namespace, labels, annotations, ...rest };
}

function byIdentity(
  a: { name?: string; namespace?: string },
  b: { name?: string; namespace?: string },
): number {
  return `${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1;
}
