/** Adds a resource with its controller, test and example to a project. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CliError } from "../errors.ts";
import type { Project } from "../project.ts";
import { addDependency } from "./add-dependency.ts";
import { apiFiles, packagesOf } from "./api-files.ts";
import { type ApiNames, apiNames } from "./names.ts";
import { changedEntry, recorded } from "./record.ts";
import { register, registration } from "./register.ts";
import type { Template } from "./templates.ts";
import { type ScaffoldFile, type Written, writeFiles } from "./write-files.ts";

const MANIFEST = "package.json";

/** What a new resource is made from. */
export interface CreateApiOptions {
  readonly kind: string;
  /** Default: the group of the resource that is there. */
  readonly group?: string;
  readonly version: string;
  readonly template: Template;
}

/** What was written, and the lines that are left to a person. */
export interface CreatedApi extends Written {
  readonly left: readonly string[];
}

export function createApi(project: Project, options: CreateApiOptions): CreatedApi {
  const path = join(project.directory, project.entry);
  if (!existsSync(path)) {
    throw new CliError("NoOperator", `${path} does not exist; make a project first: keelson init NAME`);
  }
  const entry = readFileSync(path, "utf8");
  const api = apiNames({ ...options, group: options.group ?? groupIn(project, entry) });
  const registered = register(entry, api);
  const made = apiFiles(api, options.template);
  const files: ScaffoldFile[] = [...made];
  if (registered !== undefined) files.push({ path: project.entry, content: registered, replaces: entry });
  const needs = (text: string) =>
    packagesOf(options.template).reduce((manifest, name) => addDependency(manifest, name) ?? manifest, text);
  const manifest = readFileSync(join(project.directory, MANIFEST), "utf8");
  if (needs(manifest) !== manifest)
    files.push({ path: MANIFEST, content: needs(manifest), replaces: manifest });
  const { group, kind, version } = api;
  const record = recorded(project.directory, made, ({ apis, files: before }) => ({
    files: {
      ...changedEntry(before, project.entry, (text) => register(text, api)),
      ...changedEntry(before, MANIFEST, needs),
    },
    apis: [
      ...apis.filter((each) => each.kind !== kind),
      { kind, group, version, template: options.template },
    ],
  }));
  const written = writeFiles(project.directory, [...files, ...record]);
  return { ...written, left: registered === undefined && !isRegistered(entry, api) ? registration(api) : [] };
}

function isRegistered(entry: string, { controller }: ApiNames): boolean {
  return new RegExp(`\\b${controller}\\b`).test(entry);
}

/** The group of the first resource that the entry exports from a file of the scaffold's form. */
function groupIn(project: Project, entry: string): string {
  for (const [, file = ""] of entry.matchAll(/from "(\.\/[\w-]+\/api\.ts)"/g)) {
    const path = join(project.directory, project.entry, "..", file);
    const group = existsSync(path) && /^\s*group: "([^"]+)"/m.exec(readFileSync(path, "utf8"))?.[1];
    if (group) return group;
  }
  throw new CliError("InvalidName", "the group of the new resource is not known; say it with --group");
}
