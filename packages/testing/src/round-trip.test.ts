import { resource } from "@keelson/schema";
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
