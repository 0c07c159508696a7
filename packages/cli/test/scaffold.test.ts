/** A new project, as `keelson init` and `keelson create api` leave it: it passes its own lint, type check and tests. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { main } from "../src/main.ts";
import { toolVersions } from "../src/scaffold/tool-versions.ts";

const root = join(import.meta.dirname, "../../..");
let work: string;
let said = "";
beforeEach(() => {
  work = mkdtempSync(join(tmpdir(), "keelson-scaffold-"));
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, "write").mockImplementation((chunk) => {
      said += String(chunk);
      return true;
    });
  }
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  process.exitCode = undefined;
  rmSync(work, { recursive: true, force: true });
});

/** What is printed, and the exit code. */
async function keelson(...args: string[]): Promise<[output: string, code: number]> {
  said = "";
  process.exitCode = undefined;
  const code = await main(args);
  return [said, code];
}

const init = (name: string, ...flags: string[]) =>
  keelson("init", join(work, name), "--no-install", "--yes", ...flags);

/** Every file of a folder with its content. */
function contents(directory: string): Record<string, string> {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  const paths = entries.filter((each) => each.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return Object.fromEntries(
    paths.sort().map((path) => [path.slice(directory.length + 1), readFileSync(path, "utf8")]),
  );
}

/** The repository's own packages and tools, in place of an installation. */
function installed(project: string): (command: string, ...args: string[]) => string {
  symlinkSync(join(root, "node_modules"), join(project, "node_modules"));
  return (command, ...args) => {
    const { status, stdout, stderr } = spawnSync(join(root, "node_modules/.bin", command), args, {
      cwd: project,
      encoding: "utf8",
      env: { ...process.env, NO_COLOR: "1", NODE_OPTIONS: "--conditions=keelson-source" },
    });
    return status === 0 ? "passed" : stripVTControlCharacters(stdout + stderr);
  };
}

const fromSource = `export default {
  ssr: { resolve: { conditions: ["keelson-source"] } },
  test: { execArgv: ["--conditions=keelson-source"], testTimeout: 60_000 },
};
`;

test("a project of every template passes its own lint, type check and tests", {
  timeout: 240_000,
}, async () => {
  expect((await init("cache-operator"))[1]).toBe(0);
  const project = join(work, "cache-operator");
  expect(Object.keys(contents(project)).length).toBeLessThanOrEqual(12);
  const [output, code] = await keelson(
    ...["create", "api", "--kind", "AccessKey", "--template", "reconcile", "--directory", project],
  );
  expect([output, code]).toEqual([expect.stringContaining("made  src/access-key/controller.ts"), 0]);
  expect(output).toContain("changed  src/index.ts\n");
  const database = ["--kind", "Ledger", "--template", "database", "--directory", project];
  expect((await keelson("create", "api", ...database))[0]).toContain("It needs another package: npm install");
  expect(readFileSync(join(project, "package.json"), "utf8")).toContain(
    '"@keelson/kit": "0.1.0",\n    "keelson"',
  );
  for (const kind of ["Cache", "AccessKey", "Ledger"]) {
    expect((await keelson("create", "webhook", "--kind", kind, "--directory", project))[1]).toBe(0);
    for (const version of ["v1beta1", "v1"]) {
      const args = ["create", "version", "--kind", kind, "--version", version, "--directory", project];
      expect((await keelson(...args))[1]).toBe(0);
    }
  }
  const run = installed(project);
  expect(run("biome", "ci", "--error-on-warnings", ".")).toBe("passed");
  writeFileSync(join(project, "vitest.config.js"), fromSource);
  // In one process: loading the packages for each file would take longer than the tests.
  expect(run("vitest", "run", "--no-isolate", "--maxWorkers=1")).toBe("passed");
  rmSync(join(project, "vitest.config.js"));
  // Against the declarations that users get: `npm run build` writes them.
  if (existsSync(join(root, "packages/testing/dist/index.d.ts"))) expect(run("tsc")).toBe("passed");
});

test("the package manager that starts create-keelson installs the project", async () => {
  const bin = join(work, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "pnpm"), '#!/bin/sh\necho "$PWD $*" > installed\n', { mode: 0o755 });
  vi.stubEnv("PATH", `${bin}:${process.env["PATH"]}`);
  vi.stubEnv("npm_config_user_agent", "pnpm/10.1.0 npm/? node/v24.0.0 linux x64");
  const project = join(work, "cache-operator");
  const [output, code] = await keelson("init", project, "--yes");
  expect([output, code]).toEqual([expect.stringMatching(/\n {2}pnpm test\n {2}npx keelson dev\n$/), 0]);
  expect(readFileSync(join(project, "installed"), "utf8")).toMatch(/cache-operator install /);
  writeFileSync(join(bin, "pnpm"), "#!/bin/sh\nexit 3\n");
  expect((await keelson("init", project, "--yes"))[0]).toMatch(
    /the files are written, but pnpm install failed in \S+: exit code 3; run it there again/,
  );
});

