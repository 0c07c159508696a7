// Resource quota: what counts, in which scope, and which quota is valid.
import { apps, cm, deployment, dryRun, ns, silent, test } from "../_lib.mjs";
import { configMaps, podWith } from "./_builders.mjs";

const quota = (hard, rest = {}, name = "q") => ({
  apiVersion: "v1",
  kind: "ResourceQuota",
  metadata: { name },
  spec: { hard, ...rest },
});

export default [
  test(
    "ResourceQuota enforce: pods, requests, services and object counts",
    (t) =>
      t
        .post(
          `${ns}/resourcequotas`,
          quota({
            pods: "1",
            "requests.cpu": "1",
            "count/configmaps": "3",
            services: "1",
            "services.nodeports": "0",
            "count/deployments.apps": "1",
          }),
          silent,
        )
        .merge(
          `${ns}/resourcequotas/q/status`,
          {
            status: {
              hard: {
                pods: "1",
                "requests.cpu": "1",
                "count/configmaps": "3",
                services: "1",
                "services.nodeports": "0",
                "count/deployments.apps": "1",
              },
              used: {
                pods: "0",
                "requests.cpu": "0",
                "count/configmaps": "1",
                services: "0",
                "services.nodeports": "0",
                "count/deployments.apps": "0",
              },
            },
          },
          silent,
        )
        .wait(300)
        .post(`${ns}/pods`, podWith("a"))
        .post(`${ns}/pods`, podWith("a", { resources: { requests: { cpu: "2" } } }))
        .post(`${ns}/pods`, podWith("a", { resources: { requests: { cpu: "500m" } } }), { ignoreBody: true })
        .post(`${ns}/pods`, podWith("b", { resources: { requests: { cpu: "100m" } } }))
        .post(configMaps, cm("a"), { ignoreBody: true })
        .post(configMaps, cm("b"), { ignoreBody: true })
        .post(configMaps, cm("c"))
        .post(`${ns}/services`, {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: "s" },
          spec: { type: "NodePort", ports: [{ port: 1 }] },
        })
        .post(`${apps}/deployments`, deployment("d"), { ignoreBody: true })
        .post(`${apps}/deployments`, deployment("e"))
        .get(`${ns}/resourcequotas/q`, { pick: (b) => b.status })
        .post(configMaps, cm("z"), dryRun),
    { account: true },
  ),
  test(
    "ResourceQuota enforce: scopes and scope selectors",
    (t) =>
      t
        .post(`${ns}/resourcequotas`, quota({ pods: "0" }, { scopes: ["BestEffort"] }), silent)
        .merge(
          `${ns}/resourcequotas/q/status`,
          { status: { hard: { pods: "0" }, used: { pods: "0" } } },
          silent,
        )
        .post(
          `${ns}/resourcequotas`,
          quota(
            { pods: "0" },
            {
              scopeSelector: {
                matchExpressions: [
                  { scopeName: "PriorityClass", operator: "In", values: ["system-node-critical"] },
                ],
              },
            },
            "r",
          ),
          silent,
        )
        .merge(
          `${ns}/resourcequotas/r/status`,
          { status: { hard: { pods: "0" }, used: { pods: "0" } } },
          silent,
        )
        .wait(300)
        .post(`${ns}/pods`, podWith("a"))
        .post(`${ns}/pods`, podWith("b", { resources: { requests: { cpu: "1" } } }), { ignoreBody: true })
        .post(
          `${ns}/pods`,
          podWith(
            "c",
            { resources: { requests: { cpu: "1" } } },
            { priorityClassName: "system-node-critical" },
          ),
        ),
    { account: true },
  ),
  test("ResourceQuota create: invalid resources, scopes and status", (t) => {
    for (const q of [
      quota({ pods: "-1" }),
      quota({ bogus: "1" }),
      quota({ "example.com/x": "1" }),
      quota({ "requests.example.com/x": "1" }),
      quota({ pods: "1.5" }),
      quota({ pods: "1" }, { scopes: ["Bogus"] }),
      quota({ "requests.storage": "1" }, { scopes: ["BestEffort"] }),
      quota({ pods: "1" }, { scopes: ["BestEffort", "NotBestEffort"] }),
      quota(
        { pods: "1" },
        { scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator: "In" }] } },
      ),
      quota(
        { pods: "1" },
        { scopeSelector: { matchExpressions: [{ scopeName: "BestEffort", operator: "In", values: ["x"] }] } },
      ),
      quota({
        "gold.storageclass.storage.k8s.io/requests.storage": "1Gi",
        "limits.cpu": "100m",
        "count/x.y": "1",
      }),
    ])
      t.post(`${ns}/resourcequotas`, q, dryRun);
    t.post(`${ns}/resourcequotas`, quota({ pods: "1" }, { scopes: ["BestEffort"] }), silent)
      .merge(`${ns}/resourcequotas/q`, { spec: { scopes: ["Terminating"] } })
      .merge(`${ns}/resourcequotas/q/status`, { status: { used: { pods: "-1" } } });
  }),
];
