/** `npm run check`: format and lint, direction of dependencies, types, unused code, package hygiene. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { apiProblems } from "./api-report.ts";
import { commandLine, refuse } from "./command-line.ts";
import { directionProblems } from "./direction.ts";
import { mutantOf, namedMutants } from "./mutation/named.ts";
import { contentProblems, publishedFolders, removeStale } from "./package-contents.ts";
import { environment, root, run } from "./run.ts";

/** The packages that are published. */
const packages = readdirSync(join(root, "packages")).sort();

const steps: readonly [string, () => Promise<number>][] = [
  ["format and lint", () => run("biome", ["ci", "--error-on-warnings", "."])],
  ["direction of dependencies", checkDirection],
  ["types", () => run("tsc", ["-b"])],
  ["public API and its reports", checkApi],
  ["types of tests and tools", () => run("tsc", ["-p", "tsconfig.check.json"])],
  ["mistakes made on purpose", checkMistakes],
  ["unused code", () => run("knip", ["--no-progress"])],
  ["package hygiene", checkPackages],
  ["package contents", checkContents],
  ["built packages load", checkBuilt],
];

const { words } = commandLine({
  command: "npm run check",
  does: `What must hold of the code as it is, in this order: ${steps.map(([name]) => name).join("; ")}.`,
  words: "[STEP]",
});
/** `npm run check -- types` runs the steps whose names contain it. */
const only = words.join(" ");
const chosen = steps.filter(([name]) => name.includes(only));
if (chosen.length === 0) refuse(`no step of npm run check is named "${only}"`);
for (const [name, check] of chosen) {
  console.log(`\n── ${name}`);
  if ((await check()) !== 0) {
    console.error(`\ncheck failed: ${name}`);
    process.exit(1);
  }
}
console.log("\ncheck passed");

async function checkDirection(): Promise<number> {
  const problems = directionProblems();
  for (const problem of problems) console.error(problem);
  return problems.length === 0 ? 0 : 1;
}

/** Reads what the step before has built. */
async function checkApi(): Promise<number> {
  const problems = apiProblems();
  for (const problem of problems) console.error(problem);
  return problems.length === 0 ? 0 : 1;
}

/** Each mistake of `npm run mutation` still finds the text that it changes. */
async function checkMistakes(): Promise<number> {
  const problems = namedMutants.flatMap((named) => {
    try {
      mutantOf(named, readFileSync(join(root, named.file), "utf8"));
      return [];
    } catch (error) {
      return [(error as Error).message];
    }
  });
  for (const problem of problems) console.error(problem);
  return problems.length === 0 ? 0 : 1;
}

async function checkPackages(): Promise<number> {
  for (const name of packages) {
    const code = await run("publint", [`packages/${name}`, "--strict", "--pack", "false"]);
    if (code !== 0) return code;
  }
  return 0;
}

/** What npm would put into the tarballs, as `npm run pack` makes them. */
async function checkContents(): Promise<number> {
  const folders = publishedFolders(root);
  for (const folder of folders) removeStale(folder);
  const license = readFileSync(join(root, "LICENSE"), "utf8");
  const workspaces = folders.map((folder) => `--workspace=${folder}`);
  const packed = execFileSync("npm", ["pack", ...workspaces, "--dry-run", "--json", "--silent"], {
    ...{ cwd: root, env: environment, encoding: "utf8", maxBuffer: 1 << 26 },
  });
  const tarballs = JSON.parse(packed) as { name: string; files: { path: string }[] }[];
  const problems = tarballs.flatMap(({ files, name }, index) => {
    const contents = { folder: folders[index] ?? "", files: files.map(({ path }) => path) };
    return contentProblems(contents, license).map((problem) => `${name} ${problem}`);
  });
  for (const problem of problems) console.error(problem);
  return problems.length === 0 ? 0 : 1;
}

/** Tests run the sources; users run what was built of them: each entry of each package must load. */
async function checkBuilt(): Promise<number> {
  const entries = packages.flatMap((folder) => {
    const { name, exports } = JSON.parse(
      readFileSync(join(root, "packages", folder, "package.json"), "utf8"),
    ) as { name: string; exports: Record<string, unknown> };
    // A program would begin its work, and the manifest is no module.
    const modules = Object.keys(exports).filter((entry) => entry !== "./main" && entry !== "./package.json");
    return modules.map((entry) => name + entry.slice(1));
  });
  const program = entries.map((name) => `await import(${JSON.stringify(name)});`).join("\n");
  return run("node", ["--input-type=module", "--eval", program]);
}
