import type { PodObject } from "@keelson/workloads";
import { describe, expect, it } from "vitest";
import {
  type BudgetObject,
  budgetStatus,
  deletionTimeoutMs,
  disruptedPods,
  expectedOf,
  failedStatus,
} from "./budget-status.ts";

const nowMs = Date.UTC(2026, 0, 1, 12);

function budget(spec: BudgetObject["spec"], status?: BudgetObject["status"]): BudgetObject {
  return { metadata: { name: "b", namespace: "n", generation: 1 }, spec, status } as BudgetObject;
}

function pod(name: string, ready = true, deleted = false): PodObject {
  return {
    metadata: { name, ...(deleted ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}) },
    status: { conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
  } as PodObject;
}

function statusOf(given: BudgetObject, pods: PodObject[]) {
  const disrupted = disruptedPods(given, pods, nowMs);
  return budgetStatus(given, { pods, disrupted, ...expectedOf(given, pods.length) }, nowMs);
}

describe("a disruption budget", () => {
  it("spares what is well beyond what must be", () => {
    const status = statusOf(budget({ minAvailable: 2 }), [pod("a"), pod("b"), pod("c"), pod("d", false)]);
    expect(status).toMatchObject({
      currentHealthy: 3,
      desiredHealthy: 2,
      expectedPods: 4,
      disruptionsAllowed: 1,
      conditions: [{ type: "DisruptionAllowed", status: "True", reason: "SufficientPods", message: "" }],
    });
  });

  it("rounds shares up, of what must stay and of what may go", () => {
    expect(expectedOf(budget({ minAvailable: "50%" }), 3)).toEqual({ expectedPods: 3, desiredHealthy: 2 });
    expect(expectedOf(budget({ maxUnavailable: "50%" }), 3)).toEqual({ expectedPods: 3, desiredHealthy: 1 });
    expect(expectedOf(budget({ maxUnavailable: 5 }), 3)).toEqual({ expectedPods: 3, desiredHealthy: 0 });
  });

  it("allows nothing without pods", () => {
    expect(statusOf(budget({ minAvailable: 0 }), [])).toMatchObject({
      disruptionsAllowed: 0,
      conditions: [{ status: "False", reason: "InsufficientPods" }],
    });
  });

  it("says again why it allows nothing when it can be counted again", () => {
    const failed = failedStatus(budget({ minAvailable: 1 }), "found no controllers", nowMs);
    const status = statusOf(budget({ minAvailable: 1 }, failed), [pod("a")]);
    expect(failed.conditions).toMatchObject([{ status: "False", reason: "SyncFailed" }]);
    expect(status?.conditions).toMatchObject([{ status: "False", reason: "InsufficientPods", message: "" }]);
  });

  it("allows nothing where nobody says how many pods there should be", () => {
    const shared = budget({ maxUnavailable: 1 });
    const lone = [pod("a")];
    const disrupted = disruptedPods(shared, lone, nowMs);
    const status = budgetStatus(shared, { pods: lone, disrupted, ...expectedOf(shared, 0) }, nowMs);
    expect(status).toMatchObject({ currentHealthy: 1, expectedPods: 0, disruptionsAllowed: 0 });
  });

  it("counts a pod that was promised to an eviction as gone, until the promise runs out", () => {
    const promised = budget({ minAvailable: 1 }, { disruptedPods: { a: "2026-01-01T11:59:00Z" } });
    expect(statusOf(promised, [pod("a"), pod("b")])).toMatchObject({ currentHealthy: 1 });
    expect(disruptedPods(promised, [pod("a")], nowMs).recheckMs).toBe(deletionTimeoutMs - 60_000);
    const old = budget({ minAvailable: 1 }, { disruptedPods: { a: "2026-01-01T11:00:00Z" } });
    expect(statusOf(old, [pod("a"), pod("b")])).toMatchObject({ currentHealthy: 2 });
    expect(statusOf(old, [pod("a"), pod("b")])).not.toHaveProperty("disruptedPods");
    expect(disruptedPods(old, [pod("a")], nowMs).overdue).toHaveLength(1);
  });

  it("forgets promises about pods that are being deleted", () => {
    const promised = budget({ minAvailable: 1 }, { disruptedPods: { a: "2026-01-01T11:59:00Z" } });
    expect(disruptedPods(promised, [pod("a", true, true)], nowMs).pods).toEqual({});
  });

  it("has nothing to write when all is written", () => {
    const first = budget({ minAvailable: 1 });
    const status = statusOf(first, [pod("a"), pod("b")]);
    expect(statusOf({ ...first, ...(status ? { status } : {}) }, [pod("a"), pod("b")])).toBeUndefined();
  });
});
