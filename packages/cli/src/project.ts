/** An operator's package: its manifest, and the resources and controllers that its entry exports. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseJson } from "@keelson/core";
import type { AdmissionPolicy, AnyController, Controller, Operator, Webhook } from "@keelson/runtime";
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
  /** What people read about it: for its chart and its bundle. */
  readonly about?: About;
}

/** What package.json says of an operator beside its code. */
export interface About {
  readonly description?: string;
  readonly keywords?: readonly string[];
  readonly homepage?: string;
  readonly repository?: string;
  readonly maintainers?: readonly Person[];
  /** How the bundle for the Operator Lifecycle Manager presents it: `keelson.bundle` in package.json. */
  readonly bundle?: BundleSettings;
}

/** Who answers for an operator. */
export interface Person {
  readonly name: string;
  readonly email?: string;
}

/** What a bundle says that code cannot. Each has a default. */
export interface BundleSettings {
  readonly displayName?: string;
  /** Default: `Basic Install`. */
  readonly capabilities?: string;
  /** Default: `alpha`. */
  readonly channel?: string;
  /** Default: `alpha`. */
  readonly maturity?: string;
  readonly categories?: readonly string[];
  /** An image file in the project. */
  readonly icon?: string;
  /** The repository of the bundle's own image. Default: that of the operator and `-bundle`. */
  readonly image?: string;
}

export interface Manifest {
  name?: string;
  version?: string;
  dependencies?: Record<string, string>;
  description?: string;
  keywords?: string[];
  homepage?: string;
  repository?: string | { url?: string };
  author?: string | Person;
  maintainers?: (string | Person)[];
  keelson?: { entry?: string; main?: string; bundle?: BundleSettings };
}

/**
 * Reads the package in a directory; where none is named, the nearest one around the current directory, as npm and git do.
 * `keelson: { entry, main }` in package.json overrides the usual places.
 */
export function readProject(directory: string): Project {
  const home = directory === "." ? (nearestPackage(process.cwd()) ?? directory) : directory;
  const manifest = readManifest(home);
  return {
    directory: resolve(home),
    name: (manifest.name ?? "operator").replace(/^@[^/]+\//, ""),
    version: manifest.version ?? "0.0.0",
    dependencies: manifest.dependencies ?? {},
    entry: manifest.keelson?.entry ?? "src/index.ts",
    main: manifest.keelson?.main ?? "src/main.ts",
    about: aboutOf(manifest),
  };
}

function aboutOf(manifest: Manifest): About {
  const { author, description, homepage, keelson, keywords, maintainers, repository } = manifest;
  const people = (maintainers ?? (author === undefined ? [] : [author])).map(personOf);
  const url = typeof repository === "object" ? repository.url : repository;
  return {
    ...(description ? { description } : {}),
    ...(keywords ? { keywords } : {}),
    ...(homepage ? { homepage } : {}),
    ...(url ? { repository: url.replace(/^git\+/, "").replace(/\.git$/, "") } : {}),
    ...(people.length > 0 ? { maintainers: people } : {}),
    ...(keelson?.bundle ? { bundle: keelson.bundle } : {}),
  };
}

/** npm writes people as `Name <mail> (url)` too. */
function personOf(person: string | Person): Person {
  if (typeof person !== "string") return { name: person.name, ...(person.email && { email: person.email }) };
  const [, name = "", email] = /^([^<(]*?)\s*(?:<([^>]*)>)?\s*(?:\(.*\))?$/.exec(person) ?? [];
  return { name, ...(email && { email }) };
}

function nearestPackage(directory: string): string | undefined {
  if (existsSync(join(directory, "package.json"))) return directory;
  const above = dirname(directory);
  return above === directory ? undefined : nearestPackage(above);
}

/** The package.json of a directory. */
export function readManifest(directory: string): Manifest {
  const path = join(resolve(directory), "package.json");
  if (!existsSync(path)) {
    throw new CliError("NoPackage", `${directory} has no package.json; run this in an operator's folder`);
  }
  try {
    return parseJson(readFileSync(path, "utf8")) as Manifest;
  } catch (cause) {
    throw new CliError("NoPackage", `${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** What a project’s entry exports: its operator and the resources that it installs. */
export interface OperatorParts {
  /** The operator's name and that of its lease: of the operator that the entry exports, else of the package. */
  readonly name: string;
  /** The namespaces that the operator looks at; all of them when absent. */
  readonly namespaces?: readonly string[];
  readonly resources: readonly Resource[];
  readonly controllers: readonly AnyController[];
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
  const operators = exported.filter(isOperator);
  const [app] = operators;
  if (operators.length > 1) {
    throw new CliError("NoOperator", `${path} exports ${operators.length} operators; export one`);
  }
  const controllers = union<AnyController>(exported.filter(isController), app?.controllers);
  const webhooks = union(
    exported.filter((each): each is Webhook => hasRole(each, "webhook")),
    app?.webhooks,
  );
  if (controllers.length === 0 && webhooks.length === 0) {
    throw new CliError("NoOperator", `${path} exports no controller; export what controller() returned`);
  }
  const policies = exported.filter((each): each is AdmissionPolicy => hasRole(each, "policy"));
  // A controller brings its resource along, whether or not that is exported too.
  const kinds = [...controllers, ...webhooks].map((each) => ("kind" in each ? each.kind : undefined));
  const resources = union([...exported, ...kinds].filter(isResource));
  return {
    name: app?.name ?? project.name,
    ...namespacesOf(app),
    resources,
    controllers,
    webhooks,
    policies,
  };
}

function namespacesOf(app: Operator | undefined): Pick<OperatorParts, "namespaces"> {
  if (app?.namespaces !== undefined) return { namespaces: [...new Set(app.namespaces)] };
  return app?.namespace === undefined ? {} : { namespaces: [app.namespace] };
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

/** What is in either, once. */
function union<T>(one: readonly T[], other: readonly T[] = []): T[] {
  return [...new Set([...one, ...other])];
}

function isResource(value: unknown): value is Resource {
  return isRecord(value) && typeof value["crd"] === "function" && typeof value["kind"] === "string";
}

function isOperator(value: unknown): value is Operator {
  return isRecord(value) && typeof value["run"] === "function" && Array.isArray(value["controllers"]);
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
