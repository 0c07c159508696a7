import { SeededRandom } from "@keelson/testing/clock";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { duration, intOrString, listMap, quantity, resource, SchemaError, set } from "./index.ts";
import { sampleObject } from "./sample.ts";

const Everything = resource({
  group: "a.example.com",
  kind: "Everything",
  version: "v1",
  spec: z.object({
    size: z.int().min(2).max(5).default(3),
    ratio: z.number().gt(0).lt(1).optional(),
    even: z.int().multipleOf(2),
    name: z.string().regex(/^[a-z]([-a-z0-9]{0,10}[a-z0-9])?$/),
    either: z.string().regex(/^(?:left|right)-\d{2,3}$/),
    short: z.string().min(2).max(4),
    when: z.iso.datetime().optional(),
    memory: quantity(),
    port: intOrString(),
    patience: duration().optional(),
    mode: z.enum(["a", "b"]).nullable(),
    ports: listMap(z.object({ name: z.enum(["x", "y"]), port: z.int() }), { keys: ["name"] }).max(2),
    tags: set(z.enum(["p", "q", "r"])),
    labels: z.record(z.string(), z.string()),
    store: z.discriminatedUnion("type", [
      z.object({ type: z.literal("claim"), claim: z.string() }),
      z.object({ type: z.literal("s3"), bucket: z.string(), region: z.string().optional() }),
    ]),
  }),
  status: z.object({ seen: z.boolean().optional() }),
});

describe("a sample", () => {
  test("is an object that the schema takes, and has every default", () => {
    const random = new SeededRandom(7);
    const seen = new Set<string>();
    for (let i = 0; i < 500; i++) {
      const object = sampleObject(Everything, { random });
      expect(Everything.parse(object)).toEqual(object);
      seen.add(JSON.stringify(object));
    }
    expect(seen.size).toBeGreaterThan(490);
  });

  test("of a pattern beyond it is asked for by path", () => {
    const Odd = resource({
      group: "a.example.com",
      kind: "Odd",
      version: "v1",
      spec: z.object({ word: z.string().regex(/^[^a]+$/) }),
    });
    const random = new SeededRandom(1);
    expect(() => sampleObject(Odd, { random })).toThrow(SchemaError);
    expect(() => sampleObject(Odd, { random })).toThrow(
      'spec.word: no text was found that matches /^[^a]+$/; name some: strings: { "spec.word": ["…"] }',
    );
    expect(sampleObject(Odd, { random, strings: { "spec.word": ["bcd"] } })).toMatchObject({
      spec: { word: "bcd" },
    });
  });
});
