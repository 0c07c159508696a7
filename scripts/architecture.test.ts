/** docs/architecture.md names files; each must be there. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "./run.ts";

test("every file that docs/architecture.md names is there", () => {
  const text = readFileSync(join(root, "docs/architecture.md"), "utf8");
  const named = [...text.matchAll(/`((?:packages|operators|scripts|e2e|reference)\/[\w./-]+)`/g)].map(
    (match) => match[1] as string,
  );
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