test("names of any length keep the lint content", async () => {
  const project = join(work, "x");
  await init("x", "--kind", "Abc");
  for (const length of [9, 20, 31, 40]) {
    const kind = "AbcdefghijKlmnopqrstUvwxyzabcdEfghijklmn".slice(0, length);
    for (const [each, template] of [
      [kind, "compose"],
      [`Z${kind.slice(1)}`, "reconcile"],
      [`Y${kind.slice(1)}`, "database"],
    ] as const) {
      const args = ["create", "api", "--kind", each, "--template", template, "--directory", project];
      expect((await keelson(...args))[1]).toBe(0);
    }
  }
  expect(installed(project)("biome", "ci", "--error-on-warnings", ".")).toBe("passed");
});

test("a project from packed packages gets the package that a template needs", async () => {
  const packed = join(work, "packed");
  mkdirSync(packed);
  for (const name of ["keelson", "keelson-cli", "keelson-testing", "keelson-kit"])
    writeFileSync(join(packed, `${name}-0.1.0.tgz`), "");
  await init("cache-operator", "--packages", packed);
  const project = join(work, "cache-operator");
  const args = ["--kind", "Ledger", "--template", "database", "--directory", project];
  expect((await keelson("create", "api", ...args))[0]).toContain("It needs another package: npm install");
  const { dependencies } = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  expect(dependencies["@keelson/kit"]).toBe(`file:${packed}/keelson-kit-0.1.0.tgz`);
});

test.each(["compose", "reconcile", "database"])("the template %s has at most 12 files", async (template) => {
  expect((await init("ledger-operator", "--template", template))[1]).toBe(0);
  const files = contents(join(work, "ledger-operator"));
  expect(Object.keys(files).length).toBeLessThanOrEqual(12);
  expect(files["package.json"]?.includes("@keelson/kit")).toBe(template === "database");
});

