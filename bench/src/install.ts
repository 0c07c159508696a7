/**
 * `npm run bench:install`: what a production install of an operator brings. Packs the packages as they would be
 * published, installs `keelson` alone into an empty project, counts, and loads it in fresh processes.
 */
import { execFileSync } from "node:child_process";
import { globSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandLine } from "../../scripts/command-line.ts";
import { median, table } from "./measure.ts";

commandLine({
  command: "npm run bench:install",
  does: "What a production install of an operator brings: its packages, its size, the time until it is loaded.",
});
const root = join(import.meta.dirname, "../..");
const runs = 15;

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

const work = mkdtempSync(join(tmpdir(), "keelson-install-"));
try {
  const tarballs = pack();
  const project = join(work, "project");
  install(project, tarballs, needed("keelson"));
  const installed = readdirSync(join(project, "node_modules/@keelson")).map((name) => `@keelson/${name}`);
  console.log(
    table(
      ["a production install of keelson", ""],
      [
        ["packages of ours", ["keelson", ...installed].join(", ")],
        ...Object.entries(measure(project)).map(([what, value]) => [what, value] as const),
      ],
    ),
  );
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** Paths of the tarballs by the packages' names. */
function pack(): Map<string, string> {
  const tarballs = new Map<string, string>();
  for (const folder of readdirSync(join(root, "packages"))) {
    const cwd = join(root, "packages", folder);
    const output = execFileSync("npm", ["pack", "--json", "--pack-destination", work], {
      cwd,
      stdio: ["ignore", "pipe", "ignore"],
      encoding: "utf8",
    });
    const [packed] = JSON.parse(output) as { name: string; filename: string }[];
    if (packed) tarballs.set(packed.name, join(work, packed.filename));
  }
  return tarballs;
}

/** The packages of ours that a package needs, itself among them. */
function needed(name: string): Set<string> {
  const folder = join(root, "packages", name.replace("@keelson/", ""));
  const { dependencies = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  const own = Object.keys(dependencies).filter((each) => each.startsWith("@keelson/"));
  return new Set([name, ...own.flatMap((each) => [...needed(each)])]);
}

function install(project: string, tarballs: ReadonlyMap<string, string>, names: ReadonlySet<string>): void {
  const files = Object.fromEntries([...names].map((name) => [name, `file:${tarballs.get(name)}`]));
  const manifest = {
    name: "operator",
    type: "module",
    private: true,
    dependencies: { keelson: files["keelson"] },
  };
  execFileSync("mkdir", ["-p", project]);
  // What keelson depends on is not in a registry: it comes from the tarballs too.
  writeFileSync(join(project, "package.json"), JSON.stringify({ ...manifest, overrides: files }));
  execFileSync("npm", ["install", "--omit=dev", "--no-audit", "--no-fund"], {
    cwd: project,
    stdio: "ignore",
  });
}

function measure(project: string): Record<string, string> {
  const files = globSync("node_modules/**/*", { cwd: project, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const bytes = files.reduce((sum, { parentPath, name }) => sum + lstatSync(join(parentPath, name)).size, 0);
  const program = `
    const began = performance.now();
    const { controller, operator, resource } = await import("keelson");
    console.log(performance.now() - began, [controller, operator, resource].length);`;
  const times = Array.from({ length: runs }, () =>
    Number.parseFloat(
      execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
        cwd: project,
        encoding: "utf8",
      }),
    ),
  );
  return {
    "packages in all": String(globSync("node_modules/{*,@*/*}/package.json", { cwd: project }).length),
    files: String(files.length),
    size: `${(bytes / 1e6).toFixed(1)} MB`,
    [`import("keelson"), median of ${runs}`]: `${median(times).toFixed(0)} ms`,
    "the fastest": `${Math.min(...times).toFixed(0)} ms`,
  };
}
