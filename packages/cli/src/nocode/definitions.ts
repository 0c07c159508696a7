/** Definitions of a folder, checked against the cluster before anything is made. */
import type { Client } from "@keelson/client";
import { type AnyKind, apiVersionOf, type KubeObject } from "@keelson/core";
import {
  checkDefinitions,
  clusterFacts,
  type DefinitionFiles,
  type FileObject,
  type Graph,
  GraphError,
  problemsInFile,
  ResourceGraphDefinition,
  readDefinitionFiles,
} from "@keelson/graphs";
import {
  CompositeController,
  ControllerRevision,
  DecoratorController,
  HookError,
  hookControllers,
  isHookDefinition,
} from "@keelson/hooks";
import { isPlanDefinition, PlanDefinition, PlanError, planControllers } from "@keelson/plans";
import { install } from "@keelson/runtime";
import type { CustomResourceDefinitionObject } from "@keelson/schema";
import { applyManifests } from "../deploy/apply.ts";
import type { Manifest } from "../generate/manifests.ts";

/** Definitions in which nothing is wrong. */
export interface CheckedFiles extends DefinitionFiles {
  readonly graphs: readonly Graph[];
  /** CompositeControllers and DecoratorControllers. */
  readonly hooks: readonly FileObject[];
  /** PlanDefinitions. */
  readonly plans: readonly FileObject[];
}

/** Reads a file or folder. Every mistake is a sentence with its file and line. @throws GraphError */
export async function checkedFiles(client: Client, place: string): Promise<CheckedFiles> {
  const files = readDefinitionFiles(place);
  const hooks = files.others.filter(({ object }) => isHookDefinition(object as KubeObject));
  const plans = files.others.filter(({ object }) => isPlanDefinition(object as KubeObject));
  if (files.definitions.length + hooks.length + plans.length === 0) {
    const message =
      `${place} has no ResourceGraphDefinition, CompositeController, DecoratorController or PlanDefinition; ` +
      "give a YAML file with one, or a folder of such files";
    throw refused([message]);
  }
  const checked = await checkDefinitions(files.definitions, clusterFacts(client), files.crds);
  const graphs = checked.flatMap(({ graph }) => graph ?? []);
  const crds = [...files.crds, ...graphs.map(({ crd }) => crd)];
  const problems = [
    ...checked.flatMap(({ definition, error }) => (error ? problemsInFile(definition, error) : [])),
    ...(await otherProblems([...hooks, ...plans], client, crds)),
  ];
  if (problems.length > 0) throw refused(problems);
  return { ...files, graphs, hooks, plans };
}

function refused(problems: readonly string[]): GraphError {
  return new GraphError("InvalidDefinition", [{ path: [], message: problems.join("\n") }]);
}

/** Definitions of hooks and plans are one mistake each: the first that is found. */
async function otherProblems(
  definitions: readonly FileObject[],
  client: Client,
  crds: readonly CustomResourceDefinitionObject[],
): Promise<string[]> {
  const problems: string[] = [];
  const facts = { discover: discoverWith(client, crds) };
  for (const { file, object, lineOf } of definitions) {
    try {
      const definition = object as KubeObject;
      if (isPlanDefinition(definition)) await planControllers([definition], facts);
      else await hookControllers([definition], facts);
    } catch (error) {
      if (!(error instanceof HookError || error instanceof PlanError)) throw error;
      problems.push(`${file}:${lineOf([])}: ${error.message}`);
    }
  }
  return problems;
}

/** Kinds that the folder brings count as served. */
function discoverWith(client: Client, crds: readonly CustomResourceDefinitionObject[]): Client["discover"] {
  const known: AnyKind[] = crds.flatMap(({ spec: { group, names, scope, versions } }) =>
    versions.map(({ name }) => ({
      ...{ group, version: name, scope },
      ...{ kind: names.kind, resource: names.plural },
    })),
  );
  return async (apiVersion, name) =>
    known.find((each) => apiVersionOf(each) === apiVersion && [each.kind, each.resource].includes(name)) ??
    (await client.discover(apiVersion, name));
}

/** Applies CRDs of the folder, the kinds of definitions, and the definitions. Instances are left to kubectl. */
export async function applyFiles(client: Client, files: CheckedFiles): Promise<void> {
  const { crds, definitions, hooks, plans } = files;
  await install(client, [
    ...(definitions.length > 0 ? [ResourceGraphDefinition] : []),
    ...(hooks.length > 0 ? [CompositeController, DecoratorController, ControllerRevision] : []),
    ...(plans.length > 0 ? [PlanDefinition] : []),
    ...crds.map((crd) => ({ crd: () => crd })),
  ]);
  const apiVersion = apiVersionOf(ResourceGraphDefinition);
  const { kind } = ResourceGraphDefinition;
  const objects = [
    ...definitions.map(({ metadata: { name }, spec }) => ({ apiVersion, kind, metadata: { name }, spec })),
    ...[...hooks, ...plans].map(({ object }) => object),
  ];
  await applyManifests(client, objects as Manifest[]);
}
