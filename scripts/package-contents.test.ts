import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { contentProblems, publishedFolders, removeStale } from "./package-contents.ts";
import { root } from "./run.ts";

const WHOLE = ["LICENSE", "README.md", "package.json", "dist/bell.js", "dist/bell.js.map", "dist/bell.d.ts"];
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "keelson-contents-"));
  write("LICENSE", "free");
  write("src/bell.ts", "export {};");
  write("dist/bell.js.map", JSON.stringify({ sourcesContent: ["export {};"] }));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
}

const problems = (...files: string[]) => contentProblems({ folder, files }, "free");

test("a package with its license, README and sources has no problem", () => {
  expect(problems(...WHOLE)).toEqual([]);
});

test("what a package must have is missed", () => {
  expect(problems("package.json")).toEqual(["has no LICENSE", "has no README.md"]);
  write("LICENSE", "mine");
  expect(problems(...WHOLE)).toEqual(["has another LICENSE than the repository"]);
});

test("tests, the compiler's records and what has no source are named", () => {
  expect(problems(...WHOLE, "dist/bell.test.js")).toEqual(["holds dist/bell.test.js, which is for tests"]);
  expect(problems(...WHOLE, "dist/.tsbuildinfo")).toEqual(["holds dist/.tsbuildinfo, which nobody needs"]);
  expect(problems(...WHOLE, "dist/gong.js")).toEqual(["holds dist/gong.js, whose source is gone"]);
  write("dist/bell.js.map", JSON.stringify({ sources: ["../src/bell.ts"] }));
  expect(problems(...WHOLE)).toEqual(["holds dist/bell.js.map without its source"]);
});

test("what was built of a source that is gone is removed before packing", () => {
  write("dist/bell.js", "");
  write("dist/hall/gong.js", "");
  write("dist/bell.fixture.js", "");
  removeStale(folder);
  expect(
    ["bell.js", "hall/gong.js", "bell.fixture.js"].map((file) => existsSync(join(folder, "dist", file))),
  ).toEqual([true, false, false]);
});

test("every package has the license of the repository and the license file", () => {
  const license = readFileSync(join(root, "LICENSE"), "utf8");
  for (const each of publishedFolders(root)) {
    const manifest = JSON.parse(readFileSync(join(each, "package.json"), "utf8")) as { license?: string };
    expect(manifest.license, each).toBe("Apache-2.0");
    expect(readFileSync(join(each, "LICENSE"), "utf8") === license, each).toBe(true);
  }
});

test("NOTICE names every package that npm installs beside ours", () => {
  const notice = readFileSync(join(root, "NOTICE"), "utf8");
  const named = [...notice.matchAll(/^ {2}(\S+) +[A-Z]/gm)].map(([, name]) => name);
  const used = publishedFolders(root).flatMap((each) => {
    const manifest = JSON.parse(readFileSync(join(each, "package.json"), "utf8")) as {
      dependencies?: Record<string, string>;
    };
    return Object.keys(manifest.dependencies ?? {}).filter((name) => !/^(@keelson\/|keelson$)/.test(name));
  });
  expect(named.sort()).toEqual([...new Set(used)].sort());
});
