import { expect, test } from "vitest";
import type { InstanceReport } from "../agent/handlers.ts";
import { Database } from "../api/database.ts";
import type { Observed } from "../observe/observed.ts";
import { readinessOf } from "./report.ts";

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
