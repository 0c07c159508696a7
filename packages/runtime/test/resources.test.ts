/** What `resource()` says and what an API server makes of it: the same suite on the embedded and on the real one. */
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type Client, isInvalid } from "@keelson/client";
import { type JsonObject, type JsonValue, type KubeObject, parseJson } from "@keelson/core";
import { CustomResourceDefinition } from "@keelson/core/kinds";
import { install } from "@keelson/runtime";
import {
  answerConversionReview,
  atomic,
  cel,
  duration,
  embedded,
  immutable,
  intOrString,
  listMap,
  preserveUnknown,
  quantity,
  type Resource,
  resource,
  set,
} from "@keelson/schema";
import { sampleObject } from "@keelson/schema/internal";
import { checkRoundTrip, SeededRandom } from "@keelson/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { loopbackCertificate } from "./certificate.ts";
import { type ApiServerUnderTest, servers } from "./servers.ts";

/** One field for everything that a schema can say. */
const Everything = resource({
  group: "test.example.com",
  kind: "Everything",
  plural: "everythings",
  version: "v1",
  categories: ["all-of-it"],
  shortNames: ["ev"],
  spec: z.object({
    size: z.int().min(1).max(9).default(3).describe("How many."),
    id: z.string().max(20).default("one").check(immutable("the id stays")),
    ratio: z.number().gt(0).lt(1).optional(),
    small: z.int32().optional(),
    name: z
      .string()
      .regex(/^[a-z]([-a-z0-9]{0,10}[a-z0-9])?$/)
      .optional(),
    when: z.iso.datetime().optional(),
    address: z.ipv4().optional(),
    link: z.url().optional(),
    blob: z.base64().optional(),
    memory: quantity().default("64Mi"),
    port: intOrString().optional(),
    patience: duration().optional(),
    mode: z.enum(["fast", "safe"]).default("safe"),
    level: z.literal([1, 2, 3]).optional(),
    nothing: z.string().nullable().optional(),
    ports: listMap(z.object({ name: z.enum(["x", "y", "z"]), port: z.int().min(1).max(65535) }), {
      keys: ["name"],
    }).default([]),
    tags: set(z.enum(["p", "q", "r"])).optional(),
    whole: atomic(z.object({ a: z.string(), b: z.string().optional() })).optional(),
    parts: atomic(z.array(z.string())).max(3).optional(),
    labels: z.record(z.string(), z.string()).optional(),
    template: embedded().optional(),
    free: preserveUnknown().optional(),
    store: z
      .discriminatedUnion("type", [
        z.object({ type: z.literal("claim"), claim: z.string().min(1) }),
        z.object({ type: z.literal("bucket"), bucket: z.string().min(1), region: z.string().optional() }),
      ])
      .optional(),
    window: z
      .object({ from: z.int(), to: z.int() })
      .check(cel("self.from <= self.to", "the window ends before it begins", { fieldPath: ".to" }))
      .optional(),
  }),
  status: z.object({ ready: z.int().optional() }),
  columns: { Size: ".spec.size", Since: { path: ".spec.when", type: "date", wide: true } },
  selectable: [".spec.mode"],
  scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.ready" },
});

const Nightly = resource({
  group: "test.example.com",
  kind: "Nightly",
  versions: {
    v1alpha1: {
      spec: z.object({ schedule: z.string().regex(/^\d+ \d+$/) }),
      status: z.object({ runs: z.int().optional() }),
    },
    v1: {
      spec: z.object({ minute: z.int().min(0), hour: z.int().min(0) }),
      status: z.object({ completed: z.int().optional() }),
    },
  },
  storage: "v1",
  conversions: {
    v1alpha1: {
      toStored: ({ spec, status }) => {
        const [minute, hour] = spec.schedule.split(" ").map(Number);
        return {
          spec: { minute: minute ?? 0, hour: hour ?? 0 },
          ...(status ? { status: { completed: status.runs } } : {}),
        };
      },
      fromStored: ({ spec, status }) => ({
        spec: { schedule: `${spec.minute} ${spec.hour}` },
        ...(status ? { status: { runs: status.completed } } : {}),
      }),
    },
  },
});

