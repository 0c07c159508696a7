/** Objects that a fresh API server makes by itself and that do not depend on where it runs. */
import type { JsonObject, KubeObject } from "@keelson/core";
import { bindings, objects, roles } from "./generated/bootstrap.ts";
import type { BindingFacts, RoleFacts } from "./notation/facts.ts";

const rbacGroup = "rbac.authorization.k8s.io";
const apiVersion = `${rbacGroup}/v1`;

/**
 * Default roles and bindings, priority classes, flow schemas and priority levels, each as a person would write
 * it: no status, no uid. New objects at each call.
 *
 * `admin`, `edit` and `view` come without rules: they gather those of the roles that their aggregationRule
 * selects. Namespaces of the roles (kube-system, kube-public) are not in the list.
 */
export function bootstrapObjects(): (KubeObject & JsonObject)[] {
  return [
    ...roles.map(role),
    ...bindings.map(binding),
    ...objects.map((object) => structuredClone(object)),
  ] as (KubeObject & JsonObject)[];
}

function role(facts: RoleFacts): JsonObject {
  const kind = facts.namespace === undefined ? "ClusterRole" : "Role";
  const aggregationRule = {
    clusterRoleSelectors: (facts.aggregates ?? []).map((label) => ({ matchLabels: { [label]: "true" } })),
  };
  return {
    apiVersion,
    kind,
    metadata: metadata(facts, facts.labels),
    rules: facts.rules?.map(rule) ?? null,
    ...(facts.aggregates === undefined ? {} : { aggregationRule }),
  };
}

function rule(text: string): JsonObject {
  const [verbs = [], ...rest] = text
    .split(" ")
    .map((part) => part.split(",").map((word) => (word === "-" ? "" : word)));
  const [groups = [], resources, resourceNames] = rest;
  if (resources === undefined) return { verbs, nonResourceURLs: groups };
  return { verbs, apiGroups: groups, resources, ...(resourceNames === undefined ? {} : { resourceNames }) };
}

function binding(facts: BindingFacts): JsonObject {
  const [roleKind = "", roleName = ""] = facts.role.split(" ");
  const subjects = facts.subjects.map((text): JsonObject => {
    const [kind = "", name = ""] = text.split(" ");
    if (kind !== "ServiceAccount") return { kind, apiGroup: rbacGroup, name };
    const [namespace = "", account = ""] = name.split("/");
    return { kind, name: account, namespace };
  });
  return {
    apiVersion,
    kind: facts.namespace === undefined ? "ClusterRoleBinding" : "RoleBinding",
    metadata: metadata(facts, {}),
    ...(subjects.length === 0 ? {} : { subjects }),
    roleRef: { apiGroup: rbacGroup, kind: roleKind, name: roleName },
  };
}

function metadata(
  { name, namespace }: { name: string; namespace?: string },
  labels: RoleFacts["labels"],
): JsonObject {
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    labels: { "kubernetes.io/bootstrapping": "rbac-defaults", ...labels },
    annotations: { [`${rbacGroup.replace("k8s.io", "kubernetes.io")}/autoupdate`]: "true" },
  };
}
