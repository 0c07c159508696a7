// What admission writes into a pod: priority, tolerations, runtime class, tokens.
import { dryRun, ns, silent, test } from "../_lib.mjs";
import { podWith } from "./_builders.mjs";

const onlySpec = { pick: (b) => b.spec ?? b };

export default [
  test(
    "PriorityClass enforce: priority and preemption policy of a pod",
    (t) =>
      t
        .post("/apis/scheduling.k8s.io/v1/priorityclasses", {
          apiVersion: "scheduling.k8s.io/v1",
          kind: "PriorityClass",
          metadata: { name: "p-$ID" },
          value: 7,
          preemptionPolicy: "Never",
        })
        .cleanup({ method: "DELETE", path: "/apis/scheduling.k8s.io/v1/priorityclasses/p-$ID" })
        .wait(300)
        .post(`${ns}/pods`, podWith("a", {}, { priorityClassName: "p-$ID" }), {
          pick: (b) => (b.spec ? [b.spec.priority, b.spec.preemptionPolicy, b.spec.priorityClassName] : b),
        })
        .post(`${ns}/pods`, podWith("b", {}, { priorityClassName: "p-$ID", priority: 8 }))
        .post(
          `${ns}/pods`,
          podWith("c", {}, { priorityClassName: "p-$ID", preemptionPolicy: "PreemptLowerPriority" }),
        )
        .post(`${ns}/pods`, podWith("d", {}, { priorityClassName: "system-cluster-critical" }), {
          pick: (b) => (b.spec ? [b.spec.priority, b.spec.preemptionPolicy] : b),
        })
        .post(`${ns}/pods`, podWith("e", {}, { priority: 0 }), { pick: (b) => b.spec?.priority ?? b })
        .post("/apis/scheduling.k8s.io/v1/priorityclasses", {
          apiVersion: "scheduling.k8s.io/v1",
          kind: "PriorityClass",
          metadata: { name: "system-x" },
          value: 7,
        })
        .post("/apis/scheduling.k8s.io/v1/priorityclasses", {
          apiVersion: "scheduling.k8s.io/v1",
          kind: "PriorityClass",
          metadata: { name: "q-$ID" },
          value: 2000000000,
        })
        .post("/apis/scheduling.k8s.io/v1/priorityclasses", {
          apiVersion: "scheduling.k8s.io/v1",
          kind: "PriorityClass",
          metadata: { name: "q-$ID" },
          value: 1,
          preemptionPolicy: "Bogus",
        })
        .merge("/apis/scheduling.k8s.io/v1/priorityclasses/p-$ID", { value: 8 })
        .merge("/apis/scheduling.k8s.io/v1/priorityclasses/p-$ID", { globalDefault: false, description: "x" })
        .del("/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical", dryRun),
    { account: true },
  ),
  test(
    "Pod create: runtime class, tolerations and service account are filled in",
    (t) =>
      t
        .post("/apis/node.k8s.io/v1/runtimeclasses", {
          apiVersion: "node.k8s.io/v1",
          kind: "RuntimeClass",
          metadata: { name: "r-$ID" },
          handler: "h",
          overhead: { podFixed: { cpu: "10m" } },
          scheduling: { nodeSelector: { a: "b" }, tolerations: [{ key: "x", operator: "Exists" }] },
        })
        .cleanup({ method: "DELETE", path: "/apis/node.k8s.io/v1/runtimeclasses/r-$ID" })
        .wait(300)
        .post(`${ns}/pods`, podWith("a", {}, { runtimeClassName: "r-$ID" }), onlySpec)
        .post(`${ns}/pods`, podWith("b", {}, { runtimeClassName: "r-$ID", nodeSelector: { a: "c" } }))
        .post(`${ns}/pods`, podWith("c", {}, { runtimeClassName: "r-$ID", overhead: { cpu: "11m" } }))
        .post(
          `${ns}/pods`,
          podWith(
            "d",
            {},
            {
              tolerations: [
                {
                  key: "node.kubernetes.io/not-ready",
                  operator: "Exists",
                  effect: "NoExecute",
                  tolerationSeconds: 5,
                },
              ],
            },
          ),
          { pick: (b) => b.spec?.tolerations ?? b },
        )
        .post(
          `${ns}/serviceaccounts`,
          {
            apiVersion: "v1",
            kind: "ServiceAccount",
            metadata: { name: "tok" },
            imagePullSecrets: [{ name: "reg" }],
          },
          silent,
        )
        .post(`${ns}/pods`, podWith("e", {}, { serviceAccountName: "tok" }), {
          pick: (b) =>
            b.spec
              ? [
                  b.spec.imagePullSecrets,
                  b.spec.volumes?.map((v) => v.projected),
                  b.spec.containers[0].volumeMounts?.map((m) => [m.mountPath, m.readOnly]),
                ]
              : b,
        })
        .post(
          `${ns}/pods`,
          podWith(
            "f",
            {},
            {
              serviceAccountName: "tok",
              automountServiceAccountToken: false,
              imagePullSecrets: [{ name: "own" }],
            },
          ),
          { pick: (b) => (b.spec ? [b.spec.imagePullSecrets, b.spec.volumes] : b) },
        ),
    { account: true },
  ),
];
