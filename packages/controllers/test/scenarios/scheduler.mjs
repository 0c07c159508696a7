// Scheduling: constraints, reasons, preemption.
import {
  deployment,
  pod,
  replicaSet,
  scenario,
} from "../../../../conformance/controllers/scenarios/_lib.mjs";
import { noteScheduling } from "./_objects.mjs";

export default [
  scenario("Scheduler: more pods with a host port than nodes", async (s) => {
    const port = (n) =>
      pod(n, {
        pod: { containers: [{ name: "m", image: "x", ports: [{ containerPort: 80, hostPort: 8080 }] }] },
      });
    for (const n of ["a", "b", "c", "d"]) await s.create(port(n));
    await s.settle();
    await s.shot("three placed");
  }),
  scenario("Scheduler: topology spread over zones", async (s) => {
    const tsc = [
      {
        maxSkew: 1,
        topologyKey: "zone",
        whenUnsatisfiable: "DoNotSchedule",
        labelSelector: { matchLabels: { app: "d" } },
      },
    ];
    await s.apply(deployment("d", 4, { pod: { topologySpreadConstraints: tsc } }));
    await s.settle();
    await s.shot("even");
  }),
  scenario("Scheduler: topology spread by an unknown key", async (s) => {
    const tsc = [
      {
        maxSkew: 1,
        topologyKey: "nosuch",
        whenUnsatisfiable: "DoNotSchedule",
        labelSelector: { matchLabels: { app: "d" } },
      },
    ];
    await s.apply(deployment("d", 1, { pod: { topologySpreadConstraints: tsc } }));
    await s.settle();
    await s.shot("pending");
  }),
  scenario("Scheduler: pod affinity", async (s) => {
    await s.apply(deployment("a", 1));
    await s.settle();
    await s.apply(
      deployment("d", 2, {
        pod: {
          affinity: {
            podAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [
                { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "a" } } },
              ],
            },
          },
        },
      }),
    );
    await s.apply(
      deployment("e", 1, {
        pod: {
          affinity: {
            podAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [
                { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "nobody" } } },
              ],
            },
          },
        },
      }),
    );
    await s.settle();
    await s.shot("near");
  }),
  scenario("Scheduler: a pod with a scheduling gate, then without", async (s) => {
    await s.create(
      pod("p", {
        pod: { schedulingGates: [{ name: "example.com/wait" }], containers: [{ name: "m", image: "x" }] },
      }),
    );
    await s.settle();
    await s.shot("gated");
    await s.patch("Pod", "p", { spec: { schedulingGates: null } });
    await s.settle();
    await s.shot("released");
  }),
  scenario("Scheduler: more pods with anti-affinity than nodes", async (s) => {
    await s.apply(
      deployment("d", 4, {
        pod: {
          affinity: {
            podAntiAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [
                { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: "d" } } },
              ],
            },
          },
        },
      }),
    );
    await s.settle();
    await s.shot("one waits");
  }),
  scenario("Scheduler: host ports", async (s) => {
    await s.apply(
      deployment("d", 4, {
        pod: { containers: [{ name: "main", image: "x", ports: [{ containerPort: 80, hostPort: 30080 }] }] },
      }),
    );
    await s.settle();
    await s.shot("one waits");
  }),
  scenario("Scheduler: preferred node affinity", async (s) => {
    await s.create(
      pod("p", {
        pod: {
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["b"] }] }],
              },
            },
          },
        },
      }),
    );
    await s.create(
      pod("q", {
        pod: {
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: [
                  { matchExpressions: [{ key: "zone", operator: "NotIn", values: ["a", "b"] }] },
                ],
              },
            },
          },
        },
      }),
    );
    await s.settle();
    await s.shot("p in b, q nowhere");
  }),
  scenario("Scheduler: a pod that asks for another scheduler", async (s) => {
    await s.create(pod("p", { pod: { schedulerName: "other" } }));
    await s.settle();
    await s.shot("left alone");
  }),
  scenario("Scheduler: an empty list of gates releases a pod", async (s) => {
    await s.create(pod("p", { pod: { schedulingGates: [{ name: "example.com/wait" }] } }));
    await s.settle();
    await s.patch("Pod", "p", { spec: { schedulingGates: [] } });
    await s.settle();
    await s.shot("runs");
  }),
  scenario("Scheduler: required affinity and preferred anti-affinity", async (s) => {
    const term = { topologyKey: "zone", labelSelector: { matchLabels: { app: "base" } } };
    await s.create(pod("base", { node: { zone: "b" } }));
    await s.settle();
    const together = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    const apart = {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: term }],
      },
    };
    await s.apply(deployment("near", 2, { pod: { affinity: together } }));
    await s.settle();
    await s.apply(deployment("far", 1, { pod: { affinity: apart } }));
    await s.settle();
    const where = (await s.pods()).map((p) => [p.metadata.labels.app, p.spec.nodeName === "play-3"]);
    const value = JSON.stringify(where.sort());
    await s.create({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "note", annotations: { value } },
    });
    await s.shot("placed");
  }),
  scenario("Scheduler: reasons why pods are not scheduled", async (s) => {
    const taint = (taints) =>
      s.call("PATCH", "/api/v1/nodes/play-2", { spec: { taints } }, "application/merge-patch+json");
    await taint([{ key: "example.com/why", value: "x", effect: "NoSchedule" }]);
    const needs = (requests) => ({ containers: [{ name: "main", image: "x", resources: { requests } }] });
    const hostPort = {
      containers: [{ name: "main", image: "x", ports: [{ containerPort: 80, hostPort: 80 }] }],
    };
    const zone = (operator, values) => ({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator, values }] }],
          },
        },
      },
    });
    try {
      await s.create(pod("a", { pod: needs({ cpu: "9", memory: "20Gi" }) }));
      await s.create(pod("b", { pod: zone("In", ["c"]) }));
      await s.create(pod("c", { node: { zone: "a" }, pod: needs({ cpu: "9" }) }));
      const device = { "example.com/device": "1" };
      const limited = { containers: [{ name: "main", image: "x", resources: { limits: device } }] };
      await s.create(pod("d", { pod: limited }));
      await s.create(pod("e", { pod: needs({ "ephemeral-storage": "1Ti" }) }));
      for (const name of ["f", "g", "h"]) await s.create(pod(name, { pod: hostPort }));
      await s.settle(3000);
      await noteScheduling(s, "why");
      await s.shot("pending");
    } finally {
      await taint(null);
    }
  }),
  scenario("Scheduler: reasons of affinity and topology spread", async (s) => {
    const term = (app) => ({
      topologyKey: "kubernetes.io/hostname",
      labelSelector: { matchLabels: { app } },
    });
    const required = (kind, app) => ({
      affinity: { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: [term(app)] } },
    });
    const spread = (o) => ({
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: "nothing-has-it",
          whenUnsatisfiable: "DoNotSchedule",
          labelSelector: { matchLabels: { app: "x" } },
          ...o,
        },
      ],
    });
    await s.create(pod("a", { pod: required("podAffinity", "nobody") }));
    for (const name of ["b", "c", "d", "e"])
      await s.create(pod(name, { labels: { app: "lonely" }, pod: required("podAntiAffinity", "lonely") }));
    await s.create(pod("f", { labels: { app: "x" }, pod: spread({}) }));
    await s.create(pod("g", { labels: { app: "y" }, pod: spread({ topologyKey: "zone", minDomains: 5 }) }));
    await s.create(pod("h", { labels: { app: "x" }, pod: spread({ whenUnsatisfiable: "ScheduleAnyway" }) }));
    await s.settle(3000);
    await noteScheduling(s, "why");
    await s.shot("pending");
  }),
  scenario("Scheduler: a pod with nodeName, and one with another scheduler", async (s) => {
    await s.create(pod("a", { pod: { nodeName: "play-2" } }));
    await s.create(pod("b", { pod: { schedulerName: "other" } }));
    await s.settle();
    await s.shot("one runs");
  }),
  scenario("Scheduler: preemption", async (s) => {
    const half = { containers: [{ name: "main", image: "x", resources: { requests: { cpu: "5" } } }] };
    const path = "/apis/scheduling.k8s.io/v1/priorityclasses";
    const important = `${s.ns}-important`;
    await s.call("POST", path, {
      apiVersion: "scheduling.k8s.io/v1",
      kind: "PriorityClass",
      metadata: { name: important },
      value: 1000,
    });
    try {
      await s.apply(replicaSet("r", 3, { pod: half }));
      await s.settle();
      await s.create(pod("p", { pod: { ...half, priorityClassName: important } }));
      await s.settle(4000);
      await noteScheduling(s, "who");
      await s.shot("one of three waits");
    } finally {
      await s.call("DELETE", `${path}/${important}`);
    }
  }),
];
