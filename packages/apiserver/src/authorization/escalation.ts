/** Nobody grants what they do not have: checks on writes of roles and bindings. */
import { deepEqual, type JsonObject } from "@keelson/core";
import type { AggregationRule, PolicyRule, RoleRef } from "@keelson/core/kinds";
import type { AdmissionPlugin, AdmissionRequest } from "../contracts/admission.ts";
import type { UserInfo } from "../contracts/authentication.ts";
import type { Authorizer } from "../contracts/authorization.ts";
import type { ApiObject } from "../contracts/object.ts";
import { forbidden, notFound } from "../contracts/status-error.ts";
import { type Bindings, clusterRoles, roles } from "./bindings.ts";
import { describeRules, uncovered } from "./rules.ts";

const group = "rbac.authorization.k8s.io";
const fullAuthority: PolicyRule[] = [
  { apiGroups: ["*"], resources: ["*"], verbs: ["*"] },
  { nonResourceURLs: ["*"], verbs: ["*"] },
];

export function escalationCheck(bindings: Bindings, authorizer: Authorizer): AdmissionPlugin {
  const may = async (request: AdmissionRequest, verb: string, resource: string, name: string) => {
    const { decision } = await authorizer.authorize({
      user: request.user,
      verb,
      resourceRequest: true,
      group,
      version: "*",
      resource,
      subresource: "",
      namespace: request.namespace,
      name,
      path: "",
    });
    return decision === "allow";
  };

  const confirm = (request: AdmissionRequest, object: ApiObject, rules: readonly PolicyRule[]) => {
    const missing = missingRights(bindings, request.user, request.namespace, rules);
    if (missing.length > 0)
      throw forbidden(
        { group, resource: request.resource.resource },
        object.metadata.name,
        `user ${JSON.stringify(request.user.name)} (groups=${quotedList(request.user.groups)}) is attempting to grant RBAC permissions not currently held:\n${describeRules(missing)}`,
      );
  };

  const checkRole = async (request: AdmissionRequest, object: ApiObject) => {
    const { resource, oldObject } = request;
    if (await may(request, "escalate", resource.resource, request.name)) return;
    if (oldObject && onlyOwnersChanged(object, oldObject)) return;
    confirm(request, object, (object.rules as PolicyRule[] | null | undefined) ?? []);
    if (![object, oldObject].some((role) => gathers(role))) return;
    if (missingRights(bindings, request.user, request.namespace, fullAuthority).length > 0)
      throw forbidden(
        { group, resource: resource.resource },
        object.metadata.name,
        "must have cluster-admin privileges to use the aggregationRule",
      );
  };

  const checkBinding = async (request: AdmissionRequest, object: ApiObject) => {
    if (request.oldObject && onlyOwnersChanged(object, request.oldObject)) return;
    const ref = object.roleRef as unknown as RoleRef;
    const target = ref.kind === "Role" ? roles : clusterRoles;
    if (await may(request, "bind", target.resource, ref.name)) return;
    const rules = bindings.referenced(ref, request.namespace);
    if (!rules) throw notFound({ group, resource: request.resource.resource }, ref.name);
    confirm(request, object, rules);
  };

  return {
    name: "RBACEscalation",
    admit(request) {
      const { resource, operation, object, user } = request;
      if (resource.group !== group || !object || request.subresource) return undefined;
      if (operation !== "CREATE" && operation !== "UPDATE") return undefined;
      if (user.groups.includes("system:masters")) return undefined;
      return resource.resource === "roles" || resource.resource === "clusterroles"
        ? checkRole(request, object)
        : checkBinding(request, object);
    },
  };
}

function missingRights(
  bindings: Bindings,
  user: UserInfo,
  namespace: string,
  rules: readonly PolicyRule[],
): PolicyRule[] {
  const owned: PolicyRule[] = [];
  for (const grant of bindings.grants(user, namespace)) owned.push(...(grant.rules ?? []));
  return uncovered(owned, rules);
}

function gathers(role: ApiObject | undefined): boolean {
  const rule = role?.aggregationRule as AggregationRule | undefined;
  return Boolean(rule?.clusterRoleSelectors?.length);
}

/** The garbage collector may take owners and finalizers off without holding the rights. */
function onlyOwnersChanged(object: ApiObject, old: ApiObject): boolean {
  const bare = (value: ApiObject): JsonObject => {
    const {
      ownerReferences: _owners,
      finalizers: _finalizers,
      managedFields: _managed,
      ...meta
    } = value.metadata;
    return { ...value, metadata: meta };
  };
  return deepEqual(bare(object), bare(old));
}

function quotedList(list: readonly string[]): string {
  return `[${list.map((item) => JSON.stringify(item)).join(" ")}]`;
}
