import { describe, expect, test } from "vitest";
import { pod, start, statefulSet } from "../../test/builders.ts";
import { type Action, type PlanInput, plan } from "./plan.ts";

const template = { metadata: { labels: { app: "a" } }, spec: { containers: [{ name: "main" }] } };
const old = { name: "s-old", template };
const current = { name: "s-new", template };

const member = (ordinal: number, options: Parameters<typeof pod>[0] & { revision?: string } = {}) =>
  pod({
    name: `s-${ordinal}`,
    ready: true,
    labels: {
      "statefulset.kubernetes.io/pod-name": `s-${ordinal}`,
      "controller-revision-hash": options.revision ?? current.name,
    },
    ...options,
  });

function actions(
  set: Parameters<typeof statefulSet>[0],
  pods: ReturnType<typeof pod>[],
  more: Partial<PlanInput> = {},
): string[] {
  const input: PlanInput = {
    set: statefulSet(set),
    pods,
    current: old,
    update: current,
    nowMs: start + 100_000,
    hasStaleClaim: () => false,
    hasRightOwners: () => true,
    ...more,
  };
  return plan(input).map(({ type, pod: subject }: Action) => `${type} ${subject.metadata.name}`);
}

describe("in order", () => {
  test("one pod is made at a time", () => {
    expect(actions({}, [])).toEqual(["create s-0"]);
    expect(actions({}, [member(0)])).toEqual(["create s-1"]);
  });

  test("a pod that is not ready holds up those behind it", () => {
    expect(actions({}, [member(0, { ready: false, phase: "Running" })])).toEqual([]);
    expect(actions({}, [member(0, { ready: false })])).toEqual(["claims s-0"]);
  });

  test("the last goes first when there are too many, one at a time", () => {
    expect(actions({ spec: { replicas: 1 } }, [member(0), member(1), member(2)])).toEqual(["delete s-2"]);
    expect(actions({ spec: { replicas: 1 } }, [member(0), member(1), member(2, { deleted: true })])).toEqual(
      [],
    );
  });

  test("nothing goes while an earlier one is not well, unless it is that one", () => {
    const sick = { ready: false, phase: "Running" as const };
    expect(actions({ spec: { replicas: 0 } }, [member(0, sick), member(1, sick)])).toEqual([]);
    expect(actions({ spec: { replicas: 0 } }, [member(0, sick)])).toEqual(["delete s-0"]);
  });

  test("a pod that ended is removed, to be made again", () => {
    expect(actions({}, [member(0, { phase: "Failed", ready: false })])).toEqual(["delete s-0"]);
  });
});

describe("in parallel", () => {
  const spec = { podManagementPolicy: "Parallel" as const };

  test("all are made at once, ready or not", () => {
    expect(actions({ spec }, [])).toEqual(["create s-0", "create s-1", "create s-2"]);
  });

  test("all that are too many go at once", () => {
    expect(actions({ spec: { ...spec, replicas: 1 } }, [member(0), member(1), member(2)])).toEqual([
      "delete s-2",
      "delete s-1",
    ]);
  });
});

describe("an update", () => {
  const outdated = { revision: old.name };
  const three = [member(0, outdated), member(1, outdated), member(2, outdated)];

  test("goes from the last to the first, one at a time", () => {
    expect(actions({}, three)).toEqual(["delete s-2"]);
    expect(actions({}, [member(0, outdated), member(1, outdated), member(2)])).toEqual(["delete s-1"]);
  });

  test("waits for the one before", () => {
    const fresh = member(2, { ready: false, phase: "Running" });
    expect(actions({}, [member(0, outdated), member(1, outdated), fresh])).toEqual([]);
  });

  test("stops at the partition", () => {
    const spec = { updateStrategy: { type: "RollingUpdate" as const, rollingUpdate: { partition: 2 } } };
    expect(actions({ spec }, three)).toEqual(["delete s-2"]);
    expect(actions({ spec }, [member(0, outdated), member(1, outdated), member(2)])).toEqual([]);
  });

  test("below the partition pods are made of the old template", () => {
    const spec = { updateStrategy: { type: "RollingUpdate" as const, rollingUpdate: { partition: 2 } } };
    const [create] = plan({
      set: statefulSet({ spec }),
      pods: [],
      current: old,
      update: current,
      nowMs: start,
      hasStaleClaim: () => false,
      hasRightOwners: () => true,
    });
    expect(create?.pod.metadata.labels?.["controller-revision-hash"]).toBe(old.name);
  });

  test("is left to others when told so", () => {
    expect(actions({ spec: { updateStrategy: { type: "OnDelete" } } }, three)).toEqual([]);
  });
});

test("a pod waits for the claim of the one before it to go", () => {
  expect(actions({}, [], { hasStaleClaim: () => true })).toEqual([]);
});

test("numbers may start elsewhere", () => {
  expect(actions({ spec: { replicas: 2, ordinals: { start: 5 } } }, [member(5)])).toEqual(["create s-6"]);
});

test("a set that is going does nothing", () => {
  expect(actions({ deleted: true }, [])).toEqual([]);
});
