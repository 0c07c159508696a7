import type { JsonObject } from "@keelson/core";
import { describe, expect, it } from "vitest";
import { type ApiServer, type ApiServerOptions, apiServer } from "../index.ts";

interface Named extends JsonObject {
  metadata: { name: string; labels?: Record<string, string> };
}

async function call(server: ApiServer, path: string, method = "GET", body?: JsonObject): Promise<JsonObject> {
  const headers = { "content-type": "application/json" };
  const rest = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await server.http.request({ method, path, headers, ...rest });
  return JSON.parse(Buffer.concat(await Array.fromAsync(response.body)).toString()) as JsonObject;
}

const services = "/apis/apiregistration.k8s.io/v1/apiservices";
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

async function managed(server: ApiServer, how: string): Promise<string[]> {
  const { items } = await call(server, services);
  return (items as Named[])
    .filter(({ metadata }) => metadata.labels?.["kube-aggregator.kubernetes.io/automanaged"] === how)
    .map(({ metadata }) => metadata.name);
}

function definition(kind: string, ...versions: string[]): JsonObject {
  const plural = `${kind.toLowerCase()}s`;
  const schema = { openAPIV3Schema: { type: "object" } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural, kind },
      versions: versions.map((name, at) => ({ name, served: true, storage: at === 0, schema })),
    },
  };
}

describe("what a server begins with", () => {
  it("has an available APIService for every built-in group-version but that of APIServices", async () => {
    await using server = await apiServer();
    const names = await managed(server, "onstart");
    expect(names).toEqual(expect.arrayContaining(["v1.", "v1.apps", "v2.autoscaling"]));
    expect(names).not.toContain("v1.apiregistration.k8s.io");
    expect(await call(server, `${services}/v1.apps`)).toMatchObject({
      spec: { group: "apps", version: "v1", groupPriorityMinimum: 17800, versionPriority: 15 },
      status: { conditions: [{ type: "Available", status: "True", reason: "Local" }] },
    });
  });

  it("has APIServices for the versions of custom resources as long as any is served", async () => {
    await using server = await apiServer();
    await call(server, definitions, "POST", definition("Widget", "v1", "v1beta1"));
    await call(server, definitions, "POST", definition("Gadget", "v1"));
    expect(await managed(server, "true")).toEqual(["v1.example.com", "v1beta1.example.com"]);
    await call(server, `${definitions}/widgets.example.com`, "DELETE");
    expect(await managed(server, "true")).toEqual(["v1.example.com"]);
    await call(server, `${definitions}/gadgets.example.com`, "DELETE");
    expect(await managed(server, "true")).toEqual([]);
  });

  it("owns what it has made, as far as others do not fill it in", async () => {
    await using server = await apiServer();
    const fieldsOf = async (path: string): Promise<unknown> => {
      const { metadata } = await call(server, path);
      const entries = (metadata as JsonObject).managedFields as JsonObject[];
      return Object.fromEntries(entries.map(({ manager, fieldsV1 }) => [manager, fieldsV1]));
    };
    expect(await fieldsOf("/api/v1/namespaces/default")).toEqual({
      "kube-apiserver": { "f:metadata": { "f:labels": { ".": {}, "f:kubernetes.io/metadata.name": {} } } },
    });
    expect(await fieldsOf("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/probes")).toMatchObject({
      "api-priority-and-fairness-config-producer-v1": {
        "f:spec": { "f:matchingPrecedence": {}, "f:priorityLevelConfiguration": { "f:name": {} } },
      },
      "api-priority-and-fairness-config-consumer-v1": { "f:status": {} },
    });
    expect(await fieldsOf("/api/v1/namespaces/default/services/kubernetes")).toMatchObject({
      "kube-apiserver": {
        "f:spec": { "f:ports": { 'k:{"port":443,"protocol":"TCP"}': { ".": {}, "f:name": {} } } },
      },
    });
  });

  it("has the service of the server at the first address of the range", async () => {
    const flags: ApiServerOptions["flags"] = { "service-cluster-ip-range": "10.96.0.0/16" };
    await using server = await apiServer({ flags });
    const service = await call(server, "/api/v1/namespaces/default/services/kubernetes");
    expect(service.spec).toMatchObject({ clusterIP: "10.96.0.1" });
  });
});
