import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { readProject } from "../project.ts";
import { appFiles } from "./app-files.ts";

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

/** A folder with these files; objects are written as JSON. */
function folder(files: Readonly<Record<string, unknown>>): string {
  const directory = mkdtempSync(join(tmpdir(), "keelson-app-files-"));
  directories.push(directory);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), typeof content === "string" ? content : JSON.stringify(content));
  }
  return directory;
}

describe("an operator's image", () => {
  test("holds the operator and what it can import, and neither tests nor the tools of its packages", () => {
    const directory = folder({
      "package.json": { name: "my-operator", dependencies: { door: "1" }, devDependencies: { lint: "1" } },
      "src/main.ts": "",
      "src/main.test.ts": "",
      "test/whole.ts": "",
      "node_modules/door/package.json": {
        dependencies: { engine: "1", command: "1" },
        keelson: { tools: ["command"] },
      },
      "node_modules/door/index.js": "",
      "node_modules/engine/package.json": {},
      "node_modules/command/package.json": { dependencies: { cluster: "1", engine: "1" } },
      "node_modules/cluster/package.json": {},
      "node_modules/lint/package.json": {},
    });
    const files = appFiles(readProject(directory)).filter(({ type }) => type === "file");
    expect(files.map(({ path }) => path)).toEqual([
      "app/package.json",
      "app/src/main.ts",
      "app/node_modules/door/index.js",
      "app/node_modules/door/package.json",
      "app/node_modules/engine/package.json",
    ]);
  });
});
