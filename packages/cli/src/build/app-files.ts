/** The files of an operator and of the packages it needs, as they will lie in its image under /app. */
import { existsSync, globSync, lstatSync, readFileSync, realpathSync } from "node:fs";
import { join, sep } from "node:path";
import { parseJson } from "@keelson/core";
import type { TarFile } from "@keelson/images/internal";
import { CliError } from "../errors.ts";
import type { Project } from "../project.ts";
import { strippedModules } from "./strip-types.ts";

const LEFT_OUT =
  /(^|\/)(node_modules|test|tests|coverage|\.git|\.keelson)(\/|$)|\.test(-d)?\.ts$|\.tsbuildinfo$|\.map$|\.oci\.tar$/;

/** The package itself, and its dependencies in node_modules. */
export function appFiles(project: Project, more: readonly TarFile[] = []): TarFile[] {
  const own = [...ownFiles(project.directory, "app")];
  const files = [...own, ...strippedModules(own, packageNameOf(project.directory))];
  for (const [into, directory] of closure(project)) files.push(...ownFiles(directory, into));
  return withDirectories([...files, ...more]);
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

/** With its scope. */
function packageNameOf(directory: string): string | undefined {
  return manifestOf(directory).name;
}

function manifestOf(directory: string): Manifest {
  return parseJson(readFileSync(join(directory, "package.json"), "utf8")) as Manifest;
}

interface Manifest {
  readonly name?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly exports?: { "."?: { default?: unknown } };
}

/** A package that is needed: by which name, found from where, by whom in the image. */
interface Need {
  readonly name: string;
  readonly from: string;
  readonly by: string;
}

/**
 * Every package that can be reached by dependencies, by its place in the image. A package lies flat in node_modules, or
 * below the one that needs it where another version has that place.
 */
export function closure(project: Project): Map<string, string> {
  const placed = new Map<string, string>();
  const needs: Need[] = Object.keys(project.dependencies).map((name) => ({
    name,
    from: project.directory,
    by: "app",
  }));
  for (let need = needs.shift(); need; need = needs.shift()) {
    const { name, from, by } = need;
    const directory = locate(name, from);
    if (directory === undefined) {
      throw new CliError(
        "NotInstalled",
        `${name}, which ${from} depends on, is not installed; run: npm install`,
      );
    }
    const found = seenFrom(by, name, placed);
    if (found === directory) continue;
    const into = `${found === undefined ? "app" : by}/node_modules/${name}`;
    placed.set(into, directory);
    const manifest = manifestOf(directory);
    checkBuilt(name, directory, manifest);
    const needed = Object.keys(manifest.dependencies ?? {});
    needs.push(...needed.map((each) => ({ name: each, from: directory, by: into })));
  }
  return placed;
}

/** What an import of that name finds in the image so far, looking as Node does. */
function seenFrom(place: string, name: string, placed: ReadonlyMap<string, string>): string | undefined {
  for (let at = place; at !== ""; at = at.slice(0, Math.max(0, at.lastIndexOf("/")))) {
    const found = placed.get(`${at}/node_modules/${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function checkBuilt(name: string, directory: string, manifest: Manifest): void {
  const entry = manifest.exports?.["."]?.default;
  if (typeof entry === "string" && entry.startsWith("./dist/") && !existsSync(join(directory, entry))) {
    throw new CliError("NotBuilt", `${name} is not built (${entry} is missing); run: npm run build`);
  }
}

/** As Node finds a package: in the node_modules of each folder upwards. */
function locate(name: string, from: string): string | undefined {
  for (let at = from; ; at = join(at, "..")) {
    const candidate = join(at, "node_modules", name);
    if (existsSync(join(candidate, "package.json"))) return realpathSync(candidate);
    if (join(at, "..") === at) return undefined;
  }
}

function withDirectories(files: readonly TarFile[]): TarFile[] {
  const directories = new Set<string>();
  for (const { path } of files) {
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1))
      directories.add(path.slice(0, at));
  }
  const made: TarFile[] = [...directories].sort().map((path) => ({ path, type: "directory", mode: 0o755 }));
  return [...made, ...files];
}
