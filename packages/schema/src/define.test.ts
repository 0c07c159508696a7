import type { InputOf, ObjectOf } from "@keelson/core";
import { describe, expect, expectTypeOf, test, vi } from "vitest";
import { z } from "zod";
import {
  atomic,
  cel,
  duration,
  embedded,
  immutable,
  intOrString,
  listMap,
  preserveUnknown,
  quantity,
  resource,
  SchemaError,
  set,
} from "./index.ts";

const Cache = resource({
  group: "cache.example.com",
  kind: "Cache",
  version: "v1",
  shortNames: ["ca"],
  spec: z.object({
    size: z.int().min(1).max(9).default(3).describe("How many."),
    image: z.string().min(1),
    memory: quantity().optional(),
  }),
  status: z.object({ readyReplicas: z.int().optional() }),
  columns: { Size: ".spec.size", Image: { path: ".spec.image", wide: true } },
  scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.readyReplicas" },
});

const schemaOf = (spec: z.ZodType) =>
  resource({ group: "a.example.com", kind: "A", version: "v1", spec }).crd().spec.versions[0]?.schema
    .openAPIV3Schema.properties?.["spec"];

describe("a rule in CEL", () => {
  test.each([
    ["self >", "spec.size (rule 1): compilation failed: ERROR: <input>:1:7: Syntax error"],
    [
      "self.size > 3",
      "spec.size (rule 1): compilation failed: ERROR: <input>:1:5: type 'int' does not support",
    ],
    ["self", "spec.size (rule 1): cel expression must evaluate to a bool"],
  ])("that the server would refuse is refused where it is written: %s", (rule, sentence) => {
    expect(() => schemaOf(z.object({ size: z.int().check(cel(rule, "no")) }))).toThrow(sentence);
  });

  test("is not compiled inside a cluster, whose server has taken it already", () => {
    vi.stubEnv("KUBERNETES_SERVICE_HOST", "10.0.0.1");
    expect(schemaOf(z.object({ size: z.int().check(cel("self >", "no")) }))).toBeDefined();
    vi.unstubAllEnvs();
  });
});

