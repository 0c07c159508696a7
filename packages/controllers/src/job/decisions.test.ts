import { describe, expect, test } from "vitest";
import { at, job, pod, start } from "../../test/builders.ts";
import { nextBackoff, noBackoff, remainingMs } from "./backoff.ts";
import { trackingFinalizer } from "./job-pods.ts";
import { endOf } from "./job-result.ts";
import { nextMoves } from "./moves.ts";
import { survey } from "./survey.ts";
import { counted, isAllCounted, track } from "./tracking.ts";

const finalizers = [trackingFinalizer];
const running = (name: string, index?: number) =>
  pod({
    name,
    ready: true,
    finalizers,
    ...(index === undefined
      ? {}
      : { annotations: { "batch.kubernetes.io/job-completion-index": String(index) } }),
  });
const succeeded = (name: string) => pod({ name, phase: "Succeeded", exitCode: 0, finalizers });
const failed = (name: string, finishedAt = 0) =>
  pod({ name, phase: "Failed", exitCode: 1, finishedAt, finalizers });

describe("waiting after failures", () => {
  test("doubles from ten seconds, up to ten minutes", () => {
    const after = (failures: number) => remainingMs({ failures, lastFailureMs: start }, start);
    expect([1, 2, 3, 20].map(after)).toEqual([10_000, 20_000, 40_000, 600_000]);
  });

  test("begins again with a success", () => {
    const twice = nextBackoff(noBackoff, [], [failed("a", 1), failed("b", 2)]);
    expect(twice).toEqual({ failures: 2, lastFailureMs: start + 2000 });
    expect(nextBackoff(twice, [pod({ phase: "Succeeded", exitCode: 0, finishedAt: 3 })], [])).toEqual(
      noBackoff,
    );
  });
});

describe("pods that come and go", () => {
  const moves = (spec: object, pods: ReturnType<typeof pod>[], status = {}) =>
    nextMoves(survey(job({ spec, status }), pods, noBackoff), start + 1000_000);

  test("as many run as may, until enough succeeded", () => {
    expect(moves({ completions: 5, parallelism: 2 }, []).create).toHaveLength(2);
    expect(moves({ completions: 5, parallelism: 2 }, [running("a")], { succeeded: 4 }).create).toHaveLength(
      0,
    );
    expect(moves({ completions: 5, parallelism: 2 }, [succeeded("a")], { succeeded: 3 }).create).toHaveLength(
      1,
    );
  });

  test("without a number the first success ends the coming", () => {
    const open = { completions: undefined, parallelism: 3 };
    expect(moves(open, [running("a"), succeeded("b")]).create).toHaveLength(0);
    expect(moves(open, [running("a")]).create).toHaveLength(2);
  });

  test("too many go", () => {
    expect(moves({ completions: 9, parallelism: 1 }, [running("a"), running("b")]).remove).toHaveLength(1);
    expect(moves({ suspend: true, parallelism: 2 }, [running("a"), running("b")]).remove).toHaveLength(2);
  });

  test("a failed pod is replaced after a while", () => {
    const backed = survey(job({ spec: { completions: 1 } }), [failed("a")], noBackoff);
    expect(nextMoves(backed, start)).toMatchObject({ create: [], recheckMs: 10_000 });
    expect(nextMoves(backed, start + 10_001).create).toHaveLength(1);
  });

  test("every index has one pod", () => {
    const indexed = { completions: 4, parallelism: 4, completionMode: "Indexed" };
    const create = moves(indexed, [running("a", 1)], { completedIndexes: "0" }).create;
    expect(create.map(({ index }) => index)).toEqual([2, 3]);
    expect(moves(indexed, [running("a", 1), running("b", 1)]).remove).toHaveLength(1);
  });

  test("an index takes over the failures of the pod before it", () => {
    const spec = { completions: 1, completionMode: "Indexed" as const, backoffLimitPerIndex: 3 };
    const before = pod({
      phase: "Failed",
      exitCode: 1,
      finalizers,
      annotations: {
        "batch.kubernetes.io/job-completion-index": "0",
        "batch.kubernetes.io/job-index-failure-count": "1",
      },
    });
    expect(moves(spec, [before]).create).toEqual([{ index: 0, failures: { counted: 2, ignored: 0 } }]);
  });
});

