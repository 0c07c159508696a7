import { expect, test } from "vitest";
import { compare, report, type Served } from "./compare.ts";

const served = (resources: string[], types: Record<string, string[]>): Served => ({
  resources: new Set(resources),
  definitions: new Map(
    Object.entries(types).map(([name, fields]) => [
      name,
      { properties: Object.fromEntries(fields.map((field) => [field, {}])) },
    ]),
  ),
});

const before = served(["v1 pods", "a/v1beta1 olds"], {
  "io.k8s.api.core.v1.PodSpec": ["containers", "gone"],
  "io.k8s.api.a.v1beta1.Old": ["spec"],
});
const after = served(["v1 pods", "a/v1 news", "a/v1 news/status"], {
  "io.k8s.api.core.v1.PodSpec": ["containers", "more"],
  "io.k8s.api.a.v1.New": ["spec"],
});

test("resources and fields that came and went are found; a new type's fields are not listed one by one", () => {
  expect(compare(before, after)).toEqual({
    newResources: ["a/v1 news", "a/v1 news/status"],
    goneResources: ["a/v1beta1 olds"],
    newFields: ["core.v1.PodSpec.more"],
    goneFields: ["core.v1.PodSpec.gone"],
  });
});

test("the report counts and lists them", () => {
  const lines = report(["1", "2"], compare(before, after));
  expect(lines).toContain("New resources: 2");
  expect(lines).toContain("- `core.v1.PodSpec.more`");
});
