import { describe, expect, test } from "vitest";
import {
  findCondition,
  isConditionFalse,
  isConditionTrue,
  removeCondition,
  setCondition,
} from "./conditions.ts";
import type { Condition } from "./object.ts";

const before = "2026-01-01T00:00:00Z";
const now = "2026-01-02T00:00:00Z";
const ready: Condition = {
  type: "Ready",
  status: "True",
  lastTransitionTime: before,
  reason: "AllGood",
  message: "",
};
const other: Condition = { ...ready, type: "Other", status: "False" };

describe("conditions", () => {
  test("a new condition is added at the end with the time of now", () => {
    const list = setCondition([other], { type: "Ready", status: "True", reason: "R", message: "m" }, now);
    expect(list.map(({ type }) => type)).toEqual(["Other", "Ready"]);
    expect(findCondition(list, "Ready")?.lastTransitionTime).toBe(now);
  });

  test("the time moves with the status only", () => {
    const reason = setCondition([ready, other], { ...ready, reason: "Other", message: "changed" }, now);
    expect(reason[0]).toMatchObject({ lastTransitionTime: before, reason: "Other", message: "changed" });
    const status = setCondition(
      [ready, other],
      { type: "Ready", status: "False", reason: "Down", message: "" },
      now,
    );
    expect(status[0]).toMatchObject({ status: "False", lastTransitionTime: now });
    expect(status.map(({ type }) => type)).toEqual(["Ready", "Other"]);
  });

  test("what changes nothing returns the same list", () => {
    const list = [ready, other];
    expect(setCondition(list, { type: "Ready", status: "True", reason: "AllGood", message: "" }, now)).toBe(
      list,
    );
    expect(removeCondition(list, "Missing")).toBe(list);
  });

  test("the observed generation is a change", () => {
    const list = [ready];
    const next = setCondition(list, { ...ready, observedGeneration: 2 }, now);
    expect(next[0]).toMatchObject({ observedGeneration: 2, lastTransitionTime: before });
  });

  test("the given list is not changed", () => {
    const list = Object.freeze([Object.freeze({ ...ready })]);
    setCondition(list, { type: "Ready", status: "False", reason: "Down", message: "" }, now);
    expect(list[0]?.status).toBe("True");
  });

  test("absent is neither true nor false", () => {
    expect(isConditionTrue([ready, other], "Ready")).toBe(true);
    expect(isConditionFalse([ready, other], "Other")).toBe(true);
    expect(isConditionTrue(undefined, "Ready")).toBe(false);
    expect(isConditionFalse(null, "Ready")).toBe(false);
    expect(removeCondition([ready, other], "Ready")).toEqual([other]);
  });
});
