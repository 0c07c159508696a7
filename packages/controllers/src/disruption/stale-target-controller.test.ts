import type { PodObject } from "@keelson/workloads";
import { expect, it } from "vitest";
import { staleInMs } from "./stale-target-controller.ts";

const nowMs = Date.UTC(2026, 0, 1, 12);

function pod(mark: object, metadata: object = {}, phase = "Running"): PodObject {
  const conditions = [
    { type: "DisruptionTarget", status: "True", lastTransitionTime: "2026-01-01T11:59:00Z", ...mark },
  ];
  return { metadata: { name: "p", ...metadata }, status: { phase, conditions } } as unknown as PodObject;
}

it("gives a disruption two minutes", () => {
  expect(staleInMs(pod({}), nowMs)).toBe(60_000);
  expect(staleInMs(pod({}), nowMs + 3_600_000)).toBe(0);
});

it("leaves marks that were acted on, taken back, or made by the kubelet", () => {
  expect(staleInMs(pod({}, { deletionTimestamp: "2026-01-01T11:59:00Z" }), nowMs)).toBeUndefined();
  expect(staleInMs(pod({}, {}, "Failed"), nowMs)).toBeUndefined();
  expect(staleInMs(pod({ status: "False" }), nowMs)).toBeUndefined();
  expect(staleInMs(pod({ reason: "TerminationByKubelet" }), nowMs)).toBeUndefined();
});
