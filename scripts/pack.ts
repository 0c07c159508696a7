/**
 * `npm run pack -- FOLDER`: builds the packages and packs them, as they would be published, into a folder, which is made
 * where it does not exist. `keelson init --packages FOLDER` makes projects from it.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { commandLine, refuse } from "./command-line.ts";
import { publishedFolders, removeStale } from "./package-contents.ts";
import { environment, root, run } from "./run.ts";

const [given] = commandLine({
  command: "npm run pack",
  does: "Builds the packages and packs them into a folder, as they would be published, for keelson init --packages FOLDER.",
  words: "FOLDER",
}).words;
if (given === undefined) refuse("npm run pack needs a folder: npm run pack -- FOLDER");
// npm run changes into the repository; the folder is meant from where the person is.
const folder = resolve(process.env["INIT_CWD"] ?? process.cwd(), given);
if ((await run("tsc", ["-b"])) !== 0) process.exit(1);
for (const each of publishedFolders(root)) removeStale(each);
mkdirSync(folder, { recursive: true });
for (const file of readdirSync(folder).filter((name) => /^(create-)?keelson-.*\.tgz$/.test(name))) {
  rmSync(join(folder, file));
}
const workspaces = publishedFolders(root).map((each) => `--workspace=${each}`);
execFileSync("npm", ["pack", ...workspaces, "--pack-destination", folder, "--silent"], {
  cwd: root,
  stdio: ["ignore", "ignore", "inherit"],
  env: environment,
});
console.log(`${workspaces.length} packages are in ${folder}`);
