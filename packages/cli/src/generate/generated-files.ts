/** All files that `keelson generate` writes, and whether those on disk are what the code says. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CliError } from "../errors.ts";
import type { OperatorParts, Project } from "../project.ts";
import { bundleFiles } from "./bundle.ts";
import { catalogOf } from "./catalog.ts";
import { chartFiles } from "./chart.ts";
import { type Files, kustomizeFiles } from "./kustomize.ts";
import { inOrder, installationOf } from "./manifests.ts";
import type { Site } from "./site.ts";
import { HEADER, yamlOf } from "./yaml-text.ts";

export interface GenerateOptions {
  readonly site: Site;
  /** Where the files go. */
  readonly folder: string;
}

/** By path below the folder, in the order of their paths. */
export function generatedFiles(project: Project, parts: OperatorParts, options: GenerateOptions): Files {
  const { folder, site } = options;
  const installation = installationOf(parts, site);
  const catalog = `catalog/${parts.name}/index.yaml`;
  const before = existsSync(join(folder, catalog)) ? readFileSync(join(folder, catalog), "utf8") : "";
  const all = new Map([
    ["install.yaml", yamlOf(...inOrder(installation, site.values))],
    ...below("kustomize", kustomizeFiles(installation)),
    ...below(`chart/${parts.name}`, chartFiles(project, parts, site.values)),
    ...below("bundle", bundleFiles(project, parts, site)),
    [catalog, catalogOf(project, parts, site, before)],
  ]);
  return new Map(
    [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([path, text]) => [path, headed(path, text)]),
  );
}

function below(folder: string, files: Files): [string, string][] {
  return [...files].map(([path, text]) => [`${folder}/${path}`, text]);
}

function headed(path: string, text: string): string {
  return /\.yaml$|Dockerfile$/.test(path) ? HEADER + text : text;
}

/** How the files on disk differ from what the code says. */
export interface Differences {
  readonly missing: readonly string[];
  readonly changed: readonly string[];
  /** Made before, and no longer. */
  readonly left: readonly string[];
}

export function differences(folder: string, files: Files): Differences {
  const there = existsSync(folder) ? pathsIn(folder) : [];
  const paths = [...files.keys()];
  return {
    missing: paths.filter((path) => !existsSync(join(folder, path))),
    changed: paths.filter((path) => {
      const full = join(folder, path);
      return existsSync(full) && readFileSync(full, "utf8") !== files.get(path);
    }),
    left: there.filter(
      (path) => !files.has(path) && readFileSync(join(folder, path), "utf8").startsWith(HEADER),
    ),
  };
}

/** Throws when there are such lines. */
export function refuseStale(folder: string, lines: readonly string[]): void {
  if (lines.length === 0) return;
  throw new CliError(
    "Stale",
    `${folder} is not what the code says; run keelson generate:\n${lines.join("\n")}`,
  );
}

function pathsIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map(({ name, parentPath }) => join(parentPath, name).slice(folder.length + 1))
    .sort();
}

/** Writes what differs, and removes what was made before and is no longer. */
export function writeGenerated(folder: string, files: Files, { changed, left, missing }: Differences): void {
  for (const path of [...missing, ...changed]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), files.get(path) ?? "");
  }
  for (const path of left) rmSync(join(folder, path));
}
