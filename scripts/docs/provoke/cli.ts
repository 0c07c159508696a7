/** Provokes every error of @keelson/cli. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CliErrorCode, loadOperator, readProject } from "@keelson/cli";
import { appFiles } from "../../../packages/cli/src/build/app-files.ts";
import { type Provocations, temporary } from "../provoked.ts";

export const cli: Provocations<CliErrorCode> = {
  NoPackage: async () => readProject(await folder({})),
  NoOperator: async () => loadOperator(readProject(await folder({ "package.json": manifest({}) }))),
  BadEntry: async () => {
    const broken = await folder({
      "package.json": manifest({}),
      "src/index.ts": 'throw new Error("broken");',
    });
    return await loadOperator(readProject(broken));
  },
  NotBuilt: async () => {
    const library = { name: "lib", exports: { ".": { default: "./dist/index.js" } } };
    const files = {
      "package.json": manifest({ lib: "1" }),
      "node_modules/lib/package.json": JSON.stringify(library),
    };
    return appFiles(readProject(await folder(files)));
  },
  NotInstalled: async () => appFiles(readProject(await folder({ "package.json": manifest({ lib: "1" }) }))),
};

const manifest = (dependencies: object) => JSON.stringify({ name: "op", type: "module", dependencies });

async function folder(files: Readonly<Record<string, string>>): Promise<string> {
  const directory = await temporary();
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(directory, path, ".."), { recursive: true });
    await writeFile(join(directory, path), content);
  }
  return directory;
}
