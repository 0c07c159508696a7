/** Conditions and reasons are public API: each has a test that says when it is there. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { conditions, reasons } from "../src/api/conditions.ts";

const root = join(import.meta.dirname, "..");

/** The scenarios are played by several tests. */
const sources = [...globSync("{src,test}/**/*.test.ts", { cwd: root }), "test/scenarios.ts"]
  .filter((file) => file !== "test/conditions.test.ts")
  .map((file) => readFileSync(join(root, file), "utf8"))
  .join("\n");

/** As a string, in a table as in "wait NoQuorum: …", or by its constant. */
function isNamed(table: "conditions" | "reasons", [key, name]: [string, string]): boolean {
  return new RegExp(`["'\`](\\w+ )?${name}["'\`:]|\\b${table}\\.${key}\\b`).test(sources);
}

test.each(Object.entries(conditions))("a test names the condition %s", (...entry) => {
  expect(isNamed("conditions", entry)).toBe(true);
});

test.each(Object.entries(reasons))("a test names the reason %s", (...entry) => {
  expect(isNamed("reasons", entry)).toBe(true);
});

test("a name that no test has is missed", () => {
  expect(isNamed("reasons", ["nowhere", "Nowhere"])).toBe(false);
});
