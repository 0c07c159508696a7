import { cel, resource } from "@keelson/schema";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { checkRoundTrip } from "./round-trip.ts";

/** A cache whose old version kept size and memory in one field; `lossy` forgets what the old one has no place for. */
function versioned(lossy: boolean) {
  const parked = "cache.example.com/image";
  return resource({
    group: "cache.example.com",
    kind: "Cache",
    versions: {
      v1: { spec: z.object({ size: z.int().min(1).max(9), image: z.string().optional() }) },
      v1alpha1: { spec: z.object({ servers: z.int().min(1).max(9) }) },
    },
    storage: "v1",
    conversions: {
      v1alpha1: {
        toStored: ({ spec, metadata }) => {
          const { [parked]: image, ...annotations } = metadata?.annotations ?? {};
          return { spec: { size: spec.servers, ...(image === undefined ? {} : { image }) }, annotations };
        },
        fromStored: ({ spec, metadata }) => ({
          spec: { servers: spec.size },
          ...(lossy || spec.image === undefined
            ? {}
            : { annotations: { ...metadata?.annotations, [parked]: spec.image } }),
        }),
      },
    },
  });
}

describe("checkRoundTrip", () => {
  test("passes conversions that lose nothing, both ways", () => {
    expect(checkRoundTrip(versioned(false), { runs: 100 })).toEqual({ trips: 200 });
  });

  test("refuses what the other version's schema, its fields or its rules do not take", () => {
    const at = (other: z.ZodObject, make: (text: string) => object) =>
      resource({
        group: "cache.example.com",
        kind: "Cache",
        versions: { v1: { spec: z.object({ text: z.string().max(20) }) }, v2: { spec: other } },
        storage: "v1",
        conversions: {
          v2: {
            toStored: ({ spec }) => ({ spec: { text: (spec as { name: string }).name } }),
            fromStored: ({ spec }) => ({ spec: make(spec.text) as never }),
          },
        },
      });
    const named = { name: z.string().max(20) };
    expect(() => checkRoundTrip(at(z.object({ name: z.string().max(2) }), (name) => ({ name })))).toThrow(
      /Cache becomes something that v2 does not take \(seed 1, object \d+ of v1\): spec\.name: Too big/,
    );
    expect(() => checkRoundTrip(at(z.object(named), (name) => ({ name, nam: name })))).toThrow(
      /v2 does not take .*: spec\.nam: v2 has no such field/,
    );
    const ruled = z.object({ name: z.string().max(20).check(cel("size(self) > 100", "must be long")) });
    expect(() => checkRoundTrip(at(ruled, (name) => ({ name })))).toThrow(
      /v2 does not take .*: spec\.name: must be long/,
    );
    expect(
      checkRoundTrip(
        at(z.object(named), (name) => ({ name })),
        { runs: 5 },
      ),
    ).toEqual({ trips: 10 });
  });

  test("names the field that a conversion loses, and the object that shows it", () => {
    expect(() => checkRoundTrip(versioned(true))).toThrow(
      /^Cache loses something on its way v1 → v1alpha1 → v1 \(seed 1, object \d+\): spec\.image was "[^"]*" and became absent; the object was \{"apiVersion":"cache\.example\.com\/v1"/,
    );
  });

  test("tries the examples it is given first", () => {
    const example = {
      apiVersion: "cache.example.com/v1",
      kind: "Cache",
      metadata: { name: "x" },
      spec: { size: 1, image: "memcached:1.6" },
    };
    expect(() => checkRoundTrip(versioned(true), { examples: [example] })).toThrow(
      '(an example): spec.image was "memcached:1.6" and became absent',
    );
  });
});
