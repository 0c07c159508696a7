// Who owns the replicas when the object and its scale are applied.
import { apps, dryRun, fieldManager, force, test } from "../_lib.mjs";
import { deploymentPath, fullDeployment } from "./_builders.mjs";

export default [
  test("Deployment apply: replicas that a write of scale took over", (t) =>
    t
      .apply(deploymentPath, fullDeployment({ replicas: 2 }), "a")
      .put(`${deploymentPath}/scale`, {
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: { name: "d", namespace: "$NS" },
        spec: { replicas: 4 },
      })
      .get(deploymentPath)
      .apply(deploymentPath, fullDeployment({ replicas: 2 }), "a")
      .apply(deploymentPath, fullDeployment({ replicas: 2 }), "a", force)
      .merge(`${deploymentPath}/scale`, { spec: { replicas: 5 } }, fieldManager("hpa"))
      .get(deploymentPath)
      .apply(deploymentPath, fullDeployment({}), "a")
      .get(`${deploymentPath}/scale`)),
  test("Scale apply: conflicts and shared ownership with the Deployment", (t) =>
    t
      .apply(deploymentPath, fullDeployment({ replicas: 2 }), "a")
      .apply(
        `${deploymentPath}/scale`,
        {
          apiVersion: "autoscaling/v1",
          kind: "Scale",
          metadata: { name: "d", namespace: "$NS" },
          spec: { replicas: 4 },
        },
        "b",
      )
      .apply(
        `${deploymentPath}/scale`,
        {
          apiVersion: "autoscaling/v1",
          kind: "Scale",
          metadata: { name: "d", namespace: "$NS" },
          spec: { replicas: 4 },
        },
        "b",
        force,
      )
      .get(deploymentPath)
      .apply(
        `${deploymentPath}/scale`,
        {
          apiVersion: "autoscaling/v1",
          kind: "Scale",
          metadata: { name: "d", namespace: "$NS" },
          spec: { replicas: 4 },
        },
        "a",
      )
      .get(deploymentPath)
      .json(`${deploymentPath}/scale`, [{ op: "replace", path: "/spec/replicas", value: 9 }])
      .get(deploymentPath)
      .strategic(`${deploymentPath}/scale`, { spec: { replicas: 1 } })
      .get(deploymentPath)),
  test("Scale update: invalid replicas, names and versions", (t) =>
    t
      .apply(deploymentPath, fullDeployment({ replicas: 2 }), "a")
      .merge(`${deploymentPath}/scale`, { spec: { replicas: -1 } })
      .merge(`${deploymentPath}/scale`, { spec: { replicas: "x" } })
      .merge(`${deploymentPath}/scale`, { metadata: { resourceVersion: "1" }, spec: { replicas: 1 } })
      .put(`${deploymentPath}/scale`, {
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: { name: "e" },
        spec: { replicas: 1 },
      })
      .put(`${deploymentPath}/scale`, {
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: { name: "d" },
        spec: {},
      })
      .put(`${deploymentPath}/scale`, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "d" } })
      .put(`${deploymentPath}/scale`, {
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: { name: "d", uid: "11111111-1111-1111-1111-111111111111" },
        spec: { replicas: 2 },
      })
      .put(`${apps}/deployments/zz/scale`, {
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: { name: "zz" },
        spec: { replicas: 1 },
      })
      .merge(`${deploymentPath}/scale`, { spec: { replicas: 3 } }, dryRun)
      .get(`${deploymentPath}/scale`)
      .del(`${deploymentPath}/scale`)),
];
