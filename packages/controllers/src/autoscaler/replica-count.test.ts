import { describe, expect, test } from "vitest";
import { pod, start } from "../../test/builders.ts";
import { type MetricInput, replicasFor } from "./replica-count.ts";

const names = ["a", "b", "c"];
const running = (name: string, cpu = "100m", status: object = {}) => ({
  ...pod({ name, spec: { containers: [{ name: "m", resources: { requests: { cpu } } }] } }),
  status: {
    phase: "Running",
    startTime: new Date(start - 3_600_000).toISOString(),
    conditions: [{ type: "Ready", status: "True", lastTransitionTime: new Date(start).toISOString() }],
    ...status,
  } as never,
});
const input = (usage: Record<string, number>, more: Partial<MetricInput> = {}): MetricInput => ({
  resource: "cpu",
  target: { type: "Utilization", averageUtilization: 50 },
  pods: names.map((name) => running(name)),
  usage: new Map(Object.entries(usage)),
  current: 3,
  nowMs: start,
  ...more,
});
const replicas = (...args: Parameters<typeof input>) => replicasFor(input(...args)).replicas;

describe("by what pods use of what they request", () => {
  test("as many as bring it to the target", () => {
    expect(replicasFor(input({ a: 100, b: 90, c: 80 }))).toEqual({
      replicas: 6,
      averageValue: 90,
      averageUtilization: 90,
    });
    expect(replicas({ a: 10, b: 10, c: 10 })).toBe(1);
  });

  test("the same within a tenth of it", () => {
    expect(replicas({ a: 54, b: 55, c: 54 })).toBe(3);
    expect(replicas({ a: 46, b: 46, c: 46 })).toBe(3);
  });

  test("pods that are not measured keep it from scaling down, and slow it down up", () => {
    expect(replicas({ a: 10, b: 10 })).toBe(3);
    expect(replicas({ a: 200, b: 200 })).toBe(8);
  });

  test("pods that start do not count, however busy", () => {
    const starting = { phase: "Pending" };
    const pods = [running("a"), running("b"), running("c", "100m", starting)];
    expect(replicas({ a: 100, b: 100, c: 900 }, { pods })).toBe(4);
  });

  test("a request that is missing is named", () => {
    const bare = running("a", "100m");
    delete bare.spec.containers[0]?.resources;
    expect(() => replicas({ a: 1 }, { pods: [bare] })).toThrow(
      "missing request for cpu in container m of Pod a",
    );
  });
});

test("by what pods use on average", () => {
  const target = { type: "AverageValue", averageValue: "100m" };
  expect(replicasFor(input({ a: 150, b: 150, c: 300 }, { target }))).toEqual({
    replicas: 6,
    averageValue: 200,
  });
});

test("without pods nothing can be told", () => {
  expect(() => replicas({}, { pods: [] })).toThrow("no pods returned by selector");
  expect(() => replicas({})).toThrow("did not receive metrics for targeted pods");
});
