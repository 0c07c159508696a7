import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { TarFile } from "@keelson/images/internal";
import { afterEach, describe, expect, test } from "vitest";
import { readProject } from "../project.ts";
import { appFiles, withDirectories } from "./app-files.ts";
import { bundles } from "./bundle.ts";
import { BundleScope } from "./bundle-scope.ts";
import { closure } from "./packages.ts";

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

type Files = Readonly<Record<string, unknown>>;

/** A folder with these files; objects are written as JSON. */
function folder(files: Files): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "keelson-bundle-")));
  directories.push(directory);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), typeof content === "string" ? content : JSON.stringify(content));
  }
  return directory;
}

const esm = { type: "module", exports: "./index.js" };
const keelson = {
  "node_modules/keelson/package.json": { name: "keelson", ...esm, dependencies: { engine: "1" } },
  "node_modules/keelson/index.js": `import engine from "engine";\nexport const copy = {};\nexport { engine };\n`,
  "node_modules/engine/package.json": { name: "engine" },
  "node_modules/engine/index.js": `module.exports = { at: __dirname, file: __filename };\n`,
};
const manifest = (more: object = {}) => ({
  name: "my-operator",
  type: "module",
  ...more,
  dependencies: { keelson: "1", ...(more as { dependencies?: object }).dependencies },
});

/** What an operator's image holds in the end, and what of it is bundled. */
async function built(files: Files): Promise<{ readonly all: TarFile[]; readonly made: TarFile[] }> {
  const project = readProject(folder({ "package.json": manifest(), ...keelson, ...files }));
  const modules = appFiles(project);
  const made = await bundles(new BundleScope(project.directory, closure(project)), project.main, modules);
  return { all: withDirectories([...modules, ...made]), made };
}

/** Runs a program of an image and gives what it prints. */
async function run(all: readonly TarFile[], path = "src/main.js"): Promise<string> {
  const root = folder(
    Object.fromEntries(
      all.flatMap((file) => (file.type === "file" ? [[file.path, String(file.content)]] : [])),
    ),
  );
  const app = join(root, "app");
  const { stderr, stdout } = await promisify(execFile)(process.execPath, [join(app, path)], {
    cwd: app,
    env: { PATH: process.env["PATH"] },
  }).catch((error: { stderr: string; stdout: string }) => error);
  return (stdout + stderr).replaceAll(`file://${app}`, "/app").replaceAll(app, "/app").trim();
}