const certificate = loopbackCertificate();

for (const choice of servers) {
  describe(`resources on ${choice.name}`, { timeout: 120_000 }, () => {
    let server: ApiServerUnderTest;
    let client: Client;
    beforeAll(async () => {
      if (choice.missing) return;
      server = await choice.start();
      client = server.client;
      await install(client, [Everything]);
    });
    afterAll(async () => await server?.[Symbol.asyncDispose]());

    let count = 0;
    const send = async (spec: JsonValue) =>
      await client
        .kind(Everything)
        .create({ metadata: { namespace: "default", name: `e-${++count}` }, spec: spec as never })
        .then(
          (object) => ({ spec: object.spec as unknown }),
          (error: Error) => {
            if (!isInvalid(error)) throw error;
            return { refused: error.message };
          },
        );

    test("everything that a schema can say is taken, established and free of complaints", async ({
      skip,
    }) => {
      if (choice.missing) skip(choice.missing);
      const { status } = await client
        .kind(CustomResourceDefinition)
        .get({ name: "everythings.test.example.com" });
      const conditions = (status?.conditions ?? []).map(({ type, status: state }) => `${type}=${state}`);
      expect(conditions).toContain("Established=True");
      expect(conditions).not.toContain("NonStructuralSchema=True");
    });

    test("200 random objects that the schema takes are taken, and come back as parse() says", async ({
      skip,
    }) => {
      if (choice.missing) skip(choice.missing);
      const random = new SeededRandom(11);
      for (let i = 0; i < 200; i++) {
        const { spec } = sampled(Everything, random);
        // What has a default may be left out.
        if (i % 2 === 0) for (const name of ["size", "id", "memory", "mode", "ports"]) delete spec[name];
        const { spec: expected } = Everything.parse({ spec });
        expect(await send(spec)).toEqual({ spec: expected });
      }
    });

    test("what parse() refuses the server refuses, and what it takes the server takes", async ({ skip }) => {
      if (choice.missing) skip(choice.missing);
      const random = new SeededRandom(5);
      const outcomes = { taken: 0, refused: 0 };
      const wrong: string[] = [];
      for (let i = 0; i < 300; i++) {
        const { spec } = sampled(Everything, random);
        const { spec: broken, field } = spoiled(spec, random);
        let parsed = true;
        try {
          Everything.parse({ spec: broken });
        } catch {
          parsed = false;
        }
        const answer = await send(broken);
        const taken = !("refused" in answer);
        if (taken !== parsed)
          wrong.push(
            `${field}: ${JSON.stringify(broken[field])} is ${parsed ? `refused by the server: ${"refused" in answer && answer.refused}` : "taken by the server"}`,
          );
        outcomes[taken ? "taken" : "refused"]++;
      }
      expect(wrong).toEqual([]);
      expect(outcomes.refused).toBeGreaterThan(50);
    });

    test("rules in CEL are the server's: what they forbid is refused in the author's words", async ({
      skip,
    }) => {
      if (choice.missing) skip(choice.missing);
      const at = { namespace: "default", name: "ruled" };
      expect(await send({ window: { from: 2, to: 1 } })).toEqual({
        // Before 1.35 the value is told by its type.
        refused: expect.stringMatching(
          /spec\.window\.to: Invalid value: ("object": )?the window ends before it begins/,
        ),
      });
      await client.kind(Everything).create({ metadata: at, spec: { id: "first" } });
      await expect(
        client.kind(Everything).patch(at, { type: "merge", body: { spec: { id: "second" } } }),
      ).rejects.toThrow(/spec\.id: Invalid value: "(second|string)": the id stays/);
    });

    test("selectable fields, columns and categories are served", async ({ skip }) => {
      if (choice.missing) skip(choice.missing);
      await client
        .kind(Everything)
        .create({ metadata: { namespace: "default", name: "fast" }, spec: { mode: "fast", id: "only" } });
      const { items } = await client
        .kind(Everything)
        .list({ namespace: "default", fields: "spec.mode=fast" });
      expect(items.every(({ spec }) => spec.mode === "fast")).toBe(true);
      expect(items.map(({ metadata }) => metadata.name)).toContain("fast");
      const { resources } = (await client.raw({ path: "/apis/test.example.com/v1" })) as {
        resources: { name: string; shortNames?: string[]; categories?: string[] }[];
      };
      expect(resources.find(({ name }) => name === "everythings")).toMatchObject({
        shortNames: ["ev"],
        categories: ["all-of-it"],
      });
      expect(resources.map(({ name }) => name)).toContain("everythings/scale");
    });

    test("several versions are converted by the author's functions behind a webhook", async ({ skip }) => {
      if (choice.missing) skip(choice.missing);
      expect(checkRoundTrip(Nightly, { strings: { "spec.schedule": ["5 4", "0 23"] } }).trips).toBe(400);
      const webhook = createServer(
        { cert: certificate.cert, key: certificate.key },
        async (request, response) => {
          const review = parseJson(await text(request));
          response.setHeader("content-type", "application/json");
          response.end(JSON.stringify(answerConversionReview([Nightly], review)));
        },
      );
      await using _ = await listening(webhook);
      const { port } = webhook.address() as AddressInfo;
      const conversion = {
        url: `https://127.0.0.1:${port}/convert`,
        caBundle: Buffer.from(certificate.ca).toString("base64"),
      };
      await install(client, [{ crd: () => Nightly.crd({ conversion }) }]);
      const old = client.kind(Nightly.at("v1alpha1"));
      const here = { namespace: "default", name: "backup" };
      await old.create({ metadata: here, spec: { schedule: "5 4" } } as KubeObject);
      expect((await client.kind(Nightly).get(here)).spec).toEqual({ minute: 5, hour: 4 });
      await client.kind(Nightly).patch(here, { type: "merge", body: { spec: { hour: 7 } } });
      await client
        .kind(Nightly)
        .subresource("status")
        .patch(here, { type: "merge", body: { status: { completed: 2, observedGeneration: 2 } } });
      expect(await old.get(here)).toMatchObject({
        apiVersion: "test.example.com/v1alpha1",
        spec: { schedule: "5 7" },
        status: { runs: 2, observedGeneration: 2 },
      });
    });
  });
}

