/** The page of the operator pattern has a row for every claim, and every claim a test of its own. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { descriptions } from "./claims/index.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/operator-pattern.md"), "utf8");
const claims = descriptions.flatMap((description) => description.claims);

test("every claim has an id of its own, and no description has that id", () => {
  const ids = [...claims, ...descriptions].map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

test.each(claims.map(({ id, promise }) => [id, promise]))("the page has %s", (id, promise) => {
  const row = page.split("\n").find((line) => line.includes(`\`${id}\``));
  expect(row?.split(" | ")[0]?.trim()).toBe(`| ${promise}`);
});
