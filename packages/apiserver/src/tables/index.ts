/**
 * What is known about the built-in kinds of Kubernetes 1.36, as the API server needs it.
 *
 *     groupVersions()                  what is served by default, in the order of discovery
 *     resources()                      every resource with verbs, short names, subresources, storage version
 *     resource("apps", "v1", "deployments")
 *     definition("io.k8s.api.apps.v1.Deployment")      schema: fields, list types, merge keys
 *     definitionName({ group: "apps", version: "v1", kind: "Deployment" })
 *     openApiV3("apis/apps/v1")        a document of /openapi/v3; openApiV3Paths() names them all
 *     openApiV2()                      the document of /openapi/v2
 *     tableColumns(resource)           columns of `kubectl get`: name, type, format, priority
 *     fieldSelectors(resource)         labels a field selector may use; fieldSelectorRefusal() for the others
 *     bootstrapObjects()               default RBAC, priority classes, flow schemas
 *
 * Everything is synchronous, frozen and shared. A package of definitions is parsed when something in it is
 * first asked for. All of it is generated from a running server by `reference/generate`, but the descriptions, which
 * are our own words.
 */
export { bootstrapObjects } from "./bootstrap.ts";
export { definition, definitionName, definitionNames } from "./definitions.ts";
export { commonDescription } from "./descriptions.ts";
export { kubernetesVersion } from "./kubernetes-version.ts";
export { fieldSelectorRefusal, fieldSelectors, tableColumns } from "./lists.ts";
export type { Resource, Schema } from "./notation/schema.ts";
export {
  type CustomKinds,
  customOpenApiV3,
  openApiV2,
  openApiV3,
  openApiV3Paths,
} from "./openapi/documents.ts";
export { operationsOfCustom } from "./openapi/operations.ts";
export { groupVersions, resource, resources } from "./resources.ts";
