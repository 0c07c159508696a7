/** Which changes of a schema instances may not survive. */
import type { StructuralSchema } from "@keelson/schema";
import { expect, test } from "vitest";
import { breakingChanges } from "./compare.ts";

const crd = (spec: StructuralSchema) =>
  ({
    spec: {
      scope: "Namespaced",
      versions: [
        {
          name: "v1",
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: { spec: { type: "object", properties: { f: spec } } },
            },
          },
        },
      ],
    },
  }) as never;
const map = (type: string): StructuralSchema => ({ type: "object", additionalProperties: { type } as never });

test.each<[string, StructuralSchema, StructuralSchema, string[]]>([
  [
    "values of a map",
    map("string"),
    map("integer"),
    ["the type of spec.f.values changes from string to integer"],
  ],
  [
    "a map that becomes fields",
    map("string"),
    { type: "object", properties: { a: { type: "string" } } },
    ["the entries of spec.f are removed"],
  ],
  ["a first enum", { type: "string" }, { type: "string", enum: ["a"] }, ['spec.f may only be "a"']],
  [
    "null that is no longer allowed",
    { type: "string", nullable: true },
    { type: "string" },
    ["spec.f may no longer be null"],
  ],
  ["an enum that goes", { type: "string", enum: ["a"] }, { type: "string" }, []],
  ["the same map", map("string"), map("string"), []],
])("%s", (_, from, to, found) => {
  expect(breakingChanges(crd(from), crd(to))).toEqual(found);
});
