import { expect, test } from "vitest";
import { definition } from "./definitions.ts";
import { describedNames, withDescriptions } from "./descriptions.ts";

test("only definitions and fields are described that there are", () => {
  const wrong = describedNames().flatMap(([name, fields]) => {
    const schema = definition(name);
    if (!schema) return [name];
    return fields.filter((field) => !schema.properties?.[field]).map((field) => `${name}.${field}`);
  });
  expect(wrong).toEqual([]);
});

test("a field that is a reference keeps its target", () => {
  const name = "io.k8s.api.core.v1.Pod";
  const { description, properties } = withDescriptions(name, definition(name) ?? {});
  expect(description).toMatch(/^Containers that run together/);
  expect(properties?.metadata).toMatchObject({
    description: expect.stringContaining("Standard object's metadata"),
    $ref: "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
  });
});
