// Apply to the status of built-in kinds.
import { ns, pod, test } from "../_lib.mjs";
import { deploymentPath, fullDeployment } from "./_builders.mjs";

export default [
  test("Deployment status apply: several managers and conditions", (t) =>
    t
      .apply(deploymentPath, fullDeployment(), "a")
      .apply(
        `${deploymentPath}/status`,
        {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name: "d" },
          status: {
            replicas: 1,
            conditions: [{ type: "Available", status: "True", reason: "r", message: "m" }],
          },
        },
        "ctl",
      )
      .apply(
        `${deploymentPath}/status`,
        {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name: "d", labels: { z: "y" }, annotations: { q: "r" } },
          spec: { replicas: 9 },
          status: { readyReplicas: 1 },
        },
        "ctl2",
      )
      .apply(
        `${deploymentPath}/status`,
        {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name: "d" },
          status: { conditions: [{ type: "Available", status: "False" }] },
        },
        "ctl2",
      )
      .apply(
        `${deploymentPath}/status`,
        {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name: "d" },
          status: { conditions: [{ type: "Progressing", status: "False" }] },
        },
        "ctl2",
      )
      .apply(
        `${deploymentPath}/status`,
        { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "d" } },
        "ctl",
      )
      .merge(`${deploymentPath}/status`, { status: { replicas: 3, availableReplicas: 1, readyReplicas: 2 } })
      .get(deploymentPath)),
  test(
    "Pod status apply: conditions and addresses",
    (t) =>
      t
        .post(`${ns}/pods`, pod("p"))
        .apply(
          `${ns}/pods/p/status`,
          {
            apiVersion: "v1",
            kind: "Pod",
            metadata: { name: "p" },
            status: {
              phase: "Running",
              conditions: [{ type: "Ready", status: "True" }],
              podIPs: [{ ip: "1.2.3.4" }],
            },
          },
          "kubelet",
        )
        .apply(
          `${ns}/pods/p/status`,
          {
            apiVersion: "v1",
            kind: "Pod",
            metadata: { name: "p" },
            status: { conditions: [{ type: "Ready", status: "False" }] },
          },
          "other",
        )
        .apply(
          `${ns}/pods/p/status`,
          { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, status: { podIP: "2.2.2.2" } },
          "other",
        )
        .merge(`${ns}/pods/p/status`, {
          metadata: { labels: { a: "b" } },
          status: { phase: "Failed", reason: "x" },
        })
        .get(`${ns}/pods/p`),
    { account: true },
  ),
];
