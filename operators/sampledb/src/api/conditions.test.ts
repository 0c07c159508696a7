import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { reasons } from "./conditions.ts";

test("there is no reason that nothing gives", () => {
  const source = join(import.meta.dirname, "..");
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".ts") && !name.endsWith(".test.ts") && !name.endsWith("decide/report.ts"),
  );
  const code = files.map((name) => readFileSync(join(source, name), "utf8")).join("\n");
  const unused = Object.keys(reasons).filter((key) => !code.includes(`reasons.${key}`));
  // What Available says when nothing is wrong.
  expect(unused).toEqual(["healthy"]);
});
