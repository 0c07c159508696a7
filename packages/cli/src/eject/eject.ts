/** `keelson eject`: definitions as controllers in TypeScript, in a project. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@keelson/client";
import { CliError } from "../errors.ts";
import { checkedFiles, discoverWith } from "../nocode/definitions.ts";
import type { Project } from "../project.ts";
import { addDependency } from "../scaffold/add-dependency.ts";
import { formatFiles } from "../scaffold/format.ts";
import { register, registration } from "../scaffold/register.ts";
import { type ScaffoldFile, type Written, writeFiles } from "../scaffold/write-files.ts";
import { compositeFiles } from "./composite-files.ts";
import { type Ejected, graphFiles } from "./graph-files.ts";

/** What is ejected, and where to. */
export interface EjectOptions {
  /** A file or folder with definitions. */
  readonly file: string;
  readonly project: Project;
  /** Knows the kinds that the definitions name. */
  readonly client: Client;
}

/** What was written, and what is left to a person. */
export interface EjectResult extends Written {
  readonly left: readonly string[];
  readonly notes: readonly string[];
}

const MANIFEST = "package.json";

/** Writes all files or none, and never over one that is there. @throws CliError, GraphError */
export async function eject({ file, project, client }: EjectOptions): Promise<EjectResult> {
  const checked = await checkedFiles(client, file);
  const [plan] = checked.plans;
  if (plan) {
    throw new CliError(
      "CannotEject",
      `PlanDefinition ${plan.object.metadata?.name} is not ejected: its plans are a field of planController() as they ` +
        "are; see docs/guides/from-kudo.md",
    );
  }
  const ejected: Ejected[] = checked.graphs.map(graphFiles);
  const crds = [...checked.crds, ...checked.graphs.map(({ crd }) => crd)];
  for (const { object } of checked.hooks) {
    ejected.push(await compositeFiles(object, discoverWith(client, crds)));
  }
  const files = ejected.flatMap((each) => each.files);
  const taken = files.find(({ path }) => existsSync(join(project.directory, path)));
  if (taken) {
    throw new CliError(
      "CannotWrite",
      `${join(project.directory, taken.path)} is there already, and nothing was written; move it away first`,
    );
  }
  const { changed, left } = registered(project, ejected);
  const written = writeFiles(project.directory, [...files, ...changed]);
  formatFiles(project.directory, written.made);
  return { ...written, left, notes: ejected.flatMap(({ notes }) => notes) };
}

/** The entry with the new controllers in it, and the manifest with what they import. */
function registered(
  project: Project,
  ejected: readonly Ejected[],
): { changed: ScaffoldFile[]; left: string[] } {
  const changed: ScaffoldFile[] = [];
  const left: string[] = [];
  const path = join(project.directory, project.entry);
  if (existsSync(path)) {
    const before = readFileSync(path, "utf8");
    let entry = before;
    for (const { api } of ejected) {
      const next = register(entry, api);
      if (next === undefined) left.push(...registration(api));
      else entry = next;
    }
    if (entry !== before) changed.push({ path: project.entry, content: entry, replaces: before });
  } else for (const { api } of ejected) left.push(...registration(api));
  const manifest = readFileSync(join(project.directory, MANIFEST), "utf8");
  const packages = new Set(ejected.flatMap((each) => each.packages));
  const needs = [...packages].reduce((text, name) => addDependency(text, name) ?? text, manifest);
  if (needs !== manifest) changed.push({ path: MANIFEST, content: needs, replaces: manifest });
  return { changed, left };
}
