import { describe, expect, test } from "vitest";
import { daemonSet, node, pod, start } from "../../test/builders.ts";
import { daemonPod, placeOn, targetNode } from "./daemon-pods.ts";
import { type DaemonInput, placement, rollingUpdate } from "./plan.ts";
import { daemonSetStatus } from "./status.ts";

const nodes = ["a", "b", "c"].map((name) => node({ name }));
const daemon = (on: string, hash = "new", options: Parameters<typeof pod>[0] = {}) =>
  pod({
    name: `d-${on}-${hash}`,
    node: on,
    ready: true,
    labels: { "controller-revision-hash": hash },
    ...options,
  });

function input(pods: ReturnType<typeof pod>[], spec: object = {}): DaemonInput {
  return {
    set: daemonSet({ spec }),
    nodes,
    podsByNode: Map.groupBy(pods, (each) => targetNode(each) ?? ""),
    hash: "new",
    nowMs: start + 100_000,
  };
}
const gone = ({ remove }: { remove: { metadata: { name: string } }[] }) =>
  remove.map(({ metadata }) => metadata.name);

describe("placement", () => {
  test("every node that lacks a daemon gets one", () => {
    expect(placement(input([daemon("b")])).create).toEqual(["a", "c"]);
  });

  test("of two on a node the younger goes", () => {
    const pods = [daemon("a", "new", { name: "young", createdAt: 9 }), daemon("a", "new", { name: "old" })];
    expect(gone(placement(input([...pods, daemon("b"), daemon("c")])))).toEqual(["young"]);
  });

  test("a node that is not meant is cleared", () => {
    const chosen = {
      template: { spec: { containers: [], nodeSelector: { "kubernetes.io/hostname": "a" } } },
    };
    expect(gone(placement(input([daemon("a"), daemon("b")], chosen)))).toEqual(["d-b-new"]);
  });

  test("one that failed is told of, to be replaced", () => {
    const failed = daemon("a", "new", { phase: "Failed" });
    expect(placement(input([failed, daemon("b"), daemon("c")])).ended).toEqual([failed]);
  });
});

describe("a rolling update", () => {
  test("replaces as many at a time as may be missing", () => {
    const old = nodes.map(({ metadata }) => daemon(metadata.name, "old"));
    expect(gone(rollingUpdate(input(old)))).toEqual(["d-a-old"]);
  });

  test("waits for the one that is coming", () => {
    const coming = daemon("a", "new", { ready: false, phase: "Running" });
    expect(gone(rollingUpdate(input([coming, daemon("b", "old"), daemon("c", "old")])))).toEqual([]);
  });

  test("replaces what is broken anyway at once", () => {
    const broken = ["a", "b"].map((on) => daemon(on, "old", { ready: false, phase: "Running" }));
    expect(gone(rollingUpdate(input([...broken, daemon("c", "old")])))).toEqual(["d-a-old", "d-b-old"]);
  });

  const surge = { updateStrategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } };

  test("puts a new one beside the old where it may surge", () => {
    const old = nodes.map(({ metadata }) => daemon(metadata.name, "old"));
    expect(rollingUpdate(input(old, surge))).toEqual({ create: ["a"], remove: [] });
  });

  test("removes the old one when the new one is available", () => {
    const pods = [daemon("a", "old"), daemon("a"), daemon("b", "old"), daemon("c", "old")];
    expect(gone(rollingUpdate(input(pods, surge)))).toEqual(["d-a-old"]);
  });
});

test("a daemon puts up with a node that is not ready, and is meant for one node only", () => {
  const set = daemonSet();
  const made = daemonPod(set, "h", "a");
  expect(made.spec.tolerations).toContainEqual({
    key: "node.kubernetes.io/not-ready",
    operator: "Exists",
    effect: "NoExecute",
  });
  expect(targetNode({ ...pod(), spec: made.spec } as ReturnType<typeof pod>)).toBe("a");
});

test("a taint keeps daemons away, but not always out", () => {
  const tainted = (effect: "NoSchedule" | "NoExecute") => node({ spec: { taints: [{ key: "x", effect }] } });
  expect(placeOn(daemonSet(), tainted("NoSchedule"))).toEqual({ shouldRun: false, mayStay: true });
  expect(placeOn(daemonSet(), tainted("NoExecute"))).toEqual({ shouldRun: false, mayStay: false });
});

test("the status counts nodes, not pods", () => {
  const status = daemonSetStatus(
    input([daemon("a"), daemon("b", "old", { ready: false, phase: "Running" })]),
  );
  expect(status).toEqual({
    observedGeneration: 1,
    desiredNumberScheduled: 3,
    currentNumberScheduled: 2,
    numberMisscheduled: 0,
    numberReady: 1,
    numberAvailable: 1,
    numberUnavailable: 2,
    updatedNumberScheduled: 1,
  });
});
