/** The command line as a shell meets it: what is said where, and the exit code. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { stripVTControlCharacters } from "node:util";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { main } from "./main.ts";

let said = "";
beforeEach(() => {
  said = "";
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
});

/** What is printed, and the exit code. */
async function keelson(...args: string[]): Promise<[output: string, code: number]> {
  said = "";
  process.exitCode = undefined;
  const code = await main(args);
  return [said, code];
}

test("the list of commands fits a terminal of 80 columns", async () => {
  const [output, code] = await keelson("--help");
  const lines = stripVTControlCharacters(output).split("\n");
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  expect(code).toBe(0);
});

describe("a command that was not understood ends with 2 and a sentence", () => {
  test.each<[string, RegExp]>([
    ["frobnicate", /No command registered for `frobnicate`; see keelson --help/],
    ["cluster upp", /did you mean `up`\?$/m],
    ["cluster up --nmae x", /did you mean --name\?/],
    ["cluster up --nodes -1", /"-1" is an invalid value for nodes: it must be a whole number from 0 to 100/],
    ["cluster up --port 99999", /"99999" is an invalid value for port/],
    [
      "cluster fault delay web --ms soon",
      /"soon" is an invalid value for ms: it must be a whole number from 0 on/,
    ],
    ["image load", /Expected argument for path/],
  ])("%s", async (line, sentence) => {
    const [output, code] = await keelson(...line.split(" "));
    expect(output).toMatch(sentence);
    expect(code).toBe(2);
  });
});

test("what could not be done ends with 1 and a sentence, without a stack", async () => {
  const [output, code] = await keelson("generate", "--directory", "/nowhere");
  expect(output.trim()).toBe("/nowhere has no package.json; run this in an operator's folder");
  expect(code).toBe(1);
});

