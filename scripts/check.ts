/** `npm run check`: format and lint, direction of dependencies, types, unused code, package hygiene. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { apiProblems } from "./api-report.ts";
import { directionProblems } from "./direction.ts";
import { root, run } from "./run.ts";

/** The packages that are published. */
const packages = readdirSync(join(root, "packages")).sort();

const steps: readonly [string, () => Promise<number>][] = [
  ["format and lint", () => run("biome", ["ci", "--error-on-warnings", "."])],
  ["direction of dependencies", checkDirection],
  ["types", () => run("tsc", ["-b"])],
  ["public API and its reports", checkApi],
  ["types of tests and tools", () => run("tsc", ["-p", "tsconfig.check.json"])],
  ["unused code", () => run("knip", ["--no-progress"])],
  ["package hygiene", checkPackages],
  ["built packages load", checkBuilt],
];

const only = process.argv.slice(2).join(" ");
for (const [name, check] of steps.filter(([each]) => each.includes(only))) {
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

async function checkPackages(): Promise<number> {
  for (const name of packages) {
    const code = await run("publint", [`packages/${name}`, "--strict", "--pack", "false"]);
    if (code !== 0) return code;
  }
  return 0;
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
