/**
 * `npm run e2e:packages`: the packages as npm would give them to people, packed, installed into an empty project under
 * several releases of Node, and looked at by publint and arethetypeswrong.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { main as keelson } from "@keelson/cli";
import { commandLine } from "../../scripts/command-line.ts";

const values = commandLine({
  command: "npm run e2e:packages",
  does: "The packages as npm would give them to people: packed, looked at by publint and arethetypeswrong, and installed into an empty project.",
  options: {
    node: {
      text: "VERSION,…",
      default: "22,24,latest",
      help: "releases of Node that run the project's tests",
    },
  },
});
const root = join(import.meta.dirname, "../..");
const execute = promisify(execFile);
const startedAt = performance.now();
const say = (sentence: string) =>
  console.error(`${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(7)} ${sentence}`);
const lines = ["| what | how | kept |", "| --- | --- | --- |"];
let broken = 0;

const home = await mkdtemp(join(tmpdir(), "keelson-e2e-packages-"));
try {
  const packed = join(home, "packed");
  say("packing");
  await run("node", [join(root, "scripts/pack.ts"), packed], root);
  const tarballs = (await readdir(packed))
    .filter((name) => name.endsWith(".tgz"))
    .map((name) => join(packed, name));
  await row(`${tarballs.length} packages are well formed`, "publint --strict", async () => {
    for (const tarball of tarballs) await run("publint", [tarball, "--strict"], root);
  });
  await row("types resolve as the code does", "arethetypeswrong, profile esm-only", async () => {
    const tools = join(home, "tools");
    await mkdir(tools);
    await run("npm", ["install", "--no-audit", "--no-fund", "@arethetypeswrong/cli@0.18.5"], tools);
    // A package that only brings a command has nothing to import.
    for (const tarball of tarballs.filter((name) => !name.includes("create-keelson"))) {
      await run(join(tools, "node_modules/.bin/attw"), [tarball, "--profile", "esm-only"], tools);
    }
  });
  const project = join(home, "cache-operator");
  await row("a new project is made and installed from them", "keelson init --packages", async () => {
    const code = await keelson(["init", project, "--yes", "--no-install", "--packages", packed]);
    if (code !== 0) throw new Error(`keelson init ended with ${code}`);
    await run("npm", ["install", "--no-audit", "--no-fund"], project);
  });
  for (const resolution of ["nodenext", "bundler"] as const) {
    await row(`its types hold under ${resolution}`, "tsc, with an import of every entry", () =>
      types(project, resolution),
    );
  }
  for (const release of values.node.split(",").filter(Boolean)) {
    await row(`its tests pass under Node ${release}`, "vitest in virtual time", () =>
      testsUnder(project, release),
    );
  }
} finally {
  await rm(home, { recursive: true, force: true });
}
console.log(lines.join("\n"));
process.exit(broken === 0 ? 0 : 1);

async function row(what: string, how: string, check: () => Promise<unknown>): Promise<void> {
  say(what);
  try {
    const measured = await check();
    lines.push(`| ${what} | ${how}${typeof measured === "string" ? `: ${measured}` : ""} | yes |`);
  } catch (error) {
    broken++;
    const { message, stdout = "" } = error as Error & { stdout?: string };
    say(`BROKEN ${message}\n${stdout.slice(-4_000)}`);
    lines.push(`| ${what} | ${how} | **no** |`);
  }
}

/** The toolchain of the repository, unless another Node is put before it. */
async function run(command: string, args: readonly string[], cwd: string, node?: string): Promise<string> {
  const path = [
    ...(node === undefined ? [] : [dirname(node)]),
    dirname(process.execPath),
    join(root, "node_modules/.bin"),
  ];
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    PATH: [...path, process.env["PATH"]].join(":"),
    NO_COLOR: "1",
  };
  delete env["NODE_OPTIONS"];
  return (await execute(command, args, { cwd, env, maxBuffer: 1 << 26 })).stdout;
}