describe("the end", () => {
  const end = (options: Parameters<typeof job>[0], pods: ReturnType<typeof pod>[], seconds = 0) =>
    endOf(survey(job(options), pods, noBackoff), start, start + seconds * 1000)?.reason;

  test("comes with one failure more than the limit", () => {
    expect(end({ spec: { backoffLimit: 1 } }, [failed("a")])).toBeUndefined();
    expect(end({ spec: { backoffLimit: 1 } }, [failed("a"), failed("b")])).toBe("BackoffLimitExceeded");
  });

  test("comes with restarts in place", () => {
    const restarted = pod({ ready: true, restarts: 2, finalizers });
    const template = { spec: { containers: [], restartPolicy: "OnFailure" as const } };
    expect(end({ spec: { backoffLimit: 2, template } }, [restarted])).toBe("BackoffLimitExceeded");
  });

  test("comes with the deadline", () => {
    expect(end({ spec: { activeDeadlineSeconds: 5 } }, [], 4)).toBeUndefined();
    expect(end({ spec: { activeDeadlineSeconds: 5 } }, [], 5)).toBe("DeadlineExceeded");
    expect(end({ spec: { activeDeadlineSeconds: 5, suspend: true } }, [], 5)).toBeUndefined();
  });

  test("that was announced is kept", () => {
    const conditions = [{ type: "FailureTarget", status: "True", reason: "DeadlineExceeded", message: "" }];
    expect(end({ status: { conditions } }, [])).toBe("DeadlineExceeded");
  });
});

describe("counting", () => {
  test("a pod is in the status before its finalizer goes, and a number after", () => {
    const pods = [succeeded("a"), running("b")];
    const seen = survey(job({ spec: { completions: 2 } }), pods, noBackoff);
    const first = track(seen, {}, { ends: false, fails: false });
    expect(first.status.uncountedTerminatedPods).toEqual({ succeeded: [pods[0]?.metadata.uid] });
    expect(first.status.succeeded).toBe(0);
    expect(first.release).toEqual([pods[0]]);
    const second = counted(first.status, new Set([pods[1]?.metadata.uid ?? ""]));
    expect(second).toMatchObject({ succeeded: 1, uncountedTerminatedPods: {} });
    expect(isAllCounted(second)).toBe(true);
  });

  test("a pod in the status is not counted twice", () => {
    const done = succeeded("a");
    const status = { uncountedTerminatedPods: { succeeded: [done.metadata.uid] } };
    const seen = survey(job({ spec: { completions: 2 }, status }), [done], noBackoff);
    expect(seen.succeeded).toBe(1);
    expect(track(seen, status, { ends: false, fails: false }).status.uncountedTerminatedPods).toEqual(
      status.uncountedTerminatedPods,
    );
  });

  test("whatever still runs when a job fails has failed", () => {
    const seen = survey(job(), [running("a")], noBackoff);
    expect(track(seen, {}, { ends: true, fails: true }).status.uncountedTerminatedPods?.failed).toHaveLength(
      1,
    );
    expect(track(seen, {}, { ends: true, fails: false }).status.uncountedTerminatedPods).toEqual({});
  });

  test("indexes are counted by index", () => {
    const indexed = job({
      spec: { completions: 3, completionMode: "Indexed" },
      status: { completedIndexes: "2" },
    });
    const done = pod({
      phase: "Succeeded",
      finalizers,
      annotations: { "batch.kubernetes.io/job-completion-index": "0" },
    });
    const { status } = track(survey(indexed, [done], noBackoff), {}, { ends: false, fails: false });
    expect(status).toMatchObject({ succeeded: 2, completedIndexes: "0,2" });
  });

  test("the time of a deleted pod's end is when it was told to go", () => {
    const going = pod({ deleted: true, finalizers, phase: "Running" });
    expect(survey(job(), [going], noBackoff)).toMatchObject({ failed: 1, terminating: 1 });
    expect(at(0)).toBe("2026-01-01T00:00:00Z");
  });
});
