import type { Probe } from "@keelson/core/kinds";
import { VirtualClock } from "@keelson/testing/clock";
import { describe, expect, test } from "vitest";
import { type ProbeKind, ProbeWorker } from "./probe-worker.ts";

function bench(kind: ProbeKind, probe: Probe, isGood: (atMs: number) => boolean) {
  const clock = new VirtualClock();
  const results: string[] = [];
  const failures: number[] = [];
  const attempts: number[] = [];
  const worker = new ProbeWorker({
    probe,
    kind,
    clock,
    attempt: () => {
      attempts.push(clock.monotonic());
      return Promise.resolve({ ok: isGood(clock.monotonic()), message: "" });
    },
    onFailure: () => void failures.push(clock.monotonic()),
    onResult: (ok) => void results.push(`${clock.monotonic()} ${ok}`),
  });
  return { clock, results, failures, attempts, worker };
}

describe("a probe", () => {
  test("begins after its delay and repeats every period", async () => {
    const { clock, attempts, worker } = bench(
      "liveness",
      { initialDelaySeconds: 5, periodSeconds: 10 },
      () => true,
    );
    await clock.advance(26_000);
    expect(attempts).toEqual([5_000, 15_000, 25_000]);
    worker.stop();
    await clock.advance(60_000);
    expect(attempts).toHaveLength(3);
  });

  test("a server that needs a moment is ready soon after, and the tries in between are no failures", async () => {
    const { clock, results, failures, worker } = bench("readiness", { periodSeconds: 10 }, (at) => at >= 250);
    await clock.advance(1_000);
    expect(results).toEqual(["300 true"]);
    expect(failures).toEqual([0]);
    worker.stop();
  });

  test("failures count by the period only", async () => {
    const { clock, results, failures, worker } = bench(
      "startup",
      { periodSeconds: 10, failureThreshold: 3 },
      () => false,
    );
    await clock.advance(60_000);
    expect(failures).toEqual([0, 10_000, 20_000]);
    expect(results).toEqual(["20000 false"]);
    worker.stop();
  });

  test("several successes in a row may be asked for", async () => {
    const { clock, results, worker } = bench(
      "readiness",
      { periodSeconds: 1, successThreshold: 3 },
      (at) => at >= 1_000,
    );
    await clock.advance(5_000);
    expect(results).toEqual(["3000 true"]);
    worker.stop();
  });

  test("after a result it takes as many failures in a row to change it", async () => {
    const { clock, results, worker } = bench(
      "readiness",
      { periodSeconds: 1, failureThreshold: 2 },
      (at) => at !== 2_000 && at < 4_000,
    );
    await clock.advance(6_000);
    expect(results).toEqual(["0 true", "5000 false"]);
    worker.stop();
  });
});