async function types(project: string, resolution: "nodenext" | "bundler"): Promise<string> {
  const file = `types-${resolution}`;
  const entries = await everyEntry(project);
  await writeFile(
    join(project, `${file}.ts`),
    `import { controller, operator, resource, z } from "keelson";
import { Deployment } from "keelson/kinds";
${entries.map((entry, index) => `import * as entry${index} from ${JSON.stringify(entry)};`).join("\n")}
export const Cache = resource({ group: "a.example.com", kind: "Cache", version: "v1", spec: z.object({ size: z.int() }) });
export const app = operator({ controllers: [controller(Cache, { owns: { d: Deployment }, compose: () => ({ children: {} }) })] });
export const used = [${entries.map((_, index) => `entry${index}`).join(", ")}];
// @ts-expect-error a misspelt field must not compile: types are there, and not any.
export const wrong: Parameters<typeof app.run> = [1, 2, 3];
`,
  );
  const module = resolution === "nodenext" ? "nodenext" : "esnext";
  await writeFile(
    join(project, `${file}.json`),
    JSON.stringify({
      extends: "./tsconfig.json",
      compilerOptions: { module, moduleResolution: resolution, skipLibCheck: false, noEmit: true },
      include: [`${file}.ts`],
    }),
  );
  await run(join(project, "node_modules/.bin/tsc"), ["-p", `${file}.json`], project).catch(
    (error: unknown) => {
      // Declarations of other packages are theirs: stricli's do not hold under exactOptionalPropertyTypes.
      const { stdout = "" } = error as { stdout?: string };
      const files = [...stdout.matchAll(/^(\S+)\(\d+,\d+\): error/gm)].map(([, path = ""]) => path);
      const foreign = /^node_modules\/(?!@keelson\/|keelson\/)/;
      if (files.length === 0 || !files.every((path) => foreign.test(path))) throw error;
    },
  );
  return `${entries.length} entries`;
}

/** What can be imported from the packages that are installed; a program that runs when it is imported is none. */
async function everyEntry(project: string): Promise<string[]> {
  const modules = join(project, "node_modules");
  const scoped = (await readdir(join(modules, "@keelson"))).map((name) => `@keelson/${name}`);
  const entries: string[] = [];
  for (const name of ["keelson", ...scoped]) {
    const text = await readFile(join(modules, name, "package.json"), "utf8");
    const { exports = {} } = JSON.parse(text) as { exports?: Record<string, unknown> };
    const places = Object.keys(exports).filter((place) => !/^\.\/(main|package\.json)$/.test(place));
    entries.push(...places.map((place) => `${name}${place.slice(1)}`));
  }
  return entries.sort();
}

/** npm has every release of Node as a package. */
async function testsUnder(project: string, release: string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`;
  const folder = join(home, `node-${release}`);
  await mkdir(folder);
  const version = release === "latest" ? await newest(name) : release;
  await run("npm", ["install", "--no-audit", "--no-fund", `${name}@${version}`], folder);
  const node = join(folder, "node_modules", name, "bin/node");
  if (!existsSync(node)) throw new Error(`${name}@${version} has no bin/node`);
  const said = await run(node, ["--version"], folder);
  await run(
    node,
    [join(project, "node_modules/vitest/vitest.mjs"), "run", "--test-timeout=120000"],
    project,
    node,
  );
  await run(
    node,
    ["node_modules/keelson/bin/keelson.js", "generate", "--check", "--to", "none"],
    project,
    node,
  ).then(
    () => {
      throw new Error("keelson generate --check passed without files");
    },
    (error: Error & { code?: number }) => {
      if (error.code !== 1) throw error;
    },
  );
  return said.trim();
}

/** `latest` of that package is not always the newest release. */
async function newest(name: string): Promise<string> {
  const all = JSON.parse(await run("npm", ["view", name, "versions", "--json"], home)) as string[];
  return (
    all.toSorted((a, b) => b.localeCompare(a, "en", { numeric: true })).find((each) => !each.includes("-")) ??
    "latest"
  );
}
