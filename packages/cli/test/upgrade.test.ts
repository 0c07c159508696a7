/** `keelson upgrade`: a project that an older release made, with edits of a person, comes to the scaffold of this one. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseJson } from "@keelson/core";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { main } from "../src/main.ts";
import type { ScaffoldRecord } from "../src/scaffold/record.ts";

let work: string;
let project: string;
let said = "";
beforeEach(async () => {
  work = mkdtempSync(join(tmpdir(), "keelson-upgrade-"));
  project = join(work, "cache-operator");
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, "write").mockImplementation((chunk) => {
      said += String(chunk);
      return true;
    });
  }
  await keelson("init", project, "--no-install", "--yes");
  await keelson("create", "api", "--kind", "Bucket", "--directory", project);
  await keelson("create", "webhook", "--kind", "Cache", "--directory", project);
});
afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
  rmSync(work, { recursive: true });
});

async function keelson(...args: string[]): Promise<[output: string, code: number]> {
  said = "";
  process.exitCode = undefined;
  const code = await main(args);
  return [said, code];
}

const upgrade = (...flags: string[]) => keelson("upgrade", "--directory", project, ...flags);
const read = (path: string) => readFileSync(join(project, path), "utf8");
const write = (path: string, text: string) => writeFileSync(join(project, path), text);
const RECORD = ".keelson/scaffold.json";

/** The project as a release before this one would have made it: its files were other than those of today. */
function older(path: string, change: (text: string) => string): void {
  const record = parseJson(read(RECORD)) as unknown as ScaffoldRecord;
  const old = change(read(path));
  expect(old).not.toBe(read(path));
  write(path, old);
  write(RECORD, JSON.stringify({ ...record, keelson: "0.0.9", files: { ...record.files, [path]: old } }));
}

test("a project of this release is left as it is", async () => {
  const before = read(RECORD);
  expect(await upgrade()).toEqual(["The project has the scaffold of 0.1.0 already.\n", 0]);
  expect(read(RECORD)).toBe(before);
});

test("a project of packed packages stays with their folder", async () => {
  const folder = join(work, "packages");
  mkdirSync(folder);
  for (const name of ["keelson", "keelson-cli", "keelson-testing", "keelson-kit"])
    writeFileSync(join(folder, `${name}-0.1.0.tgz`), "");
  project = join(work, "packed-operator");
  await keelson("init", project, "--no-install", "--yes", "--packages", folder);
  expect(await upgrade()).toEqual(["The project has the scaffold of 0.1.0 already.\n", 0]);
});

test("what is new comes in, and what a person changed stays", async () => {
  const [now, tsconfig] = [read("src/cache/controller.ts"), read("tsconfig.json")];
  older("src/cache/controller.ts", (text) =>
    text.replace("/** What a Cache becomes", "/** What once a Cache became"),
  );
  older("tsconfig.json", (text) => text.replace('    "strict": true,\n', ""));
  older("package.json", (text) => text.replaceAll("0.1.0", "0.0.9"));
  write("src/cache/controller.ts", read("src/cache/controller.ts").replace('name: "main"', 'name: "mine"'));
  write(
    "package.json",
    read("package.json").replace('"vitest": "5.1.0"', '"vitest": "5.1.0",\n    "left-pad": "1.0.0"'),
  );
  older("README.md", (text) => text.replace("made with Keelson", "made with an older Keelson"));
  rmSync(join(project, "README.md"));

  const [plan] = await upgrade("--dry-run");
  expect(plan).toMatch(
    /merged {2}src\/cache\/controller\.ts[\s\S]*would come from the scaffold of 0\.0\.9 to that of 0\.1\.0\.\n$/,
  );
  expect(read("tsconfig.json")).not.toBe(tsconfig);

  const [output, code] = await upgrade();
  expect(code).toBe(0);
  expect(output).toMatch(/left out {2}README\.md/);
  expect(read("src/cache/controller.ts")).toBe(now.replace('name: "main"', 'name: "mine"'));
  expect(read("tsconfig.json")).toBe(tsconfig);
  const manifest = parseJson(read("package.json")) as Record<string, Record<string, string>>;
  expect(manifest["dependencies"]).toEqual({ keelson: "0.1.0" });
  expect(manifest["devDependencies"]).toMatchObject({ "left-pad": "1.0.0", "@keelson/cli": "0.1.0" });
  expect(parseJson(read(RECORD))).toMatchObject({ keelson: "0.1.0" });
  expect((await upgrade())[0]).toBe("The project has the scaffold of 0.1.0 already.\n");
});

test("a place that both changed is refused with nothing written, or marked", async () => {
  older("src/main.ts", (text) => text.replace("what its image starts", "its image starts it"));
  older("tsconfig.json", (text) => text.replace('"es2024"', '"es2023"'));
  write("src/main.ts", read("src/main.ts").replace("its image starts it", "I wrote this"));
  const before = [read("src/main.ts"), read("tsconfig.json"), read(RECORD)];
  expect(await upgrade()).toEqual([
    "src/main.ts changed here and in the new scaffold, at the same places; nothing was written: say --mark to have texts marked there and your own fields kept\n",
    1,
  ]);
  expect([read("src/main.ts"), read("tsconfig.json"), read(RECORD)]).toEqual(before);

  expect((await upgrade("--mark"))[0]).toMatch(/marked {2}src\/main\.ts/);
  expect(read("src/main.ts")).toMatch(
    /<<<<<<< yours\n.*I wrote this.*\n=======\n.*image starts.*\n>>>>>>> keelson 0\.1\.0\n/,
  );
});

test("a field of a JSON file that both changed is named, and yours stands", async () => {
  older("package.json", (text) => text.replace("vitest run --test-timeout=60000", "vitest"));
  write("package.json", read("package.json").replace('"test": "vitest"', '"test": "mine"'));
  expect((await upgrade())[0]).toMatch(
    /^package\.json \(scripts\.test\) changed here and in the new scaffold/,
  );
  expect((await upgrade("--mark"))[0]).toContain("marked  package.json, where yours stand: scripts.test\n");
  expect(parseJson(read("package.json"))).toMatchObject({ scripts: { test: "mine" } });
});

test("a project that no scaffold made is one sentence", async () => {
  rmSync(join(project, RECORD));
  expect(await upgrade()).toEqual([
    expect.stringMatching(
      /has no \.keelson\/scaffold\.json, which says what it was made from; keelson init writes it\n$/,
    ),
    1,
  ]);
});
