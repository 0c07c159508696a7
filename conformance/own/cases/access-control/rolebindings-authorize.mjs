// What roles and their bindings allow.
import { apps, batch, cm, ns, silent, test } from "../_lib.mjs";
import {
  as,
  asUser,
  clusterRole,
  grant,
  namespacedRbac,
  rbac,
  role,
  roleBinding,
  userSubject,
} from "./_builders.mjs";

const withoutOwners = { managed: false };

export default [
  test("Role authorize: verbs, resource names and subresources of a rule", (t) => {
    grant(t, [
      { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"] },
      { apiGroups: [""], resources: ["configmaps"], resourceNames: ["x"], verbs: ["update", "delete"] },
      { apiGroups: ["apps"], resources: ["deployments/scale"], verbs: ["*"] },
    ]);
    t.post(`${ns}/configmaps`, cm("x"), silent)
      .get(`${ns}/configmaps/x`, asUser)
      .list(`${ns}/configmaps`, {}, asUser)
      .post(`${ns}/configmaps`, cm("y"), asUser)
      .put(`${ns}/configmaps/x`, cm("x", { a: "b" }), asUser)
      .put(`${ns}/configmaps/y`, cm("y"), asUser)
      .merge(`${ns}/configmaps/x`, {}, asUser)
      .del(`${ns}/configmaps/x`, asUser)
      .step({ method: "DELETE", path: `${ns}/configmaps`, ...asUser })
      .get(`${ns}/secrets/x`, asUser)
      .list("/api/v1/configmaps", {}, asUser)
      .list("/api/v1/nodes", {}, asUser)
      .get(`${apps}/deployments/d/scale`, asUser)
      .get(`${apps}/deployments/d`, asUser)
      .get("/metrics", asUser)
      .get("/healthz", asUser)
      .get("/foo", asUser)
      .watch(`${ns}/configmaps`, { query: {}, ...asUser })
      .watch(`${ns}/secrets`, { query: {}, ...asUser })
      .apply(`${ns}/configmaps/zz`, cm("zz"), "m", asUser)
      .post(`${ns}/pods/x/exec`, {}, asUser)
      .get(`${ns}/bogus/x`, asUser)
      .get("/apis/x.y/v1/z", asUser);
  }),
  test("Role authorize: wildcards for groups, resources and subresources", (t) => {
    grant(t, [
      { apiGroups: ["*"], resources: ["*/scale"], verbs: ["get"] },
      { apiGroups: ["apps"], resources: ["*"], verbs: ["list"] },
      { apiGroups: ["batch"], resources: ["jobs"], verbs: ["*"] },
    ]);
    t.get(`${apps}/deployments/d/scale`, asUser)
      .get(`${ns}/replicationcontrollers/d/scale`, asUser)
      .list(`${apps}/statefulsets`, {}, { ...asUser, pick: (b) => b.kind })
      .get(`${apps}/deployments/d/status`, asUser)
      .list(`${batch}/jobs`, {}, { ...asUser, pick: (b) => b.kind })
      .get(`${batch}/jobs/j/status`, asUser)
      .list(`${batch}/cronjobs`, {}, asUser);
  }),
  test("RoleBinding authorize: groups, service accounts and anonymous users", (t) => {
    t.post(
      `${namespacedRbac}/roles`,
      role("r", [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }]),
      silent,
    )
      .post(
        `${namespacedRbac}/rolebindings`,
        roleBinding("b", "r", [
          { kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "g" },
          { kind: "ServiceAccount", name: "sa", namespace: "$NS" },
        ]),
        silent,
      )
      .wait(700);
    const kindOrStatus = { pick: (b) => (b.kind === "Status" ? b : b.kind) };
    t.list(`${ns}/configmaps`, {}, { ...as("x", "g"), ...kindOrStatus })
      .list(`${ns}/configmaps`, {}, { ...as("x", "h"), ...kindOrStatus })
      .list(`${ns}/configmaps`, {}, { ...as("system:serviceaccount:$NS:sa"), ...kindOrStatus })
      .list(`${ns}/configmaps`, {}, { ...as("system:serviceaccount:$NS:other"), ...kindOrStatus })
      .list(`${ns}/configmaps`, {}, { ...as("x", ["g", "h"]), ...kindOrStatus })
      .list(`${ns}/configmaps`, {}, { ...as("system:anonymous"), ...kindOrStatus })
      .list(`${ns}/configmaps`, {}, { token: "bogus", ...kindOrStatus });
  }),
  test("ClusterRole authorize: view, edit, admin and cluster-admin bound in a namespace", (t) => {
    for (const r of ["view", "edit", "admin", "cluster-admin"])
      t.post(
        `${namespacedRbac}/rolebindings`,
        {
          ...roleBinding(`b-${r}`, r, [userSubject(`u-${r}`)]),
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: r },
        },
        silent,
      );
    t.wait(700);
    const kindOrStatus = { pick: (b) => (b.kind === "Status" ? b : b.kind) };
    for (const r of ["view", "edit", "admin", "cluster-admin"])
      t.list(`${ns}/configmaps`, {}, { ...as(`u-${r}`), ...kindOrStatus })
        .list(`${ns}/secrets`, {}, { ...as(`u-${r}`), ...kindOrStatus })
        .post(`${ns}/configmaps`, cm(`x-${r}`), { ...as(`u-${r}`), ...kindOrStatus })
        .list(`${namespacedRbac}/roles`, {}, { ...as(`u-${r}`), ...kindOrStatus })
        .list("/api/v1/nodes", {}, { ...as(`u-${r}`), ...kindOrStatus });
    t.get(`${rbac}/clusterroles/view`, { pick: (b) => b.rules })
      .get(`${rbac}/clusterroles/cluster-admin`, withoutOwners)
      .get(`${rbac}/clusterrolebindings/cluster-admin`, withoutOwners)
      .get(`${rbac}/clusterroles/system:discovery`, withoutOwners)
      .get(`${rbac}/clusterroles/system:node`, { pick: (b) => b.rules?.length })
      .list(
        `${rbac}/clusterroles`,
        {},
        {
          pick: (b) =>
            b.items
              .map((x) => x.metadata.name)
              .filter((n) => n.startsWith("system:") || !n.includes("-"))
              .sort(),
        },
      )
      .list(
        `${rbac}/clusterrolebindings`,
        {},
        {
          pick: (b) =>
            b.items
              .map((x) => x.metadata.name)
              .filter((n) => n.startsWith("system:"))
              .sort(),
        },
      )
      .get(`${rbac}/namespaces/kube-system/roles`, { pick: (b) => b.items?.map((x) => x.metadata.name) });
  }),
  test("ClusterRole authorize: non-resource URLs", (t) => {
    t.post(
      `${rbac}/clusterroles`,
      clusterRole("nr-$ID", [{ nonResourceURLs: ["/foo/*", "/bar"], verbs: ["get"] }]),
      silent,
    )
      .post(
        `${rbac}/clusterrolebindings`,
        {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: "ClusterRoleBinding",
          metadata: { name: "nr-$ID" },
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "nr-$ID" },
          subjects: [userSubject("nr")],
        },
        silent,
      )
      .wait(700);
    for (const p of [
      "/foo/x",
      "/foo",
      "/bar",
      "/bar/x",
      "/baz",
      "/",
      "/api",
      "/apis",
      "/version",
      "/healthz",
      "/readyz",
      "/livez/ping",
      "/openapi/v2",
      "/metrics",
      "/logs",
      "/.well-known/openid-configuration",
    ])
      t.get(p, { ...as("nr"), pick: (b) => (b.kind === "Status" ? b : 1) });
    t.cleanup({ method: "DELETE", path: `${rbac}/clusterroles/nr-$ID` }).cleanup({
      method: "DELETE",
      path: `${rbac}/clusterrolebindings/nr-$ID`,
    });
  }),
];
