import { describe, expect, test } from "vitest";
import { podPlacement } from "./pod-options.ts";

describe("podPlacement", () => {
  test("prefers different nodes for pods with the same labels by default", () => {
    const podAffinityTerm = {
      topologyKey: "kubernetes.io/hostname",
      labelSelector: { matchLabels: { app: "db" } },
    };
    expect(podPlacement(undefined, { app: "db" })).toEqual({
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm }],
        },
      },
    });
  });

  test("takes over what the user asked for and nothing else of the options", () => {
    const placement = {
      affinity: { nodeAffinity: {} },
      nodeSelector: { disk: "fast" },
      tolerations: [{ operator: "Exists" }],
      topologySpreadConstraints: [{ maxSkew: 1 }],
      priorityClassName: "high",
    };
    expect(podPlacement({ ...placement, labels: { a: "b" }, annotations: {} }, { app: "db" })).toEqual(
      placement,
    );
  });
});
