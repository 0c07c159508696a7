import { podRequests } from "@keelson/workloads";
import { describe, expect, test } from "vitest";
import { node, pod } from "../../test/builders.ts";
import { decide } from "./decide.ts";
import { preempt } from "./preemption.ts";
import { Snapshot, type StorageView } from "./view/snapshot.ts";

const noStorage: StorageView = {
  claim: () => undefined,
  volume: () => undefined,
  volumesOfClass: () => [],
  storageClass: () => undefined,
};
type Placed = { pod: ReturnType<typeof pod>; node: string };
const cluster = (nodes: ReturnType<typeof node>[], assigned: Placed[] = [], storage = noStorage) =>
  Snapshot.of({ nodes, assigned, namespaces: [], storage });

const asking = (cpu: string, options: Parameters<typeof pod>[0] = {}) =>
  pod({
    ...options,
    spec: { containers: [{ name: "m", resources: { requests: { cpu } } }], ...options.spec },
  });

function outcome(p: ReturnType<typeof pod>, snapshot: Snapshot): string {
  const decision = decide(p, snapshot);
  if ("node" in decision) return decision.node.name;
  if (decision.isHopeless) return decision.message;
  const outcome = preempt(p, decision, snapshot, () => false);
  if ("message" in outcome) return `${decision.message} ${outcome.message}`;
  const { node: where, victims } = outcome.sacrifice;
  return `${where.name} without ${victims.map(({ metadata }) => metadata.name).join(", ")}`;
}

const three = () =>
  ["a", "b", "c"].map((name) => node({ name, labels: { zone: name === "c" ? "z2" : "z1" } }));

describe("a pod goes", () => {
  test("to the node with the most room", () => {
    const busy = { pod: asking("3", { name: "busy" }), node: "a" };
    expect(outcome(asking("500m"), cluster(three(), [busy]))).not.toBe("a");
  });

  test("where no sibling is yet", () => {
    const owner = { kind: "ReplicaSet", metadata: { ...pod().metadata, name: "rs", uid: "rs" } };
    const sibling = (on: string) => ({ pod: pod({ owner }), node: on });
    expect(outcome(pod({ owner }), cluster(three(), [sibling("a"), sibling("b")]))).toBe("c");
  });

  test("always to the same of two equal nodes", () => {
    expect(outcome(pod(), cluster(three()))).toBe("a");
    expect(outcome(pod(), cluster(three().reverse()))).toBe("a");
  });
});

describe("a pod that fits nowhere says why", () => {
  test("without nodes", () => {
    expect(outcome(pod(), cluster([]))).toBe("no nodes available to schedule pods");
  });

  test("by selector and by size, counted per node", () => {
    const lost = pod({ spec: { nodeSelector: { zone: "nowhere" } } });
    expect(outcome(lost, cluster(three()))).toBe(
      "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, " +
        "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
    );
    const big = asking("64", { spec: { nodeSelector: { zone: "z2" } } });
    expect(outcome(big, cluster(three()))).toBe(
      "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match Pod's node affinity/selector. no new claims " +
        "to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
    );
  });

  test("by what others take: then their leaving would help, if they were less important", () => {
    const full = three().map(({ metadata }) => ({ pod: asking("4"), node: metadata.name }));
    expect(outcome(asking("1"), cluster(three(), full))).toBe(
      "0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are available: " +
        "3 No preemption victims found for incoming pod.",
    );
    const meek = asking("1", { spec: { preemptionPolicy: "Never" } });
    expect(outcome(meek, cluster(three(), full))).toMatch(
      /preemption: not eligible due to preemptionPolicy=Never\.$/,
    );
  });

  test("by taints, cordons and ports", () => {
    const nodes = [
      node({ name: "a", spec: { taints: [{ key: "x", effect: "NoSchedule" }] } }),
      node({ name: "b", spec: { unschedulable: true } }),
      node({ name: "c" }),
    ];
    const onPort = () =>
      pod({ spec: { containers: [{ name: "m", ports: [{ containerPort: 80, hostPort: 80 }] }] } });
    expect(outcome(onPort(), cluster(nodes, [{ pod: onPort(), node: "c" }]))).toMatch(
      /^0\/3 nodes are available: 1 node\(s\) didn't have free ports for the requested pod ports, 1 node\(s\) had untolerated taint\(s\), 1 node\(s\) were unschedulable\./,
    );
  });

  test("by pods that must not be near", () => {
    const term = { topologyKey: "zone", labelSelector: { matchLabels: { app: "d" } } };
    const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } };
    const one = () => pod({ labels: { app: "d" }, spec: { affinity } });
    expect(outcome(one(), cluster(three(), [{ pod: one(), node: "a" }]))).toBe("c");
    const both = [
      { pod: one(), node: "a" },
      { pod: one(), node: "c" },
    ];
    expect(outcome(one(), cluster(three(), both))).toMatch(
      /3 node\(s\) didn't match pod anti-affinity rules/,
    );
    expect(outcome(pod({ labels: { app: "d" } }), cluster(three(), both))).toMatch(
      /3 node\(s\) didn't satisfy existing pods anti-affinity rules/,
    );
  });

  test("by pods that must be near, unless it is the first of them", () => {
    const near = (app: string) => ({
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app } } },
        ],
      },
    });
    const friend = { pod: pod({ labels: { app: "db" } }), node: "b" };
    expect(outcome(pod({ spec: { affinity: near("db") } }), cluster(three(), [friend]))).toBe("b");
    expect(outcome(pod({ spec: { affinity: near("nobody") } }), cluster(three(), [friend]))).toMatch(
      /3 node\(s\) didn't match pod affinity rules/,
    );
    expect(
      outcome(pod({ labels: { app: "self" }, spec: { affinity: near("self") } }), cluster(three())),
    ).toBe("a");
  });

  test("by how pods are spread", () => {
    const topologySpreadConstraints = [
      {
        maxSkew: 1,
        topologyKey: "zone",
        whenUnsatisfiable: "DoNotSchedule" as const,
        labelSelector: { matchLabels: { app: "d" } },
      },
    ];
    const one = () => pod({ labels: { app: "d" }, spec: { topologySpreadConstraints } });
    expect(outcome(one(), cluster(three(), [{ pod: one(), node: "a" }]))).toBe("c");
    expect(outcome(one(), cluster([node({ name: "bare" })]))).toMatch(
      /1 node\(s\) didn't match pod topology spread constraints \(missing required label\)/,
    );
  });

  test("by claims", () => {
    const using = pod({ spec: { volumes: [{ name: "v", persistentVolumeClaim: { claimName: "c" } }] } });
    expect(outcome(using, cluster(three()))).toBe(
      '0/3 nodes are available: persistentvolumeclaim "c" not found. not found',
    );
    const unbound = { metadata: { name: "c" }, spec: {} } as ReturnType<StorageView["claim"]>;
    expect(outcome(using, cluster(three(), [], { ...noStorage, claim: () => unbound }))).toMatch(
      /pod has unbound immediate PersistentVolumeClaims/,
    );
  });

  test("by the node that it is meant for alone", () => {
    const terms = [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["a"] }] }];
    const affinity = {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } },
    } as NonNullable<ReturnType<typeof pod>["spec"]["affinity"]>;
    expect(outcome(asking("64", { spec: { affinity } }), cluster(three()))).toMatch(
      /1 Insufficient cpu, 2 node\(s\) didn't satisfy plugin\(s\) \[NodeAffinity\]/,
    );
  });
});

