// Requests in the name of another user.
import { ns, silent, test } from "../_lib.mjs";
import { as, clusterRole, grant, rbac } from "./_builders.mjs";

const userInfo = {
  pick: (b) =>
    b.status?.userInfo ? { ...b, status: { userInfo: { ...b.status.userInfo, uid: undefined } } } : b,
};

export default [
  test("User impersonate: users, groups, uid and extra fields", (t) => {
    grant(t, [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }]);
    const reviewPath = "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    t.post(reviewPath, review, as("u"))
      .post(reviewPath, review, as("u", ["a", "b"]))
      .post(
        reviewPath,
        review,
        as("u", undefined, {
          "impersonate-uid": "77",
          "impersonate-extra-scope": "x",
          "impersonate-extra-Two%2fParts": ["1", "2"],
        }),
      )
      .post(reviewPath, review, { headers: { "impersonate-group": "a" } })
      .post(reviewPath, review, { headers: { "impersonate-uid": "1" } })
      .post(reviewPath, review, as("system:serviceaccount:$NS:default"))
      .post(reviewPath, review, as("system:serviceaccount:bad"))
      .post(reviewPath, review, as("system:anonymous"))
      .post(reviewPath, review, as("system:node:n", "system:nodes"))
      .post(reviewPath, review, { ...as(""), ...userInfo })
      .post(reviewPath, review, userInfo)
      .post(reviewPath, review, { token: "bogus" })
      .post(reviewPath, { ...review, metadata: { name: "x" } }, userInfo)
      .get(reviewPath);
  }),
  test("User impersonate: what a service account may impersonate", (t) => {
    t.post(
      `${rbac}/clusterroles`,
      clusterRole("imp-$ID", [
        { apiGroups: [""], resources: ["users"], resourceNames: ["bob"], verbs: ["impersonate"] },
        { apiGroups: ["authentication.k8s.io"], resources: ["userextras/scope"], verbs: ["impersonate"] },
      ]),
      silent,
    )
      .post(
        `${rbac}/clusterrolebindings`,
        {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: "ClusterRoleBinding",
          metadata: { name: "imp-$ID" },
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "imp-$ID" },
          subjects: [{ kind: "ServiceAccount", name: "sa", namespace: "$NS" }],
        },
        silent,
      )
      .post(
        `${ns}/serviceaccounts`,
        { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "sa" } },
        silent,
      )
      .post(
        `${ns}/serviceaccounts/sa/token`,
        { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
        { silent: true, save: { TOKEN: (b) => b.status.token } },
      )
      .wait(700);
    const reviewPath = "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
      withToken = (h) => ({ token: "$TOKEN", ...h });
    t.post(reviewPath, review, withToken({}))
      .post(reviewPath, review, withToken(as("bob")))
      .post(reviewPath, review, withToken(as("alice")))
      .post(reviewPath, review, withToken(as("bob", "g")))
      .post(reviewPath, review, withToken(as("bob", undefined, { "impersonate-extra-scope": "x" })))
      .post(reviewPath, review, withToken(as("bob", undefined, { "impersonate-extra-other": "x" })))
      .post(reviewPath, review, withToken(as("bob", undefined, { "impersonate-uid": "5" })))
      .get(`${ns}/configmaps`, withToken({}))
      .cleanup({ method: "DELETE", path: `${rbac}/clusterroles/imp-$ID` })
      .cleanup({ method: "DELETE", path: `${rbac}/clusterrolebindings/imp-$ID` });
  }),
];
