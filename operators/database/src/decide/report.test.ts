import { expect, test } from "vitest";
import type { InstanceReport } from "../agent/handlers.ts";
import { Database } from "../api/database.ts";
import { ofBefore } from "../ha/step.ts";
import type { Observed } from "../observe/observed.ts";
import { conditionsOf, isFull, readinessOf, statusOf } from "./report.ts";

const object = Database.object({
  metadata: { name: "orders", namespace: "default" },
  spec: { version: "15" },
}) as Observed["object"];

function observed(reports: readonly (Partial<InstanceReport> | undefined)[]): Observed {
  const policy = {
    ...{ instances: ["orders-0"], durability: "quorum" as const, initialInstance: "orders-0" },
    ...{ parameters: {}, maximumLagBytes: 0 },
  };
  const published = { systemId: "7000", quorums: [] };
  return {
    object,
    record: { holder: "", holderUid: "", epoch: 3, renewTime: "", published, policy },
    instances: reports.map((report, at) => ({
      name: `orders-${at}`,
      ...(report && { report: { role: "none", reason: "it waits", ...report } as InstanceReport }),
    })),
  };
}

test("data counts as lost when every instance has looked and found none", () => {
  expect(readinessOf(observed([{ isEmpty: true }, { isEmpty: true }])).reason).toBe("DataMissing");
});

test.each([
  ["an instance has not looked yet", [{ isEmpty: true }, { isEmpty: false }]],
  ["an instance does not answer", [{ isEmpty: true }, undefined]],
  ["there is no instance", []],
])("data does not count as lost while %s", (_when, reports) => {
  expect(readinessOf(observed(reports)).reason).toBe("NoPrimary");
});

test.each([
  ["replica", false, "database.keelson.dev/role=primary"],
  ["primary", true, "orders-0 is primary"],
])("a primary whose pod is labelled %s is ready: %s", (role, ready, words) => {
  const seen = observed([{ role: "primary", serving: true, reason: "" }]);
  const pod = {
    ...{ uid: "1", ready: true, deleting: false, template: "", image: "" },
    labels: { "database.keelson.dev/role": role },
  };
  const world: Observed = {
    object: { ...object, spec: { ...object.spec, instances: 1 } },
    record: seen.record && { ...seen.record, holder: "orders-0" },
    instances: seen.instances.map((each) => ({ ...each, pod })),
  };
  expect(readinessOf(world)).toMatchObject({ ready, message: expect.stringContaining(words) });
});

test("an instance that leaves does not stand in for one that commits may wait for", () => {
  const pod = {
    ...{ uid: "1", ready: true, deleting: false, template: "", image: "" },
    labels: { "database.keelson.dev/role": "primary" },
  };
  const seen = observed([
    { role: "primary", serving: true },
    undefined,
    { role: "standby", serving: true, receiving: true },
  ]);
  const record = seen.record && { ...seen.record, holder: "orders-0" };
  const counting = (...names: readonly string[]): Observed => ({
    object: { ...object, spec: { ...object.spec, instances: 2 } },
    record: record && { ...record, policy: { ...record.policy, instances: [...names] } },
    instances: seen.instances.map((each) => ({ ...each, pod })),
  });
  expect(readinessOf(counting("orders-0", "orders-1"))).toMatchObject({
    ready: false,
    message: "not all instances are ready; orders-1: its agent does not answer",
  });
  expect(readinessOf(counting("orders-0", "orders-2")).ready).toBe(true);
});

test("of a primary that the kubelet reaches and the operator does not, nobody says that it is down", () => {
  const seen = observed([undefined]);
  const pod = { uid: "1", ready: true, deleting: false, template: "", image: "", labels: {} };
  const world: Observed = {
    object: { ...object, spec: { ...object.spec, instances: 1 } },
    record: seen.record && { ...seen.record, holder: "orders-0" },
    instances: seen.instances.map((each) => ({ ...each, pod })),
  };
  const message = expect.stringContaining("its agent does not answer the operator");
  expect(readinessOf(world)).toMatchObject({ ready: false, message });
  expect(conditionsOf(world)).toContainEqual(
    expect.objectContaining({ type: "Available", status: "Unknown", message }),
  );
});

test("of one that serves though the Lease was lost, nobody says that it does not", () => {
  const seen = observed([{ role: "primary", serving: true, standbys: [] }]);
  const record = seen.record && { ...seen.record, holder: "", published: { quorums: [] } };
  expect(conditionsOf({ ...seen, record })).toContainEqual(
    expect.objectContaining({
      type: "Available",
      status: "Unknown",
      message: "orders-0 serves as primary, and the Lease does not name it",
    }),
  );
});

