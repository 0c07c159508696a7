/**
 * `npm run pack -- FOLDER`: builds the packages and packs them, as they would be published, into a folder, which is made
 * where it does not exist. `keelson init --packages FOLDER` makes projects from it.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { environment, root, run } from "./run.ts";

const [given] = process.argv.slice(2);
if (given === undefined) {
  console.error("say where to: npm run pack -- FOLDER");
  process.exit(2);
}
// npm run changes into the repository; the folder is meant from where the person is.
const folder = resolve(process.env["INIT_CWD"] ?? process.cwd(), given);
if ((await run("tsc", ["-b"])) !== 0) process.exit(1);
mkdirSync(folder, { recursive: true });
for (const file of readdirSync(folder).filter((name) => /^(create-)?keelson-.*\.tgz$/.test(name))) {
  rmSync(join(folder, file));
}
const workspaces = readdirSync(join(root, "packages")).map((name) => `--workspace=packages/${name}`);
execFileSync("npm", ["pack", ...workspaces, "--pack-destination", folder, "--silent"], {
  cwd: root,
  stdio: ["ignore", "ignore", "inherit"],
  env: environment,
});
console.log(`${workspaces.length} packages are in ${folder}`);
