import type { Step } from "@keelson/testing";
import { expect, test } from "vitest";
import { realPlan } from "./real-plan.ts";
import type { AnySubject } from "./real-subject.ts";

const subject = {
  edits: [{ name: "edit: size", anywhere: true, begin: () => {} }],
  faults: [{ name: "store: down", begin: () => {} }],
} as unknown as AnySubject;
const mechanisms = {
  "pod: process killed": { begin: async () => undefined },
  "line: a pod from everyone": {
    can: ({ how }: { how?: unknown }) => how === "dropped",
    begin: async () => undefined,
  },
};

test("steps without a mechanism are left out, those through the API server alone stay", () => {
  const steps: Step[] = [
    { atMs: 0, do: "edit: size", with: { size: 5 } },
    { atMs: 100, do: "store: down", forMs: 500 },
    { atMs: 200, do: "pod: process killed" },
    { atMs: 300, do: "line: a pod from everyone", forMs: 900, with: { how: "refused" } },
    { atMs: 400, do: "line: a pod from everyone", forMs: 900, with: { how: "dropped" } },
  ];
  const plan = realPlan(subject, { beginning: "three members", seed: 7, managers: 2, steps }, mechanisms);
  expect(plan).toEqual({ beginning: "three members", seed: 7, steps: [steps[0], steps[2], steps[4]] });
});

test("what would take minutes takes seconds, in the same order", () => {
  const steps: Step[] = [
    { atMs: 0, do: "edit: size" },
    { atMs: 60_000, do: "line: a pod from everyone", forMs: 300_000, with: { how: "dropped" } },
    { atMs: 120_000, do: "pod: process killed" },
  ];
  const plan = realPlan(subject, { beginning: "three members", seed: 7, steps }, mechanisms);
  expect(plan?.steps.map(({ atMs }) => atMs)).toEqual([0, 6_000, 12_000]);
  expect(plan?.steps[1]?.forMs).toBe(12_000);
});

test("a scenario of which nothing is left is none", () => {
  const steps: Step[] = [{ atMs: 0, do: "store: down" }];
  expect(realPlan(subject, { beginning: "three members", seed: 7, steps }, mechanisms)).toBeUndefined();
});
