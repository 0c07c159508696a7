// Builders that the cases of this folder share.
import { apps, ns } from "../_lib.mjs";

export const deploymentPath = `${apps}/deployments/d`;
export const configMapPath = `${ns}/configmaps/c`;

export const partialDeployment = (spec, meta = {}) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "d", ...meta },
  spec,
});

export const podTemplate = (spec, labels = { app: "d" }) => ({ metadata: { labels }, spec });

export const fullDeployment = (over = {}) =>
  partialDeployment({
    selector: { matchLabels: { app: "d" } },
    template: podTemplate({ containers: [{ name: "a", image: "x:1" }] }),
    ...over,
  });
