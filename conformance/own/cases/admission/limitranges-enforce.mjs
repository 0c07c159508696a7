// Limit ranges: what they fill in and what they refuse.
import { apps, deployment, dryRun, ns, silent, test } from "../_lib.mjs";
import { podWith } from "./_builders.mjs";

const limitRange = (...limits) => ({
  apiVersion: "v1",
  kind: "LimitRange",
  metadata: { name: "l" },
  spec: { limits },
});

const podResources = {
  pick: (b) =>
    b.spec
      ? [
          b.spec.containers?.map((c) => c.resources),
          b.spec.initContainers?.map((c) => c.resources),
          b.metadata.annotations,
          b.status?.qosClass,
        ]
      : b,
};

export default [
  test(
    "LimitRange enforce: defaults are written into containers",
    (t) =>
      t
        .post(
          `${ns}/limitranges`,
          limitRange({
            type: "Container",
            default: { cpu: "500m", memory: "64Mi" },
            defaultRequest: { cpu: "100m" },
            max: { cpu: "2" },
            min: { cpu: "50m" },
          }),
        )
        .wait(300)
        .post(`${ns}/pods`, podWith("a"), podResources)
        .post(`${ns}/pods`, podWith("b", { resources: { requests: { cpu: "200m" } } }), podResources)
        .post(`${ns}/pods`, podWith("c", { resources: { limits: { cpu: "1" } } }), podResources)
        .post(`${ns}/pods`, podWith("d", {}, { initContainers: [{ name: "i", image: "a" }] }), podResources)
        .post(`${ns}/pods`, podWith("e", { resources: { limits: { cpu: "3" } } }))
        .post(`${ns}/pods`, podWith("f", { resources: { requests: { cpu: "10m" } } }))
        .post(`${apps}/deployments`, deployment("d"), { pick: (b) => b.spec.template.spec.containers }),
    { account: true },
  ),
  test(
    "LimitRange enforce: pods and claims outside the limits are refused",
    (t) =>
      t
        .post(
          `${ns}/limitranges`,
          limitRange(
            { type: "Container", maxLimitRequestRatio: { cpu: "2" }, max: { memory: "1Gi" } },
            { type: "Pod", max: { cpu: "1" }, min: { memory: "10Mi" } },
            { type: "PersistentVolumeClaim", min: { storage: "1Gi" }, max: { storage: "5Gi" } },
          ),
          silent,
        )
        .wait(300)
        .post(`${ns}/pods`, podWith("a"))
        .post(
          `${ns}/pods`,
          podWith("b", {
            resources: { requests: { cpu: "100m", memory: "20Mi" }, limits: { cpu: "500m", memory: "2Gi" } },
          }),
        )
        .post(
          `${ns}/pods`,
          podWith("c", {
            resources: { requests: { cpu: "1", memory: "20Mi" }, limits: { cpu: "2", memory: "1Gi" } },
          }),
        )
        .post(
          `${ns}/pods`,
          podWith("d", {
            resources: { requests: { cpu: "1", memory: "20Mi" }, limits: { cpu: "1", memory: "1Gi" } },
          }),
          podResources,
        )
        .post(`${ns}/persistentvolumeclaims`, {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          metadata: { name: "c" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "10Gi" } } },
        })
        .post(`${ns}/persistentvolumeclaims`, {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          metadata: { name: "c" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Mi" } } },
        }),
    { account: true },
  ),
  test("LimitRange create: invalid limits", (t) => {
    for (const l of [
      [{ type: "Bogus" }],
      [{}],
      [{ type: "Container", max: { cpu: "1" }, min: { cpu: "2" } }],
      [{ type: "Container", default: { cpu: "3" }, max: { cpu: "1" } }],
      [{ type: "Container", defaultRequest: { cpu: "1" }, default: { cpu: "500m" } }],
      [{ type: "Pod", default: { cpu: "1" } }],
      [{ type: "PersistentVolumeClaim" }],
      [{ type: "Container", maxLimitRequestRatio: { cpu: "0.5" } }],
      [{ type: "Container", max: { cpu: "1" }, maxLimitRequestRatio: { cpu: "4" }, min: { cpu: "500m" } }],
      [{ type: "Container", max: { "bad name": "1" } }],
      [
        { type: "Container", max: { cpu: "1" } },
        { type: "Container", max: { cpu: "2" } },
      ],
      [{ type: "Container", max: { cpu: "1", memory: "1Gi" } }],
    ])
      t.post(`${ns}/limitranges`, limitRange(...l), dryRun);
  }),
];
