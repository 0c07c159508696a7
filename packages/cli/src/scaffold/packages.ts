/** Where a new project gets Keelson from: the registry, or a folder of packed packages. */
import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { CliError } from "../errors.ts";

/** Versions, or files, for package.json. */
export interface Packages {
  /** What the operator needs in production. */
  readonly keelson: string;
  /** What its author needs. */
  readonly tools: Readonly<Record<string, string>>;
  /** Where the packages are files, those that they need are files too. */
  readonly overrides?: Readonly<Record<string, string>>;
}

const TOOLS = ["@keelson/cli", "@keelson/testing"];

export function fromRegistry(version: string): Packages {
  return { keelson: version, tools: Object.fromEntries(TOOLS.map((name) => [name, version])) };
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
  const missing = ["keelson", ...TOOLS].filter((name) => files[name] === undefined);
  if (missing.length > 0) {
    throw new CliError(
      "NoPackages",
      `${folder} has no packed ${missing.join(" and no ")}; in a clone of Keelson run: npm run pack -- ${folder}`,
    );
  }
  const tools = Object.fromEntries(TOOLS.map((name) => [name, files[name] ?? ""]));
  return { keelson: files["keelson"] ?? "", tools, overrides: files };
}
