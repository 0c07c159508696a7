/** A disk without room in the middle of a request, and of the server's own work. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { realDisk } from "../src/storage/disk.ts";
import { ManualClock, Server } from "./harness.ts";

const group = "stable.example.com";
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const instances = (version: string) => `/apis/${group}/${version}/namespaces/default/things`;
let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "full-disk-"));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Refuses every write from now on; the result ends that. */
function fillDisk() {
  const failure = Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
  const full = vi.spyOn(realDisk, "write").mockRejectedValue(failure);
  const room = vi.spyOn(realDisk, "reserve").mockRejectedValue(failure);
  return {
    used: () => full.mock.settledResults.some(({ type }) => type === "rejected"),
    clear: () => [full, room].forEach((spy) => void spy.mockRestore()),
  };
}

const definition = (conversion: object) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `things.${group}` },
  spec: {
    group,
    names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
    scope: "Namespaced",
    versions: ["v1", "v2"].map((name) => ({
      ...{ name, served: true, storage: name === "v1" },
      schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    })),
    conversion,
  },
});

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("what is lost while a webhook converts the answer is not acknowledged", async () => {
  let disk: ReturnType<typeof fillDisk> | undefined;
  let fills = false;
  await using server = await Server.start({
    dataDir,
    callWebhook: async (_, body) => {
      const { request } = JSON.parse(body);
      const { uid, desiredAPIVersion: apiVersion, objects } = request;
      // The answer is converted: the object is committed.
      if (fills && apiVersion.endsWith("v2")) while (!disk?.used()) await turn();
      else if (fills) disk = fillDisk();
      const convertedObjects = objects.map((object: object) => ({ ...object, apiVersion }));
      const response = { uid, result: { status: "Success" }, convertedObjects };
      const review = { apiVersion: "apiextensions.k8s.io/v1", kind: "ConversionReview", response };
      return { status: 200, body: JSON.stringify(review) };
    },
  });
  const clientConfig = { url: "https://example.com/convert" };
  const webhook = { conversionReviewVersions: ["v1"], clientConfig };
  await server.post(definitions, definition({ strategy: "Webhook", webhook }));
  while ((await server.get(instances("v1"))).status !== 200) await turn();
  const thing = { apiVersion: `${group}/v2`, kind: "Thing", metadata: { name: "a" } };
  expect((await server.post(instances("v2"), { ...thing, metadata: { name: "kept" } })).status).toBe(201);
  fills = true;
  const refused = await server.post(instances("v2"), thing);
  expect(refused).toMatchObject({ status: 500, body: { reason: "InternalError" } });
  fills = false;
  disk?.clear();
  expect((await server.get(`${instances("v1")}/a`)).status).toBe(404);
  expect((await server.get(`${instances("v1")}/kept`)).status).toBe(200);
});

test("what the server could not write of its own it writes when there is room", async () => {
  const clock = new ManualClock();
  await using server = await Server.start({ dataDir, clock });
  // What the server begins with is on disk.
  await server.get(definitions);
  let disk: ReturnType<typeof fillDisk> | undefined;
  // The definition is kept, and what the server answers it with is not.
  const write = realDisk.write;
  const once = vi.spyOn(realDisk, "write").mockImplementation(async (...args) => {
    once.mockRestore();
    await write(...args);
    disk = fillDisk();
  });
  expect((await server.post(definitions, definition({ strategy: "None" }))).status).toBe(201);
  while (!disk?.used()) await turn();
  const path = `${definitions}/things.${group}`;
  expect((await server.get(path)).body.status?.acceptedNames?.kind).toBeFalsy();
  disk.clear();
  await clock.advance(10_000);
  while ((await server.get(path)).body.status?.acceptedNames?.kind !== "Thing") await turn();
  while ((await server.get(instances("v1"))).status !== 200) await turn();
});
