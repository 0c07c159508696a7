import { expect, test } from "vitest";
import type { DatabaseBackupObject } from "../api/backup.ts";
import type { LeaseRecord } from "../ha/state.ts";
import { planRestore, type RestoreView } from "./restore-in-place.ts";

const record = {
  holder: "db-0",
  epoch: 3,
  published: { systemId: "s", quorums: [] },
  policy: { instances: ["db-0"] },
} as unknown as LeaseRecord;
const backup = (name: string, finishedAt: string) =>
  ({
    metadata: { name },
    status: { phase: "Done", finishedAt, location: { claim: "c", directory: "d", name } },
  }) as unknown as DatabaseBackupObject;
const backups = [backup("early", "2026-01-01T00:00:00Z"), backup("late", "2026-01-03T00:00:00Z")];
const view = (change: Partial<RestoreView>): RestoreView => ({
  wish: { id: "1", undo: false },
  record,
  whole: true,
  primary: "db-0",
  hasStore: true,
  version: "15",
  backups,
  elsewhere: ["foreign"],
  before: undefined,
  ...change,
});
const ended = (outcome: "Done" | "Failed", id = "restore-1"): LeaseRecord => ({
  ...record,
  published: { ...record.published, upgrade: { id, outcome, message: "m" } },
});
const pending = { id: "restore-1", to: "15", instance: "db-0", restore: { backup: "late", since: 3 } };
const withPending: LeaseRecord = { ...record, policy: { ...record.policy, upgrade: pending } };

test.each<[string, Partial<RestoreView>, object]>([
  ["nothing is asked", { wish: undefined }, {}],
  [
    "the newest backup is taken",
    {},
    { upgrade: { instance: "db-0", restore: { backup: "late", since: 3 } } },
  ],
  [
    "or the newest from before the moment",
    { wish: { id: "1", undo: false, targetTime: "2026-01-02T00:00:00Z" } },
    { upgrade: { restore: { backup: "early", targetTime: "2026-01-02T00:00:00Z" } } },
  ],
  [
    "without one nothing is touched",
    { wish: { id: "1", undo: false, targetTime: "2025-01-02T00:00:00Z" } },
    { report: { phase: "Waiting", message: expect.stringContaining("no proven backup") } },
  ],
  [
    "nor where the backup is of other data of this name",
    { wish: { id: "1", undo: false, backup: "foreign" } },
    { report: { phase: "Waiting", message: expect.stringContaining("restoreFrom") } },
  ],
  ["it waits for every instance", { whole: false }, { report: { phase: "Waiting" } }],
  [
    "and for a primary that reaches where the backup lies",
    { hasStore: false },
    { upgrade: undefined, report: { phase: "Waiting", message: expect.stringContaining("db-0") } },
  ],
  [
    "which is not needed to undo one",
    { hasStore: false, wish: { id: "1", undo: true } },
    { upgrade: { restore: { undo: true } } },
  ],
  ["the replicas follow", { record: ended("Done"), whole: false }, { report: { phase: "Cloning" } }],
  ["then it is done", { record: ended("Done") }, { report: { phase: "Done" } }],
  ["what failed is not tried again", { record: ended("Failed") }, { report: { phase: "Failed" } }],
  [
    "a failure says how to ask again",
    { record: ended("Failed") },
    { report: { message: expect.stringContaining("another id") } },
  ],
  [
    "what was done before another one is not done again, though the spec is that of before",
    {
      record: {
        ...ended("Done", "restore-2"),
        published: { ...ended("Done", "restore-2").published, restores: ["restore-1", "restore-2"] },
      },
      before: { id: "2", phase: "Done", message: "m" },
    },
    { report: { id: "1", phase: "Failed", message: expect.stringContaining("not carried out twice") } },
  ],
  [
    "nor what was done before an upgrade, though the object was made again since and says nothing of it",
    {
      record: {
        ...ended("Done", "15-17"),
        published: {
          ...ended("Done", "15-17").published,
          restored: { id: "restore-1", outcome: "Done", message: "m" },
        },
      },
    },
    { upgrade: undefined, report: { id: "1", phase: "Done" } },
  ],
  [
    "another id asks again",
    { wish: { id: "2", undo: true }, record: ended("Done") },
    { upgrade: { restore: { undo: true } } },
  ],
  [
    "without the wish it is called off, and nothing more is said of it",
    {
      wish: undefined,
      record: withPending,
      before: { id: "1", phase: "Restoring", message: "" },
    },
    { upgrade: undefined, report: undefined },
  ],
  [
    "what is under way goes on",
    { record: withPending, whole: false, primary: undefined },
    { upgrade: pending, report: { id: "1", phase: "Restoring" } },
  ],
])("%s", (_, change, expected) => {
  expect({ upgrade: undefined, report: undefined, ...planRestore(view(change)) }).toMatchObject(expected);
});
