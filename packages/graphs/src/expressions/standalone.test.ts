/** Expressions of a graph outside of one. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions are plain texts.
import { expect, test } from "vitest";
import { expression, Pending } from "./standalone.ts";

test("an expression takes JSON and gives JSON, with the functions of kro", () => {
  const limit = expression<string>("string(schema.spec.memory + 32) + 'Mi'", { schema: {} });
  expect(limit({ schema: { spec: { memory: 64 } } })).toBe("96Mi");
  const merged = expression<object>("schema.labels.merge({'a': 'b'})", { schema: {} });
  expect(merged({ schema: { labels: { c: "d" } } })).toEqual({ a: "b", c: "d" });
  const left = expression<number | undefined>("has(schema.size) ? schema.size : omit()", { schema: {} });
  expect([left({ schema: { size: 1 } }), left({ schema: {} })]).toEqual([1, undefined]);
});

test("a schema says what JSON does not", () => {
  const data = { type: "object", additionalProperties: { type: "string", format: "byte" } };
  const password = expression<string>("string(secret.data.password)", {
    secret: { type: "object", properties: { data } },
  });
  expect(password({ secret: { data: { password: "c2VjcmV0" } } })).toBe("secret");
  const half = expression<number>("schema.share / 2.0", {
    schema: { type: "object", properties: { share: { type: "number" } } },
  });
  expect(half({ schema: { share: 3 } })).toBe(1.5);
});

test("what is not there yet is told apart from what is wrong", () => {
  const ip = expression<string>("service.status.ip", { service: {} });
  expect(() => ip({ service: { status: {} } })).toThrow(Pending);
  expect(() => ip({})).toThrow(Pending);
  expect(() => expression("service.", { service: {} })).toThrow(/is no valid expression/);
});
