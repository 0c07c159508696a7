/** Rollouts that failed and growth that was refused are tried again, less and less often. */
import { describe, expect, test } from "vitest";
import { nowMs, template, three } from "../../test/decide/observed.ts";
import { failedRollout, failureOf } from "./failed-rollout.ts";
import { mayGrow, refusedGrowth } from "./refused-growth.ts";

const minuteMs = 60_000;
const at = (fromNowMs: number) => new Date(nowMs + fromNowMs).toISOString();

describe("a rollout that failed", () => {
  const before = { hash: template.hash, version: "3.6.16", message: "no" };
  const failed = (attempts?: number, hash = template.hash) =>
    failedRollout(
      three({ status: { failedRollout: { ...before, hash, attempts: attempts as number } } }),
      template,
      "no",
    );

  test.each([
    [1, 10],
    [2, 20],
    [6, 320],
    [7, 360],
    [50, 360],
  ])("after %i attempts, is tried again %i minutes later", (attempts, minutes) => {
    expect(failed(attempts)).toEqual({ ...before, attempts: attempts + 1, retryAt: at(minutes * minuteMs) });
  });

  test("for the first time is tried again after five minutes, and a record without a count is the first", () => {
    const first = { ...before, attempts: 1, retryAt: at(5 * minuteMs) };
    expect(failedRollout(three(), template, "no")).toEqual(first);
    expect(failed(3, "other")).toEqual(first);
    expect(failed(undefined)).toMatchObject({ attempts: 2 });
  });

  test.each([
    ["its pause is over", 1, 0, false],
    ["a millisecond of its pause is left", 1, 1, true],
    ["its pause has just begun", 1, 5 * minuteMs, true],
    ["more than its pause is left, as when the clock was set back", 1, 5 * minuteMs + 1, false],
    ["its second pause has just begun", 2, 10 * minuteMs, true],
    ["its pause has just begun, and nobody counted", undefined, 5 * minuteMs, true],
    ["more is left than the first pause, and nobody counted", undefined, 5 * minuteMs + 1, false],
  ] as const)("counts while %s: $3", (_, attempts, leftMs, counts) => {
    const failedRollout = { ...before, attempts: attempts as number, retryAt: at(leftMs) };
    expect(failureOf(three({ status: { failedRollout } }), template.hash) !== undefined).toBe(counts);
  });

  test("counts for ever where nobody says when it is tried again, and for its own template alone", () => {
    const observed = three({ status: { failedRollout: before } });
    expect(failureOf(observed, template.hash)).toEqual(before);
    expect(failureOf(observed, "other")).toBeUndefined();
  });
});

describe("growth that was refused", () => {
  const refusal = (change: object = {}) => ({
    status: { refusedGrowth: { size: "1Gi", message: "no", attempts: 1, ...change } },
  });

  test.each([
    [undefined, 0.5],
    [1, 1],
    [2, 2],
    [5, 10],
    [50, 10],
  ])("after %s refusals is tried again %s minutes later", (attempts, minutes) => {
    const observed = attempts === undefined ? three() : three(refusal({ attempts }));
    expect(refusedGrowth(observed, "no")).toEqual({
      size: "1Gi",
      message: "no",
      attempts: (attempts ?? 0) + 1,
      retryAt: at(minutes * minuteMs),
    });
  });

  test("of another size does not count", () => {
    const other = three(refusal({ size: "2Gi", retryAt: at(1) }));
    expect(refusedGrowth(other, "no")).toMatchObject({ attempts: 1 });
    expect(mayGrow(other)).toBe(true);
  });

  test.each([
    ["its pause is over", 1, 0, true],
    ["a millisecond of its pause is left", 1, 1, false],
    ["its pause has just begun", 1, 30_000, false],
    ["more than its pause is left, as when the clock was set back", 1, 30_001, true],
    ["its second pause has just begun", 2, minuteMs, false],
    ["its pause has just begun, and nobody counted", undefined, 30_000, false],
    ["more is left than the first pause, and nobody counted", undefined, 30_001, true],
  ] as const)("is tried again when %s: $3", (_, attempts, leftMs, may) => {
    expect(mayGrow(three(refusal({ attempts, retryAt: at(leftMs) })))).toBe(may);
  });
});
