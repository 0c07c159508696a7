import { request } from "node:https";
import { json } from "node:stream/consumers";
import type { JsonObject, JsonValue, KubeObject } from "@keelson/core";
import { type ControlPlane, startControlPlane } from "@keelson/reference/control-plane";
import { locateKubernetes } from "@keelson/reference/locate";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { apiServer } from "../index.ts";
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

  /** With a body, it is posted. */
  const get = async (path: string, accept = "application/json", body?: JsonObject): Promise<JsonObject> => {
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const headers = { authorization: `Bearer ${controlPlane.token}`, accept, ...type };
    return await new Promise((resolve, reject) => {
      const options = { headers, rejectUnauthorized: false, method: body === undefined ? "GET" : "POST" };
      const outgoing = request(controlPlane.server + path, options, (response) => {
        json(response).then((answer) => resolve(answer as JsonObject), reject);
      });
      outgoing.on("error", reject);
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
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

  it("custom resources are published as the same operations and definitions", async () => {
    await using server = await apiServer();
    const ours = async (path: string, method = "GET", body?: JsonObject): Promise<JsonObject> => {
      const headers = { accept: "application/json", "content-type": "application/json" };
      const rest = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await server.http.request({ method, path, headers, ...rest });
      return JSON.parse(Buffer.concat(await Array.fromAsync(response.body)).toString()) as JsonObject;
    };
    const collection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    for (const definition of customDefinitions) {
      expect((await ours(collection, "POST", definition)).status).not.toBe("Failure");
      expect((await get(collection, undefined, definition)).status).not.toBe("Failure");
    }
    const documents = ["/openapi/v3/apis/example.com/v1", "/openapi/v3/apis/batch.example.com/v1alpha1"];
    for (const path of documents) {
      await vi.waitFor(async () => expect(await get(path)).toHaveProperty("paths"), 20_000);
      expect(normalized(await ours(path), {}), path).toEqual(normalized(await get(path), {}));
    }
    await vi.waitFor(async () => {
      const { definitions } = await get("/openapi/v2");
      expect(definitions).toHaveProperty(["com.example.batch.v1alpha1.Gadget"]);
      expect(definitions).toHaveProperty(["com.example.v1.Widget"]);
    }, 20_000);
    const { parameters = {}, ...real } = await get("/openapi/v2");
    expect(normalized(await ours("/openapi/v2"), {})).toEqual(normalized(real, parameters as JsonObject));
  }, 60_000);
});

/** A kind with all that schemas can say, and one of which nothing is known. */
const customDefinitions: JsonObject[] = [
  definitionOf("example.com", "Widget", "Namespaced", {
    name: "v1",
    served: true,
    storage: true,
    subresources: {
      status: {},
      scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" },
    },
    schema: {
      openAPIV3Schema: {
        type: "object",
        description: "A widget.",
        required: ["spec"],
        properties: {
          spec: {
            type: "object",
            properties: {
              size: { type: "integer", format: "int32", minimum: 1, description: "How many.", default: 3 },
              mode: { type: "string", enum: ["A", "B"], pattern: "^[AB]$", maxLength: 1 },
              any: { "x-kubernetes-preserve-unknown-fields": true },
              open: {
                type: "object",
                properties: { known: { type: "string" } },
                "x-kubernetes-preserve-unknown-fields": true,
              },
              maybe: { type: "string", nullable: true },
              maybeMany: { type: "array", nullable: true, items: { type: "string" } },
              port: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] },
              template: {
                type: "object",
                "x-kubernetes-embedded-resource": true,
                properties: { spec: { type: "object", properties: { a: { type: "string" } } } },
              },
              loose: {
                type: "object",
                "x-kubernetes-embedded-resource": true,
                "x-kubernetes-preserve-unknown-fields": true,
              },
              list: {
                type: "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                items: {
                  type: "object",
                  required: ["name"],
                  properties: { name: { type: "string", default: "x" }, value: { type: "number" } },
                },
              },
              map: { type: "object", additionalProperties: { type: "string", nullable: true } },
              free: { type: "object", additionalProperties: true },
              checked: {
                type: "object",
                properties: { a: { type: "integer" }, b: { type: "integer" } },
                oneOf: [{ required: ["a"] }, { required: ["b"] }],
                not: { required: ["c"] },
                allOf: [{ required: ["a"] }, { anyOf: [{ required: ["b"] }] }],
                "x-kubernetes-validations": [{ rule: "self.a > 0", message: "a is positive" }],
              },
            },
          },
          status: { type: "object", properties: { size: { type: "integer" } } },
        },
      },
    },
  }),
  definitionOf("batch.example.com", "Gadget", "Cluster", {
    name: "v1alpha1",
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
  }),
];

function definitionOf(group: string, kind: string, scope: string, version: JsonObject): JsonObject {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope, names: { plural, kind }, versions: [version] },
  };
}

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
