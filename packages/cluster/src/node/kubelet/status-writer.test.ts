import { describe, expect, test } from "vitest";
import { statusPatch } from "./status-writer.ts";

describe("a status patch", () => {
  test("is nothing when nothing changed", () => {
    const status = { phase: "Running" as const, podIP: "1" };
    expect(statusPatch(status, { ...status })).toBeUndefined();
  });

  test("leaves out what is the same, and what others own", () => {
    expect(statusPatch({ phase: "Pending", nominatedNodeName: "n" }, { phase: "Running" })).toEqual({
      phase: "Running",
    });
  });

  test("takes away a reason that no longer holds", () => {
    const before = {
      conditions: [{ type: "Ready", status: "False" as const, reason: "ContainersNotReady", message: "m" }],
    };
    const after = { conditions: [{ type: "Ready", status: "True" as const }] };
    expect(statusPatch(before, after)).toEqual({
      conditions: [{ type: "Ready", status: "True", reason: null, message: null }],
    });
  });

  test("takes away an address that the pod no longer has", () => {
    const patch = statusPatch({ podIP: "1", podIPs: [{ ip: "1" }] }, { podIP: "2", podIPs: [{ ip: "2" }] });
    expect(patch).toEqual({ podIP: "2", podIPs: [{ ip: "2" }, { $patch: "delete", ip: "1" }] });
  });

  test("takes away the pod's reason with its cause", () => {
    expect(statusPatch({ reason: "Evicted", phase: "Failed" }, { phase: "Failed" })).toEqual({
      reason: null,
    });
  });
});
