// Quotas and limit ranges: faults, and what they refuse.
import { cm, dryRun, ns, pod, test } from "../_lib.mjs";

export default [
  test(
    "ResourceQuota create: faults, and what a quota refuses",
    (t) => {
      t.post(`${ns}/resourcequotas`, {
        apiVersion: "v1",
        kind: "ResourceQuota",
        metadata: { name: "q" },
        spec: {
          hard: { "count/configmaps": "2", pods: "1", "requests.cpu": "1", secrets: "1", services: "1" },
        },
      })
        .merge(`${ns}/resourcequotas/q/status`, {
          status: {
            hard: { "count/configmaps": "2", pods: "1", "requests.cpu": "1", secrets: "1", services: "1" },
            used: { "count/configmaps": "0", pods: "0", "requests.cpu": "0", secrets: "0", services: "0" },
          },
        })
        .wait(400)
        .post(`${ns}/configmaps`, cm("a"), { ignoreBody: true })
        .post(`${ns}/configmaps`, cm("b"), { ignoreBody: true })
        .post(`${ns}/configmaps`, cm("c"))
        .post(`${ns}/pods`, pod("p"))
        .post(
          `${ns}/pods`,
          pod("p", { containers: [{ name: "c", image: "i", resources: { requests: { cpu: "2" } } }] }),
        )
        .post(
          `${ns}/pods`,
          pod("p", { containers: [{ name: "c", image: "i", resources: { requests: { cpu: "500m" } } }] }),
          { ignoreBody: true },
        )
        .post(
          `${ns}/pods`,
          pod("q", { containers: [{ name: "c", image: "i", resources: { requests: { cpu: "100m" } } }] }),
        )
        .get(`${ns}/resourcequotas/q`)
        .post(`${ns}/resourcequotas`, {
          apiVersion: "v1",
          kind: "ResourceQuota",
          metadata: { name: "bad" },
          spec: { hard: { bogus: "1", pods: "-1", "requests.cpu": "x" } },
        })
        .post(`${ns}/resourcequotas`, {
          apiVersion: "v1",
          kind: "ResourceQuota",
          metadata: { name: "bad" },
          spec: { hard: { pods: "-1", bogus: "1" }, scopes: ["Bogus"] },
        });
    },
    { account: true },
  ),
  test(
    "LimitRange create: faults, and what a limit range refuses",
    (t) => {
      const limitRange = (limits) => ({
        apiVersion: "v1",
        kind: "LimitRange",
        metadata: { name: "l" },
        spec: { limits },
      });
      for (const l of [
        [{ type: "Bogus" }],
        [{ type: "Container", max: { cpu: "1" }, min: { cpu: "2" } }],
        [{ type: "Container", default: { cpu: "3" }, max: { cpu: "1" } }],
        [{ type: "Pod", default: { cpu: "1" } }],
        [{ type: "Container" }, { type: "Container" }],
        [{ type: "PersistentVolumeClaim" }],
        [{ type: "Container", maxLimitRequestRatio: { cpu: "0" } }],
      ])
        t.post(`${ns}/limitranges`, limitRange(l), dryRun);
      t.post(
        `${ns}/limitranges`,
        limitRange([
          {
            type: "Container",
            max: { cpu: "1", memory: "1Gi" },
            min: { cpu: "100m" },
            defaultRequest: { cpu: "200m" },
          },
        ]),
        { ignoreBody: true },
      )
        .wait(500)
        .post(`${ns}/pods`, pod("p"))
        .post(
          `${ns}/pods`,
          pod("q", { containers: [{ name: "c", image: "i", resources: { limits: { cpu: "2" } } }] }),
        )
        .post(
          `${ns}/pods`,
          pod("r", { containers: [{ name: "c", image: "i", resources: { requests: { cpu: "50m" } } }] }),
        )
        .post(
          `${ns}/pods`,
          pod("s", {
            containers: [
              { name: "c", image: "i", resources: { requests: { cpu: "500m" }, limits: { memory: "2Gi" } } },
            ],
          }),
        );
    },
    { account: true },
  ),
];
