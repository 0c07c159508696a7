/** kro's ResourceGraphDefinitions on Keelson's runtime: operators without code. */

export {
  type DefinitionObject,
  type DefinitionResource,
  type DefinitionSchema,
  type DefinitionSpec,
  type DefinitionStatus,
  type ExternalRef,
  type GraphCondition,
  ResourceGraphDefinition,
} from "./api/definition.ts";
export {
  type Checkable,
  type Checked,
  checkDefinitions,
  clusterFacts,
  graphControllers,
  graphRole,
  type KnownGraph,
} from "./definitions/check.ts";
export { type GraphOptions, graphs } from "./definitions/controller.ts";
export { leftKinds } from "./definitions/left-kinds.ts";
export { GraphError, type GraphErrorCode, type Problem } from "./errors.ts";
export {
  type DefinitionFiles,
  type FileDefinition,
  type FileObject,
  problemsInFile,
  readDefinitionFiles,
} from "./files/definition-files.ts";
export type { ClusterFacts } from "./graph/compile.ts";
export type { Graph } from "./graph/graph.ts";
export { formatPath, type Path } from "./path.ts";
