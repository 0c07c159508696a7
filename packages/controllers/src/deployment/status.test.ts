import { describe, expect, test } from "vitest";
import { at, deployment, replicaSet, start } from "../../test/builders.ts";
import { deadlineCheckMs, rolloutStatus } from "./status.ts";

const up = (replicas: number, available = replicas) =>
  replicaSet({
    name: "new",
    spec: { replicas },
    status: {
      replicas,
      readyReplicas: available,
      availableReplicas: available,
      terminatingReplicas: 0,
      observedGeneration: 1,
    },
  });

const conditionsOf = (status: { conditions?: { type: string; status: string; reason?: string }[] }) =>
  status.conditions?.map(({ type, status: is, reason }) => `${type}/${is}/${reason}`).sort();

describe("progress", () => {
  test("is complete when every pod is new and available", () => {
    const status = rolloutStatus(deployment({ spec: { replicas: 2 } }), { newest: up(2), old: [] }, start);
    expect(conditionsOf(status)).toEqual([
      "Available/True/MinimumReplicasAvailable",
      "Progressing/True/NewReplicaSetAvailable",
    ]);
    expect(status).toMatchObject({ replicas: 2, updatedReplicas: 2, terminatingReplicas: 0 });
    expect(status).not.toHaveProperty("unavailableReplicas");
  });

  test("goes on while pods come", () => {
    const status = rolloutStatus(deployment({ spec: { replicas: 2 } }), { newest: up(2, 0), old: [] }, start);
    expect(conditionsOf(status)).toContain("Progressing/True/ReplicaSetUpdated");
    expect(conditionsOf(status)).toContain("Available/False/MinimumReplicasUnavailable");
  });

  const waiting = (seconds: number) =>
    deployment({
      spec: { replicas: 1, progressDeadlineSeconds: 60 },
      status: {
        replicas: 1,
        updatedReplicas: 1,
        conditions: [
          {
            type: "Progressing",
            status: "True",
            reason: "ReplicaSetUpdated",
            message: "",
            lastUpdateTime: at(-seconds),
            lastTransitionTime: at(-seconds),
          },
        ],
      },
    });

  test("is over when the deadline has passed", () => {
    const late = rolloutStatus(waiting(61), { newest: up(1, 0), old: [] }, start);
    expect(conditionsOf(late)).toContain("Progressing/False/ProgressDeadlineExceeded");
    const early = rolloutStatus(waiting(59), { newest: up(1, 0), old: [] }, start);
    expect(conditionsOf(early)).toContain("Progressing/True/ReplicaSetUpdated");
  });

  test("is looked at again a moment after the deadline", () => {
    const d = waiting(20);
    const status = rolloutStatus(d, { newest: up(1, 0), old: [] }, start);
    expect(deadlineCheckMs(d, status, start)).toBe(41_000);
    expect(
      deadlineCheckMs(deployment({ spec: { progressDeadlineSeconds: 2147483647 } }), {}, start),
    ).toBeUndefined();
  });

  test("is not told where nobody set a deadline", () => {
    const d = deployment({ spec: { replicas: 1, progressDeadlineSeconds: 2147483647 } });
    expect(conditionsOf(rolloutStatus(d, { newest: up(1), old: [] }, start))).toEqual([
      "Available/True/MinimumReplicasAvailable",
    ]);
  });
});

test("the failure of a replica set is the deployment's", () => {
  const failing = replicaSet({
    spec: { replicas: 1 },
    status: {
      conditions: [
        {
          type: "ReplicaFailure",
          status: "True",
          reason: "FailedCreate",
          message: "no",
          lastTransitionTime: at(0),
        },
      ],
    },
  });
  const status = rolloutStatus(deployment(), { newest: failing, old: [] }, start);
  expect(conditionsOf(status)).toContain("ReplicaFailure/True/FailedCreate");
});
