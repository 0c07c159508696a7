// Who may do what: resource names, subresources, aggregation, collections, service accounts, anonymous users.
import {
  anything,
  apps,
  cm,
  crd,
  deployment,
  dryRun,
  group,
  install,
  ns,
  silent,
  test,
  widget,
  widgets,
} from "./_lib.mjs";

const rbacGroup = "rbac.authorization.k8s.io";
const rbac = `/apis/${rbacGroup}/v1`;
const namespacedRbac = `${rbac}/namespaces/$NS`;

const as = (name, groups) => ({
  headers: { "impersonate-user": name, ...(groups ? { "impersonate-group": groups } : {}) },
});

const asUser = as("u-$ID");

const role = (rules) => ({ apiVersion: `${rbacGroup}/v1`, kind: "Role", metadata: { name: "r" }, rules });

const roleBinding = (subjects, ref = { apiGroup: rbacGroup, kind: "Role", name: "r" }) => ({
  apiVersion: `${rbacGroup}/v1`,
  kind: "RoleBinding",
  metadata: { name: "b" },
  roleRef: ref,
  subjects,
});

const userSubject = [{ kind: "User", name: "u-$ID", apiGroup: rbacGroup }];

const grant = (t, rules, subjects = userSubject) =>
  t
    .post(`${namespacedRbac}/roles`, role(rules), silent)
    .post(`${namespacedRbac}/rolebindings`, roleBinding(subjects), silent)
    .wait(700);

const kindOrCode = { pick: (b) => (b.kind === "Status" ? [b.code, b.reason, b.details] : b.kind) };

const configMaps = `${ns}/configmaps`;

const asUserWith = (o) => ({ ...asUser, ...kindOrCode, ...o });

