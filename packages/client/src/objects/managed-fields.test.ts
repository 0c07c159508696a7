import { parseJson } from "@keelson/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { appliedFieldsIn, cutManagedFields } from "./managed-fields.ts";

const strip = (object: { metadata: Record<string, unknown> }) => {
  const { managedFields: _managedFields, ...metadata } = object.metadata;
  return { ...object, metadata };
};

describe("cutting managed fields", () => {
  const word = fc.oneof(
    fc.constantFrom("managedFields", '"managedFields":[', '\\"', "]}", "metadata", 'k:{"name":"x"}', "ü😀"),
    fc.string(),
  );
  const nested = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      word,
      fc.integer(),
      fc.array(tie("value")),
      fc.dictionary(word, tie("value")),
    ),
  })).value;

  it("never changes anything but the object's own managed fields", () => {
    const metadata = fc.dictionary(word, nested);
    const object = fc.record({ before: nested, managed: fc.array(nested), metadata, spec: nested });
    fc.assert(
      fc.property(object, fc.boolean(), fc.boolean(), ({ before, managed, metadata, spec }, last, event) => {
        const { managedFields: _managedFields, ...rest } = metadata;
        const whole = {
          data: before,
          metadata: last ? { ...rest, managedFields: managed } : { managedFields: managed, ...rest },
          spec,
        };
        const text = JSON.stringify(event ? { type: "ADDED", object: whole } : whole);
        const cut = cutManagedFields(text, event ? '"object":' : "");
        const stripped = strip(parseJson(JSON.stringify(whole)) as never);
        if (cut !== undefined)
          expect(parseJson(cut)).toEqual(event ? { type: "ADDED", object: stripped } : stripped);
      }),
      { numRuns: 500 },
    );
  });

  it("finds them as the API server writes them, first, last and alone", () => {
    for (const metadata of [
      '{"managedFields":[{"a":1}],"name":"n"}',
      '{"name":"n","managedFields":[{"a":["]"]}]}',
    ]) {
      expect(cutManagedFields(`{"kind":"X","metadata":${metadata}}`, "")).toBe(
        '{"kind":"X","metadata":{"name":"n"}}',
      );
    }
    expect(cutManagedFields('{"type":"ADDED","object":{"metadata":{"managedFields":[]}}}', '"object":')).toBe(
      '{"type":"ADDED","object":{"metadata":{}}}',
    );
  });

  it("leaves fields of the same name alone where they are someone else's", () => {
    expect(cutManagedFields('{"data":{"managedFields":[1]},"metadata":{}}', "")).toBeUndefined();
    expect(cutManagedFields('{"data":{"metadata":{"managedFields":[1]}}}', "")).toBeUndefined();
    expect(cutManagedFields('{"metadata":{"annotations":{"managedFields":[1]}}}', "")).toBeUndefined();
    expect(cutManagedFields('{"metadata":{"managedFields":[1', "")).toBeUndefined();
  });
});

describe("the fields that a manager applied", () => {
  const field = fc.constantFrom("f:data", 'k:{"name":"a\\"]}"}', 'v:"x,}"', ".", "f:ü");
  const fields = fc.letrec<{ set: Record<string, unknown> }>((tie) => ({
    set: fc.dictionary(field, fc.oneof({ depthSize: "small" }, fc.constant({}), tie("set"))),
  })).set;
  const entry = fc
    .record({
      manager: fc.constantFrom("ours", 'it"s', "theirs"),
      operation: fc.constantFrom("Apply", "Update"),
      apiVersion: fc.constant("v1"),
      time: fc.constant("2026-01-01T00:00:00Z"),
      fieldsType: fc.constant("FieldsV1"),
      fieldsV1: fields,
      subresource: fc.constantFrom(undefined, "status"),
    })
    .chain((each) => {
      // Built-in kinds have them in one order, custom resources in that of the alphabet.
      const sorted = Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)));
      return fc.constantFrom(each, sorted as typeof each);
    });

  it("are those that a parse finds, as they were written", () => {
    fc.assert(
      fc.property(fc.array(entry), fc.constantFrom("ours", 'it"s', "nobody"), (entries, manager) => {
        const text = `,${JSON.stringify({ managedFields: entries }).slice(1, -1)}`;
        const found = entries.find((each) => {
          return each.manager === manager && each.operation === "Apply" && each.subresource === undefined;
        });
        expect(appliedFieldsIn(text, manager)).toBe(found && JSON.stringify(found.fieldsV1));
      }),
    );
  });

  it("are not made up where the text is no managed fields", () => {
    for (const text of [
      "",
      '"managedFields":[',
      '"managedFields":[{"manager":"ours"',
      '"managedFields":[{"a":1}]',
    ])
      expect(appliedFieldsIn(text, "ours")).toBe(undefined);
  });
});
