import { VirtualClock } from "@keelson/testing/clock";
import { describe, expect, test } from "vitest";
import type { NodeApi, StoredPod } from "../api/api.ts";
import { StatusWriter, statusPatch } from "./status-writer.ts";

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

test("a condition of ours that no longer holds is taken away, those of others are not mentioned", () => {
  const condition = (type: string) => ({ type, status: "True" as const });
  const before = { conditions: ["Ready", "PodResizePending", "example.com/gate"].map(condition) };
  expect(statusPatch(before, { conditions: [condition("Ready")] })).toEqual({
    conditions: [condition("Ready"), { $patch: "delete", type: "PodResizePending" }],
  });
});

describe("a status writer", () => {
  const pod = (resourceVersion: string, ready?: "True" | "False") =>
    ({
      metadata: { name: "p", namespace: "default", uid: "1", resourceVersion },
      spec: {},
      ...(ready && { status: { conditions: [{ type: "Ready", status: ready, lastProbeTime: null }] } }),
    }) as unknown as StoredPod;
  const ready = { conditions: [{ type: "Ready", status: "True" as const }] };

  async function written(seen: StoredPod): Promise<unknown[]> {
    const sent: unknown[] = [];
    const api = {
      patchPodStatus: async (_: StoredPod, patch: unknown) => {
        sent.push(patch);
        return pod("5");
      },
    } as unknown as NodeApi;
    const writer = new StatusWriter({ api, clock: new VirtualClock(), log: () => {} });
    writer.write(pod("4"), ready);
    await writer.flush("1");
    writer.write(seen, ready);
    await writer.flush("1");
    return sent.slice(1);
  }

  test("says again what another has written over", async () => {
    expect(await written(pod("6", "False"))).toEqual([{ conditions: ready.conditions }]);
  });

  test("is silent when what it sees is older than what it has sent", async () => {
    expect(await written(pod("4", "False"))).toEqual([]);
  });

  test("is silent when the server only writes it down in another way", async () => {
    expect(await written(pod("6", "True"))).toEqual([]);
  });

  test("has nothing more to say when the server no longer knows the pod", async () => {
    let sent = 0;
    const patchPodStatus = async () => {
      sent++;
      return undefined;
    };
    const clock = new VirtualClock();
    const writer = new StatusWriter({ api: { patchPodStatus } as unknown as NodeApi, clock, log: () => {} });
    writer.write(pod("4"), ready);
    await clock.advance(300_000);
    expect(sent).toBe(1);
  });

  test("gives up at once what it was trying to send when its pod is forgotten", async () => {
    const api = { patchPodStatus: () => Promise.reject(new Error("away")) } as unknown as NodeApi;
    const clock = new VirtualClock();
    const writer = new StatusWriter({ api, clock, log: () => {} });
    writer.write(pod("4"), ready);
    await clock.settle();
    const flushed = writer.flush("1");
    writer.forget("1");
    await flushed;
    expect(writer.last("1")).toBeUndefined();
  });
});
