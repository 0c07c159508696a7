// Builders that the cases of this folder share.
import { object } from "../_lib.mjs";

export const template = {
  metadata: { labels: { a: "b" } },
  spec: {
    containers: [
      { name: "main", image: "a" },
      { name: "side", image: "b:1" },
    ],
  },
};

export const budgets = "/apis/policy/v1/namespaces/$NS/poddisruptionbudgets";

export const budget = (spec) =>
  object(
    "policy/v1",
    "PodDisruptionBudget",
    { spec: { selector: { matchLabels: { app: "x" } }, ...spec } },
    { name: "b" },
  );
