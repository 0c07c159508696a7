// The builders of the given cases, with two additions: owners of fields are always compared, and a case that makes
// pods gets the service account that they need.
import * as given from "../../cases/_lib.mjs";
export * from "../../cases/_lib.mjs";

const account = {
  method: "POST", path: "/api/v1/namespaces/$NS/serviceaccounts", silent: true,
  body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" }, automountServiceAccountToken: false },
};

export const test = (name, build, { account: needsAccount, ...options } = {}) => {
  const made = given.test(name, build, options);
  const compared = made.steps.map((step) => ({ managed: true, ...step }));
  return { ...made, steps: needsAccount ? [account, ...compared] : compared };
};
