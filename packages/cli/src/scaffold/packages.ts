/** Where a new project gets Keelson from: the registry, or a folder of packed packages. */
import { existsSync, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { CliError } from "../errors.ts";
import type { Project } from "../project.ts";

/** Versions, or files, for package.json. */
export interface Packages {
  /** What the operator needs in production. */
  readonly keelson: string;
  /** Others that templates use, by name. */
  readonly others: Readonly<Record<string, string>>;
  /** What its author needs. */
  readonly tools: Readonly<Record<string, string>>;
  /** Where the packages are files, those that they need are files too. */
  readonly overrides?: Readonly<Record<string, string>>;
}

const TOOLS = ["@keelson/cli", "@keelson/testing"];
const OTHERS = ["@keelson/kit"];

export function fromRegistry(version: string): Packages {
  const all = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, version]));
  return { keelson: version, others: all(OTHERS), tools: all(TOOLS) };
}

/** The folder that a project has Keelson from, if it is not from the registry. */
export function folderOf({ dependencies, directory }: Project): string | undefined {
  const file = /^file:(.*)\.tgz$/.exec(dependencies["keelson"] ?? "")?.[1];
  return file === undefined ? undefined : resolve(directory, dirname(file));
}

/** `npm pack` names them `keelson-0.1.0.tgz` and `keelson-cli-0.1.0.tgz`. */
export function fromFolder(folder: string): Packages {
  const directory = resolve(folder);
  const names = existsSync(directory) ? readdirSync(directory).sort() : [];
  const files: Record<string, string> = {};
  for (const file of names) {
    const match = /^keelson(?:-([a-z]+))?-\d[^/]*\.tgz$/.exec(file);
    if (match) files[match[1] ? `@keelson/${match[1]}` : "keelson"] = `file:${join(directory, file)}`;
  }
  const missing = ["keelson", ...TOOLS, ...OTHERS].filter((name) => files[name] === undefined);
  if (missing.length > 0) {
    throw new CliError(
      "NoPackages",
      `${folder} has no packed ${missing.join(" and no ")}; in a clone of Keelson run: npm run pack -- ${folder}`,
    );
  }
  const all = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, files[name] ?? ""]));
  return { keelson: files["keelson"] ?? "", others: all(OTHERS), tools: all(TOOLS), overrides: files };
}
