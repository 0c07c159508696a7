import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseJsonBody } from "./json-body.ts";

describe("keys given more than once", () => {
  const tricky = fc.string({ unit: fc.constantFrom('"', "\\", ":", "{", ",", " ", "a", "é") });
  const value = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      tricky,
      fc.integer(),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(tricky, tie("value"), { maxKeys: 4 }),
    ),
  })).value;
  const indent = fc.constantFrom(undefined, 1, "\t");

  test("are none where every key is there once, whatever strings hold", () => {
    fc.assert(
      fc.property(value, indent, (given, space) => {
        expect(parseJsonBody(JSON.stringify(given, null, space))).toEqual({ value: given, duplicates: [] });
      }),
    );
  });

  test("are named with their path", () => {
    fc.assert(
      fc.property(value, tricky, (given, key) => {
        const pair = `${JSON.stringify(key)} \n: ${JSON.stringify(given)}`;
        const { duplicates } = parseJsonBody(`{"outer":[{${pair},${pair}}]}`);
        expect(duplicates).toEqual([`outer[0].${key}`]);
      }),
    );
  });
});
