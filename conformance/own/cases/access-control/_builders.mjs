// Builders that the cases of this folder share.
import { silent } from "../_lib.mjs";

export const rbac = "/apis/rbac.authorization.k8s.io/v1";
export const namespacedRbac = `${rbac}/namespaces/$NS`;

export const as = (user, groups, extra) => ({
  headers: { "impersonate-user": user, ...(groups ? { "impersonate-group": groups } : {}), ...extra },
});

export const role = (name, rules, o = {}) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "Role",
  metadata: { name },
  rules,
  ...o,
});

export const clusterRole = (name, rules, o = {}) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name },
  rules,
  ...o,
});

export const roleBinding = (name, ref, subjects) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "RoleBinding",
  metadata: { name },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: ref },
  subjects,
});

export const userSubject = (n) => ({ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: n });

export const grant = (t, rules, user = "u") =>
  t
    .post(`${namespacedRbac}/roles`, role("r", rules), silent)
    .post(`${namespacedRbac}/rolebindings`, roleBinding("b", "r", [userSubject(user)]), silent)
    .wait(700);

export const asUser = as("u");
