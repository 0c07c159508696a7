/**
 * `npm run set-version -- 0.2.0`: moves every package of the repository, and what they name of each other, to one version,
 * and gives the changelog a heading for it. The lockfile follows.
 */
import { execFileSync } from "node:child_process";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commandLine, refuse } from "./command-line.ts";
import { environment, root } from "./run.ts";
import { movedChangelog, movedManifest } from "./versions.ts";

const [version] = commandLine({
  command: "npm run set-version",
  does: "Moves every package, and what they name of each other, to one version, and gives the changelog a heading for it.",
  words: "VERSION",
}).words;
if (version === undefined || !/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version))
  refuse("npm run set-version needs a version such as 1.2.3: npm run set-version -- 1.2.3");
const manifests = globSync("{packages,operators}/*/package.json", { cwd: root });
const more = ["examples", "e2e", "bench", "reference"].map((folder) => join(folder, "package.json"));
const files = [...manifests, ...more, "e2e/deploy/operator/package.json"];
const names = new Set(files.map((file) => (JSON.parse(read(file)) as { name: string }).name));
for (const file of files) write(file, movedManifest(read(file), names, version));
write("CHANGELOG.md", movedChangelog(read("CHANGELOG.md"), version, new Date().toISOString().slice(0, 10)));
npm("install", "--package-lock-only", "--no-audit", "--no-fund");
npm("run", "lock");
console.log(`${files.length} packages are at ${version}; review, then commit and tag v${version}`);

function npm(...args: string[]): void {
  execFileSync("npm", args, { cwd: root, env: environment, stdio: ["ignore", "ignore", "inherit"] });
}

function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

function write(file: string, text: string): void {
  writeFileSync(join(root, file), text);
}
