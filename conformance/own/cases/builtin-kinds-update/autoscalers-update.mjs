// Changes of horizontal pod autoscalers, in both versions.
import { object, test } from "../_lib.mjs";
import { merges, spec } from "./_builders.mjs";

export default [
  merges(
    "HorizontalPodAutoscaler update: limits, metrics and behavior",
    "/apis/autoscaling/v2/namespaces/$NS/horizontalpodautoscalers",
    object("autoscaling/v2", "HorizontalPodAutoscaler", {
      spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" } },
    }),
    [
      spec({ minReplicas: 2 }),
      spec({ minReplicas: 9 }),
      spec({ minReplicas: null }),
      spec({ metrics: [] }),
      spec({ metrics: null }),
      spec({ behavior: { scaleDown: { selectPolicy: "Disabled" } } }),
      spec({ behavior: null }),
      spec({ scaleTargetRef: { name: "e" } }),
    ],
  ),
  test("HorizontalPodAutoscaler update: one object through v1 and v2", (t) => {
    const v1 = "/apis/autoscaling/v1/namespaces/$NS/horizontalpodautoscalers",
      v2 = v1.replace("/v1/", "/v2/");
    t.post(
      v1,
      object("autoscaling/v1", "HorizontalPodAutoscaler", {
        spec: {
          maxReplicas: 3,
          targetCPUUtilizationPercentage: 55,
          scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
        },
      }),
    )
      .get(`${v2}/x`)
      .merge(`${v2}/x`, {
        spec: {
          metrics: [
            {
              type: "Pods",
              pods: { metric: { name: "m" }, target: { type: "AverageValue", averageValue: "5" } },
            },
          ],
          behavior: { scaleUp: { stabilizationWindowSeconds: 7 } },
        },
      })
      .get(`${v1}/x`)
      .merge(`${v1}/x`, { spec: { targetCPUUtilizationPercentage: 60 } })
      .get(`${v2}/x`)
      .apply(
        `${v1}/x`,
        object("autoscaling/v1", "HorizontalPodAutoscaler", { spec: { maxReplicas: 4 } }),
        "m",
      )
      .apply(
        `${v2}/x`,
        object("autoscaling/v2", "HorizontalPodAutoscaler", { spec: { maxReplicas: 5 } }),
        "n",
      )
      .del(`${v1}/x`, { pick: (b) => b.status });
  }),
];
