// Tokens of service accounts and their review.
import { ns, silent, test } from "../_lib.mjs";

export default [
  test("TokenRequest create: audiences, expiry, bound objects and the review of a token", (t) => {
    const tokenRequest = (spec, o = {}) => ({
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec,
      ...o,
    });
    const tokenPath = `${ns}/serviceaccounts/sa/token`;
    const claimNames = {
      managed: false,
      pick: (b) =>
        b.kind === "Status"
          ? b
          : {
              ...b,
              status: {
                ...b.status,
                token: typeof b.status?.token,
                claims: b.status?.token
                  ? Object.keys(
                      JSON.parse(Buffer.from(b.status.token.split(".")[1], "base64url").toString()),
                    ).sort()
                  : null,
              },
            },
    };
    t.post(
      `${ns}/serviceaccounts`,
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "sa" } },
      silent,
    )
      .post(tokenPath, tokenRequest({}), claimNames)
      .post(tokenPath, tokenRequest({ audiences: ["a", "b"], expirationSeconds: 3600 }), claimNames)
      .post(tokenPath, tokenRequest({ expirationSeconds: 5 }), claimNames)
      .post(tokenPath, tokenRequest({ expirationSeconds: 9999999999 }), claimNames)
      .post(
        tokenPath,
        tokenRequest({ boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "none" } }),
        claimNames,
      )
      .post(
        tokenPath,
        tokenRequest({ boundObjectRef: { kind: "Bogus", apiVersion: "v1", name: "none" } }),
        claimNames,
      )
      .post(
        tokenPath,
        tokenRequest({ boundObjectRef: { kind: "Secret", apiVersion: "v1", name: "none" } }),
        claimNames,
      )
      .post(`${ns}/serviceaccounts/none/token`, tokenRequest({}), claimNames)
      .post(tokenPath, {}, claimNames)
      .get(tokenPath)
      .post(tokenPath, tokenRequest({}, { metadata: { name: "other" } }), claimNames)
      .post(`${ns}/secrets`, { apiVersion: "v1", kind: "Secret", metadata: { name: "s" } }, silent)
      .post(
        tokenPath,
        tokenRequest({ boundObjectRef: { kind: "Secret", apiVersion: "v1", name: "s" } }),
        claimNames,
      )
      .post(
        tokenPath,
        tokenRequest({
          boundObjectRef: {
            kind: "Secret",
            apiVersion: "v1",
            name: "s",
            uid: "11111111-1111-1111-1111-111111111111",
          },
        }),
        claimNames,
      )
      .post(tokenPath, tokenRequest({}), { silent: true, save: { TOKEN: (b) => b.status.token } })
      .post(
        "/apis/authentication.k8s.io/v1/tokenreviews",
        { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: "$TOKEN" } },
        {
          pick: (b) => ({
            ...b,
            spec: 1,
            status: {
              ...b.status,
              user: { ...b.status?.user, extra: Object.keys(b.status?.user?.extra ?? {}) },
            },
          }),
        },
      )
      .post(
        "/apis/authentication.k8s.io/v1/tokenreviews",
        {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenReview",
          spec: { token: "$TOKEN", audiences: ["zz"] },
        },
        { pick: (b) => ({ ...b, spec: 1 }) },
      )
      .post("/apis/authentication.k8s.io/v1/tokenreviews", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        spec: { token: "nope" },
      })
      .post("/apis/authentication.k8s.io/v1/tokenreviews", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        spec: {},
      });
  }),
];
