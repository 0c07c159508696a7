import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../object.ts";
import { applyUpdate } from "./apply.ts";
import { fieldsOfNew } from "./created-fields.ts";
import { FieldSet } from "./field-set.ts";
import { managedFieldsOf } from "./managed-fields.ts";
import type { ManagedResource } from "./managed-resource.ts";
import { deduced, listType, mapType, scalarType, structType } from "./schema.ts";

const text = scalarType("string");
const item = structType({ name: text, port: scalarType("numeric"), note: text });
const make = () =>
  structType({
    apiVersion: text,
    kind: text,
    text,
    flag: scalarType("boolean"),
    labels: mapType(text),
    whole: mapType(text, "atomic"),
    names: listType(text, "set"),
    items: listType(item, { keys: ["name"] }),
    block: listType(item, "atomic"),
    open: deduced,
  });
const zero = { text: "", labels: null, whole: { a: "x" } };
const resourceOf = (type = make()): ManagedResource => ({ apiVersion: "v1", kind: "Thing", type, zero });

const few = fc.constantFrom("", "a", "b");
const record = <T>(shape: { [Key in keyof T]: fc.Arbitrary<T[Key]> }) =>
  fc.record(shape, { requiredKeys: [] });
const items = fc.uniqueArray(
  fc.record({ name: few, port: fc.integer(), note: few }, { requiredKeys: ["name"] }),
  { maxLength: 3, selector: ({ name }) => name },
);
const thing = record({
  text: few,
  flag: fc.boolean(),
  labels: fc.oneof(fc.constant(null), fc.dictionary(few, few, { maxKeys: 2 })),
  whole: fc.dictionary(few, few, { maxKeys: 2 }),
  names: fc.uniqueArray(few, { maxLength: 3 }),
  items,
  block: items,
  open: fc.jsonValue({ maxDepth: 2 }),
}).map((fields): JsonObject => ({ apiVersion: "v1", kind: "Thing", ...fields }) as JsonObject);

const owned = (resource: ManagedResource, updated: JsonObject) =>
  managedFieldsOf(applyUpdate({ resource, updated, manager: "m", now: "2026-01-01T00:00:00Z" }))?.[0]
    ?.fieldsV1;

describe("ownership of new objects", () => {
  test("is the same whether or not objects of the form were seen before", () => {
    fc.assert(
      fc.property(fc.array(thing, { minLength: 2, maxLength: 8 }), (things) => {
        const seen = resourceOf();
        for (const one of things) expect(owned(seen, one)).toEqual(owned(resourceOf(), one));
      }),
    );
  });

  test("is found once for objects of one form", () => {
    const resource = resourceOf();
    let found = 0;
    const find = () => {
      found++;
      return FieldSet.of(["f:text"]);
    };
    const of = (port: number, labels: JsonObject) =>
      fieldsOfNew(resource, { labels, items: [{ name: "a", port }] }, find);
    of(1, { a: "x" });
    of(2, { a: "y" });
    expect(found).toBe(1);
    of(2, { b: "y" });
    expect(found).toBe(2);
    fieldsOfNew(resource, { labels: { a: "x" }, items: [{ name: "b", port: 1 }] }, find);
    expect(found).toBe(3);
    of(3, { a: "z" });
    expect(found).toBe(3);
  });

  test("is not taken from an object of another type of value", () => {
    const resource = resourceOf();
    expect(owned(resource, { labels: { a: "x" } })).toEqual({ "f:labels": { "f:a": {} } });
    expect(() => owned(resource, { labels: { a: 5 } })).toThrow("expected string");
  });
});
