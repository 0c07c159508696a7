import { describe, expect, test } from "vitest";
import { pod } from "../../test/builders.ts";
import { IndexSet } from "./indexes.ts";
import { isFailureCounted, matchFailurePolicy, matchSuccessPolicy } from "./policies.ts";

describe("failure policy", () => {
  const failed = pod({ name: "p", phase: "Failed", exitCode: 42 });

  test("the first rule that matches decides, and says so", () => {
    const policy = {
      rules: [
        { action: "Ignore" as const, onExitCodes: { operator: "In" as const, values: [1] } },
        { action: "FailJob" as const, onExitCodes: { operator: "NotIn" as const, values: [1, 2] } },
      ],
    };
    expect(matchFailurePolicy(policy, failed)).toEqual({
      action: "FailJob",
      message: "Container main for pod default/p failed with exit code 42 matching FailJob rule at index 1",
    });
  });

  test("a rule may look at conditions", () => {
    const disrupted = structuredClone(failed);
    disrupted.status?.conditions?.push({ type: "DisruptionTarget", status: "True" });
    const policy = {
      rules: [{ action: "Ignore" as const, onPodConditions: [{ type: "DisruptionTarget", status: "True" }] }],
    };
    expect(isFailureCounted(policy, disrupted)).toBe(false);
    expect(isFailureCounted(policy, failed)).toBe(true);
  });

  test("a rule for one container does not look at others", () => {
    const onExitCodes = { containerName: "other", operator: "In" as const, values: [42] };
    expect(matchFailurePolicy({ rules: [{ action: "FailJob", onExitCodes }] }, failed)).toBeUndefined();
  });
});

describe("success policy", () => {
  const done = IndexSet.of([0, 2, 3]);

  test("wants these indexes, or so many of them", () => {
    expect(matchSuccessPolicy({ rules: [{ succeededIndexes: "0-1" }] }, 5, done)).toBeUndefined();
    expect(matchSuccessPolicy({ rules: [{ succeededIndexes: "2-3" }] }, 5, done)).toBe(
      "Matched rules at index 0",
    );
    expect(
      matchSuccessPolicy({ rules: [{ succeededIndexes: "0-3", succeededCount: 3 }] }, 5, done),
    ).toBeDefined();
  });

  test("wants so many of any", () => {
    expect(matchSuccessPolicy({ rules: [{ succeededCount: 4 }, { succeededCount: 3 }] }, 5, done)).toBe(
      "Matched rules at index 1",
    );
  });
});
