import type { AnyKind, Stored } from "@keelson/core";
import {
  ConfigMap,
  CustomResourceDefinition,
  DaemonSet,
  Deployment,
  Job,
  PersistentVolumeClaim,
  Pod,
  ReplicaSet,
  Service,
  StatefulSet,
} from "@keelson/core/kinds";
import { describe, expect, test } from "vitest";
import { readinessOf } from "./readiness.ts";

function object(rest: object, metadata: object = {}): Stored {
  return {
    metadata: { name: "a", uid: "u", resourceVersion: "1", ...metadata },
    ...rest,
  } as unknown as Stored;
}
const condition = (type: string, status: string, more: object = {}) => ({
  type,
  status,
  message: "",
  ...more,
});

const cases: [string, AnyKind, object, object, string | true][] = [
  ["a ReplicaSet that does not say how many", ReplicaSet, {}, {}, "0 of 1 replicas are available"],
  ["a ReplicaSet of two", ReplicaSet, { spec: { replicas: 2 }, status: { availableReplicas: 2 } }, {}, true],
  ["a Deployment nobody looked at", Deployment, { spec: { replicas: 2 } }, {}, "0 of 2 replicas are updated"],
  ["a Deployment of one that nobody looked at", Deployment, { spec: {} }, {}, "0 of 1 replicas are updated"],
  [
    "a Deployment whose change is not observed",
    Deployment,
    {
      spec: { replicas: 1 },
      status: { observedGeneration: 1, updatedReplicas: 1, replicas: 1, availableReplicas: 1 },
    },
    { generation: 2 },
    "has a change that is not acted on yet",
  ],
  [
    "a Deployment that rolls out",
    Deployment,
    { spec: { replicas: 2 }, status: { updatedReplicas: 2, replicas: 3, availableReplicas: 2 } },
    {},
    "old replicas are being removed",
  ],
  [
    "a Deployment that is stuck",
    Deployment,
    {
      spec: {},
      status: { conditions: [condition("Progressing", "False", { reason: "ProgressDeadlineExceeded" })] },
    },
    {},
    "exceeded its progress deadline",
  ],
  [
    "a Deployment that is there",
    Deployment,
    { spec: { replicas: 2 }, status: { updatedReplicas: 2, replicas: 2, availableReplicas: 2 } },
    {},
    true,
  ],
  ["a Deployment scaled to nothing", Deployment, { spec: { replicas: 0 } }, {}, true],
  [
    "a StatefulSet in the middle of an update",
    StatefulSet,
    { spec: { replicas: 1 }, status: { readyReplicas: 1, currentRevision: "a", updateRevision: "b" } },
    {},
    "the update is under way",
  ],
  [
    "a StatefulSet that is there",
    StatefulSet,
    { spec: { replicas: 1 }, status: { readyReplicas: 1, currentRevision: "a", updateRevision: "a" } },
    {},
    true,
  ],
  [
    "a StatefulSet whose update has not reached its partition",
    StatefulSet,
    {
      spec: { replicas: 3, updateStrategy: { rollingUpdate: { partition: 1 } } },
      status: { readyReplicas: 3, updatedReplicas: 1, currentRevision: "a", updateRevision: "b" },
    },
    {},
    "the update is under way",
  ],
  [
    "a StatefulSet that is updated down to its partition",
    StatefulSet,
    {
      spec: { replicas: 3, updateStrategy: { rollingUpdate: { partition: 1 } } },
      status: { readyReplicas: 3, updatedReplicas: 2, currentRevision: "a", updateRevision: "b" },
    },
    {},
    true,
  ],
  ["a DaemonSet nobody looked at", DaemonSet, { spec: {} }, {}, "has not been looked at yet"],
  ["a Job that runs", Job, { status: { active: 1 } }, {}, "has not completed"],
  [
    "a Job that failed",
    Job,
    { status: { conditions: [condition("Failed", "True", { message: "too many retries" })] } },
    {},
    "failed: too many retries",
  ],
  ["a Job that completed", Job, { status: { conditions: [condition("Complete", "True")] } }, {}, true],
  [
    "a Pod that starts",
    Pod,
    { status: { phase: "Running", conditions: [condition("Ready", "False")] } },
    {},
    "is running",
  ],
  [
    "a Pod that is ready",
    Pod,
    { status: { phase: "Running", conditions: [condition("Ready", "True")] } },
    {},
    true,
  ],
  ["a Pod that failed", Pod, { status: { phase: "Failed", message: "evicted" } }, {}, "failed: evicted"],
  ["a Pod that failed without a word", Pod, { status: { phase: "Failed" } }, {}, "failed"],
  ["a Pod that has done its work", Pod, { status: { phase: "Succeeded" } }, {}, true],
  [
    "a Pod that goes",
    Pod,
    { status: { conditions: [condition("Ready", "True")] } },
    { deletionTimestamp: "2026-01-01T00:00:00Z" },
    "is being deleted",
  ],
  ["a claim without volume", PersistentVolumeClaim, { status: { phase: "Pending" } }, {}, "is pending"],
  ["a claim with one", PersistentVolumeClaim, { status: { phase: "Bound" } }, {}, true],
  ["a Service", Service, { spec: {} }, {}, true],
  [
    "a Service without load balancer",
    Service,
    { spec: { type: "LoadBalancer" } },
    {},
    "waits for its load balancer",
  ],
  ["a CRD that is not served", CustomResourceDefinition, { status: {} }, {}, "is not established"],
  ["a ConfigMap", ConfigMap, { data: {} }, {}, true],
];

describe("readiness", () => {
  test.each(cases)("of %s", (_name, kind, rest, metadata, expected) => {
    const { ready, message } = readinessOf(kind, object(rest, metadata));
    expect(ready ? true : message).toBe(expected);
  });

  test("of any other kind follows from its Ready condition", () => {
    const kind = { group: "x.io", version: "v1", kind: "X", resource: "xs", scope: "Namespaced" } as AnyKind;
    expect(readinessOf(kind, object({})).ready).toBe(true);
    const waiting = { status: { conditions: [condition("Ready", "False", { message: "no quorum" })] } };
    expect(readinessOf(kind, object(waiting))).toEqual({ ready: false, message: "no quorum" });
    expect(readinessOf({ ...kind, crd: () => ({}) } as AnyKind, object({})).message).toBe(
      "has not been looked at yet",
    );
  });
});
