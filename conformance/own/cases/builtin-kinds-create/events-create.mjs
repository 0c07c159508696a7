// Faults of leases and events.
import { dryRun, ns, test } from "../_lib.mjs";

export default [
  test("Lease create: and Event in both API groups, one fault at a time", (t) => {
    const lease = (spec) => ({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "l" },
      spec,
    });
    for (const s of [
      { leaseDurationSeconds: 0 },
      { leaseDurationSeconds: -1 },
      { leaseTransitions: -1 },
      { holderIdentity: "" },
      { acquireTime: "2020-01-01T00:00:00Z" },
      { renewTime: "2020-01-01T00:00:00.5Z" },
      { renewTime: "x" },
      { strategy: "OldestEmulationVersion" },
      { preferredHolder: "x" },
    ])
      t.post("/apis/coordination.k8s.io/v1/namespaces/$NS/leases", lease(s), dryRun);
    const event = (o) => ({
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "e" },
      involvedObject: { namespace: "$NS", kind: "Pod", name: "p" },
      ...o,
    });
    for (const o of [
      {},
      { involvedObject: {} },
      { involvedObject: { namespace: "other" } },
      { type: "Bogus" },
      { eventTime: "2020-01-01T00:00:00.000000Z" },
      {
        reportingComponent: "x",
        eventTime: "2020-01-01T00:00:00.000000Z",
        reportingInstance: "i",
        action: "a",
        reason: "r",
        type: "Normal",
      },
      { count: -1 },
      { series: { count: 1 } },
    ])
      t.post(`${ns}/events`, event(o), dryRun);
    const newEvent = (o) => ({
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name: "e" },
      regarding: { namespace: "$NS", kind: "Pod", name: "p" },
      eventTime: "2020-01-01T00:00:00.000000Z",
      reportingController: "a.b/c",
      reportingInstance: "i",
      action: "act",
      reason: "r",
      type: "Normal",
      ...o,
    });
    for (const o of [
      {},
      { eventTime: null },
      { reportingController: "" },
      { reportingController: "bad controller" },
      { reportingInstance: "" },
      { action: "" },
      { reason: "" },
      { type: "X" },
      { note: "x".repeat(1025) },
      { deprecatedCount: 5 },
      { deprecatedSource: { component: "x" } },
      { series: { count: 1 } },
      { regarding: {} },
    ])
      t.post("/apis/events.k8s.io/v1/namespaces/$NS/events", newEvent(o), dryRun);
  }),
];
