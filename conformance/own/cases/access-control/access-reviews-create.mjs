// Reviews of what a user may do.
import { test } from "../_lib.mjs";
import { asUser, grant } from "./_builders.mjs";

// Which of several bindings allowed it is up to chance; the administrator's uid to the command line.
const decision = {
  managed: true,
  pick: (b) =>
    b.status?.reason ? { ...b, status: { ...b.status, reason: b.status.reason.slice(0, 15) } } : b,
};

const accessReview = (spec, kind = "SubjectAccessReview") => ({
  apiVersion: "authorization.k8s.io/v1",
  kind,
  spec,
});

const authorization = "/apis/authorization.k8s.io/v1";

export default [
  test("SubjectAccessReview create: all four kinds of review", (t) => {
    grant(t, [{ apiGroups: [""], resources: ["configmaps", "pods/log"], verbs: ["get"] }]);
    const resourceAttributes = (o) => ({
      resourceAttributes: { namespace: "$NS", verb: "get", resource: "configmaps", ...o },
    });
    for (const s of [
      { user: "u", ...resourceAttributes() },
      { user: "u", ...resourceAttributes({ verb: "list" }) },
      { user: "u", ...resourceAttributes({ name: "x" }) },
      { user: "u", ...resourceAttributes({ resource: "pods", subresource: "log" }) },
      { user: "u", ...resourceAttributes({ resource: "pods" }) },
      { user: "u", ...resourceAttributes({ namespace: "" }) },
      { user: "u", ...resourceAttributes({ group: "apps" }) },
      { user: "zz", ...resourceAttributes() },
      { groups: ["system:masters"], ...resourceAttributes() },
      { user: "x", groups: ["system:masters"], ...resourceAttributes() },
      { user: "u", nonResourceAttributes: { path: "/healthz", verb: "get" } },
      {
        user: "u",
        groups: ["system:authenticated"],
        nonResourceAttributes: { path: "/healthz", verb: "get" },
      },
      { user: "u", nonResourceAttributes: { path: "/foo", verb: "get" } },
      {},
      { user: "u" },
      { ...resourceAttributes() },
      { user: "u", ...resourceAttributes(), nonResourceAttributes: { path: "/", verb: "get" } },
      { user: "u", ...resourceAttributes({ verb: "*" }) },
      { user: "u", ...resourceAttributes({ resource: "*" }) },
      { user: "u", ...resourceAttributes({ version: "v1" }), uid: "1", extra: { a: ["b"] } },
      { user: "u", ...resourceAttributes({ fieldSelector: { rawSelector: "metadata.name=x" } }) },
      {
        user: "u",
        ...resourceAttributes({
          labelSelector: { requirements: [{ key: "a", operator: "In", values: ["b"] }] },
        }),
      },
      {
        user: "u",
        ...resourceAttributes({
          fieldSelector: { rawSelector: "x", requirements: [{ key: "a", operator: "In", values: ["b"] }] },
        }),
      },
    ])
      t.post(`${authorization}/subjectaccessreviews`, accessReview(s), decision);
    for (const s of [
      resourceAttributes(),
      resourceAttributes({ verb: "list" }),
      {},
      { nonResourceAttributes: { path: "/x", verb: "get" } },
    ])
      t.post(`${authorization}/selfsubjectaccessreviews`, accessReview(s, "SelfSubjectAccessReview"), asUser);
    t.post(
      `${authorization}/selfsubjectaccessreviews`,
      accessReview(resourceAttributes(), "SelfSubjectAccessReview"),
    )
      .post(
        `${authorization}/namespaces/$NS/localsubjectaccessreviews`,
        accessReview({ user: "u", ...resourceAttributes() }, "LocalSubjectAccessReview"),
      )
      .post(
        `${authorization}/namespaces/$NS/localsubjectaccessreviews`,
        accessReview({ user: "u", ...resourceAttributes({ namespace: "zz" }) }, "LocalSubjectAccessReview"),
      )
      .post(
        `${authorization}/namespaces/$NS/localsubjectaccessreviews`,
        accessReview(
          { user: "u", nonResourceAttributes: { path: "/", verb: "get" } },
          "LocalSubjectAccessReview",
        ),
      )
      .post(
        `${authorization}/selfsubjectrulesreviews`,
        accessReview({ namespace: "$NS" }, "SelfSubjectRulesReview"),
        {
          ...asUser,
          pick: (b) => ({
            ...b,
            status: {
              ...b.status,
              resourceRules: b.status?.resourceRules?.map((r) => JSON.stringify(r)).sort(),
              nonResourceRules: b.status?.nonResourceRules?.length,
            },
          }),
        },
      )
      .post(`${authorization}/selfsubjectrulesreviews`, accessReview({}, "SelfSubjectRulesReview"), asUser)
      .post(`${authorization}/subjectaccessreviews`, {
        ...accessReview({ user: "u", ...resourceAttributes() }),
        metadata: { name: "x", namespace: "y" },
      })
      .get(`${authorization}/subjectaccessreviews`)
      .get(`${authorization}/subjectaccessreviews/x`);
  }),
];
