/**
 * Random writes on the real API server of this machine. `KEELSON_SEED` and `KEELSON_ROUNDS` choose the run;
 * `KEELSON_RECORD=1` writes the answers down for the machines that have no such server.
 */
import { writeFileSync } from "node:fs";
import { locateKubernetes } from "@keelson/reference/locate";
import { afterAll, beforeAll, describe, test } from "vitest";
import { definitionsOf, type OpenApiSchema, typesFromOpenApi } from "../src/merge/index.ts";
import { play, subjects } from "./play.ts";
import { customSchema } from "./random-objects.ts";
import { type RealServer, startRealServer } from "./real-server.ts";
import { definitionsFor, Recorder, recordedKinds, recordingFile } from "./recording.ts";

const found = locateKubernetes();
const why = "missing" in found ? found.missing : undefined;
const seed = Number(process.env.KEELSON_SEED ?? 1);
const rounds = Number(process.env.KEELSON_ROUNDS ?? 12);

describe("against the real API server", () => {
  let server: RealServer;
  const definitions: Record<string, OpenApiSchema> = {};

  beforeAll(async () => {
    if (why !== undefined) return;
    server = await startRealServer();
    for (const path of ["/openapi/v3/api/v1", "/openapi/v3/apis/apps/v1"]) {
      Object.assign(definitions, definitionsOf((await server.send("GET", path)).body));
    }
    await installWidgets(server);
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  for (const kind of Object.keys(subjects)) {
    test(`${kind}: ownership after random writes is the same`, { timeout: 600_000 }, async ({ skip }) => {
      if (why !== undefined) skip(why);
      await play(server, kind, typesFromOpenApi(definitions), seed, rounds);
    });
  }

  if (!process.env.KEELSON_RECORD) return;
  test("the answers are written down", async () => {
    const recorder = new Recorder(server);
    for (const kind of recordedKinds) await play(recorder, kind, typesFromOpenApi(definitions), 0, 6);
    const recording = {
      version: server.version,
      definitions: definitionsFor(definitions, ["ConfigMap", "Service"]),
      answers: recorder.answers,
    };
    writeFileSync(recordingFile, `${JSON.stringify(recording)}\n`);
  });
});

async function installWidgets(server: RealServer): Promise<void> {
  const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await server.send("POST", crds, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.merge.example.com" },
    spec: {
      group: "merge.example.com",
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: customSchema },
        },
      ],
    },
  });
  for (;;) {
    const { status } = await server.send("GET", "/apis/merge.example.com/v1/namespaces/default/widgets");
    if (status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
