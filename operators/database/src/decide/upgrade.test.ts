import { expect, test } from "vitest";
import type { LeaseRecord } from "../ha/state.ts";
import { planUpgrade, type UpgradeView } from "./upgrade.ts";

const record: LeaseRecord = {
  holder: "db-0",
  holderUid: "u",
  epoch: 3,
  renewTime: "t",
  published: { systemId: "s", quorums: [] },
  policy: {
    instances: ["db-0", "db-1", "db-2"],
    durability: "quorum",
    initialInstance: "db-0",
    parameters: {},
    maximumLagBytes: 0,
    version: "15",
  },
};
const pending = { id: "15-17", to: "17", instance: "db-0" };
const startedAt = new Date(1).toISOString();
const view = (change: Partial<UpgradeView>): UpgradeView => ({
  wanted: "17",
  record,
  attempt: "",
  whole: true,
  primary: "db-0",
  rehearsal: "absent",
  backup: "absent",
  before: undefined,
  nowMs: 0,
  ...change,
});
const withPolicy = (policy: object, published: object = {}): LeaseRecord => ({
  ...record,
  policy: { ...record.policy, ...policy },
  published: { ...record.published, ...published },
});

test.each<[string, Partial<UpgradeView>, object]>([
  ["a minor version is no upgrade", { wanted: "15.9" }, { version: "15.9" }],
  [
    "data that was gone back to is run by what ran it before, and the upgrade has failed",
    {
      wanted: "17.1",
      dataMajor: "15",
      record: withPolicy(
        { version: "17.1" },
        { returnedTo: "15.4", upgrade: { id: "15-17", outcome: "Failed", message: "its data was lost" } },
      ),
    },
    { version: "15.4", report: { phase: "Failed" } },
  ],
  ["a new database has the version of its spec", { record: undefined }, { version: "17" }],
  [
    "one whose record is lost keeps the version of its data",
    { record: undefined, running: "15.4" },
    { version: "15.4" },
  ],
  ["also where nobody has seen it run", { record: undefined, dataMajor: "15" }, { version: "15" }],
  [
    "and where the record was made again with what the spec asks for",
    { record: withPolicy({ version: "17" }), dataMajor: "15", whole: false },
    { version: "15", report: { phase: "Waiting" } },
  ],
  [
    "or asked for in between",
    { record: withPolicy({ version: "17" }), dataMajor: "15", wanted: "15.4" },
    { version: "15.4" },
  ],
  [
    "nothing goes back",
    { wanted: "13" },
    { version: "15", refused: expect.stringContaining("cannot go back") },
  ],
  ["it waits for every instance", { whole: false }, { version: "15", report: { phase: "Waiting" } }],
  ["first it is rehearsed", {}, { version: "15", action: "rehearse", report: { phase: "Rehearsing" } }],
  [
    "a rehearsal that fails ends it",
    { rehearsal: { failed: "reg* types" } },
    { version: "15", report: { phase: "Failed", message: expect.stringContaining("reg* types") } },
  ],
  [
    "then a backup is taken",
    { rehearsal: "succeeded" },
    { action: "backup", report: { phase: "BackingUp" } },
  ],
  [
    "a backup that fails ends it",
    { rehearsal: "succeeded", backup: { failed: "no room" } },
    { version: "15", report: { phase: "Failed", message: expect.stringContaining("no room") } },
  ],
  [
    "then the primary is stopped",
    { rehearsal: "succeeded", backup: "done" },
    { version: "15", action: "begin", upgrade: pending, report: { phase: "Upgrading" } },
  ],
  [
    "without a store nothing is backed up",
    { rehearsal: "succeeded", backup: "unwanted" },
    { action: "begin", upgrade: pending },
  ],
  [
    "what has begun goes on, whatever the instances say",
    { record: withPolicy({ upgrade: pending }), whole: false, primary: undefined },
    { version: "15", upgrade: pending, report: { phase: "Upgrading" } },
  ],
  [
    "an instance that does not come back is given up",
    {
      record: { ...withPolicy({ upgrade: pending }), holder: "" },
      before: { from: "15", to: "17", phase: "Upgrading", message: "", startedAt },
      nowMs: 4 * 60_000,
    },
    { version: "15", action: "abort" },
  ],
  [
    "one that works on its data gets longer",
    {
      record: withPolicy({ upgrade: pending }),
      before: { from: "15", to: "17", phase: "Upgrading", message: "", startedAt },
      nowMs: 4 * 60_000,
    },
    { upgrade: pending },
  ],
  [
    "what was given up is not tried again",
    { record: withPolicy({ abortedUpgrade: "15-17" }) },
    { version: "15", report: { phase: "Failed" } },
  ],
  [
    "what failed is not tried again",
    {
      record: withPolicy(
        { upgrade: pending },
        { upgrade: { id: "15-17", outcome: "Failed", message: "no" } },
      ),
    },
    { version: "15", report: { phase: "Failed" } },
  ],
  [
    "unless somebody asks",
    { record: withPolicy({}, { upgrade: { id: "15-17", outcome: "Failed", message: "no" } }), attempt: "2" },
    { version: "15", action: "rehearse" },
  ],
  [
    "when the data is there the others are cloned",
    {
      record: withPolicy({ upgrade: pending }, { upgrade: { id: "15-17", outcome: "Done", message: "yes" } }),
    },
    { version: "17", report: { phase: "Cloning" } },
  ],
  [
    "when they are ready it is done",
    {
      record: withPolicy({ version: "17" }),
      before: { from: "15", to: "17", phase: "Cloning", message: "" },
    },
    { version: "17", report: { phase: "Done" } },
  ],
  [
    "also when the operator ended before it could say so",
    {
      record: withPolicy({ version: "17" }),
      before: { from: "15", to: "17", phase: "Upgrading", message: "" },
    },
    { version: "17", report: { phase: "Done" } },
  ],
  [
    "what has begun goes on when the spec goes back",
    { wanted: "15", record: withPolicy({ upgrade: pending }), whole: false, primary: undefined },
    { version: "15", upgrade: pending, report: { phase: "Upgrading" } },
  ],
  [
    "and ends in the version that the data has",
    {
      wanted: "15",
      record: withPolicy({ upgrade: pending }, { upgrade: { id: "15-17", outcome: "Done", message: "yes" } }),
    },
    { version: "17", report: { phase: "Cloning" } },
  ],
  [
    "to which the spec must follow",
    {
      wanted: "15",
      record: withPolicy({ version: "17" }),
      before: { from: "15", to: "17", phase: "Cloning", message: "" },
    },
    { version: "17", refused: expect.stringContaining("cannot go back"), report: { phase: "Done" } },
  ],
])("%s", (_, change, expected) => {
  expect(planUpgrade(view(change))).toMatchObject(expected);
});
