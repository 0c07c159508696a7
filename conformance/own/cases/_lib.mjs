// The builders of the given cases, with additions: owners of fields are always compared, a case that creates
// pods gets the service account that they need, and a renamed case finds its recording.
import { readFileSync } from "node:fs";
import * as given from "../../cases/_lib.mjs";

export * from "../../cases/_lib.mjs";

// From a case's name to the name that it has in its recording, where the two differ.
const recordedNames = JSON.parse(readFileSync(new URL("../recorded-names.json", import.meta.url), "utf8"));

// The service account without which no pod is admitted.
export const account = {
  method: "POST",
  path: "/api/v1/namespaces/$NS/serviceaccounts",
  silent: true,
  body: {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "default" },
    automountServiceAccountToken: false,
  },
};

export const test = (title, build, { account: needsAccount, ...options } = {}) => {
  const made = given.test(recordedNames[title] ?? title, build, options);
  const compared = made.steps.map((step) => ({ managed: true, ...step }));
  return { ...made, title, steps: needsAccount ? [account, ...compared] : compared };
};

// Options of a step. A silent step is not compared.
export const silent = { silent: true };
export const dryRun = { query: { dryRun: "All" } };
export const force = { query: { force: "true" } };
export const strict = { query: { fieldValidation: "Strict" } };
export const fieldManager = (name) => ({ query: { fieldManager: name } });

export const object = (apiVersion, kind, rest, meta) => ({
  apiVersion,
  kind,
  metadata: { name: "x", ...meta },
  ...rest,
});

// The path of a collection.
export const collection = (apiVersion, resource, clusterScoped) => {
  const api = apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`;
  return `${api}${clusterScoped ? "" : "/namespaces/$NS"}/${resource}`;
};
