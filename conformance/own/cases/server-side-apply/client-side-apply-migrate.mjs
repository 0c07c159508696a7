// From client-side apply to server-side apply.
import { apps, cm, fieldManager, force, ns, test } from "../_lib.mjs";
import { configMapPath, deploymentPath, fullDeployment } from "./_builders.mjs";

const appliedByClient = (o) => ({
  ...o,
  metadata: {
    ...o.metadata,
    annotations: {
      ...o.metadata.annotations,
      "kubectl.kubernetes.io/last-applied-configuration": `${JSON.stringify({ ...o, metadata: { annotations: {}, ...o.metadata, namespace: "$NS" } })}\n`,
    },
  },
});

export default [
  test("Deployment apply: kubectl takes over its client-side apply", (t) =>
    t
      .post(
        `${apps}/deployments`,
        appliedByClient(fullDeployment({ replicas: 3 })),
        fieldManager("kubectl-client-side-apply"),
      )
      .apply(deploymentPath, fullDeployment({ replicas: 3 }), "kubectl")
      .apply(deploymentPath, fullDeployment({ replicas: 4 }), "kubectl")
      .apply(deploymentPath, fullDeployment({}), "kubectl")),
  test("Deployment apply: another manager after a client-side apply", (t) =>
    t
      .post(
        `${apps}/deployments`,
        appliedByClient(fullDeployment({ replicas: 3 })),
        fieldManager("kubectl-client-side-apply"),
      )
      .apply(deploymentPath, fullDeployment({ replicas: 4 }), "other")
      .apply(deploymentPath, fullDeployment({ replicas: 4 }), "kubectl")
      .apply(deploymentPath, fullDeployment({ replicas: 4, paused: true }), "other", force)
      .get(deploymentPath)),
  test("ConfigMap apply: kubectl takes over its client-side apply after an edit", (t) =>
    t
      .post(
        `${ns}/configmaps`,
        appliedByClient(cm("c", { a: "1", b: "2" })),
        fieldManager("kubectl-client-side-apply"),
      )
      .strategic(configMapPath, { data: { z: "1" } }, fieldManager("kubectl-edit"))
      .apply(configMapPath, cm("c", { a: "1", c: "3" }), "kubectl")
      .apply(configMapPath, cm("c", { a: "9" }), "kubectl")
      .apply(configMapPath, cm("c", { z: "9" }), "kubectl")),
  test("ConfigMap apply: the last-applied annotation is applied as well", (t) =>
    t
      .post(
        `${ns}/configmaps`,
        appliedByClient(cm("c", { a: "1" })),
        fieldManager("kubectl-client-side-apply"),
      )
      .apply(configMapPath, appliedByClient(cm("c", { a: "1", b: "2" })), "kubectl")
      .apply(configMapPath, appliedByClient(cm("c", { a: "2" })), "kubectl")),
];
