/** What agents may do at the API server: their Lease, and the labels of their own database's pods. */
import type { Desired } from "keelson";
import type { Role, RoleBinding, ServiceAccount } from "keelson/kinds";
import { leaseName } from "../ha/lease-object.ts";
import { agentAccount, type DatabaseName, selectorLabels } from "./names.ts";

export function accountFor(database: DatabaseName): Desired<typeof ServiceAccount> {
  return { metadata: { name: agentAccount(database), labels: selectorLabels(database) } };
}

export function roleFor(database: DatabaseName, instances: readonly string[]): Desired<typeof Role> {
  return {
    metadata: { name: agentAccount(database), labels: selectorLabels(database) },
    rules: [
      {
        apiGroups: ["coordination.k8s.io"],
        resources: ["leases"],
        resourceNames: [leaseName(database.name)],
        verbs: ["get", "patch"],
      },
      { apiGroups: [""], resources: ["pods"], resourceNames: [...instances], verbs: ["get", "patch"] },
    ],
  };
}

export function bindingFor(database: DatabaseName): Desired<typeof RoleBinding> {
  const name = agentAccount(database);
  return {
    metadata: { name, labels: selectorLabels(database) },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
    subjects: [{ kind: "ServiceAccount", name, namespace: database.namespace }],
  };
}
