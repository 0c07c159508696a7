/** Warnings are for people, and headers are not to grow with what a client sends. */
import { expect, test } from "vitest";
import { configMap, configMaps, Server } from "./harness.ts";

const warningsOf = ({
  headers,
}: {
  headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}) => [headers["warning"] ?? []].flat();

test("all warnings are sent while they are short", async () => {
  await using server = await Server.start();
  const answer = await server.post(configMaps, { ...configMap("a"), one: 1, two: 2 });
  expect(warningsOf(answer)).toEqual(['299 - "unknown field \\"one\\""', '299 - "unknown field \\"two\\""']);
});

test("the first of many long warnings are sent, each cut", async () => {
  await using server = await Server.start();
  const fields = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`${"x".repeat(1000)}${i}`, 1]));
  const answer = await server.post(configMaps, { ...configMap("a"), ...fields });
  expect(answer.status).toBe(201);
  const warnings = warningsOf(answer);
  expect(warnings.length).toBeGreaterThan(10);
  expect(warnings.join("").length).toBeLessThan(6000);
  for (const warning of warnings) expect(warning.length).toBeLessThan(300);
});

test("a character is not cut in two", async () => {
  await using server = await Server.start();
  const fields = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [`${i}${"\u{1f600}".repeat(300)}`, 1]),
  );
  const answer = await server.post(configMaps, { ...configMap("a"), ...fields });
  for (const warning of warningsOf(answer)) expect(warning.isWellFormed()).toBe(true);
});