test("the epoch and the system id stay when the Lease is lost", () => {
  const { record: _, ...lost } = observed([undefined]);
  const before = { epoch: 3, systemId: "7000" } as NonNullable<Observed["object"]["status"]>;
  const readiness = { ready: false, reason: "NoPrimary", message: "", phase: "" } as const;
  expect(statusOf({ ...lost, record: undefined }, readiness, before)).toMatchObject(before);
  const forgetful = observed([undefined]);
  const record = forgetful.record && { ...forgetful.record, epoch: 0, published: { quorums: [] } };
  expect(statusOf({ ...forgetful, record }, readiness, before)).toMatchObject(before);
});

const gibibyte = 2 ** 30;

test.each([
  ["little of a small volume", 10, 0.4, true],
  ["some of a small volume", 10, 0.6, false],
  ["a small part of a large volume, which is a lot", 1_000, 7, false],
  ["next to nothing of a large volume", 1_000, 0.9, true],
])("%s is left", (_what, size, free, expected) => {
  const [instance] = observed([
    { volume: { sizeBytes: size * gibibyte, freeBytes: free * gibibyte } },
  ]).instances;
  expect(instance && isFull(instance)).toBe(expected);
});

test("a restore that waits says so while the database is made", () => {
  const reason = "initialise failed: the archive reaches 10:00, and 10:01 is later";
  const whole = observed([{ reason }]);
  const record = whole.record && { ...whole.record, published: { quorums: [] } };
  expect(readinessOf({ ...whole, record }).message).toBe(`orders-0: ${reason}`);
});

test("the status follows the archive every five minutes, and says nothing that is not so", () => {
  const serving = { role: "primary", serving: true, standbys: [] } as const;
  const at = (until: string | undefined, said: string | undefined) => {
    const whole = observed([{ ...serving, ...(until !== undefined && { recoverableUntil: until }) }]);
    const record = whole.record && { ...whole.record, holder: "orders-0" };
    const before = said === undefined ? undefined : { recoverableUntil: said };
    return statusOf({ ...whole, record }, readinessOf(whole), before).recoverableUntil;
  };
  expect(at("2026-01-01T10:00:00Z", undefined)).toBe("2026-01-01T10:00:00Z");
  expect(at("2026-01-01T10:04:00Z", "2026-01-01T10:00:00Z")).toBe("2026-01-01T10:00:00Z");
  expect(at("2026-01-01T10:05:00Z", "2026-01-01T10:00:00Z")).toBe("2026-01-01T10:05:00Z");
  expect(at(undefined, "2026-01-01T10:00:00Z")).toBe("2026-01-01T10:00:00Z");
});

test.each([
  ["the newer data is gone", { systemId: undefined, isEmpty: true }, "approve-return=3", "bring back"],
  [
    "who had the newer data does not answer",
    undefined,
    "bring back orders-0, or make sure",
    "approve-failover",
  ],
  ["the newer data is there", { systemId: "7000", isEmpty: false }, "nobody holds the lease", "approve-"],
])(
  "a way back to data of before an upgrade is told of where there is no other: %s",
  (_, first, told, untold) => {
    const reason = `${ofBefore} 2026-01-01T00:00:00Z`;
    const seen = observed([first, { systemId: "6999", reason }]);
    const before = { systemId: "6999", quorums: [], at: "2026-01-01T00:00:00Z" };
    const record = seen.record && {
      ...seen.record,
      published: { systemId: "7000", quorums: [], before },
    };
    const { message } = readinessOf({ ...seen, record });
    expect(message).toContain(told);
    expect(message).not.toContain(untold);
  },
);

test("Protected says that commits are on one instance alone for now", () => {
  const seen = observed([{ role: "primary", serving: true, standbys: [] }]);
  const published = { systemId: "7000", quorums: [{ members: ["orders-0"], acks: 1 }] };
  const record = seen.record && { ...seen.record, holder: "orders-0", published };
  const wide = { ...object, spec: { ...object.spec, instances: 3 } };
  const said = conditionsOf({ ...seen, object: wide, record }).find(({ type }) => type === "Protected");
  expect(said).toMatchObject({ status: "False", message: expect.stringContaining("on orders-0 alone") });
});