function sampled(from: Resource, random: SeededRandom): { spec: JsonObject } {
  const strings = { "spec.template.apiVersion": ["v1"], "spec.template.kind": ["Pod"] };
  const { spec } = sampleObject(from as never, { random, strings }) as unknown as { spec: JsonObject };
  // The server has rules of its own for what is inside.
  if (spec["template"] !== undefined) spec["template"] = { apiVersion: "v1", kind: "Pod" };
  const window = spec["window"] as { from: number; to: number } | undefined;
  if (window && window.from > window.to) spec["window"] = { from: window.to, to: window.from };
  return { spec };
}

/** The spec with one of its values replaced by another that may or may not do. */
function spoiled(spec: JsonObject, random: SeededRandom): { spec: JsonObject; field: string } {
  const copy = structuredClone(spec);
  // Left out: what the server checks by rules of its own. It also takes a list for any text with a format.
  const fields = Object.keys(copy).filter(
    (name) => !["template", "free", "window", "nothing"].includes(name),
  );
  const field = fields[Math.floor(random.next() * fields.length)] as string;
  const values: JsonValue[] = [
    0,
    10,
    1.5,
    -1,
    "",
    "text",
    "much longer than any text may be",
    true,
    [],
    {},
    ["p", "p"],
  ];
  if (["when", "address", "link", "patience"].includes(field)) values.splice(8);
  copy[field] = values[Math.floor(random.next() * values.length)] as JsonValue;
  return { spec: copy, field };
}

async function listening(server: Server): Promise<AsyncDisposable> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