describe("resource", () => {
  test("gives the type as a user writes it and as the server returns it", () => {
    expectTypeOf<InputOf<typeof Cache>["spec"]>().toEqualTypeOf<{
      size?: number | undefined;
      image: string;
      memory?: string | number | undefined;
    }>();
    expectTypeOf<ObjectOf<typeof Cache>["spec"]["size"]>().toEqualTypeOf<number>();
    expectTypeOf<NonNullable<ObjectOf<typeof Cache>["status"]>["readyReplicas"]>().toEqualTypeOf<
      number | undefined
    >();
    expectTypeOf<typeof Cache.kind>().toEqualTypeOf<"Cache">();
  });

  test("makes a CRD with names, columns typed from the schema, status and scale", () => {
    const crd = Cache.crd();
    expect(crd.metadata.name).toBe("caches.cache.example.com");
    const version = crd.spec.versions[0];
    expect(
      version?.additionalPrinterColumns?.map((column) => [column.name, column.type, column.priority]),
    ).toEqual([
      ["Size", "integer", undefined],
      ["Image", "string", 1],
      ["Ready", "string", undefined],
      ["Reason", "string", 1],
      ["Age", "date", undefined],
    ]);
    expect(version?.subresources).toEqual({ status: {}, scale: Cache.versions["v1"]?.scale });
    expect(version?.schema.openAPIV3Schema.properties?.["spec"]).toEqual({
      type: "object",
      required: ["image"],
      properties: {
        size: { type: "integer", minimum: 1, maximum: 9, default: 3, description: "How many." },
        image: { type: "string", minLength: 1 },
        memory: expect.objectContaining({ "x-kubernetes-int-or-string": true }),
      },
    });
  });

  test("needs no spec where the spec has a default, whose own fields are filled in", () => {
    const spec = z.object({ size: z.int().default(3) }).prefault({});
    const Policy = resource({ group: "a.example.com", kind: "Policy", version: "v1", spec });
    const schema = Policy.crd().spec.versions[0]?.schema.openAPIV3Schema;
    expect(schema).not.toHaveProperty("required");
    expect(schema?.properties?.["spec"]).toMatchObject({ default: {} });
    const parsed: unknown = Policy.parse({ metadata: { name: "a" } });
    expect(parsed).toMatchObject({ spec: { size: 3 } });
  });

  test("refuses a path to a field that is not there, where the server would show nothing", () => {
    const names = { group: "a.example.com", kind: "Policy", version: "v1" } as const;
    const spec = z.object({ size: z.int(), labels: z.record(z.string(), z.string()) });
    expect(() => resource({ ...names, spec, columns: { Size: ".spec.siez" } })).toThrow(
      'columns.Size: .spec.siez names no field: there is no "siez" among size, labels',
    );
    const scale = { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" };
    expect(() => resource({ ...names, spec, scale })).toThrow(/scale\.statusReplicasPath: .*"size"/);
    expect(() => resource({ ...names, spec, selectable: [".spec.zone"] })).toThrow(
      /selectable: \.spec\.zone/,
    );
    const columns = { Team: ".spec.labels.team", Since: ".status.conditions[0].lastTransitionTime" };
    expect(resource({ ...names, spec, columns }).crd()).toBeDefined();
  });

  test("parses with defaults and names every issue", () => {
    expect(Cache.parse({ spec: { image: "x" } })).toMatchObject({ spec: { size: 3, image: "x" } });
    expect(() => Cache.parse({ spec: { size: 10 } })).toThrow(/spec\.size.*spec\.image/s);
  });

  test("keeps several versions apart and finds one by name", () => {
    const Two = resource({
      group: "a.example.com",
      kind: "Policy",
      versions: {
        v1beta1: { spec: z.object({ old: z.string() }) },
        v1: { spec: z.object({ fresh: z.string() }) },
      },
      storage: "v1",
      conversions: {
        v1beta1: {
          toStored: (object) => ({ spec: { fresh: object.spec.old } }),
          fromStored: (object) => ({ spec: { old: object.spec.fresh } }),
        },
      },
    });
    expectTypeOf<InputOf<typeof Two>["spec"]>().toEqualTypeOf<{ fresh: string }>();
    expect(Two.resource).toBe("policies");
    expect(Two.crd().spec.versions.map((version) => [version.name, version.storage])).toEqual([
      ["v1", true],
      ["v1beta1", false],
    ]);
    expect(Two.at("v1beta1").version).toBe("v1beta1");
    expect(() => Two.at("v3")).toThrow(/no version "v3"; there are v1, v1beta1/);
  });
});

describe("structural form", () => {
  test.each<[string, z.ZodType, object]>([
    ["an enum", z.enum(["a", "b"]), { type: "string", enum: ["a", "b"] }],
    ["literals", z.literal([1, 2]), { type: "integer", enum: [1, 2] }],
    ["a union of literals", z.union([z.literal("a"), z.literal("b")]), { type: "string", enum: ["a", "b"] }],
    ["a nullable", z.string().nullable(), { type: "string", nullable: true }],
    ["an exclusive bound", z.number().gt(1), { type: "number", minimum: 1, exclusiveMinimum: true }],
    ["a 32-bit integer", z.int32(), { type: "integer", format: "int32" }],
    ["a time", z.iso.datetime(), { type: "string", format: "date-time" }],
    [
      "base64",
      z.base64(),
      { type: "string", pattern: "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$" },
    ],
    ["a pattern", z.string().regex(/^a+$/), { type: "string", pattern: "^a+$" }],
    [
      "a record",
      z.record(z.string(), z.int()),
      { type: "object", additionalProperties: { type: "integer" } },
    ],
    ["an array", z.array(z.string()).max(3), { type: "array", items: { type: "string" }, maxItems: 3 }],
    ["a set", set(z.string()), { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" }],
    [
      "an atomic object",
      atomic(z.object({})),
      { type: "object", properties: {}, "x-kubernetes-map-type": "atomic" },
    ],
    ["a duration", duration(), { type: "string", format: "duration" }],
    ["any JSON", preserveUnknown(), { type: "object", "x-kubernetes-preserve-unknown-fields": true }],
    [
      "an int or string",
      intOrString(),
      { anyOf: [{ type: "integer" }, { type: "string" }], "x-kubernetes-int-or-string": true },
    ],
    [
      "a rule",
      z.int().check(cel("self > 1", "too few"), immutable()),
      {
        type: "integer",
        "x-kubernetes-validations": [
          { rule: "self > 1", message: "too few" },
          { rule: "self == oldSelf", message: "field is immutable" },
        ],
      },
    ],
  ])("of %s", (_, field, expected) => {
    expect(schemaOf(z.object({ field }))?.properties?.["field"]).toEqual(expected);
  });

  test("of a list found by keys", () => {
    const ports = listMap(z.object({ name: z.string(), port: z.int() }), { keys: ["name"] });
    expect(schemaOf(z.object({ ports }))?.properties?.["ports"]).toMatchObject({
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
    });
    expect(
      ports.safeParse([
        { name: "a", port: 1 },
        { name: "a", port: 2 },
      ]).success,
    ).toBe(false);
  });

  test("of a discriminated union merges the branches under a oneOf", () => {
    const store = z.discriminatedUnion("type", [
      z.object({ type: z.literal("claim"), claim: z.string() }),
      z.object({ type: z.literal("s3"), bucket: z.string(), region: z.string().optional() }),
    ]);
    expect(schemaOf(z.object({ store }))?.properties?.["store"]).toEqual({
      type: "object",
      required: ["type"],
      properties: {
        type: { type: "string", enum: ["claim", "s3"] },
        claim: { type: "string" },
        bucket: { type: "string" },
        region: { type: "string" },
      },
      oneOf: [
        { properties: { type: { enum: ["claim"] } }, required: ["type", "claim"] },
        { properties: { type: { enum: ["s3"] } }, required: ["type", "bucket"] },
      ],
    });
  });

  test("of an embedded object keeps what it does not know", () => {
    expect(schemaOf(z.object({ template: embedded() }))?.properties?.["template"]).toMatchObject({
      "x-kubernetes-embedded-resource": true,
    });
  });
});

describe("what has no structural form is refused with path, reason and what to write instead", () => {
  const cyclic: z.ZodType = z.object({
    get child() {
      return cyclic.optional();
    },
  });
  test.each<[string, z.ZodType, RegExp]>([
    [
      "a refinement",
      z.string().refine((value) => value !== ""),
      /spec\.field: refine\(\).*cel\(rule, message\)/,
    ],
    ["a transform", z.string().transform(Number), /spec\.field: .*transform/],
    ["a trim", z.string().trim(), /spec\.field: .*rewrite/],
    ["a date", z.date(), /spec\.field: JSON has no dates; write z\.iso\.datetime\(\)/],
    ["any", z.any(), /spec\.field: .*preserveUnknown\(\)/],
    ["a union of types", z.union([z.string(), z.boolean()]), /spec\.field: .*intOrString\(\)/],
    ["a tuple", z.tuple([z.string()]), /spec\.field: .*z\.array\(\)/],
    ["look-ahead", z.string().regex(/(?=a)/), /spec\.field: .*RE2/],
    ["a flag", z.string().regex(/a/i), /spec\.field: the flags/],
    ["mixed literals", z.literal(["a", 1]), /spec\.field: .*one type/],
    ["a cycle", cyclic, /spec\.field\.child: the schema contains itself/],
  ])("%s", (_, field, message) => {
    expect(() => schemaOf(z.object({ field }))).toThrow(message);
    expect(() => schemaOf(z.object({ field }))).toThrow(SchemaError);
  });

  test("a group that is no domain and a kind that is no word", () => {
    const spec = z.object({});
    expect(() => resource({ group: "x", kind: "A", version: "v1", spec })).toThrow(/must be a domain/);
    expect(() => resource({ group: "x.y", kind: "a b", version: "v1", spec })).toThrow(/UpperCamelCase/);
  });
});
