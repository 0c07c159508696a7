/** Definitions of a folder, checked against the cluster before anything is made. */
import type { Client } from "@keelson/client";
import { apiVersionOf } from "@keelson/core";
import {
  checkDefinitions,
  clusterFacts,
  type DefinitionFiles,
  type FileDefinition,
  type Graph,
  GraphError,
  problemsInFile,
  ResourceGraphDefinition,
  readDefinitionFiles,
} from "@keelson/graphs";
import { install } from "@keelson/runtime";

/** Definitions in which nothing is wrong. */
export interface CheckedFiles extends DefinitionFiles {
  readonly graphs: readonly Graph[];
}

/** Reads a file or folder. Every mistake is a sentence with its file and line. @throws GraphError */
export async function checkedFiles(client: Client, place: string): Promise<CheckedFiles> {
  const files = readDefinitionFiles(place);
  if (files.definitions.length === 0) {
    const message = `${place} has no ResourceGraphDefinition; give a YAML file with one, or a folder of such files`;
    throw new GraphError("InvalidDefinition", [{ path: [], message }]);
  }
  const checked = await checkDefinitions(files.definitions, clusterFacts(client), files.crds);
  const problems = checked.flatMap(({ definition, error }) =>
    error ? problemsInFile(definition, error) : [],
  );
  if (problems.length > 0) {
    throw new GraphError("InvalidDefinition", [{ path: [], message: problems.join("\n") }]);
  }
  return { ...files, graphs: checked.map(({ graph }) => graph as Graph) };
}

/** Applies CRDs of the folder, the kind of definitions, and the definitions. Instances are left to kubectl. */
export async function applyFiles(client: Client, { crds, definitions }: DefinitionFiles): Promise<void> {
  await install(client, [ResourceGraphDefinition, ...crds.map((crd) => ({ crd: () => crd }))]);
  for (const definition of definitions) {
    await client.kind(ResourceGraphDefinition).apply(definitionObject(definition) as never, { force: true });
  }
}

function definitionObject({ metadata, spec }: FileDefinition): object {
  const { kind } = ResourceGraphDefinition;
  return { apiVersion: apiVersionOf(ResourceGraphDefinition), kind, metadata: { name: metadata.name }, spec };
}
