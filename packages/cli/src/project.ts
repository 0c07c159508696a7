/** An operator's package: its manifest, and the resources and controllers that its entry exports. */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseJson } from "@keelson/core";
import type { AdmissionPolicy, Controller, Webhook } from "@keelson/runtime";
import type { Resource } from "@keelson/schema";
import { CliError } from "./errors.ts";

/** A project folder: its name, its version and its entry. */
export interface Project {
  readonly directory: string;
  /** The package's name without its scope: `etcd-operator`. */
  readonly name: string;
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  /** The module that exports resources and controllers, relative to the directory. */
  readonly entry: string;
  /** The module that runs the operator, relative to the directory. */
  readonly main: string;
}

interface Manifest {
  name?: string;
  version?: string;
  dependencies?: Record<string, string>;
  keelson?: { entry?: string; main?: string };
}

/** Reads the package in a directory. `keelson: { entry, main }` in package.json overrides the usual places. */
export function readProject(directory: string): Project {
  const path = join(resolve(directory), "package.json");
  if (!existsSync(path)) {
    throw new CliError("NoPackage", `${directory} has no package.json; run this in an operator's folder`);
  }
  const manifest = parseManifest(path);
  return {
    directory: resolve(directory),
    name: (manifest.name ?? "operator").replace(/^@[^/]+\//, ""),
    version: manifest.version ?? "0.0.0",
    dependencies: manifest.dependencies ?? {},
    entry: manifest.keelson?.entry ?? "src/index.ts",
    main: manifest.keelson?.main ?? "src/main.ts",
  };
}

function parseManifest(path: string): Manifest {
  try {
    return parseJson(readFileSync(path, "utf8")) as Manifest;
  } catch (cause) {
    throw new CliError("NoPackage", `${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** What a project’s entry exports: its operator and the resources that it installs. */
export interface OperatorParts {
  readonly resources: readonly Resource[];
  readonly controllers: readonly Controller[];
  readonly webhooks: readonly Webhook[];
  readonly policies: readonly AdmissionPolicy[];
}

/** Imports the entry and sorts what it exports. Importing must start nothing: running is `main`'s business. */
export async function loadOperator(project: Project): Promise<OperatorParts> {
  const path = join(project.directory, project.entry);
  if (!existsSync(path)) {
    throw new CliError("NoOperator", `${path} does not exist; export your resources and controllers there`);
  }
  // An export may be one of them or a list of them.
  const exported = Object.values(await importEntry(path)).flat();
  const controllers = exported.filter(isController);
  if (controllers.length === 0 && !exported.some((each) => hasRole(each, "webhook"))) {
    throw new CliError("NoOperator", `${path} exports no controller; export what controller() returned`);
  }
  const webhooks = exported.filter((each): each is Webhook => hasRole(each, "webhook"));
  const policies = exported.filter((each): each is AdmissionPolicy => hasRole(each, "policy"));
  // A controller brings its resource along, whether or not that is exported too.
  const kinds = [...controllers, ...webhooks].map(({ kind }) => kind);
  const resources = new Set([...exported, ...kinds].filter(isResource));
  return { resources: [...resources], controllers, webhooks, policies };
}

async function importEntry(path: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  } catch (cause) {
    throw new CliError("BadEntry", `${path} cannot be imported:\n${placeOf(cause)}`, { cause });
  }
}

/** The error and where it is in the author's files, without what Node did to get there. */
function placeOf(error: unknown): string {
  const lines = String((error instanceof Error && error.stack) || error).split("\n");
  const end = lines.findIndex((line) => /^\s+at .*node:internal\//.test(line));
  return (end < 0 ? lines : lines.slice(0, end)).join("\n");
}

function isResource(value: unknown): value is Resource {
  return isRecord(value) && typeof value["crd"] === "function" && typeof value["kind"] === "string";
}

function isController(value: unknown): value is Controller {
  return (
    isRecord(value) && isRecord(value["owns"]) && isRecord(value["kind"]) && typeof value["name"] === "string"
  );
}

function hasRole(value: unknown, role: string): boolean {
  return isRecord(value) && value["role"] === role;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