describe("a pod that matters more", () => {
  const of = (priority: number, cpu: string, name: string) => asking(cpu, { name, spec: { priority } });
  const full = [
    { pod: of(5, "2", "a-large"), node: "a" },
    { pod: of(1, "1", "a-small"), node: "a" },
    { pod: of(1, "1", "a-other"), node: "a" },
    { pod: of(7, "4", "b-all"), node: "b" },
    { pod: of(9, "4", "c-all"), node: "c" },
  ];

  test("sends away the fewest of the least important", () => {
    expect(outcome(of(8, "1", "p"), cluster(three(), full))).toBe("a without a-other");
    expect(outcome(of(8, "2", "p"), cluster(three(), full))).toBe("a without a-small, a-other");
    expect(outcome(of(8, "4", "p"), cluster(three(), full))).toBe("a without a-large, a-small, a-other");
  });

  test("sends nobody away who matters as much", () => {
    expect(outcome(of(1, "1", "p"), cluster(three(), full))).toMatch(/3 No preemption victims found/);
    expect(outcome(of(6, "4", "p"), cluster(three(), full))).toBe("a without a-large, a-small, a-other");
  });

  test("spares pods that a budget protects", () => {
    const decision = decide(of(8, "1", "p"), cluster(three(), full));
    if ("node" in decision) throw new Error("it fits");
    const result = preempt(
      of(8, "1", "p"),
      decision,
      cluster(three(), full),
      ({ metadata }) => metadata.name === "a-other",
    );
    expect("sacrifice" in result && result.sacrifice.victims.map(({ metadata }) => metadata.name)).toEqual([
      "a-small",
    ]);
  });

  test("finds its room kept from less important pods, and from nobody else", () => {
    const preemptor = of(8, "4", "preemptor");
    const snapshot = Snapshot.of({
      nodes: [node({ name: "a" })],
      assigned: [],
      nominated: [{ pod: preemptor, node: "a" }],
      namespaces: [],
      storage: noStorage,
    });
    const goes = (p: ReturnType<typeof pod>) => outcome(p, snapshot.seenBy(p));
    expect(goes(of(1, "1", "low"))).toMatch(/Insufficient cpu/);
    expect(goes(of(8, "1", "equal"))).toMatch(/Insufficient cpu/);
    expect(goes(of(9, "1", "high"))).toBe("a");
    expect(goes(preemptor)).toBe("a");
  });

  test("waits for those it sent away", () => {
    const leaving = of(1, "4", "leaving");
    leaving.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
    const p = of(8, "4", "p");
    p.status = { ...p.status, nominatedNodeName: "a" };
    expect(outcome(p, cluster([node({ name: "a" })], [{ pod: leaving, node: "a" }]))).toMatch(
      /preemption: not eligible due to a terminating pod on the nominated node\.$/,
    );
  });
});

test("a pod asks for what it needs at its most demanding moment", () => {
  const resources = (cpu: string) => ({ resources: { requests: { cpu } } });
  const spec = {
    containers: [{ name: "m", ...resources("1") }],
    initContainers: [
      { name: "side", restartPolicy: "Always" as const, ...resources("500m") },
      { name: "init", ...resources("2") },
    ],
    overhead: { cpu: "100m" },
  };
  expect(podRequests(spec).get("cpu")).toBe(2600);
  expect(podRequests({ ...spec, initContainers: [] }).get("cpu")).toBe(1100);
});
