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
  test("holds the operator and what it depends on, and neither tests nor tools", () => {
    const directory = folder({
      "package.json": { name: "my-operator", dependencies: { door: "1" }, devDependencies: { command: "1" } },
      "src/main.ts": "",
      "src/main.test.ts": "",
      "test/whole.ts": "",
      "node_modules/door/package.json": { dependencies: { engine: "1" } },
      "node_modules/door/index.js": "",
      "node_modules/engine/package.json": {},
      "node_modules/command/package.json": { dependencies: { cluster: "1", engine: "1" } },
      "node_modules/cluster/package.json": {},
    });
    const files = appFiles(readProject(directory)).filter(({ type }) => type === "file");
    expect(files.map(({ path }) => path)).toEqual([
      "app/package.json",
      "app/src/main.ts",
      "app/src/main.js",
      "app/node_modules/door/index.js",
      "app/node_modules/door/package.json",
      "app/node_modules/engine/package.json",
    ]);
  });

  test("holds its modules without their types, and imports among them lead there", () => {
    const directory = folder({
      "package.json": { name: "my-operator" },
      "src/main.ts": `import { a } from "./a.ts";\nimport type { B } from "./b.ts";\nimport "./enum.ts";\nconst text: B = 'from "./a.ts"';\nawait import("../more.mts");\n`,
      "src/a.ts": "export const a: number = 1;\n",
      "src/b.d.ts": "export type B = string;\n",
      "src/enum.ts": "export enum E { a }\n",
      "more.mts": "export {};\n",
      "made.ts": "",
      "made.js": "mine",
    });
    const files = appFiles(readProject(directory));
    const contentOf = (path: string) => files.find((file) => file.path === path)?.content?.toString();
    expect(contentOf("app/src/main.js")).toBe(
      `import { a } from "./a.js";\n${" ".repeat(32)}\nimport "./enum.ts";\nconst text    = 'from "./a.ts"';\nawait import("../more.mjs");\n`,
    );
    expect(contentOf("app/src/a.js")).toBe("export const a         = 1;\n");
    expect(contentOf("app/more.mjs")).toBe("export {};\n");
    expect(contentOf("app/made.js")).toBe("mine");
    expect(contentOf("app/src/main.ts")).toContain("const text: B");
    expect(contentOf("app/src/enum.js")).toBeUndefined();
    expect(contentOf("app/src/b.d.js")).toBeUndefined();
  });

  test.each(["#a", "my-operator/a"])("keeps to TypeScript where a module is imported as %s too", (name) => {
    const directory = folder({
      "package.json": {
        name: "my-operator",
        imports: { "#a": "./src/a.ts" },
        exports: { "./a": "./src/a.ts" },
      },
      "src/main.ts": `import ${JSON.stringify(name)};`,
      "src/a.ts": "",
    });
    const paths = appFiles(readProject(directory)).map(({ path }) => path);
    expect(paths.filter((path) => path.endsWith(".js"))).toEqual([]);
  });

  test("holds two versions of a package, each where the one that needs it finds it", () => {
    const directory = folder({
      "package.json": { name: "my-operator", dependencies: { yaml: "1", door: "1" } },
      "node_modules/yaml/package.json": { version: "1.0.0" },
      "node_modules/door/package.json": { dependencies: { yaml: "2", engine: "1" } },
      "node_modules/door/node_modules/yaml/package.json": { version: "2.0.0" },
      "node_modules/engine/package.json": { dependencies: { yaml: "1" } },
    });
    const files = appFiles(readProject(directory)).filter(({ type }) => type === "file");
    const versionAt = (path: string) =>
      String(files.find((file) => file.path === `app/node_modules/${path}/package.json`)?.content);
    expect(versionAt("yaml")).toContain("1.0.0");
    expect(versionAt("door/node_modules/yaml")).toContain("2.0.0");
    expect(files.filter(({ path }) => path.includes("/yaml/"))).toHaveLength(2);
  });

  test("does not hold an image that was built before", () => {
    const directory = folder({ "package.json": {}, "src/main.ts": "", "my-operator.oci.tar": "big" });
    const paths = appFiles(readProject(directory)).map(({ path }) => path);
    expect(paths).not.toContain("app/my-operator.oci.tar");
  });

  test("is not made of a package that lacks a dependency", () => {
    const directory = folder({ "package.json": { dependencies: { door: "1" } }, "src/main.ts": "" });
    expect(() => appFiles(readProject(directory))).toThrow(
      /door, which .* is not installed; run: npm install/,
    );
  });
});
