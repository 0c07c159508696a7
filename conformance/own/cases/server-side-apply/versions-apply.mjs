// Apply through several versions of one kind.
import { force, test } from "../_lib.mjs";

export default [
  test("HorizontalPodAutoscaler apply: two managers through v1 and v2", (t) => {
    const autoscalerPath = (v) => `/apis/autoscaling/${v}/namespaces/$NS/horizontalpodautoscalers/h`;
    const autoscalerV2 = (s) => ({
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "h" },
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
        maxReplicas: 3,
        ...s,
      },
    });
    const autoscalerV1 = (s) => ({ ...autoscalerV2(s), apiVersion: "autoscaling/v1" });
    t.apply(autoscalerPath("v2"), autoscalerV2({}), "a")
      .apply(autoscalerPath("v1"), autoscalerV1({ targetCPUUtilizationPercentage: 50 }), "b")
      .apply(autoscalerPath("v1"), autoscalerV1({ targetCPUUtilizationPercentage: 50 }), "b", force)
      .apply(autoscalerPath("v1"), autoscalerV1({ maxReplicas: 5 }), "a")
      .apply(autoscalerPath("v1"), autoscalerV1({ maxReplicas: 5 }), "a", force)
      .get(autoscalerPath("v2"))
      .merge(autoscalerPath("v1"), { spec: { minReplicas: 2 } })
      .get(autoscalerPath("v2"))
      .merge(autoscalerPath("v2"), { spec: { minReplicas: 3 } });
  }),
  test("HorizontalPodAutoscaler apply: created through v1, applied through v2", (t) => {
    const autoscalerPath = (v) => `/apis/autoscaling/${v}/namespaces/$NS/horizontalpodautoscalers`;
    t.post(autoscalerPath("v1"), {
      apiVersion: "autoscaling/v1",
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "h" },
      spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" }, maxReplicas: 3 },
    })
      .apply(
        `${autoscalerPath("v2")}/h`,
        {
          apiVersion: "autoscaling/v2",
          kind: "HorizontalPodAutoscaler",
          metadata: { name: "h" },
          spec: { maxReplicas: 4, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" } },
        },
        "m",
      )
      .apply(
        `${autoscalerPath("v2")}/h`,
        {
          apiVersion: "autoscaling/v2",
          kind: "HorizontalPodAutoscaler",
          metadata: { name: "h" },
          spec: { maxReplicas: 4, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" } },
        },
        "m",
        force,
      );
  }),
];
