import { describe, expect, test } from "vitest";
import { type OpenApiSchema, typeFromStructuralSchema, typesFromOpenApi } from "./openapi-schema.ts";
import { deduced, objectMetaType, type TypeRef, untypedAtomic, zeroObject } from "./schema.ts";

const ref = (name: string): OpenApiSchema => ({ $ref: `#/components/schemas/${name}` });
const fieldOf = (type: TypeRef, ...path: string[]): TypeRef => {
  let at = type;
  for (const name of path) {
    const next = at.atom.map?.fields.get(name)?.type ?? at.atom.list?.element;
    if (next === undefined) throw new Error(`no field ${name}`);
    at = next;
  }
  return at;
};

describe("types from OpenAPI definitions", () => {
  const types = typesFromOpenApi({
    "io.example.v1.Thing": {
      type: "object",
      "x-kubernetes-group-version-kind": [{ group: "example.io", version: "v1", kind: "Thing" }],
      required: ["items", "selector"],
      properties: {
        child: { allOf: [ref("io.example.v1.Child")], default: {} },
        solid: { allOf: [ref("io.example.v1.Child")], "x-kubernetes-map-type": "atomic" },
        selector: ref("io.example.v1.Child"),
        items: {
          type: "array",
          items: { allOf: [ref("io.example.v1.Item")], default: {} },
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["port", "protocol"],
          "x-kubernetes-patch-strategy": "merge",
          "x-kubernetes-patch-merge-key": "port",
        },
        byPatchTags: {
          type: "array",
          items: ref("io.example.v1.Item"),
          "x-kubernetes-patch-strategy": "merge,retainKeys",
          "x-kubernetes-patch-merge-key": "port",
        },
        set: { type: "array", items: { type: "string" }, "x-kubernetes-patch-strategy": "merge" },
        plain: { type: "array", items: { type: "string" } },
        amount: ref("io.k8s.apimachinery.pkg.api.resource.Quantity"),
        raw: ref("io.k8s.apimachinery.pkg.runtime.RawExtension"),
        either: { format: "int-or-string", oneOf: [] } as OpenApiSchema,
        time: { type: "string", format: "date-time" },
        bytes: { type: "string", format: "byte" },
        size: { type: "integer", format: "int32" },
        flag: { type: "boolean", default: false },
      },
    },
    "io.example.v1.Child": {
      type: "object",
      properties: { self: ref("io.example.v1.Child"), name: { type: "string", default: "" } },
    },
    "io.example.v1.Item": {
      type: "object",
      properties: { port: { type: "integer", default: 0 }, protocol: { type: "string", default: "TCP" } },
    },
    "io.k8s.apimachinery.pkg.api.resource.Quantity": { type: "string" },
    "io.k8s.apimachinery.pkg.runtime.RawExtension": { type: "object" },
    "io.example.v1.Broken": { type: "object", properties: { x: ref("io.example.v1.Missing") } },
  });
  const thing = types.typeOf({ group: "example.io", version: "v1", kind: "Thing" }) as TypeRef;

  test("a kind is found by group, version and kind; each definition is made once", () => {
    expect(thing).toBe(types.type("io.example.v1.Thing"));
    expect(types.typeOf({ group: "example.io", version: "v2", kind: "Thing" })).toBeUndefined();
    expect(types.type("constructor")).toBeUndefined();
  });

  test("references resolve through allOf, and types may contain themselves", () => {
    expect(fieldOf(thing, "child")).toBe(types.type("io.example.v1.Child"));
    expect(fieldOf(thing, "child", "self", "self")).toBe(fieldOf(thing, "child"));
  });

  test("a field may make what it refers to atomic without changing others", () => {
    expect(fieldOf(thing, "solid").atom.map?.atomic).toBe(true);
    expect(fieldOf(thing, "child").atom.map?.atomic).toBe(false);
  });

  test("lists: by keys, by patch tags, as sets, atomic otherwise", () => {
    expect(fieldOf(thing, "items").atom.list).toMatchObject({ atomic: false, keys: ["port", "protocol"] });
    expect(fieldOf(thing, "byPatchTags").atom.list).toMatchObject({ atomic: false, keys: ["port"] });
    expect(fieldOf(thing, "set").atom.list).toMatchObject({ atomic: false, keys: [] });
    expect(fieldOf(thing, "plain").atom.list).toMatchObject({ atomic: true });
    expect(thing.atom.map?.fields.get("items")).toMatchObject({
      patchStrategies: ["merge"],
      patchMergeKey: "port",
    });
  });

  test("scalars: formats other than byte take anything scalar", () => {
    expect(fieldOf(thing, "amount").atom).toEqual({ scalar: "untyped" });
    expect(fieldOf(thing, "time").atom.scalar).toBe("untyped");
    expect(fieldOf(thing, "bytes").atom.scalar).toBe("string");
    expect(fieldOf(thing, "size").atom.scalar).toBe("numeric");
    expect(fieldOf(thing, "either").atom.scalar).toBe("untyped");
    expect(fieldOf(thing, "raw").atom).toBe(untypedAtomic.atom);
  });

  test("a reference to nothing is an error when it is followed, not before", () => {
    const broken = types.type("io.example.v1.Broken") as TypeRef;
    expect(() => broken.atom).toThrow("schema error: no type found matching: io.example.v1.Missing");
  });

  test("the zero object has what the server's memory has before the first write", () => {
    expect(zeroObject(thing)).toEqual({ child: { name: "" }, items: null, selector: null, flag: false });
    expect(zeroObject(thing)).toBe(zeroObject(thing));
  });
});

