/** The reports of the public API: what is not documented or not current is named. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { apiProblems, writeReports } from "./api-report.ts";

let packages: string;

beforeEach(() => {
  packages = mkdtempSync(join(tmpdir(), "keelson-api-"));
  mkdirSync(join(packages, "bell"));
  const manifest = {
    name: "bell",
    exports: { ".": { types: "./index.d.ts" }, "./internal": { types: "./none.d.ts" } },
  };
  writeFileSync(join(packages, "bell/package.json"), JSON.stringify(manifest));
});

afterEach(() => rmSync(packages, { recursive: true }));

const declare = (file: string, text: string) => writeFileSync(join(packages, "bell", file), text);

test("a documented API with a current report has no problem", () => {
  declare("index.d.ts", "/** Rings. */\nexport declare function ring(): void;\n");
  writeReports(packages);
  expect(apiProblems(packages)).toEqual([]);
});

test("a report that is missing is not current", () => {
  declare("index.d.ts", "/** Rings. */\nexport declare function ring(): void;\n");
  expect(apiProblems(packages)).toEqual(["packages/bell/api.md is not current: npm run api"]);
});

test("a public export without documentation is named, also one from another file", () => {
  declare("index.d.ts", 'export { strike } from "./strike.ts";\nexport declare const tone: number;\n');
  declare("strike.d.ts", "export declare function strike(): void;\n");
  writeReports(packages);
  expect(apiProblems(packages)).toEqual([
    "packages/bell: strike of bell is public and has no documentation",
    "packages/bell: tone of bell is public and has no documentation",
  ]);
});
