/** The RBAC authorizer. */
import type { JsonObject } from "@keelson/core";
import type { ClusterRoleBinding, PolicyRule } from "@keelson/core/kinds";
import type { UserInfo } from "../contracts/authentication.ts";
import type { Attributes, Authorizer, Decision, SubjectRules } from "../contracts/authorization.ts";
import type { Bindings, Grant } from "./bindings.ts";
import { allows } from "./rules.ts";

export class RbacAuthorizer implements Authorizer {
  readonly #bindings: Bindings;

  constructor(bindings: Bindings) {
    this.#bindings = bindings;
  }

  authorize(attributes: Attributes): Decision {
    let missing: Set<string> | undefined;
    for (const grant of this.#bindings.grants(attributes.user, attributes.namespace)) {
      if (!grant.rules) {
        missing ??= new Set();
        missing.add(roleNotFound(grant));
      } else if (grant.rules.some((rule) => allows(rule, attributes)))
        return { decision: "allow", reason: `RBAC: allowed by ${describe(grant)}` };
    }
    return { decision: "no-opinion", reason: missing ? `RBAC: ${aggregate([...missing])}` : "" };
  }

  rulesFor(user: UserInfo, namespace: string): SubjectRules {
    const resourceRules: JsonObject[] = [];
    const nonResourceRules: JsonObject[] = [];
    const missing: string[] = [];
    for (const grant of this.#bindings.grants(user, namespace)) {
      if (!grant.rules) missing.push(roleNotFound(grant));
      for (const rule of grant.rules ?? []) {
        if (rule.resources?.length) resourceRules.push(resourceRule(rule));
        if (rule.nonResourceURLs?.length)
          nonResourceRules.push({
            verbs: [...(rule.verbs ?? [])],
            nonResourceURLs: [...rule.nonResourceURLs],
          });
      }
    }
    return {
      resourceRules,
      nonResourceRules,
      incomplete: false,
      ...(missing.length > 0 && { evaluationError: aggregate(missing) }),
    };
  }
}

function resourceRule(rule: PolicyRule): JsonObject {
  return {
    verbs: [...(rule.verbs ?? [])],
    apiGroups: [...(rule.apiGroups ?? [])],
    resources: [...(rule.resources ?? [])],
    ...(rule.resourceNames?.length && { resourceNames: [...rule.resourceNames] }),
  };
}

function roleNotFound({ binding }: Grant): string {
  const { kind, name } = binding.roleRef;
  return `${kind.toLowerCase()}.rbac.authorization.k8s.io ${JSON.stringify(name)} not found`;
}

function aggregate(messages: readonly string[]): string {
  return messages.length === 1 ? (messages[0] as string) : `[${messages.join(", ")}]`;
}

function describe({ binding, subject }: Grant): string {
  const { name = "", namespace = "" } = (binding as ClusterRoleBinding).metadata ?? {};
  const kind = namespace ? "RoleBinding" : "ClusterRoleBinding";
  const own = namespace ? `${name}/${namespace}` : name;
  const who =
    subject.kind === "ServiceAccount" ? `${subject.name}/${subject.namespace || namespace}` : subject.name;
  const { roleRef } = binding;
  return `${kind} ${JSON.stringify(own)} of ${roleRef.kind} ${JSON.stringify(roleRef.name)} to ${subject.kind} ${JSON.stringify(who)}`;
}
