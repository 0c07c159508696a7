/** Which packages an operator's image holds, and where. */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { parseJson } from "@keelson/core";
import { CliError } from "../errors.ts";
import type { Project } from "../project.ts";

/** With its scope. */
export function packageNameOf(directory: string): string | undefined {
  return manifestOf(directory).name;
}

export function manifestOf(directory: string): Manifest {
  return parseJson(readFileSync(join(directory, "package.json"), "utf8")) as Manifest;
}

export interface Manifest {
  readonly name?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly exports?: { "."?: { default?: unknown } };
  /** Programs beside the main one: modules that are started by their path, relative to the package. */
  readonly keelson?: { readonly programs?: readonly string[] };
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
export function seenFrom(
  place: string,
  name: string,
  placed: ReadonlyMap<string, string>,
): string | undefined {
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
