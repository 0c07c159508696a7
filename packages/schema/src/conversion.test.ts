import type { KubeObject } from "@keelson/core";
import fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { answerConversionReview, resource } from "./index.ts";

const Job = resource({
  group: "batch.example.com",
  kind: "Nightly",
  versions: {
    v1beta1: { spec: z.object({ schedule: z.string() }), status: z.object({ runs: z.int().optional() }) },
    v1: {
      spec: z.object({ minute: z.string(), rest: z.string() }),
      status: z.object({ completed: z.int().optional() }),
    },
    v2: { spec: z.object({ minute: z.string(), rest: z.string(), paused: z.boolean().optional() }) },
  },
  storage: "v1",
  conversions: {
    v1beta1: {
      toStored: ({ spec, status }) => {
        expectTypeOf(spec).toEqualTypeOf<{ schedule: string }>();
        const [minute = "", ...rest] = spec.schedule.split(" ");
        return {
          spec: { minute, rest: rest.join(" ") },
          ...(status ? { status: { completed: status.runs } } : {}),
        };
      },
      fromStored: ({ spec, status }) => ({
        spec: { schedule: `${spec.minute} ${spec.rest}` },
        ...(status ? { status: { runs: status.completed } } : {}),
      }),
    },
    v2: {
      toStored: ({ spec: { paused, ...spec }, metadata }) => ({
        spec,
        ...(paused === undefined
          ? {}
          : { annotations: { ...metadata?.annotations, "batch.example.com/paused": String(paused) } }),
      }),
      fromStored: ({ spec, metadata }) => {
        const { "batch.example.com/paused": paused, ...annotations } = metadata?.annotations ?? {};
        return { spec: { ...spec, ...(paused ? { paused: paused === "true" } : {}) }, annotations };
      },
    },
  },
});

const metadata = { name: "a", namespace: "default", uid: "u", labels: { x: "y" } };
const old: KubeObject = {
  apiVersion: "batch.example.com/v1beta1",
  kind: "Nightly",
  metadata,
  spec: { schedule: "5 4 * * *" },
  status: { runs: 3, observedGeneration: 2, conditions: [] },
} as KubeObject;

describe("a conversion", () => {
  test("goes to the stored version and back, and carries over what the runtime keeps in the status", () => {
    const stored = Job.convert(old, "v1");
    expect(stored).toEqual({
      apiVersion: "batch.example.com/v1",
      kind: "Nightly",
      metadata,
      spec: { minute: "5", rest: "4 * * *" },
      status: { completed: 3, observedGeneration: 2, conditions: [] },
    });
    expect(Job.convert(stored, "v1beta1")).toEqual(old);
    expect(Job.convert(old, "v1beta1")).toBe(old);
  });

  test("between two that are not stored goes by way of the stored one", () => {
    expect(Job.convert(old, "v2")).toMatchObject({
      apiVersion: "batch.example.com/v2",
      spec: { minute: "5", rest: "4 * * *" },
    });
  });

  test("may keep in annotations what the other version has no field for", () => {
    fc.assert(
      fc.property(fc.option(fc.boolean(), { nil: undefined }), fc.boolean(), (paused, marked) => {
        const spec = { minute: "1", rest: "2", ...(paused === undefined ? {} : { paused }) };
        const own = marked ? { ...metadata, annotations: { theirs: "1" } } : metadata;
        const object = { apiVersion: "batch.example.com/v2", kind: "Nightly", metadata: own, spec };
        expect(Job.convert(Job.convert(object, "v1"), "v2")).toEqual(object);
      }),
    );
  });

  test("of an unknown version names those there are", () => {
    expect(() => Job.convert(old, "v9")).toThrow(
      'Nightly: there is no version "v9" to convert; there are v2, v1, v1beta1',
    );
  });
});

describe("the CRD", () => {
  const served = (crd: ReturnType<typeof Job.crd>) =>
    crd.spec.versions.filter((version) => version.served).map((version) => version.name);

  test("serves only the stored version until it knows a webhook that converts the others", () => {
    expect(Job.crd().spec.conversion).toBeUndefined();
    expect(served(Job.crd())).toEqual(["v1"]);
    const crd = Job.crd({ conversion: { url: "https://localhost/convert", caBundle: "QQ==" } });
    expect(served(crd)).toEqual(["v2", "v1", "v1beta1"]);
    expect(crd.spec.conversion).toEqual({
      strategy: "Webhook",
      webhook: {
        conversionReviewVersions: ["v1"],
        clientConfig: { url: "https://localhost/convert", caBundle: "QQ==" },
      },
    });
  });

  test("of versions that have one shape needs no conversion", () => {
    const Same = resource({
      group: "a.example.com",
      kind: "Same",
      versions: {
        v1: { spec: z.object({ size: z.int().max(9) }) },
        v1beta1: { spec: z.object({ size: z.int().describe("How many.").default(1) }) },
      },
      storage: "v1",
    });
    expect(Same.crd().spec.conversion).toBeUndefined();
    expect(Same.crd().spec.versions.every((version) => version.served)).toBe(true);
    const object = { apiVersion: "a.example.com/v1beta1", kind: "Same", metadata: {}, spec: { size: 1 } };
    expect(Same.convert(object, "v1")).toEqual({ ...object, apiVersion: "a.example.com/v1" });
  });

  test("of versions that differ and have no conversion is refused", () => {
    expect(() =>
      resource({
        group: "a.example.com",
        kind: "Other",
        versions: {
          v1: { spec: z.object({ size: z.int() }) },
          v1beta1: { spec: z.object({ size: z.int(), more: z.string().optional() }) },
        },
        storage: "v1",
      }),
    ).toThrow(
      "Other: versions v1beta1 and v1 differ in shape and nothing converts between them; give conversions: { v1beta1: { toStored, fromStored } }",
    );
  });
});

describe("a ConversionReview", () => {
  const review = (objects: unknown[], desiredAPIVersion = "batch.example.com/v1") => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "ConversionReview",
    request: { uid: "r1", desiredAPIVersion, objects },
  });

  test("is answered with every object at the version that was asked for", () => {
    const { response, ...rest } = answerConversionReview([Job], review([old, Job.convert(old, "v2")]));
    expect(rest).toEqual({ apiVersion: "apiextensions.k8s.io/v1", kind: "ConversionReview" });
    expect(response).toMatchObject({ uid: "r1", result: { status: "Success" } });
    expect(response?.convertedObjects).toEqual(
      [Job.convert(old, "v1"), Job.convert(old, "v1")].map((each, i) =>
        i === 0 ? each : { ...each, status: { observedGeneration: 2, conditions: [] } },
      ),
    );
  });

  test("of something that cannot be converted is answered with the reason, and with no object", () => {
    const message = (review: unknown) => {
      const { response } = answerConversionReview([Job], review);
      expect(response?.convertedObjects).toEqual([]);
      return response?.result;
    };
    expect(message(review([{ ...old, spec: {} }]))).toEqual({
      status: "Failure",
      message:
        "cannot convert Nightly default/a from batch.example.com/v1beta1 to batch.example.com/v1: Cannot read properties of undefined (reading 'split')",
    });
    expect(message(review([{ ...old, kind: "Daily" }]))).toEqual({
      status: "Failure",
      message:
        "cannot convert Daily default/a from batch.example.com/v1beta1 to batch.example.com/v1: this webhook converts Nightly.batch.example.com",
    });
  });

  test("that is none is refused", () => {
    expect(() => answerConversionReview([Job], { kind: "AdmissionReview" })).toThrow(
      'this is no ConversionReview with a request: {"kind":"AdmissionReview"}',
    );
  });
});