describe("a bundled operator", () => {
  test("is one file beside its main module, without what it imports only when it needs it", async () => {
    const { all, made } = await built({
      "package.json": manifest({ sideEffects: false }),
      "src/main.ts": `import { a } from "./a.ts";\nconst { b } = await import("./b.ts");\nconsole.log(a + b);\n`,
      "src/a.ts": `export enum Level { Low = 1 }\nexport const a: number = Level.Low;\n`,
      "src/b.ts": `export const b: number = 2;\n`,
    });
    expect(await run(all)).toBe("3");
    expect(made.map(({ path }) => path.replace(/-.{8}\./, ".")).sort()).toEqual([
      ...["app/bundle/b.js", "app/bundle/b.js.map", "app/bundle/program.js", "app/bundle/program.js.map"],
      ...["app/src/main.js", "app/src/main.js.map"],
    ]);
  });

  test("has modules that know where they are, in the operator and in packages of Keelson", async () => {
    const { all } = await built({
      "src/main.ts": `import { engine } from "keelson";\nimport { where } from "./deep/where.ts";\nconsole.log(JSON.stringify([where, engine, import.meta.main, process.argv[1] === import.meta.filename]));\n`,
      "src/deep/where.ts": `const { dirname, filename } = import.meta;\nexport const where = [dirname, filename, import.meta.url, import.meta.resolve("./x.js"), import.meta.resolve("keelson")];\n`,
    });
    expect(JSON.parse(await run(all))).toEqual([
      [
        ...["/app/src/deep", "/app/src/deep/where.js", "/app/src/deep/where.js"],
        ...["/app/src/deep/x.js", "/app/node_modules/keelson/index.js"],
      ],
      { at: "/app/node_modules/engine", file: "/app/node_modules/engine/index.js" },
      ...[true, true],
    ]);
  });

  test("shares one copy of Keelson with packages that use it, and leaves other packages alone", async () => {
    const { all, made } = await built({
      "package.json": manifest({ dependencies: { shared: "1", other: "1" } }),
      "src/main.ts": `import { copy } from "keelson";\nimport { same } from "shared";\nimport { at } from "other";\nconsole.log(same(copy), at);\n`,
      "node_modules/shared/package.json": { name: "shared", ...esm, dependencies: { keelson: "1" } },
      "node_modules/shared/index.js": `import { copy } from "keelson";\nexport const same = (it) => it === copy;\n`,
      "node_modules/other/package.json": { name: "other", ...esm },
      "node_modules/other/index.js": `export const at = import.meta.filename;\n`,
    });
    expect(await run(all)).toBe("true /app/node_modules/other/index.js");
    expect(made.map(({ content }) => String(content)).join("")).toMatch(/from "other"/);
  });

  test("runs to its end in its main module, whatever is imported meanwhile", async () => {
    const { all } = await built({
      "src/main.ts": `import { run } from "./run.ts";\nawait run();\nfor await (const each of [1]) console.log(each);\n`,
      "src/run.ts": `import { copy } from "keelson";\nexport async function run() {\n  const [{ same }, keelson] = [await import("./late.ts"), await import("keelson")];\n  console.log(same === copy, keelson.copy === copy);\n}\n`,
      "src/late.ts": `import { copy } from "keelson";\nexport const same = copy;\n`,
    });
    expect(await run(all)).toBe("true true\n1");
  });

  test("imports its modules by the names of package.json too", async () => {
    const { all } = await built({
      "package.json": manifest({ imports: { "#a": "./src/a.ts" }, exports: { "./a": "./src/a.ts" } }),
      "src/main.ts": `import { a } from "#a";\nimport { a as same } from "my-operator/a";\nconsole.log(a === same);\n`,
      "src/a.ts": `export const a: object = {};\n`,
    });
    expect(await run(all)).toBe("true");
  });

  test("has other programs, each at its place", async () => {
    const { all, made } = await built({
      "package.json": manifest({ keelson: { programs: ["src/agent/main.ts"] } }),
      "src/main.ts": "",
      "src/agent/main.ts": `import { name } from "../name.ts";\nconsole.log(name, import.meta.dirname);\n`,
      "src/name.ts": `export const name = "agent";\n`,
    });
    expect(await run(all, "src/agent/main.js")).toBe("agent /app/src/agent");
    const main = made.find(({ path }) => path === "app/src/agent/main.js");
    expect(String(main?.content)).toMatch(/from "\.\.\/\.\.\/bundle\/program-/);
  });

  test("names its sources in stack traces", async () => {
    const { all } = await built({
      "src/main.ts": `import { copy } from "keelson";\nimport { fail } from "./fail.ts";\ninterface Unused { a: typeof copy }\ntry {\n  fail(1);\n} catch (error) {\n  console.log((error as Error).stack);\n}\n`,
      "src/fail.ts": `/** Fails. */\n\nexport function fail(times: number): never {\n  throw new RangeError("failed " + times);\n}\n`,
    });
    const [header, first, second] = (await run(all)).split("\n");
    expect([header, first, second]).toEqual([
      "RangeError: failed 1",
      "    at fail (/app/src/fail.ts:4:9)",
      "    at /app/src/main.ts:5:3",
    ]);
  });

  test("is the same bytes wherever it is built", async () => {
    const files = {
      "src/main.ts": `import { engine } from "keelson";\nconst { where } = await import("./where.ts");\nconsole.log(engine, where);\n`,
      "src/where.ts": `export const where = import.meta.dirname;\n`,
    };
    const texts = async () => (await built(files)).made.map(({ content, path }) => `${path}\n${content}`);
    expect(await texts()).toEqual(await texts());
  });

  test.each([
    [
      "a module whose name is computed",
      { "src/main.ts": `await import("./" + process.argv[2]);` },
      /main.ts imports a module whose name it computes/,
    ],
    [
      "a module that awaits something when it is imported",
      { "src/main.ts": `import "./a.ts";`, "src/a.ts": `export const a = await Promise.resolve(1);` },
      /a.ts awaits something when it is imported/,
    ],
    ["broken code", { "src/main.ts": "const = 1;" }, /Unexpected token|Expected/],
    [
      "a package with a version of its own of another",
      {
        "package.json": manifest({ dependencies: { shared: "1", other: "1" } }),
        "src/main.ts": `import "shared";`,
        "node_modules/other/package.json": { name: "other", ...esm },
        "node_modules/other/index.js": "",
        "node_modules/shared/package.json": {
          name: "shared",
          ...esm,
          dependencies: { keelson: "1", other: "2" },
        },
        "node_modules/shared/index.js": `import "keelson";\nimport "other";\n`,
        "node_modules/shared/node_modules/other/package.json": { name: "other", ...esm },
        "node_modules/shared/node_modules/other/index.js": "",
      },
      /has a version of other of its own/,
    ],
  ])("is not made of %s", async (_, files, reason) => {
    await expect(built(files)).rejects.toThrow(reason);
  });
});
