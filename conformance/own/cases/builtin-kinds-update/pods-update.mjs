// Changes of pods.
import { ns, object } from "../_lib.mjs";
import { merges, spec } from "./_builders.mjs";

export default [
  merges(
    "Pod update: fields that may change",
    `${ns}/pods`,
    object("v1", "Pod", {
      spec: {
        containers: [{ name: "main", image: "a" }],
        activeDeadlineSeconds: 50,
        tolerations: [{ key: "k", operator: "Exists" }],
      },
    }),
    [
      spec({ activeDeadlineSeconds: 60 }),
      spec({ activeDeadlineSeconds: 40 }),
      spec({ activeDeadlineSeconds: null }),
      spec({ containers: [{ name: "main", image: "b" }] }),
      spec({ containers: [{ name: "main", image: "" }] }),
      spec({ containers: [{ name: "other", image: "b" }] }),
      spec({ tolerations: [] }),
      spec({
        tolerations: [
          { key: "k", operator: "Exists" },
          { key: "l", operator: "Exists" },
        ],
      }),
      spec({ terminationGracePeriodSeconds: 1 }),
      spec({ serviceAccountName: "z" }),
      spec({ nodeSelector: { a: "b" } }),
      spec({ priority: 5 }),
      { metadata: { labels: { a: "b" } } },
      { metadata: { name: "y" } },
      { metadata: { namespace: "y" } },
      { metadata: { uid: "11111111-1111-1111-1111-111111111111" } },
      { status: { phase: "Running" } },
    ],
  ),
  merges(
    "Pod update: scheduling gates and what they permit",
    `${ns}/pods`,
    object("v1", "Pod", {
      spec: {
        schedulingGates: [{ name: "g" }, { name: "h" }],
        containers: [{ name: "main", image: "a" }],
        nodeSelector: { a: "b" },
      },
    }),
    [
      spec({ schedulingGates: [{ name: "g" }, { name: "i" }] }),
      spec({ schedulingGates: [{ name: "g" }] }),
      spec({ nodeSelector: { a: "b", c: "d" } }),
      spec({ nodeSelector: { a: "c" } }),
      spec({
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: "z", operator: "Exists" }] }],
            },
          },
        },
      }),
      spec({ nodeName: "n" }),
      spec({ schedulingGates: null }),
    ],
  ),
];
