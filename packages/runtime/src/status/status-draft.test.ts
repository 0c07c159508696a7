import { expect, test } from "vitest";
import { done, fail, type Outcome, waiting } from "../controller/outcome.ts";
import { conditionsOf } from "./status-draft.ts";

test.each<[string, Outcome, Record<string, [string, string]>]>([
  [
    "done",
    done(),
    { Ready: ["True", "is as its spec says"], Reconciling: ["False", ""], Stalled: ["False", ""] },
  ],
  [
    "waiting",
    waiting("Creating", "a pod starts"),
    { Ready: ["False", "a pod starts"], Reconciling: ["True", "a pod starts"], Stalled: ["False", ""] },
  ],
  [
    "failed",
    fail("SpecRefused", "too small"),
    { Ready: ["False", "too small"], Reconciling: ["False", ""], Stalled: ["True", "too small"] },
  ],
])("the condition that speaks of an outcome has its message: %s", (_name, outcome, expected) => {
  const found = conditionsOf(outcome).map(({ type, status, message }) => [type, [status, message]]);
  expect(Object.fromEntries(found)).toEqual(expected);
});