export default [
  test("Role authorize: resourceNames for objects and collections", (t) => {
    t.post(configMaps, cm("a"), silent).post(configMaps, cm("b"), silent);
    grant(t, [
      {
        apiGroups: [""],
        resources: ["configmaps"],
        resourceNames: ["a"],
        verbs: ["get", "list", "watch", "update", "delete", "deletecollection", "create"],
      },
    ]);
    t.get(`${configMaps}/a`, asUserWith())
      .get(`${configMaps}/b`, asUserWith())
      .get(configMaps, asUserWith())
      .list(configMaps, { fieldSelector: "metadata.name=a" }, asUserWith())
      .list(configMaps, { fieldSelector: "metadata.name=b" }, asUserWith())
      .post(configMaps, cm("a"), asUserWith())
      .post(configMaps, cm("z"), asUserWith())
      .put(`${configMaps}/a`, cm("a", { x: "y" }), asUserWith())
      .merge(`${configMaps}/a`, {}, asUserWith())
      .step({ method: "DELETE", path: configMaps, ...asUserWith() })
      .step({
        method: "DELETE",
        path: configMaps,
        query: { fieldSelector: "metadata.name=a", dryRun: "All" },
        ...asUserWith(),
      })
      .del(`${configMaps}/a`, asUserWith(dryRun))
      .del(`${configMaps}/b`, asUserWith());
  }),
  test("Role authorize: list does not permit watch", (t) => {
    grant(t, [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }]);
    t.get(configMaps, asUserWith())
      .list(configMaps, { watch: "true", timeoutSeconds: "1" }, asUserWith())
      .get("/api/v1/watch/namespaces/$NS/configmaps", asUserWith({ query: { timeoutSeconds: "1" } }))
      .get(`${configMaps}/a`, asUserWith());
  }),
  test("Role authorize: subresources and wildcards such as */scale", (t) => {
    t.post(`${apps}/deployments`, deployment("d"), silent);
    grant(t, [
      { apiGroups: ["apps"], resources: ["*/scale"], verbs: ["get", "update", "patch"] },
      { apiGroups: ["apps"], resources: ["deployments/*"], verbs: ["get"] },
      { apiGroups: [""], resources: ["pods/log", "pods/exec"], verbs: ["get", "create"] },
    ]);
    t.get(`${apps}/deployments/d/scale`, asUserWith())
      .merge(`${apps}/deployments/d/scale`, { spec: { replicas: 3 } }, asUserWith())
      .get(`${apps}/deployments/d`, asUserWith())
      .get(`${apps}/deployments/d/status`, asUserWith())
      .merge(`${apps}/deployments/d/status`, {}, asUserWith())
      .get(`${apps}/statefulsets/x/scale`, asUserWith())
      .get(`${ns}/pods/x/log`, asUserWith())
      .get(`${ns}/pods/x`, asUserWith())
      .post(`${ns}/pods/x/exec`, undefined, asUserWith({ query: { command: "x" } }))
      .post(
        `${ns}/pods/x/eviction`,
        { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "x" } },
        asUserWith(),
      )
      .post(`${ns}/pods/x/attach`, undefined, asUserWith());
  }),
  test("ClusterRole authorize: bound in a namespace, and aggregated", (t) => {
    const clusterRole = (name, rules, rest = {}) => ({
      apiVersion: `${rbacGroup}/v1`,
      kind: "ClusterRole",
      metadata: { name, ...rest.metadata },
      rules,
      ...(rest.aggregationRule ? { aggregationRule: rest.aggregationRule } : {}),
    });
    t.post(
      `${rbac}/clusterroles`,
      clusterRole("part-$ID", [{ apiGroups: [""], resources: ["secrets"], verbs: ["list"] }], {
        metadata: { name: "part-$ID", labels: { "agg-$ID": "yes" } },
      }),
      silent,
    )
      .post(
        `${rbac}/clusterroles`,
        clusterRole("sum-$ID", [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }], {
          aggregationRule: { clusterRoleSelectors: [{ matchLabels: { "agg-$ID": "yes" } }] },
        }),
      )
      .post(
        `${namespacedRbac}/rolebindings`,
        roleBinding(userSubject, { apiGroup: rbacGroup, kind: "ClusterRole", name: "sum-$ID" }),
        silent,
      )
      .wait(700)
      .get(`${ns}/secrets`, asUserWith())
      .get(`${configMaps}/a`, asUserWith())
      .get("/api/v1/secrets", asUserWith())
      .cleanup({ method: "DELETE", path: `${rbac}/clusterroles/part-$ID` })
      .cleanup({ method: "DELETE", path: `${rbac}/clusterroles/sum-$ID` });
  }),
  test("RoleBinding authorize: groups, service accounts, authenticated and anonymous users", (t) => {
    t.post(
      `${ns}/serviceaccounts`,
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "sa" } },
      silent,
    );
    grant(
      t,
      [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }],
      [
        { kind: "Group", name: "devs-$ID", apiGroup: rbacGroup },
        { kind: "ServiceAccount", name: "sa", namespace: "$NS" },
        { kind: "Group", name: "system:serviceaccounts:$NS", apiGroup: rbacGroup },
      ],
    );
    t.get(configMaps, { ...as("x"), ...kindOrCode })
      .get(configMaps, { ...as("x", "devs-$ID"), ...kindOrCode })
      .get(configMaps, { ...as("system:serviceaccount:$NS:sa"), ...kindOrCode })
      .get(configMaps, { ...as("system:serviceaccount:$NS:other"), ...kindOrCode })
      .get(configMaps, { ...as("system:serviceaccount:default:sa"), ...kindOrCode })
      .get(configMaps, { ...as("system:anonymous", "system:unauthenticated"), ...kindOrCode })
      .get("/version", { ...as("system:anonymous", "system:unauthenticated"), pick: (b) => b.code ?? 200 })
      .get("/api", { ...as("system:anonymous", "system:unauthenticated"), ...kindOrCode })
      .get("/api", { ...as("x"), ...kindOrCode })
      .get("/metrics", { ...as("x"), pick: (b) => b.code ?? 200 })
      .get("/openapi/v3", { ...as("x"), pick: (b) => b.code ?? 200 })
      .get("/healthz", { ...as("system:anonymous", "system:unauthenticated"), pick: (b) => b.code ?? 200 });
  }),
  test("ClusterRole authorize: the built-in roles view and edit", (t) => {
    t.post(
      `${namespacedRbac}/rolebindings`,
      roleBinding(userSubject, { apiGroup: rbacGroup, kind: "ClusterRole", name: "view" }),
      silent,
    )
      .wait(700)
      .get(configMaps, asUserWith())
      .get(`${ns}/secrets`, asUserWith())
      .post(configMaps, cm("a"), asUserWith())
      .get(`${namespacedRbac}/roles`, asUserWith())
      .get("/api/v1/namespaces/$NS", asUserWith())
      .get("/api/v1/namespaces", asUserWith())
      .get("/api/v1/nodes", asUserWith())
      .get(`${ns}/pods`, asUserWith())
      .get(`${ns}/pods/x/log`, asUserWith())
      .get("/apis/batch/v1/namespaces/$NS/jobs", asUserWith());
    const editBinding = {
      ...roleBinding([{ kind: "User", name: "e-$ID", apiGroup: rbacGroup }], {
        apiGroup: rbacGroup,
        kind: "ClusterRole",
        name: "edit",
      }),
      metadata: { name: "e" },
    };
    const asEditor = { ...as("e-$ID"), ...kindOrCode };
    t.post(`${namespacedRbac}/rolebindings`, editBinding, silent)
      .wait(700)
      .post(configMaps, cm("a"), asEditor)
      .get(`${ns}/secrets`, asEditor)
      .post(`${namespacedRbac}/roles`, role([]), asEditor)
      .post(
        `${ns}/serviceaccounts/default/token`,
        { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
        asEditor,
      )
      .post(
        `${ns}/resourcequotas`,
        { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "q" } },
        asEditor,
      )
      .merge("/api/v1/namespaces/$NS", {}, asEditor);
  }),
  test("Role authorize: custom resources and their status", (t) => {
    install(t, crd(anything, {}, { subresources: { status: {} } }));
    t.post(widgets, widget("w"), silent);
    grant(t, [{ apiGroups: [group], resources: ["widgets"], verbs: ["get", "patch"] }]);
    t.get(`${widgets}/w`, asUserWith())
      .get(widgets, asUserWith())
      .merge(`${widgets}/w`, { spec: { a: 1 } }, asUserWith())
      .merge(`${widgets}/w/status`, { status: { a: 1 } }, asUserWith())
      .apply(`${widgets}/new`, widget("new"), "m", asUserWith())
      .apply(`${widgets}/w`, widget("w"), "m", asUserWith())
      .get(`/apis/${group}/v1/widgets`, asUserWith());
  }),
  test("Role authorize: apply and update that would create need create", (t) => {
    grant(t, [{ apiGroups: [""], resources: ["configmaps"], verbs: ["patch", "update", "get"] }]);
    t.apply(`${configMaps}/new`, cm("new"), "m", asUserWith())
      .put(`${configMaps}/new`, cm("new"), asUserWith())
      .merge(`${configMaps}/new`, {}, asUserWith());
  }),
  test("Token authenticate: valid, malformed and of another scheme", (t) => {
    t.post(
      `${ns}/serviceaccounts`,
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "sa" } },
      silent,
    )
      .post(
        `${ns}/serviceaccounts/sa/token`,
        { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
        { silent: true, save: { TOKEN: (b) => b.status.token } },
      )
      .get(configMaps, { token: "$TOKEN", ...kindOrCode })
      .post(
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
        {
          token: "$TOKEN",
          pick: (b) => [
            b.status?.userInfo?.username,
            b.status?.userInfo?.groups,
            Object.keys(b.status?.userInfo?.extra ?? {}),
          ],
        },
      )
      .get(configMaps, { token: "a.b.c", ...kindOrCode })
      .get(configMaps, { token: "", headers: { authorization: "Basic eDp5" }, ...kindOrCode })
      .get(configMaps, { headers: { authorization: "Bearer" }, ...kindOrCode });
  }),
  test("SelfSubjectAccessReview create: and the other kinds of review", (t) => {
    grant(t, [
      { apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list"] },
      { apiGroups: [""], resources: ["pods"], resourceNames: ["p"], verbs: ["delete"] },
    ]);
    const authorization = "/apis/authorization.k8s.io/v1";
    const review = (kind, spec) => ({ apiVersion: "authorization.k8s.io/v1", kind, spec });
    const resourceAttributes = (o) => ({ resourceAttributes: { namespace: "$NS", ...o } });
    for (const x of [
      { group: "apps", resource: "deployments", verb: "get" },
      { group: "apps", resource: "deployments", verb: "get", name: "x" },
      { group: "apps", resource: "deployments", verb: "watch" },
      { resource: "pods", verb: "delete", name: "p" },
      { resource: "pods", verb: "delete", name: "q" },
      { resource: "pods", verb: "delete" },
      { group: "*", resource: "*", verb: "*" },
    ])
      t.post(
        `${authorization}/selfsubjectaccessreviews`,
        review("SelfSubjectAccessReview", resourceAttributes(x)),
        { ...asUser, pick: (b) => b.status ?? b },
      )
        .post(
          `${authorization}/subjectaccessreviews`,
          review("SubjectAccessReview", { user: "u-$ID", ...resourceAttributes(x) }),
          { pick: (b) => [b.status?.allowed, b.status?.denied] },
        )
        .post(
          `${authorization}/namespaces/$NS/localsubjectaccessreviews`,
          review("LocalSubjectAccessReview", { user: "u-$ID", ...resourceAttributes(x) }),
          { pick: (b) => b.status?.allowed ?? b },
        );
  }),
];