test("a command finds its project from a folder inside it", async () => {
  const home = mkdtempSync(join(tmpdir(), "klcli-"));
  mkdirSync(join(home, "src/deep"), { recursive: true });
  vi.spyOn(process, "cwd").mockReturnValue(join(home, "src/deep"));
  const create = () => keelson("create", "api", "--kind", "Cache");
  expect((await create())[0]).toMatch(/^\. has no package\.json; run this in an operator's folder/);
  writeFileSync(join(home, "package.json"), "{}");
  expect((await create())[0]).toContain(`${join(home, "src/index.ts")} does not exist; make a project first`);
  rmSync(home, { recursive: true });
});

test("an operator that exports its controllers alone is installed with their CRDs all the same", async () => {
  const home = mkdtempSync(join(tmpdir(), "klcli-"));
  const controllers = join(import.meta.dirname, "../../../operators/memcached/src/controller.ts");
  mkdirSync(join(home, "src"));
  writeFileSync(join(home, "package.json"), "{}");
  writeFileSync(join(home, "src/index.ts"), `export * from ${JSON.stringify(controllers)};`);
  expect((await keelson("generate", "--directory", home, "--crds"))[0]).toContain("name: memcacheds.");
  rmSync(home, { recursive: true });
});

test("the operator that an entry exports names its Lease, whatever its package is called", async () => {
  const home = mkdtempSync(join(tmpdir(), "klcli-"));
  const root = join(import.meta.dirname, "../../..");
  mkdirSync(join(home, "src"));
  writeFileSync(join(home, "package.json"), JSON.stringify({ name: "folder", version: "1.2.3" }));
  writeFileSync(
    join(home, "src/index.ts"),
    `import { operator } from ${JSON.stringify(join(root, "packages/runtime/src/index.ts"))};
     import { memcached } from ${JSON.stringify(join(root, "operators/memcached/src/controller.ts"))};
     export const app = operator({ name: "cache-operator", controllers: [memcached] });`,
  );
  const [all] = await keelson("generate", "--directory", home, "--output", "yaml");
  expect(all).toMatch(/resourceNames:\n +- cache-operator\n/);
  expect(all).not.toMatch(/name: folder/);
  expect(all).toContain("image: folder:1.2.3");
  rmSync(home, { recursive: true });
});

test("an entry that cannot be imported is named, with the place", async () => {
  const home = mkdtempSync(join(tmpdir(), "klcli-"));
  mkdirSync(join(home, "src"));
  writeFileSync(join(home, "package.json"), "{}");
  writeFileSync(join(home, "src/index.ts"), 'throw new Error("no such moon");');
  const [output, code] = await keelson("generate", "--directory", home);
  expect(output).toMatch(/src\/index\.ts cannot be imported:\nError: no such moon\n.*src\/index\.ts:1/);
  expect(code).toBe(1);
  writeFileSync(join(home, "package.json"), "{ oh");
  expect((await keelson("generate", "--directory", home))[0]).toMatch(/package\.json cannot be read: /);
  rmSync(home, { recursive: true });
});

test("an image is not built without the SDK that its operator imports", async () => {
  const home = mkdtempSync(join(tmpdir(), "klcli-"));
  mkdirSync(join(home, "src"));
  writeFileSync(join(home, "src/main.ts"), "");
  writeFileSync(join(home, "package.json"), JSON.stringify({ devDependencies: { keelson: "0.1.0" } }));
  expect((await keelson("build", "--directory", home))[0]).toMatch(/run: npm install --save-prod keelson/);
  rmSync(home, { recursive: true });
});

test("an operator's manifests come in the order in which they apply, or only its CRDs", async () => {
  const directory = join(import.meta.dirname, "../../../operators/memcached");
  const kinds = (output: string) => [...output.matchAll(/^kind: (.*)$/gm)].map(([, kind]) => kind);
  const printed = ["generate", "--directory", directory, "--image", "registry.example.com/m:1", "--output"];
  const [all] = await keelson(...printed, "yaml");
  expect(kinds(all)).toEqual([
    "CustomResourceDefinition",
    "Namespace",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "ClusterRole",
    "ClusterRole",
    "NetworkPolicy",
    "Service",
    "Deployment",
  ]);
  expect(all).toContain("image: registry.example.com/m:1");
  const [json] = await keelson(...printed, "json");
  expect((JSON.parse(json) as { items: object[] }).items).toHaveLength(12);
  expect(kinds((await keelson("generate", "--directory", directory, "--crds"))[0])).toEqual([
    "CustomResourceDefinition",
  ]);
});

test("generated files are written once, and --check names those that are not current", async () => {
  const home = mkdtempSync(join(tmpdir(), "klcli-"));
  const directory = join(import.meta.dirname, "../../../operators/memcached");
  const generate = (...flags: string[]) =>
    keelson("generate", "--directory", directory, "--to", join(home, "deploy"), ...flags);
  expect((await generate("--check"))[1]).toBe(1);
  expect((await generate())[0]).toMatch(
    /made {2}.*\/install\.yaml\n(.*\n)*.*deploy is written: \d+ files\.\n$/,
  );
  expect((await generate())[0]).toMatch(/^\S+ is current: \d+ files\.\n$/);
  expect(await generate("--check")).toEqual([expect.stringMatching(/ is current: \d+ files\.\n$/), 0]);
  writeFileSync(join(home, "deploy/install.yaml"), "");
  rmSync(join(home, "deploy/kustomize/base/rbac.yaml"));
  const [output, code] = await generate("--check");
  expect(output).toMatch(
    /deploy is not what the code says; run keelson generate:\n {2}missing {2}\S+rbac\.yaml\n {2}stale {2}\S+install\.yaml\n$/,
  );
  expect(code).toBe(1);
  rmSync(home, { recursive: true });
});

describe("a shell completes", () => {
  const proposals = async (...words: string[]) => {
    const [output] = await keelson("__complete", ...words);
    return output
      .split("\n")
      .filter(Boolean)
      .map((line) => line.split("\t")[0]);
  };

  test("commands, flags and their values", async () => {
    expect(await proposals("clu")).toEqual(["cluster"]);
    expect(await proposals("cluster", "")).toEqual(expect.arrayContaining(["up", "down", "status", "fault"]));
    expect(await proposals("generate", "--ch")).toEqual(["--check"]);
    expect(await proposals("check", "--output", "")).toEqual(["json", "yaml"]);
    expect(await proposals("frobnicate", "")).toEqual([]);
  });

  test("by a script that the shell itself understands", async () => {
    for (const shell of ["bash", "zsh", "fish"]) {
      const [script, code] = await keelson("completion", shell);
      expect(code).toBe(0);
      const found = spawnSync("which", [shell], { encoding: "utf8" }).stdout.trim();
      if (found !== "") expect(spawnSync(found, ["-n"], { input: script, encoding: "utf8" }).stderr).toBe("");
    }
    expect(await keelson("completion", "tcsh")).toEqual([expect.stringMatching(/one of bash, zsh, fish/), 2]);
  });

  test("in bash, word by word", async () => {
    const [script] = await keelson("completion", "bash");
    const asked = `keelson() { [ "$1" = __complete ] && shift && printf '%s|' "$@" && printf '\\tx\\n'; }
${script}
COMP_WORDS=(keelson cluster u); COMP_CWORD=2; _keelson; printf '%s' "\${COMPREPLY[0]}"`;
    expect(spawnSync("bash", ["-c", asked], { encoding: "utf8" }).stdout).toBe("cluster|u|");
  });
});

test("what goes to a file or a pipe has no colour", async () => {
  for (const line of ["--help", "cluster up --help", "frobnicate", "image list"]) {
    const [output] = await keelson(...line.split(" "));
    expect(stripVTControlCharacters(output)).toBe(output);
  }
});

test("every page of help fits a terminal of eighty columns, but for what is longer in itself", async () => {
  for (const line of [
    "",
    "cluster",
    "cluster up",
    "cluster fault",
    "apiserver",
    "generate",
    "build",
    "node",
    "init",
    "create version",
    "create webhook",
    "dev",
    "run",
    "upgrade",
  ]) {
    const [output, code] = await keelson("help", ...line.split(" ").filter(Boolean));
    expect(code).toBe(0);
    const usage = output.slice(0, output.indexOf("FLAGS")).split("\n");
    expect(usage.filter((each) => each.length > 80 && !each.includes("|"))).toEqual([]);
  }
});

test("a cluster that runs already says which flags it does not follow, and a path is quoted for the shell", {
  timeout: 60_000,
}, async () => {
  const home = mkdtempSync(join(tmpdir(), "klcli-"));
  vi.stubEnv("KEELSON_STATE", join(home, "a home"));
  try {
    expect((await keelson("cluster", "up", "--nodes", "0"))[1]).toBe(0);
    const [again, code] = await keelson("cluster", "up", "--nodes", "3");
    expect(again).toMatch(/is up already at .*\nIt runs as it was started: for --nodes 3 take it down first/);
    expect(again).toContain(`export KUBECONFIG='${home}/a home/clusters/default/kubeconfig'`);
    expect(code).toBe(0);
    const merged = join(home, "config");
    expect((await keelson("cluster", "up", "--kubeconfig", merged))[0]).toContain(
      `keelson-default is the current context of ${merged}.\n`,
    );
    expect(readFileSync(merged, "utf8")).toContain("current-context: keelson-default");
    expect((await keelson("cluster", "status"))[0]).toMatch(/^default {2}https:\S+ {2}no nodes {2}since /);
    const [listed] = await keelson("cluster", "status", "--output", "json");
    expect(JSON.parse(listed)).toEqual([
      expect.objectContaining({ name: "default", nodes: 0, state: "no nodes" }),
    ]);
  } finally {
    expect((await keelson("cluster", "down"))[0]).toBe("Cluster default is down.\n");
    expect(readFileSync(join(home, "config"), "utf8")).not.toContain("keelson-default");
    rmSync(home, { recursive: true });
  }
});

describe("a command whose output nobody reads any more", () => {
  /** Standard output is closed before anything is written to it. */
  async function unread(...args: string[]): Promise<[errors: string, code: number | null]> {
    const command = join(import.meta.dirname, "../../keelson/bin/keelson.js");
    const child = spawn(process.execPath, ["--conditions=keelson-source", command, ...args]);
    child.stdout.destroy();
    const errors = text(child.stderr);
    const [code] = (await once(child, "close")) as [number | null];
    return [await errors, code];
  }

  test("ends without a word", async () => {
    expect(await unread("completion", "bash")).toEqual(["", 141]);
  });

  test("takes down what it has started", async () => {
    expect(await unread("apiserver", "--port", "0")).toEqual(["", 0]);
  });
});
