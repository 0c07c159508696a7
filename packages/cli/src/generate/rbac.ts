/** The operator's identity and what it may do, exactly as its controllers declare it. */
import type { InputOf } from "@keelson/core";
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding, ServiceAccount } from "@keelson/core/kinds";
import { type PolicyRule, roleFor } from "@keelson/runtime";
import { webhookRole } from "@keelson/runtime/internal";
import type { Resource } from "@keelson/schema";
import type { OperatorParts } from "../project.ts";
import type { Site } from "./site.ts";

/** What an operator may do: without a namespace, and by namespace. */
export interface Permissions {
  readonly cluster: readonly PolicyRule[];
  /** In the namespace that it runs in: its Lease, and the Secret of its webhooks. */
  readonly own: readonly PolicyRule[];
  /** In each namespace that it looks at; all of them have it in `cluster`. */
  readonly watched: readonly PolicyRule[];
}

export function permissionsFor({ controllers, name, namespaces, webhooks }: OperatorParts): Permissions {
  const own = [
    ...roleFor([], { lease: name, events: false }),
    ...webhookRole(controllers, { name, webhooks, part: "namespace" }),
  ];
  const registered = { webhooks: { name, webhooks, part: "cluster" } } as const;
  if (namespaces === undefined) return { cluster: roleFor(controllers, registered), own, watched: [] };
  return {
    cluster: roleFor(controllers, { ...registered, scope: "Cluster", events: false }),
    own,
    watched: roleFor(controllers, { scope: "Namespaced" }),
  };
}

const apiVersion = "rbac.authorization.k8s.io/v1";
const apiGroup = "rbac.authorization.k8s.io";

export function rbacObjects(parts: OperatorParts, site: Site) {
  const { name, namespaces = [], resources } = parts;
  const { labels, namespace, values } = site;
  const { cluster, own, watched } = permissionsFor(parts);
  const subjects = [{ kind: "ServiceAccount" as const, name, namespace }];
  const account: InputOf<typeof ServiceAccount> & Named = {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name, namespace, labels, ...optional("annotations", values.serviceAccount.annotations) },
  };
  const clusterObjects: [InputOf<typeof ClusterRole> & Named, InputOf<typeof ClusterRoleBinding> & Named] = [
    { apiVersion, kind: "ClusterRole", metadata: { name, labels }, rules: [...cluster] },
    {
      apiVersion,
      kind: "ClusterRoleBinding",
      metadata: { name, labels },
      roleRef: { apiGroup, kind: "ClusterRole", name },
      subjects,
    },
  ];
  const roles = new Map([[namespace, own]]);
  for (const each of namespaces) roles.set(each, [...(roles.get(each) ?? []), ...watched]);
  return [
    account,
    ...(cluster.length > 0 ? clusterObjects : []),
    ...[...roles].flatMap(([at, rules]): (InputOf<typeof Role | typeof RoleBinding> & Named)[] => [
      { apiVersion, kind: "Role", metadata: { name, namespace: at, labels }, rules: [...rules] },
      {
        apiVersion,
        kind: "RoleBinding",
        metadata: { name, namespace: at, labels },
        roleRef: { apiGroup, kind: "Role", name },
        subjects,
      },
    ]),
    ...userRoles(name, resources, labels),
  ];
}

/** The roles of a cluster's users take the operator's resources in: an editor of a namespace may make them there. */
function userRoles(
  name: string,
  resources: readonly Resource[],
  labels: Readonly<Record<string, string>>,
): (InputOf<typeof ClusterRole> & Named)[] {
  const rules = (verbs: string[]) =>
    [...Map.groupBy(resources, ({ group }) => group)].map(([group, those]) => ({
      apiGroups: [group],
      resources: those.map(({ resource }) => resource).sort(),
      verbs,
    }));
  if (resources.length === 0) return [];
  const into = (...roles: string[]) =>
    Object.fromEntries(roles.map((role) => [`${apiGroup}/aggregate-to-${role}`, "true"]));
  const writing = ["create", "delete", "deletecollection", "patch", "update"];
  return [
    {
      apiVersion,
      kind: "ClusterRole",
      metadata: { name: `${name}-edit`, labels: { ...labels, ...into("admin", "edit") } },
      rules: rules(writing),
    },
    {
      apiVersion,
      kind: "ClusterRole",
      metadata: { name: `${name}-view`, labels: { ...labels, ...into("view") } },
      rules: rules(["get", "list", "watch"]),
    },
  ];
}

interface Named {
  metadata: { name: string; namespace?: string };
}

/** A field that is left out when there is nothing in it. */
export function optional<K extends string, T>(key: K, value: T): { [key in K]?: T } {
  const empty =
    value === "" ||
    (typeof value === "object" && value !== null && Object.keys(value as object).length === 0);
  return (empty ? {} : { [key]: value }) as { [key in K]?: T };
}
