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
import { HookError, hookControllers, isHookDefinition } from "@keelson/hooks";
import { definitionKinds, type Family } from "@keelson/nocode";
import { isPlanDefinition, PlanError, planControllers } from "@keelson/plans";
import { type AnyController, install } from "@keelson/runtime";
import type { CustomResourceDefinitionObject } from "@keelson/schema";
import { applyManifests } from "../deploy/apply.ts";
import type { Manifest } from "../generate/manifests.ts";

/** A definition of a hook or of plans, and what it does in a cluster. */
export interface CheckedDefinition {
  readonly object: KubeObject;
  readonly controllers: readonly AnyController[];
  /** The kind that a PlanDefinition brings. */
  readonly crds: readonly CustomResourceDefinitionObject[];
}

/** Definitions in which nothing is wrong. */
export interface CheckedFiles extends DefinitionFiles {
  readonly graphs: readonly Graph[];
  /** CompositeControllers and DecoratorControllers. */
  readonly hooks: readonly CheckedDefinition[];
  /** PlanDefinitions. */
  readonly plans: readonly CheckedDefinition[];
}

/** Which families of definitions are there. */
export function familiesOf(found: Record<Family, readonly unknown[]>): Family[] {
  return (Object.keys(found) as Family[]).filter((family) => found[family].length > 0);
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
    throw refused(message);
  }
  const checked = await checkDefinitions(files.definitions, clusterFacts(client), files.crds);
  const graphs = checked.flatMap(({ graph }) => graph ?? []);
  const crds = [...files.crds, ...graphs.map(({ crd }) => crd)];
  const problems = checked.flatMap(({ definition, error }) =>
    error ? problemsInFile(definition, error) : [],
  );
  const checkedPlans = await checkEach(plans, discoverWith(client, crds), problems);
  // A hook may be for a kind that plans bring.
  const allCrds = [...crds, ...checkedPlans.flatMap((each) => each.crds)];
  const checkedHooks = await checkEach(hooks, discoverWith(client, allCrds), problems);
  if (problems.length > 0) throw refused(problems.join("\n"));
  return { ...files, graphs, hooks: checkedHooks, plans: checkedPlans };
}

export function refused(message: string): GraphError {
  return new GraphError("InvalidDefinition", [{ path: [], message }]);
}

/** Definitions of hooks and plans are one mistake each: the first that is found. */
async function checkEach(
  definitions: readonly FileObject[],
  discover: Client["discover"],
  problems: string[],
): Promise<CheckedDefinition[]> {
  const checked: CheckedDefinition[] = [];
  for (const { file, object, lineOf } of definitions) {
    try {
      checked.push(await checkDefinition(object as KubeObject, discover));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      problems.push(`${file}:${lineOf([])}: ${error.message}`);
    }
  }
  return checked;
}

/** What a definition does inside a cluster, where a hook's Service is reached by its name. @throws HookError, PlanError */
export async function checkDefinition(
  object: KubeObject,
  discover: Client["discover"],
): Promise<CheckedDefinition> {
  const options = { services: "dns" } as const;
  if (!isPlanDefinition(object)) {
    return { object, controllers: await hookControllers([object], { discover }, options), crds: [] };
  }
  const planned = await planControllers([object], { discover }, options);
  return {
    object,
    controllers: planned.map(({ controller }) => controller),
    crds: planned.map(({ kind }) => kind.crd()),
  };
}

/** Whether an error says what is wrong with a definition. */
export function isRefusal(error: unknown): error is HookError | PlanError {
  return error instanceof HookError || error instanceof PlanError;
}

/** Kinds that definitions bring count as served. */
export function discoverWith(
  client: Client,
  crds: readonly CustomResourceDefinitionObject[],
): Client["discover"] {
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
    ...definitionKinds(familiesOf({ graphs: definitions, hooks, plans })),
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
