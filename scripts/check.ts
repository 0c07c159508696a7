/** `npm run check`: format and lint, direction of dependencies, types, unused code, package hygiene. */
import { directionProblems } from "./direction.ts";
import { run } from "./run.ts";

const steps: readonly [string, () => Promise<number>][] = [
  ["format and lint", () => run("biome", ["ci", "--error-on-warnings", "."])],
  ["direction of dependencies", checkDirection],
  ["types", () => run("tsc", ["-b"])],
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

async function checkPackages(): Promise<number> {
  const names = ["core", "schema", "client", "runtime", "kit", "cluster", "testing", "cli", "keelson"];
  for (const name of names) {
    const code = await run("publint", [`packages/${name}`, "--strict", "--pack", "false"]);
    if (code !== 0) return code;
  }
  return 0;
}

/** Tests run the sources; users run what was built of them. */
async function checkBuilt(): Promise<number> {
  const names = [
    "core",
    "core/cel",
    "core/merge",
    "core/kinds",
    "schema",
    "client",
    "runtime",
    "runtime/pki",
    "kit",
    "kit/testing",
    "testing",
    "cli",
  ];
  const parts = [
    "cluster",
    "cluster/apiserver",
    "cluster/controllers",
    "cluster/node",
    "cluster/images",
    "cluster/up",
  ];
  const imports = ["keelson", ...[...names, ...parts].map((name) => `@keelson/${name}`)];
  const program = imports.map((name) => `await import(${JSON.stringify(name)});`).join("\n");
  return run("node", ["--input-type=module", "--eval", program]);
}
