import { isTolerated, matchesNode, requiredNodeNames, untolerated } from "@keelson/workloads";
import { describe, expect, test } from "vitest";
import { at, node, start } from "../../test/builders.ts";
import { conditionTaints } from "./condition-taints.ts";
import { evictionTimeMs } from "./eviction-time.ts";
import { observe, patienceMs, silentConditions } from "./node-health.ts";

const ready = (status: "True" | "False" | "Unknown", heartbeat = 0) => ({
  conditions: [{ type: "Ready", status, lastHeartbeatTime: at(heartbeat), lastTransitionTime: at(0) }],
});
const lease = (renewTime: string) => ({ spec: { renewTime } }) as Parameters<typeof observe>[2];

const after = (ms: number) => ({ nowMs: start + ms, monotonicMs: 5_000 + ms });

describe("a node's health", () => {
  test("lasts as long as its lease is renewed or its status changes", () => {
    const n = node({ status: ready("True") });
    const first = observe(undefined, n, lease("2026-01-01T00:00:00.000000Z"), after(0));
    const silent = observe(first, n, lease("2026-01-01T00:00:00.000000Z"), after(20_000));
    expect(patienceMs(silent, n, {}, after(20_000))).toBe(30_000);
    const renewed = observe(silent, n, lease("2026-01-01T00:00:20.000000Z"), after(20_000));
    expect(patienceMs(renewed, n, {}, after(20_000))).toBe(50_000);
    const spoke = observe(
      silent,
      node({ status: ready("True", 20) }),
      lease("2026-01-01T00:00:00.000000Z"),
      after(20_000),
    );
    expect(patienceMs(spoke, n, {}, after(20_000))).toBe(50_000);
  });

  test("of one that never spoke is judged from its birth", () => {
    const mute = node({ status: { conditions: [] } });
    const health = observe(undefined, mute, undefined, after(59_000));
    expect(patienceMs(health, mute, {}, after(59_000))).toBe(1_000);
    expect(
      silentConditions(mute, start).map(({ type, status, reason }) => `${type} ${status} ${reason}`),
    ).toContain("Ready Unknown NodeStatusNeverUpdated");
  });

  test("does not end by a clock that is set, or a machine that slept", () => {
    const n = node({ status: ready("True") });
    const renewal = lease("2026-01-01T00:00:00.000000Z");
    const first = observe(undefined, n, renewal, after(0));
    const later = { ...after(10_000), nowMs: start + 3_600_000 };
    expect(patienceMs(observe(first, n, renewal, later), n, {}, later)).toBe(40_000);
  });

  test("that is lost is unknown, once", () => {
    const lost = silentConditions(node({ status: ready("True") }), start);
    expect(lost[0]).toMatchObject({
      status: "Unknown",
      reason: "NodeStatusUnknown",
      message: "Kubelet stopped posting node status.",
    });
    const again = node({ status: { conditions: [...lost] } });
    expect(silentConditions(again, start)).toBe(again.status?.conditions);
  });
});

describe("taints follow conditions", () => {
  const keys = (n: ReturnType<typeof node>, evicts = true) =>
    conditionTaints(n, evicts, start).map(({ key, effect }) => `${key}:${effect}`);

  test("a ready node has none of ours, and keeps those of others", () => {
    const taints = [
      { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" as const },
      { key: "mine", effect: "NoSchedule" as const },
    ];
    expect(keys(node({ spec: { taints }, status: ready("True") }))).toEqual(["mine:NoSchedule"]);
  });

  test("one that is silent keeps pods away and drives them out", () => {
    expect(keys(node({ status: ready("Unknown") }))).toEqual([
      "node.kubernetes.io/unreachable:NoSchedule",
      "node.kubernetes.io/unreachable:NoExecute",
    ]);
  });

  test("nothing is driven out while no node is ready", () => {
    expect(keys(node({ status: ready("False") }), false)).toEqual([
      "node.kubernetes.io/not-ready:NoSchedule",
    ]);
  });

  test("one that has said nothing yet loses the taint that it was born with", () => {
    const taints = [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" as const }];
    expect(keys(node({ spec: { taints } }))).toEqual([]);
  });

  test("a cordon is a taint too", () => {
    expect(keys(node({ spec: { unschedulable: true } }))).toEqual([
      "node.kubernetes.io/unschedulable:NoSchedule",
    ]);
  });

  test("what is right already is left as it is", () => {
    const tainted = node({ spec: { taints: [{ key: "x", effect: "NoExecute" }] } });
    expect(conditionTaints(tainted, true, start)).toBe(tainted.spec.taints);
  });
});

describe("a pod leaves a tainted node", () => {
  const taint = { key: "k", effect: "NoExecute" as const, timeAdded: at(0) };

  test("at once when it does not tolerate the taint", () => {
    expect(evictionTimeMs([taint], [], start + 5)).toBe(start + 5);
  });

  test("after the seconds that it tolerates it for", () => {
    const tolerations = [{ key: "k", operator: "Exists" as const, tolerationSeconds: 30 }];
    expect(evictionTimeMs([taint], tolerations, start + 5)).toBe(start + 30_000);
  });

  test("never when it tolerates it for ever, or the taint only keeps others away", () => {
    expect(evictionTimeMs([taint], [{ operator: "Exists" }], start)).toBeUndefined();
    expect(evictionTimeMs([{ key: "k", effect: "NoSchedule" }], [], start)).toBeUndefined();
  });
});

describe("tolerations", () => {
  const taint = { key: "k", value: "v", effect: "NoSchedule" as const };

  test("match by key, value and effect", () => {
    expect(isTolerated(taint, [{ key: "k", operator: "Equal", value: "v" }])).toBe(true);
    expect(isTolerated(taint, [{ key: "k", operator: "Equal", value: "other" }])).toBe(false);
    expect(isTolerated(taint, [{ key: "k", operator: "Exists", effect: "NoExecute" }])).toBe(false);
    expect(isTolerated(taint, [{ operator: "Exists" }])).toBe(true);
  });

  test("only effects that are asked for count", () => {
    expect(untolerated([taint], [], ["NoExecute"])).toBeUndefined();
    expect(untolerated([taint], [], ["NoSchedule"])).toBe(taint);
  });
});

describe("node affinity", () => {
  const affinity = (nodeSelectorTerms: object[]) =>
    ({
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
    }) as Parameters<typeof matchesNode>[0];

  test("one of the terms must match, with all it asks for", () => {
    const n = node({ name: "n", labels: { zone: "a", size: "9" } });
    expect(matchesNode({ nodeSelector: { zone: "b" } }, n)).toBe(false);
    const zone = { key: "zone", operator: "In", values: ["a"] };
    const size = { key: "size", operator: "Gt", values: ["10"] };
    expect(matchesNode(affinity([{ matchExpressions: [zone, size] }]), n)).toBe(false);
    expect(matchesNode(affinity([{ matchExpressions: [size] }, { matchExpressions: [zone] }]), n)).toBe(true);
    expect(matchesNode(affinity([{}]), n)).toBe(false);
  });

  test("may name nodes", () => {
    const named = affinity([{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n"] }] }]);
    expect(requiredNodeNames(named)).toEqual(new Set(["n"]));
    expect(matchesNode(named, node({ name: "other" }))).toBe(false);
  });
});
