/** The files of an operator and of the packages it needs, as they will lie in its image under /app. */
import { globSync, lstatSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import type { TarFile } from "@keelson/images/internal";
import type { Project } from "../project.ts";
import { closure, packageNameOf } from "./packages.ts";
import { strippedModules } from "./strip-types.ts";

const LEFT_OUT =
  /(^|\/)(node_modules|test|tests|coverage|\.git|\.keelson)(\/|$)|\.test(-d)?\.ts$|\.tsbuildinfo$|\.map$|\.oci\.tar$/;

/** The package itself and its dependencies in node_modules. */
export function appFiles(project: Project): TarFile[] {
  const own = [...ownFiles(project.directory, "app")];
  const files = [...own, ...strippedModules(own, packageNameOf(project.directory))];
  for (const [into, directory] of closure(project)) files.push(...ownFiles(directory, into));
  return files;
}

function* ownFiles(directory: string, into: string): Iterable<TarFile> {
  for (const file of globSync("**/*", { cwd: directory, exclude: (path) => LEFT_OUT.test(path) }).sort()) {
    const path = join(directory, file);
    const stat = lstatSync(path);
    if (!stat.isFile() || LEFT_OUT.test(file)) continue;
    const mode = stat.mode & 0o111 ? 0o755 : 0o644;
    yield { path: `${into}/${file.split(sep).join("/")}`, type: "file", mode, content: readFileSync(path) };
  }
}

/** Files with the directories that they are in. Of two at one path the last counts. */
export function withDirectories(given: readonly TarFile[]): TarFile[] {
  const files = [...new Map(given.map((file) => [file.path, file])).values()];
  const directories = new Set<string>();
  for (const { path } of files) {
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1))
      directories.add(path.slice(0, at));
  }
  const made: TarFile[] = [...directories].sort().map((path) => ({ path, type: "directory", mode: 0o755 }));
  return [...made, ...files];
}
