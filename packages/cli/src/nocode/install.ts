/** `keelson install`: one Deployment that runs every definition of the cluster, with exactly the role that they need. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Client } from "@keelson/client";
import { parseJson } from "@keelson/core";
import {
  checkDefinitions,
  clusterFacts,
  type DefinitionObject,
  type Graph,
  GraphError,
  graphControllers,
  leftKinds,
  ResourceGraphDefinition,
} from "@keelson/graphs";
import { applyManifests } from "../deploy/apply.ts";
import { manifestsFor } from "../generate/manifests.ts";
import type { Project } from "../project.ts";
import { applyFiles, type CheckedFiles, checkedFiles } from "./definitions.ts";

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
}

/** Looks at the cluster and the files, and writes nothing. @throws GraphError */
export async function installation(client: Client, options: InstallOptions): Promise<Installation> {
  const files = options.file === undefined ? undefined : await checkedFiles(client, options.file);
  refuseOthers(files);
  const graphs = [...(files?.graphs ?? []), ...(await graphsOfCluster(client, files))];
  const known = await Promise.all(
    graphs.map(async (graph) => ({ graph, retired: await leftKinds(client, graph) })),
  );
  const parts = {
    name: "graphs",
    resources: [ResourceGraphDefinition] as never,
    controllers: graphControllers(known),
    webhooks: [],
    policies: [],
  };
  return { files, manifests: manifestsFor(graphsProject(), parts, options) };
}

/** The image runs graphs; hooks and plans would be applied and nobody would run them. */
function refuseOthers(files: CheckedFiles | undefined): void {
  const [other] = [...(files?.hooks ?? []), ...(files?.plans ?? [])];
  if (!other) return;
  const { file, object } = other;
  const message = `${file} has a ${object.kind}, which keelson install does not run yet; keelson run -f does`;
  throw new GraphError("InvalidDefinition", [{ path: [], message }]);
}

/** Applies all of it. Running it again follows what has changed, the role above all. */
export async function applyInstallation(client: Client, { files, manifests }: Installation): Promise<void> {
  await applyManifests(client, manifests);
  if (files) await applyFiles(client, files);
}

/** Definitions that the cluster has and the files do not: they run as well, where they can. */
async function graphsOfCluster(client: Client, files: CheckedFiles | undefined): Promise<Graph[]> {
  const named = new Set(files?.definitions.map(({ metadata }) => metadata.name));
  const live = await definitionsOf(client);
  const others = live.filter(({ metadata }) => !named.has(metadata.name));
  const checked = await checkDefinitions(
    others,
    clusterFacts(client),
    files?.graphs.map(({ crd }) => crd) ?? [],
  );
  return checked.flatMap(({ graph }) => graph ?? []);
}

type Named = Pick<DefinitionObject, "spec"> & { readonly metadata: { readonly name: string } };

async function definitionsOf(client: Client): Promise<Named[]> {
  try {
    return (await client.kind(ResourceGraphDefinition).list()).items as unknown as Named[];
  } catch (error) {
    // The kind of definitions is not installed yet.
    if ((error as { code?: unknown }).code === 404) return [];
    throw error;
  }
}

/** The package of graphs as a project whose image can be built. */
export function graphsProject(): Project {
  let directory = dirname(fileURLToPath(import.meta.resolve("@keelson/graphs")));
  while (!existsSync(join(directory, "package.json"))) directory = dirname(directory);
  const manifest = parseJson(readFileSync(join(directory, "package.json"), "utf8")) as {
    version: string;
    dependencies: Record<string, string>;
  };
  const { version, dependencies } = manifest;
  return {
    directory,
    name: "keelson-graphs",
    version,
    dependencies,
    entry: "dist/index.js",
    main: "dist/main.js",
  };
}
