import { parseJson } from "@keelson/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutManagedFields } from "./managed-fields.ts";

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
