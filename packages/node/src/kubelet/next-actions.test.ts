import type { Container, PodSpec } from "@keelson/core/kinds";
import { describe, expect, test } from "vitest";
import { type ContainerRecord, recordsFor, shouldRestart } from "./container-record.ts";
import { nextActions } from "./next-actions.ts";

const container = (name: string, over: Partial<Container> = {}): Container => ({ name, image: "x", ...over });

function decide(
  spec: PodSpec,
  edit: (records: Record<string, ContainerRecord>) => void = () => undefined,
  backoffMs = 0,
) {
  const records = recordsFor(spec);
  edit(Object.fromEntries(records.map((record) => [record.name, record])));
  const { actions, over } = nextActions({ spec, records, backoffMs: () => backoffMs, now: 0 });
  return { over, actions: actions.map((action) => `${action.do} ${action.record.name}`) };
}

const ended = (record: ContainerRecord | undefined, exitCode: number) => {
  if (record === undefined) return;
  Object.assign(record, {
    state: "exited",
    attempts: 1,
    termination: { containerId: "", exitCode, reason: "" },
  });
};
const runs = (record: ContainerRecord | undefined, started = true) => {
  if (record !== undefined) Object.assign(record, { state: "running", attempts: 1, started });
};

describe("what comes next", () => {
  const two: PodSpec = { restartPolicy: "Always", containers: [container("a"), container("b")] };

  test("all regular containers start together", () => {
    expect(decide(two)).toEqual({ over: false, actions: ["start a", "start b"] });
  });

  test("one that is busy or held is left alone", () => {
    const edit = ({ a, b }: Record<string, ContainerRecord>) => {
      if (a !== undefined) a.busy = true;
      if (b !== undefined) b.heldUntil = 10;
    };
    expect(decide(two, edit).actions).toEqual([]);
  });

  test("one that ended waits for its back-off", () => {
    const edit = ({ a, b }: Record<string, ContainerRecord>) => {
      ended(a, 1);
      runs(b);
    };
    expect(decide(two, edit).actions).toEqual(["start a"]);
    expect(decide(two, edit, 5000).actions).toEqual(["backOff a"]);
  });

  test("a pod is over when its last container ended for good", () => {
    const never: PodSpec = { ...two, restartPolicy: "Never" };
    expect(decide(never, ({ a }) => ended(a, 1)).over).toBe(false);
    const both = ({ a, b }: Record<string, ContainerRecord>) => {
      ended(a, 1);
      ended(b, 0);
    };
    expect(decide(never, both)).toEqual({ over: true, actions: [] });
  });

  test("init containers go first, one by one, and sidecars need only have started", () => {
    const spec: PodSpec = {
      ...two,
      initContainers: [container("i"), container("s", { restartPolicy: "Always" }), container("j")],
    };
    expect(decide(spec).actions).toEqual(["start i"]);
    expect(decide(spec, ({ i }) => ended(i, 0)).actions).toEqual(["start s"]);
    const waiting = ({ i, s }: Record<string, ContainerRecord>) => {
      ended(i, 0);
      runs(s, false);
    };
    expect(decide(spec, waiting).actions).toEqual([]);
    const started = ({ i, s }: Record<string, ContainerRecord>) => {
      ended(i, 0);
      runs(s);
    };
    expect(decide(spec, started).actions).toEqual(["start j"]);
  });

  test("once initialized, sidecars are restarted and init containers are not", () => {
    const spec: PodSpec = {
      ...two,
      initContainers: [container("i"), container("s", { restartPolicy: "Always" })],
    };
    const edit = ({ i, s, a, b }: Record<string, ContainerRecord>) => {
      ended(i, 1);
      ended(s, 0);
      runs(a);
      runs(b);
    };
    expect(decide(spec, edit).actions).toEqual(["start s"]);
  });
});

describe("restart rules", () => {
  const spec: PodSpec = { restartPolicy: "Never", containers: [] };
  const rules = [{ action: "Restart", exitCodes: { operator: "In", values: [42] } }];

  test("a container's own rule and policy come before the pod's", () => {
    const ruled = {
      kind: "regular" as const,
      spec: container("a", { restartPolicy: "Never", restartPolicyRules: rules }),
    };
    expect(shouldRestart(ruled, spec, 42)).toBe(true);
    expect(shouldRestart(ruled, spec, 1)).toBe(false);
    const own = { kind: "regular" as const, spec: container("a", { restartPolicy: "OnFailure" }) };
    expect(shouldRestart(own, spec, 1)).toBe(true);
    expect(shouldRestart(own, spec, 0)).toBe(false);
  });
});
