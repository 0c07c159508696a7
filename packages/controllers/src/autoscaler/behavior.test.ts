import { describe, expect, test } from "vitest";
import { limited, type Memory } from "./behavior.ts";

const none: Memory = { recommendations: [], changes: [] };
const now = 1_000_000;
const move = (
  current: number,
  wanted: number,
  memory: Partial<Memory> = {},
  behavior: Parameters<typeof limited>[0]["behavior"] = undefined,
) => {
  const spec = { minReplicas: 2, maxReplicas: 20, ...(behavior && { behavior }) };
  const { replicas, limit } = limited(spec, current, wanted, { ...none, ...memory }, now);
  return `${replicas} ${limit.reason}`;
};
const ago = (seconds: number, replicas: number) => ({ atMs: now - seconds * 1000, replicas });

describe("by default", () => {
  test("up to twice as many, or four more, in fifteen seconds", () => {
    expect(move(3, 6)).toBe("6 DesiredWithinRange");
    expect(move(3, 15)).toBe("7 ScaleUpLimit");
    expect(move(8, 40)).toBe("16 ScaleUpLimit");
    expect(move(15, 40)).toBe("20 TooManyReplicas");
    expect(move(7, 15, { changes: [{ atMs: now - 5_000, by: 4 }] })).toBe("7 ScaleUpLimit");
    expect(move(7, 15, { changes: [{ atMs: now - 20_000, by: 4 }] })).toBe("14 ScaleUpLimit");
  });

  test("down to the most of the last five minutes", () => {
    expect(move(10, 3, { recommendations: [ago(299, 8)] })).toBe("8 DesiredWithinRange");
    expect(move(10, 3, { recommendations: [ago(301, 8)] })).toBe("3 DesiredWithinRange");
    expect(move(10, 1)).toBe("2 TooFewReplicas");
  });
});

describe("as it says itself", () => {
  test("a direction may be closed", () => {
    expect(move(3, 9, {}, { scaleUp: { selectPolicy: "Disabled" } })).toBe("3 ScaleUpLimit");
    expect(move(9, 3, {}, { scaleDown: { selectPolicy: "Disabled", stabilizationWindowSeconds: 0 } })).toBe(
      "9 ScaleDownLimit",
    );
  });

  test("steps and windows count", () => {
    const policies = [
      { type: "Pods", value: 1, periodSeconds: 60 },
      { type: "Percent", value: 50, periodSeconds: 60 },
    ];
    const down = (selectPolicy: string) => ({
      scaleDown: { policies, selectPolicy, stabilizationWindowSeconds: 0 },
    });
    expect(move(10, 2, {}, down("Max"))).toBe("5 ScaleDownLimit");
    expect(move(10, 2, {}, down("Min"))).toBe("9 ScaleDownLimit");
    const up = { scaleUp: { stabilizationWindowSeconds: 60 } };
    expect(move(3, 9, { recommendations: [ago(30, 4)] }, up)).toBe("4 DesiredWithinRange");
  });
});
