import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deployment, replicaSet } from "../../test/builders.ts";
import { isSaturated, isScalingEvent, newSetSize, oldSetSizes, proportionalSizes } from "./scaling.ts";

const sized = (name: string, replicas: number, available = replicas, desired?: number, max?: number) =>
  replicaSet({
    name,
    spec: { replicas },
    status: { replicas, availableReplicas: available },
    annotations: {
      ...(desired === undefined ? {} : { "deployment.kubernetes.io/desired-replicas": String(desired) }),
      ...(max === undefined ? {} : { "deployment.kubernetes.io/max-replicas": String(max) }),
    },
  });

describe("the new set grows", () => {
  test("to the surge above what all sets have", () => {
    expect(newSetSize(deployment({ spec: { replicas: 4 } }), 4, 0)).toBe(1);
    expect(newSetSize(deployment({ spec: { replicas: 10 } }), 10, 0)).toBe(3);
  });

  test("not at all when the surge is used up", () => {
    expect(newSetSize(deployment({ spec: { replicas: 4 } }), 5, 1)).toBe(1);
  });

  test("at once where nothing is rolled", () => {
    expect(newSetSize(deployment({ spec: { replicas: 3, strategy: { type: "Recreate" } } }), 9, 0)).toBe(3);
  });
});

describe("old sets shrink", () => {
  test("first by what is not available anyway", () => {
    const broken = sized("broken", 2, 0);
    const good = sized("good", 3);
    const newest = sized("new", 1, 1);
    const sizes = oldSetSizes(deployment({ spec: { replicas: 4 } }), newest, [broken, good]);
    expect(sizes.map(({ set, replicas }) => [set.metadata.name, replicas])).toEqual([
      ["broken", 0],
      ["good", 2],
    ]);
  });

  test("not below what must stay available", () => {
    expect(oldSetSizes(deployment({ spec: { replicas: 3 } }), sized("new", 1, 0), [sized("old", 3)])).toEqual(
      [],
    );
  });
});

describe("a new size in the middle of a rollout", () => {
  test("is noticed by the size that sets remember", () => {
    const d = deployment({ spec: { replicas: 5 } });
    expect(isScalingEvent(d, [sized("a", 3, 3, 3)])).toBe(true);
    expect(isScalingEvent(d, [sized("a", 3, 3, 5)])).toBe(false);
    expect(isScalingEvent(d, [sized("a", 0, 0, 3)])).toBe(false);
  });

  test("is shared in proportion", () => {
    const d = deployment({
      spec: { replicas: 20, strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } },
    });
    const sizes = proportionalSizes(d, [sized("a", 6, 6, 10, 10), sized("b", 4, 4, 10, 10)]);
    expect(sizes.map(({ replicas }) => replicas)).toEqual([12, 8]);
  });

  test("always sums up to what the deployment may have", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 60 }),
        (counts, replicas) => {
          const before = counts.reduce((sum, count) => sum + count, 0);
          const d = deployment({
            spec: { replicas, strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } },
          });
          const sets = counts.map((count, index) => sized(`s${index}`, count, count, before, before));
          const sizes = proportionalSizes(d, sets).map((each) => each.replicas);
          expect(sizes.every((size) => size >= 0)).toBe(true);
          expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(replicas);
        },
      ),
    );
  });

  test("removes everything when there shall be nothing", () => {
    const d = deployment({ spec: { replicas: 0 } });
    expect(
      proportionalSizes(d, [sized("a", 2, 2, 3, 4), sized("b", 1, 1, 3, 4)]).map((each) => each.replicas),
    ).toEqual([0, 0]);
  });
});

test("the new set is saturated when all of it is available", () => {
  const d = deployment({ spec: { replicas: 2 } });
  expect(isSaturated(d, sized("a", 2, 2, 2))).toBe(true);
  expect(isSaturated(d, sized("a", 2, 1, 2))).toBe(false);
  expect(isSaturated(d, undefined)).toBe(false);
});
