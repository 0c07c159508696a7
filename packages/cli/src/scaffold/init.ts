/** Makes a project: an operator with one resource, which passes its own tests, lint and type check. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { CliError } from "../errors.ts";
import { readManifest } from "../project.ts";
import { version as keelsonVersion } from "../version.ts";
import { apiNames, projectName } from "./names.ts";
import type { Packages } from "./packages.ts";
import { contentsOf, readRecord, recordFile } from "./record.ts";
import { scaffoldFiles } from "./scaffold-files.ts";
import type { Template } from "./templates.ts";
import { type Written, writeFiles } from "./write-files.ts";

/** What a new project is made from. */
export interface InitOptions {
  /** The folder; its name is the operator's. */
  readonly directory: string;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly template: Template;
  readonly packages: Packages;
}

/** What a repository may hold before its project is made. */
const WELCOME =
  /^(\.git|\.github|\.gitignore|\.gitattributes|\.editorconfig|LICENSE(\..*)?|README\.md|CODEOWNERS)$/;

/** Writes what is missing. In a folder where it has run before it leaves every file as it is. */
export function init(options: InitOptions): Written {
  const directory = resolve(options.directory);
  const name = nameOf(directory);
  const api = apiNames(options);
  refuseForeign(options.directory, name);
  const { group, kind, version } = api;
  const before = readRecord(directory);
  if (before && !before.apis.some((each) => each.kind === kind)) {
    throw new CliError(
      "FolderInUse",
      `${name} is made already, for ${before.apis.map((each) => each.kind).join(", ")}; to add another kind: keelson create api --kind ${kind} -C ${options.directory}`,
    );
  }
  const plan = { name, apis: [{ kind, group, version, template: options.template }], webhooks: [] };
  const files = scaffoldFiles(plan, options.packages);
  const record = { keelson: keelsonVersion, ...plan, files: contentsOf(files) };
  return writeFiles(directory, before ? files : [...files, recordFile(directory, record)]);
}

/** The first kind of a project that is made already. */
export function kindOf(directory: string): { readonly kind: string; readonly group: string } | undefined {
  return readRecord(directory)?.apis[0];
}

/** The operator's name in a folder: that of its package where there is one, else the folder's. */
export function nameOf(directory: string): string {
  return projectName(basename(resolve(directory)));
}

/** A folder with files of something else is left alone. */
function refuseForeign(directory: string, name: string): void {
  if (!existsSync(directory)) return;
  if (!statSync(directory).isDirectory()) throw new CliError("FolderInUse", `${directory} is a file`);
  if (existsSync(join(directory, "package.json"))) {
    const manifest = readManifest(directory);
    if (manifest.name === name && manifest.dependencies?.["keelson"] !== undefined) return;
  }
  const [foreign] = readdirSync(directory).filter((each) => !WELCOME.test(each));
  if (foreign === undefined) return;
  throw new CliError(
    "FolderInUse",
    `${directory} has files of something else in it (${foreign}); choose a new folder, or an empty one`,
  );
}
