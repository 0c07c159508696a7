/** The types of the variables that admission expressions read. */
import type { ObjectDecl } from "../check/environment.ts";
import { type CelType, listType, mapType, objectType, types } from "../values/types.ts";

const { bool, dyn, int, string, timestamp } = types;
const strings = listType(string);
const labels = mapType(string, string);

function declare(name: string, fields: Readonly<Record<string, CelType>>): ObjectDecl {
  return { name: `kubernetes.${name}`, fields: new Map(Object.entries(fields)) };
}

function named(decl: ObjectDecl): CelType {
  return objectType(decl.name);
}

const kind = declare("GroupVersionKind", { group: string, version: string, kind: string });
const resource = declare("GroupVersionResource", { group: string, version: string, resource: string });
const userInfo = declare("UserInfo", {
  username: string,
  uid: string,
  groups: strings,
  extra: mapType(string, strings),
});
const request = declare("AdmissionRequest", {
  kind: named(kind),
  resource: named(resource),
  subResource: string,
  requestKind: named(kind),
  requestResource: named(resource),
  requestSubResource: string,
  name: string,
  namespace: string,
  operation: string,
  userInfo: named(userInfo),
  dryRun: bool,
  options: dyn,
});
const namespaceCondition = declare("NamespaceCondition", {
  status: string,
  type: string,
  lastTransitionTime: timestamp,
  message: string,
  reason: string,
});
const namespaceSpec = declare("NamespaceSpec", { finalizers: strings });
const namespaceStatus = declare("NamespaceStatus", {
  conditions: listType(named(namespaceCondition)),
  phase: string,
});
const namespaceMetadata = declare("NamespaceMetadata", {
  name: string,
  generateName: string,
  namespace: string,
  labels,
  annotations: labels,
  UID: string,
  creationTimestamp: timestamp,
  deletionGracePeriodSeconds: int,
  deletionTimestamp: timestamp,
  generation: int,
  resourceVersion: string,
  finalizers: strings,
});
const namespace = declare("Namespace", {
  metadata: named(namespaceMetadata),
  spec: named(namespaceSpec),
  status: named(namespaceStatus),
});

export const requestType = named(request);
export const namespaceType = named(namespace);
export const variablesTypeName = "kubernetes.variables";

export const admissionObjects: readonly ObjectDecl[] = [
  kind,
  resource,
  userInfo,
  request,
  namespaceCondition,
  namespaceSpec,
  namespaceStatus,
  namespaceMetadata,
  namespace,
];

const jsonPatch: ObjectDecl = {
  name: "JSONPatch",
  fields: new Map([
    ["op", string],
    ["path", string],
    ["from", string],
    ["value", dyn],
  ]),
};

/** Mutations build `Object{…}`, `Object.spec{…}` and so on, of whatever fields, and JSON patches. */
export function resolvePatchType(name: string): ObjectDecl | undefined {
  if (name === jsonPatch.name) return jsonPatch;
  if (name !== "Object" && !name.startsWith("Object.")) return undefined;
  return { name, fields: { get: () => dyn } };
}

/** What a mutation that applies a configuration returns. */
export const applyConfigurationType = objectType("Object");
/** What a mutation by JSON patch returns. */
export const jsonPatchListType = listType(objectType("JSONPatch"));
