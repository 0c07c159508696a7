/** `keelson install`: one Deployment that runs every definition of the cluster, with exactly the role that they need. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Client, isNotFound } from "@keelson/client";
import { type AnyKind, type KubeObject, parseJson } from "@keelson/core";
import {
  type Checkable,
  checkDefinitions,
  clusterFacts,
  type Graph,
  graphControllers,
  leftKinds,
  ResourceGraphDefinition,
} from "@keelson/graphs";
import { CompositeController, DecoratorController, relatedAnnotation } from "@keelson/hooks";
import { definitionHosts, definitionKinds } from "@keelson/nocode";
import { PlanDefinition } from "@keelson/plans";
import type { AnyController } from "@keelson/runtime";
import type { CustomResourceDefinitionObject } from "@keelson/schema";
import { applyManifests } from "../deploy/apply.ts";
import { manifestsFor } from "../generate/manifests.ts";
import { defaultValues } from "../generate/values.ts";
import type { Project } from "../project.ts";
import {
  applyFiles,
  type CheckedDefinition,
  type CheckedFiles,
  checkDefinition,
  checkedFiles,
  discoverWith,
  familiesOf,
  isRefusal,
  refused,
} from "./definitions.ts";

/** The name of the Deployment, its role and its lease. */
export const operatorName = "nocode";

/** How definitions are installed. */
export interface InstallOptions {
  /** A file or folder of definitions to install. Default: those that the cluster has. */
  readonly file?: string;
  readonly namespace: string;
  readonly image: string;
  readonly replicas: number;
}

/** What is to be applied, in order, beside the definitions. */
export interface Installation {
  readonly manifests: ReturnType<typeof manifestsFor>;
  readonly files: CheckedFiles | undefined;
  /** What a person should know, each a sentence. */
  readonly notes: readonly string[];
}

/** Looks at the cluster and the files, and writes nothing. @throws GraphError */
export async function installation(client: Client, options: InstallOptions): Promise<Installation> {
  const files = options.file === undefined ? undefined : await checkedFiles(client, options.file);
  const notes: string[] = [];
  const graphs = [...(files?.graphs ?? []), ...(await graphsOfCluster(client, files, notes))];
  const crds = [...(files?.crds ?? []), ...graphs.map(({ crd }) => crd)];
  const plans = [
    ...(files?.plans ?? []),
    ...(await definitionsOfCluster(client, [PlanDefinition], files?.plans, crds, notes)),
  ];
  crds.push(...plans.flatMap((each) => each.crds));
  const hookKinds = [CompositeController, DecoratorController];
  const hooks = [
    ...(files?.hooks ?? []),
    ...(await definitionsOfCluster(client, hookKinds, files?.hooks, crds, notes)),
  ];
  const families = familiesOf({ graphs, hooks, plans });
  if (families.length === 0) {
    throw refused(
      `the cluster has no definitions that could run; give some with -f, or take an installation away with ` +
        `kubectl delete namespace ${options.namespace}`,
    );
  }
  const known = await Promise.all(
    graphs.map(async (graph) => ({ graph, retired: await leftKinds(client, graph) })),
  );
  const parts = {
    name: operatorName,
    resources: definitionKinds(families),
    controllers: [
      ...definitionHosts(families.filter((family) => family !== "graphs")),
      ...(known.length > 0 ? graphControllers(known) : []),
      ...[...hooks, ...plans].flatMap(({ controllers }): readonly AnyController[] => controllers),
    ],
    webhooks: [],
    policies: [],
  };
  notes.push(...hooks.flatMap(({ object }) => noteOf(object)));
  const env = [...defaultValues.env, { name: "KEELSON_DEFINITIONS", value: families.join(",") }];
  const manifests = manifestsFor(nocodeProject(), parts, { ...options, values: { ...defaultValues, env } });
  return { files, manifests, notes };
}

/** A customize hook names kinds at run time, when it is too late for a role. */
function noteOf({ kind, metadata, ...object }: KubeObject): string[] {
  const { hooks } = (object as { spec?: { hooks?: { customize?: unknown } } }).spec ?? {};
  if (hooks?.customize === undefined || metadata?.annotations?.[relatedAnnotation] !== undefined) return [];
  return [
    `${kind} ${metadata?.name} has a customize hook: name the kinds that it asks for in the annotation ` +
      `${relatedAnnotation}, so that the role allows to read them`,
  ];
}

/** Applies all of it. Running it again follows what has changed, the role above all. */
export async function applyInstallation(client: Client, { files, manifests }: Installation): Promise<void> {
  await applyManifests(client, manifests);
  if (files) await applyFiles(client, files);
}

/** Definitions that the cluster has and the files do not: they run as well, where they can. */
async function graphsOfCluster(
  client: Client,
  files: CheckedFiles | undefined,
  notes: string[],
): Promise<Graph[]> {
  const named = new Set(files?.definitions.map(({ metadata }) => metadata.name));
  const live = (await objectsOf(client, ResourceGraphDefinition)) as unknown as Checkable[];
  const others = live.filter(({ metadata }) => !named.has(metadata.name));
  const crds = files?.graphs.map(({ crd }) => crd) ?? [];
  const checked = await checkDefinitions(others, clusterFacts(client), crds);
  for (const { definition, error } of checked) {
    if (error) notes.push(leftOut("ResourceGraphDefinition", definition.metadata.name, error));
  }
  return checked.flatMap(({ graph }) => graph ?? []);
}

/** The same for hooks and plans. */
async function definitionsOfCluster(
  client: Client,
  kinds: readonly AnyKind[],
  given: readonly CheckedDefinition[] | undefined,
  crds: readonly CustomResourceDefinitionObject[],
  notes: string[],
): Promise<CheckedDefinition[]> {
  const named = new Set(given?.map(({ object }) => `${object.kind} ${object.metadata?.name}`));
  const found: CheckedDefinition[] = [];
  for (const kind of kinds) {
    for (const object of await objectsOf(client, kind)) {
      if (named.has(`${object.kind} ${object.metadata?.name}`)) continue;
      try {
        found.push(await checkDefinition(object, discoverWith(client, crds)));
      } catch (error) {
        if (!isRefusal(error)) throw error;
        notes.push(leftOut(kind.kind, object.metadata?.name ?? "", error));
      }
    }
  }
  return found;
}

function leftOut(kind: string, name: string, { message }: Error): string {
  return `${kind} ${name} of the cluster cannot run, and the role holds nothing for it: ${message}`;
}

/** Objects of a kind that may not be installed yet. */
async function objectsOf(client: Client, kind: AnyKind): Promise<KubeObject[]> {
  try {
    const { items } = await client.kind(kind).list();
    // Items of a list need not say what they are.
    const { group, version } = kind;
    const apiVersion = group === "" ? version : `${group}/${version}`;
    return (items as readonly KubeObject[]).map((item) => ({ ...item, apiVersion, kind: kind.kind }));
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

/** The program that runs definitions, as a project whose image can be built. */
export function nocodeProject(): Project {
  let directory = dirname(fileURLToPath(import.meta.resolve("@keelson/nocode")));
  while (!existsSync(join(directory, "package.json"))) directory = dirname(directory);
  const manifest = parseJson(readFileSync(join(directory, "package.json"), "utf8")) as {
    version: string;
    dependencies: Record<string, string>;
  };
  const { version, dependencies } = manifest;
  return {
    directory,
    name: "keelson-nocode",
    version,
    dependencies,
    entry: "dist/index.js",
    main: "dist/main.js",
  };
}