describe("what is there", () => {
  test("is made once, and an edit stays", async () => {
    await init("cache-operator");
    const project = join(work, "cache-operator");
    const before = contents(project);
    const [again] = await init("cache-operator");
    expect(again).toContain("everything is there already");
    expect(contents(project)).toEqual(before);

    writeFileSync(join(project, "src/cache/controller.ts"), "// mine\n");
    rmSync(join(project, "tsconfig.json"));
    const [third, code] = await init("cache-operator");
    expect([third, code]).toEqual([
      expect.stringMatching(/made {2}tsconfig\.json\n {2}kept {2}src\/cache\/controller\.ts/),
      0,
    ]);
    expect(contents(project)).toEqual({ ...before, "src/cache/controller.ts": "// mine\n" });
  });

  test("is found again by its own kind, whatever the folder's name says", async () => {
    await init("cache-operator", "--kind", "Memcached", "--group", "shop.example.com");
    expect(await init("cache-operator")).toEqual([
      expect.stringMatching(/^ {2}everything is there already\n/),
      0,
    ]);
    const before = contents(join(work, "cache-operator"));
    expect(await init("cache-operator", "--kind", "Queue")).toEqual([
      expect.stringMatching(
        /^cache-operator is made already, for Memcached; to add another kind: keelson create api --kind Queue -C \S+\n$/,
      ),
      1,
    ]);
    expect(contents(join(work, "cache-operator"))).toEqual(before);
  });

  test("in one version is not converted", async () => {
    await init("cache-operator");
    const project = join(work, "cache-operator");
    const before = contents(project);
    const args = ["create", "version", "--kind", "Cache", "--version", "v1alpha1", "--directory", project];
    expect(await keelson(...args)).toEqual(["  everything is there already\n", 0]);
    expect(contents(project)).toEqual(before);
  });

  test("of a resource is made once, and added to the entry once", async () => {
    await init("cache-operator");
    const project = join(work, "cache-operator");
    const create = () => keelson("create", "api", "--kind", "Bucket", "--directory", project);
    await create();
    const entry = readFileSync(join(project, "src/index.ts"), "utf8");
    expect(entry).toContain("controllers: [cacheController, bucketController]");
    expect(entry.indexOf("./bucket/api.ts")).toBeLessThan(entry.indexOf("./cache/api.ts"));
    expect(readFileSync(join(project, "src/bucket/api.ts"), "utf8")).toContain('group: "cache.example.com"');
    expect((await create())[0]).toContain("everything is there already");
    expect(readFileSync(join(project, "src/index.ts"), "utf8")).toBe(entry);
  });

  test("has a webhook and a version once, and an edit of them stays", async () => {
    await init("cache-operator");
    const project = join(work, "cache-operator");
    const webhook = () => keelson("create", "webhook", "--kind", "Cache", "--directory", project);
    const version = (name: string) =>
      keelson("create", "version", "--kind", "Cache", "--version", name, "--directory", project);
    expect((await webhook())[0]).toMatch(
      /made {2}src\/cache\/webhook\.ts\n {2}made {2}test\/cache-webhook\.test\.ts/,
    );
    expect(readFileSync(join(project, "src/index.ts"), "utf8")).toContain("  webhooks: [cacheWebhook],\n});");
    expect((await version("v1beta1"))[0]).toMatch(
      /changed {2}src\/cache\/api\.ts[\s\S]*Objects stay stored as v1alpha1;/,
    );
    const before = contents(project);
    for (const again of [await webhook(), await version("v1beta1"), await version("v1alpha1")]) {
      expect(again).toEqual(["  everything is there already\n", 0]);
    }
    expect(contents(project)).toEqual(before);

    writeFileSync(join(project, "src/cache/webhook.ts"), "// mine\n");
    writeFileSync(join(project, "src/cache/api.ts"), `${before["src/cache/api.ts"]}// mine\n`);
    expect((await webhook())[0]).toContain("kept  src/cache/webhook.ts, which is there already and differs");
    await version("v1");
    const api = readFileSync(join(project, "src/cache/api.ts"), "utf8");
    expect(api).toMatch(/v1: \{[\s\S]*\/\/ mine\n$/);
    expect(readFileSync(join(project, "src/cache/webhook.ts"), "utf8")).toBe("// mine\n");
  });

  test("in an entry of one's own form is left alone, and the lines to add are shown", async () => {
    await init("cache-operator");
    const project = join(work, "cache-operator");
    writeFileSync(join(project, "src/index.ts"), "export * from './everything.ts';\n");
    const args = ["create", "api", "--kind", "Bucket", "--group", "b.example.com", "--directory", project];
    const [output, code] = await keelson(...args);
    expect(output).toContain('import { bucketController } from "./bucket/controller.ts";');
    expect(code).toBe(0);
    expect(readFileSync(join(project, "src/index.ts"), "utf8")).toBe("export * from './everything.ts';\n");
  });

  test("in a new repository is kept beside the project", async () => {
    const project = join(work, "cache-operator");
    mkdirSync(join(project, ".git"), { recursive: true });
    writeFileSync(join(project, "README.md"), "# mine\n");
    expect((await init("cache-operator"))[1]).toBe(0);
    expect(readFileSync(join(project, "README.md"), "utf8")).toBe("# mine\n");
  });
});

describe("what cannot be done is one sentence, and nothing is written", () => {
  test.each<[string[], RegExp]>([
    [
      ["webhook", "--kind", "Bucket"],
      /^src\/index\.ts exports no kind Bucket: there is Cache; make it first: keelson create api --kind Bucket$/,
    ],
    [["version", "--kind", "Bucket", "--version", "v1"], /exports no kind Bucket: there is Cache;/],
    [["version", "--kind", "Cache", "--version", "2"], /^"2" is no name for a version; use v1/],
    [["api", "--kind", "cache"], /^"cache" is no name for a kind;/],
    [["api", "--kind", "CacheList"], /^"CacheList" is no name for a kind; use one that does not end in List/],
    [["api", "--kind", "Bucket", "--group", "k8s.io"], /reserved for Kubernetes/],
  ])("create %j", async (args, sentence) => {
    await init("cache-operator");
    const project = join(work, "cache-operator");
    const before = contents(project);
    const [output, code] = await keelson("create", ...args, "--directory", project);
    expect(output.trim()).toMatch(sentence);
    expect(output.trim().split("\n")).toHaveLength(1);
    expect(code).toBe(1);
    expect(contents(project)).toEqual(before);
  });

  test("a version of a resource whose source has a form of its own", async () => {
    await init("cache-operator");
    const project = join(work, "cache-operator");
    writeFileSync(join(project, "src/cache/api.ts"), "export const Cache = resource(mine);\n");
    const args = ["create", "version", "--kind", "Cache", "--version", "v1", "--directory", project];
    expect(await keelson(...args)).toEqual([
      expect.stringMatching(
        /^src\/cache\/api\.ts has a form of its own, and nothing was changed; add the version by hand/,
      ),
      1,
    ]);
    expect(existsSync(join(project, "test/cache-versions.test.ts"))).toBe(false);
  });

  test.each<[string, string[], RegExp]>([
    ["My_Operator", [], /^"My_Operator" is no name for an operator; use lower-case letters/],
    ["op", ["--kind", "bucket"], /^"bucket" is no name for a kind; use letters and digits, a capital first/],
    [
      "op",
      ["--kind", "Deployment"],
      /^"Deployment" is no name for a kind; use a name that Kubernetes has not/,
    ],
    ["op", ["--kind", "Map"], /^"Map" is no name for a kind; use a name that TypeScript has not/],
    ["op", ["--group", "cache"], /^"cache" is no name for a group; use a domain that is yours/],
    ["op", ["--group", "x.k8s.io"], /^"x\.k8s\.io" is no name for a group; .* reserved for Kubernetes/],
    ["op", ["--version", "1"], /^"1" is no name for a version; use v1, v1alpha1/],
    [
      "op",
      ["--packages", "/nowhere"],
      /^\/nowhere has no packed keelson and no @keelson\/cli and no @keelson\/testing and no @keelson\/kit; /,
    ],
  ])("init %s %j", async (name, flags, sentence) => {
    const [output, code] = await init(name, ...flags);
    expect(output.trim()).toMatch(sentence);
    expect(output.trim().split("\n")).toHaveLength(1);
    expect(code).toBe(1);
    expect(readdirSync(work)).toEqual([]);
  });

  test("a template that does not exist", async () => {
    const [output, code] = await init("op", "--template", "magic");
    expect(output).toMatch(/magic/);
    expect(code).toBe(2);
    expect(existsSync(join(work, "op"))).toBe(false);
  });

  test("a folder with something else in it, and a file in its place", async () => {
    mkdirSync(join(work, "op"));
    writeFileSync(join(work, "op/main.go"), "");
    expect(await init("op")).toEqual([
      expect.stringMatching(/has files of something else in it \(main\.go\)/),
      1,
    ]);
    expect(readdirSync(join(work, "op"))).toEqual(["main.go"]);
    writeFileSync(join(work, "file"), "");
    expect(await init("file")).toEqual([expect.stringMatching(/file is a file\n$/), 1]);
  });

  test.skipIf(process.getuid?.() === 0)("a folder that may not be written", async () => {
    chmodSync(work, 0o555);
    expect(await init("op")).toEqual([
      expect.stringMatching(/^nothing was written to .*permission denied/),
      1,
    ]);
    chmodSync(work, 0o755);
  });

  test.runIf(process.platform === "linux")("a place where nobody can make a folder", async () => {
    const args = ["init", "/proc/op", "--no-install", "--yes"];
    expect(await keelson(...args)).toEqual([
      expect.stringMatching(/^nothing was written to \/proc\/op: ENOENT/),
      1,
    ]);
  });

  test("a file where a folder must be: what was written before it goes again", async () => {
    await init("op");
    const project = join(work, "op");
    writeFileSync(join(project, "test/blocked"), "");
    const before = contents(project);
    rmSync(join(project, "test"), { recursive: true });
    writeFileSync(join(project, "test"), "");
    const [output, code] = await keelson("create", "api", "--kind", "Bucket", "--directory", project);
    expect(output).toMatch(/^nothing was written to .*op: E(EXIST|NOTDIR)/);
    expect(code).toBe(1);
    expect(existsSync(join(project, "src/bucket"))).toBe(false);
    expect(readFileSync(join(project, "src/index.ts"), "utf8")).toBe(before["src/index.ts"]);
  });

  test("a resource outside a project", async () => {
    const create = (...flags: string[]) =>
      keelson("create", "api", "--kind", "Bucket", "--directory", work, ...flags);
    expect(await create()).toEqual([
      expect.stringMatching(/has no package\.json; run this in an operator's folder/),
      1,
    ]);
    writeFileSync(join(work, "package.json"), "{}");
    expect(await create()).toEqual([
      expect.stringMatching(/does not exist; make a project first: keelson init NAME/),
      1,
    ]);
  });
});

test("the tools of a new project are those that this repository is tested with", () => {
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    devDependencies: Record<string, string>;
  };
  for (const [name, version] of Object.entries(toolVersions))
    expect([name, devDependencies[name]]).toEqual([name, version]);
});
