/** A resource version in an object that is not there yet, as the real server was seen to take it. */
import { expect, test } from "vitest";
import { Server } from "./harness.ts";

const configMap = (name: string, resourceVersion: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default", resourceVersion },
  data: { a: "1" },
});
const at = (name: string) => `/api/v1/namespaces/default/configmaps/${name}`;
const apply = { type: "application/apply-patch+yaml", query: { fieldManager: "t", force: "true" } };

test("a create refuses it; an apply makes the object, and changes none that is there", async () => {
  await using server = await Server.start();
  const refused = await server.post("/api/v1/namespaces/default/configmaps", configMap("a", "1"));
  expect([refused.status, refused.body.message]).toEqual([
    500,
    "resourceVersion should not be set on objects to be created",
  ]);
  const dry = { ...apply, query: { ...apply.query, dryRun: "All" } };
  const tried = await server.send("PATCH", at("a"), JSON.stringify(configMap("a", "1")), dry);
  expect([tried.status, tried.body.metadata.resourceVersion]).toEqual([201, "1"]);
  const made = await server.send("PATCH", at("a"), JSON.stringify(configMap("a", "1")), apply);
  expect(made.status).toBe(201);
  expect(Number(made.body.metadata.resourceVersion)).toBeGreaterThan(1);
  const again = await server.send("PATCH", at("a"), JSON.stringify(configMap("a", "1")), apply);
  expect([again.status, again.body.message]).toEqual([
    409,
    'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
  ]);
  const lease = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "l", namespace: "default", resourceVersion: "1234" },
    spec: {},
  };
  const path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
  expect((await server.send("PUT", path, JSON.stringify(lease))).status).toBe(201);
});
