/** An operator on this machine as it lies in its image, without an image. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Project } from "../project.ts";
import { appFiles, withDirectories } from "./app-files.ts";
import { bundles } from "./bundle.ts";
import { BundleScope } from "./bundle-scope.ts";
import { closure } from "./packages.ts";
import { withoutTypes } from "./strip-types.ts";

/** Writes it into a folder and gives the path of its main module. @throws CannotBundle */
export async function writeApp(project: Project, folder: string): Promise<string> {
  const modules = appFiles(project);
  const scope = new BundleScope(project.directory, closure(project));
  const files = [...modules, ...(await bundles(scope, project.main, modules))];
  for (const { content, mode, path, type } of withDirectories(files)) {
    if (type === "directory") mkdirSync(join(folder, path), { recursive: true });
    else writeFileSync(join(folder, path), content ?? "", { mode });
  }
  return join(folder, "app", withoutTypes(project.main));
}
