// Roles and bindings that are refused: escalation and invalid fields.
import { dryRun, silent, test } from "../_lib.mjs";
import {
  asUser,
  clusterRole,
  grant,
  namespacedRbac,
  rbac,
  role,
  roleBinding,
  userSubject,
} from "./_builders.mjs";

export default [
  test("Role create: a user cannot grant more than the user has", (t) => {
    grant(t, [
      { apiGroups: ["rbac.authorization.k8s.io"], resources: ["roles", "rolebindings"], verbs: ["*"] },
      { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"] },
    ]);
    t.post(
      `${namespacedRbac}/roles`,
      role("ok", [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }]),
      { ...asUser, ignoreBody: true },
    )
      .post(
        `${namespacedRbac}/roles`,
        role("bad", [{ apiGroups: [""], resources: ["configmaps", "secrets"], verbs: ["get", "create"] }]),
        asUser,
      )
      .post(
        `${namespacedRbac}/roles`,
        role("bad2", [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }]),
        asUser,
      )
      .post(
        `${namespacedRbac}/roles`,
        role("bad3", [
          { apiGroups: [""], resources: ["configmaps"], resourceNames: ["a"], verbs: ["get", "update"] },
        ]),
        asUser,
      )
      .merge(
        `${namespacedRbac}/roles/ok`,
        { rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] },
        asUser,
      )
      .merge(
        `${namespacedRbac}/roles/ok`,
        { metadata: { labels: { a: "b" } } },
        { ...asUser, ignoreBody: true },
      )
      .post(`${namespacedRbac}/rolebindings`, roleBinding("x", "r", [userSubject("v")]), {
        ...asUser,
        ignoreBody: true,
      })
      .post(
        `${namespacedRbac}/rolebindings`,
        {
          ...roleBinding("y", "cluster-admin", [userSubject("v")]),
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
        },
        asUser,
      )
      .post(`${namespacedRbac}/rolebindings`, roleBinding("z", "missing", [userSubject("v")]), asUser)
      .post(`${rbac}/clusterroles`, clusterRole("c-$ID", []), asUser);
  }),
  test("Role create: the verbs escalate and bind lift the limit", (t) => {
    t.post(
      `${namespacedRbac}/roles`,
      role("big", [{ apiGroups: [""], resources: ["secrets"], verbs: ["*"] }]),
      silent,
    );
    grant(t, [
      {
        apiGroups: ["rbac.authorization.k8s.io"],
        resources: ["roles"],
        verbs: ["create", "update", "escalate"],
      },
      { apiGroups: ["rbac.authorization.k8s.io"], resources: ["rolebindings"], verbs: ["create"] },
      {
        apiGroups: ["rbac.authorization.k8s.io"],
        resources: ["roles"],
        resourceNames: ["big"],
        verbs: ["bind"],
      },
    ]);
    t.post(`${namespacedRbac}/roles`, role("huge", [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }]), {
      ...asUser,
      ignoreBody: true,
    })
      .post(`${namespacedRbac}/rolebindings`, roleBinding("a", "big", [userSubject("v")]), {
        ...asUser,
        ignoreBody: true,
      })
      .post(`${namespacedRbac}/rolebindings`, roleBinding("b2", "huge", [userSubject("v")]), asUser);
  }),
  test("Role create: invalid rules, subjects and role references", (t) => {
    for (const r of [
      role("a", [{}]),
      role("a", [{ verbs: ["get"] }]),
      role("a", [{ verbs: ["get"], apiGroups: [""] }]),
      role("a", [{ verbs: ["get"], nonResourceURLs: ["/x"] }]),
      role("a", [{ verbs: [], apiGroups: [""], resources: ["x"] }]),
      role("a", [{ verbs: ["get"], apiGroups: [""], resources: ["x"], nonResourceURLs: ["/x"] }]),
      role("A:b", []),
    ])
      t.post(`${namespacedRbac}/roles`, r, dryRun);
    for (const r of [
      clusterRole("a-$ID", [{ verbs: ["get"], nonResourceURLs: ["/x", "/y/*"] }]),
      clusterRole("a-$ID", [{ verbs: ["get"], nonResourceURLs: ["x*y"] }]),
      clusterRole("a-$ID", null, { aggregationRule: { clusterRoleSelectors: [] } }),
      clusterRole("a-$ID", [], { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] } }),
    ])
      t.post(`${rbac}/clusterroles`, r, dryRun);
    for (const b of [
      roleBinding("a", "r", [{}]),
      roleBinding("a", "r", [{ kind: "User", name: "x" }]),
      roleBinding("a", "r", [{ kind: "User", name: "x", apiGroup: "y" }]),
      roleBinding("a", "r", [{ kind: "Bogus", name: "x" }]),
      roleBinding("a", "r", [{ kind: "ServiceAccount", name: "x" }]),
      roleBinding("a", "r", [{ kind: "ServiceAccount", name: "Bad Name", namespace: "x" }]),
      roleBinding("a", "r", []),
      { ...roleBinding("a", "r", []), roleRef: {} },
      { ...roleBinding("a", "r", []), roleRef: { kind: "Bogus", name: "x", apiGroup: "z" } },
      { ...roleBinding("a", "r", []), roleRef: { kind: "Role", name: "x" } },
    ])
      t.post(`${namespacedRbac}/rolebindings`, b, dryRun);
    t.post(`${namespacedRbac}/rolebindings`, roleBinding("q", "r", [userSubject("z")]), silent)
      .merge(`${namespacedRbac}/rolebindings/q`, { roleRef: { name: "other" } })
      .merge(`${namespacedRbac}/rolebindings/q`, { subjects: [] })
      .post(
        `${rbac}/clusterrolebindings`,
        {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: "ClusterRoleBinding",
          metadata: { name: "x-$ID" },
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" },
          subjects: [],
        },
        dryRun,
      );
  }),
];
