/** Every way in which editors and git write files is noticed, as often as it happens. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { watchFiles } from "./watch-files.ts";

let project: string;
let stop: () => void;
const seen = new Set<string>();
let look = () => {};

beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), "keelson-watch-"));
  mkdirSync(join(project, "src/cache"), { recursive: true });
  mkdirSync(join(project, "node_modules"));
  write("src/index.ts");
  write("src/cache/api.ts");
  stop = watchFiles(project, (paths) => {
    for (const path of paths) seen.add(path);
    look();
  });
});

afterEach(() => {
  stop();
  rmSync(project, { recursive: true });
  seen.clear();
});

function write(path: string): void {
  writeFileSync(join(project, path), `${performance.now()}`);
}

/** As JetBrains, vim and `sed -i` save. */
function save(path: string): void {
  write(`${path}.new`);
  renameSync(join(project, `${path}.new`), join(project, path));
}

/** Resolves when all of these were told of. */
function told(...paths: string[]): Promise<void> {
  return new Promise((resolve) => {
    look = () => {
      if (!paths.every((path) => seen.has(path))) return;
      seen.clear();
      resolve();
    };
    look();
  });
}

test("a file that is replaced by renaming is noticed every time", async () => {
  for (let time = 0; time < 4; time++) {
    save("src/index.ts");
    await told("src/index.ts");
    save("src/cache/api.ts");
    await told("src/cache/api.ts");
  }
  write("src/index.ts");
  await told("src/index.ts");
});

test("a folder that comes, goes and comes again is followed", async () => {
  for (let time = 0; time < 2; time++) {
    mkdirSync(join(project, "src/queue/deep"), { recursive: true });
    write("src/queue/deep/api.ts");
    await told("src/queue/deep/api.ts");
    save("src/queue/deep/api.ts");
    await told("src/queue/deep/api.ts");
    rmSync(join(project, "src/queue"), { recursive: true });
    await told("src/queue");
  }
});

test("a folder and a file beside package.json are noticed, and node_modules and hidden ones are not", async () => {
  write("node_modules/a.js");
  mkdirSync(join(project, ".git"));
  write(".git/index");
  mkdirSync(join(project, "examples"));
  write("examples/a.yaml");
  write("package.json");
  await told("examples/a.yaml", "package.json");
  write("src/index.ts");
  write("node_modules/b.js");
  let all: string[] = [];
  look = () => {
    all = [...seen];
  };
  write("last.json");
  await expect.poll(() => all).toContain("last.json");
  expect(all.filter((path) => /node_modules|git/.test(path))).toEqual([]);
});