describe("types from structural schemas", () => {
  const type = typeFromStructuralSchema({
    type: "object",
    properties: {
      metadata: { type: "object", properties: { name: { type: "string" } } },
      spec: {
        type: "object",
        properties: {
          open: {
            type: "object",
            "x-kubernetes-preserve-unknown-fields": true,
            properties: { inner: { type: "object", properties: { a: { type: "string" } } } },
          },
          map: { type: "object", additionalProperties: { type: "integer" } },
          closed: { type: "object", properties: { a: { type: "string" } } },
          either: { "x-kubernetes-int-or-string": true },
          template: {
            type: "object",
            "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true,
          },
        },
      },
    },
  });

  test("metadata is the server's own, whatever the schema says", () => {
    expect(fieldOf(type, "metadata")).toBe(objectMetaType);
    expect(fieldOf(type, "apiVersion").atom.scalar).toBe("string");
    expect(fieldOf(type, "spec", "template", "metadata")).toBe(objectMetaType);
  });

  test("unknown fields are deduced where they are preserved, and in all below", () => {
    expect(fieldOf(type, "spec", "open").atom.map?.element).toBe(deduced);
    expect(fieldOf(type, "spec", "open", "inner").atom.map?.element).toBe(deduced);
    expect(fieldOf(type, "spec", "closed").atom.map?.element).toBeUndefined();
    expect(type.atom.map?.element).toBeUndefined();
  });

  test("additional properties give the element", () => {
    expect(fieldOf(type, "spec", "map").atom.map?.element?.atom).toEqual({ scalar: "numeric" });
  });

  test("without a schema everything is deduced, metadata too", () => {
    expect(typeFromStructuralSchema(undefined).atom.map).toMatchObject({
      fields: new Map(),
      element: deduced,
    });
  });

  test("a CRD that preserves unknown fields does so everywhere", () => {
    const preserving = typeFromStructuralSchema(
      { type: "object", properties: { a: { type: "string" } } },
      { preserveUnknownFields: true },
    );
    expect(preserving.atom.map?.element).toBe(deduced);
  });

  test.each<[OpenApiSchema, string]>([
    [{ type: "array", items: {}, "x-kubernetes-list-type": "bag" }, "unknown list type bag"],
    [{ type: "array", items: {}, "x-kubernetes-list-type": "map" }, "missing map keys"],
    [{ type: "object", "x-kubernetes-map-type": "loose" }, "unknown map type loose"],
    [{ type: "file" }, "unrecognized type: 'file'"],
  ])("%j is a bad schema", (bad, message) => {
    const holder = typeFromStructuralSchema({ type: "object", properties: { bad } });
    expect(() => fieldOf(holder, "bad").atom).toThrow(
      expect.objectContaining({ code: "BadSchema", message }),
    );
  });
});
