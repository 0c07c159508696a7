import { expect, test } from "vitest";
import type { LeaseRecord } from "./state.ts";
import { type Local, nextStep, type StepView } from "./step.ts";

const policy = {
  instances: ["a", "b", "c"],
  durability: "quorum",
  initialInstance: "a",
  parameters: {},
  maximumLagBytes: 0,
} as const;
const record: LeaseRecord = {
  holder: "a",
  holderUid: "a1",
  epoch: 2,
  renewTime: "t",
  published: {
    systemId: "s",
    timeline: 2,
    timelineEpoch: 2,
    servingEpoch: 2,
    checkpointed: true,
    quorums: [],
  },
  policy,
};
const data = { systemId: "s", timeline: 2, timelineEpoch: 2, kind: "standby" } as const;
const standby: Local = {
  name: "b",
  data,
  server: "running",
  inRecovery: true,
  upstream: "a",
  upstreamEpoch: 2,
  receiving: true,
};
const view = (change: Partial<StepView>): StepView => ({
  uid: "b1",
  local: standby,
  record,
  lease: "fresh",
  holding: false,
  frozen: false,
  primaryServes: true,
  ...change,
});

test.each<[string, Partial<StepView>, object]>([
  [
    "a primary without the lease is ended",
    { local: { ...standby, inRecovery: false } },
    { step: "stop", how: "kill" },
  ],
  [
    "also while it only starts",
    { local: { ...standby, server: "starting", inRecovery: false }, record: undefined },
    { step: "stop", how: "kill" },
  ],
  ["a standby that follows goes on", {}, { step: "wait" }],
  [
    "a standby of another follows the holder",
    { local: { ...standby, upstream: "c" } },
    { step: "follow", upstream: "a" },
  ],
  [
    "one that follows the holder already is told that its timeline is a new one",
    { local: { ...standby, data: { ...data, timeline: 1, timelineEpoch: 1 }, upstreamEpoch: 1 } },
    { step: "follow", upstream: "a" },
  ],
  [
    "who has voted follows nobody",
    { local: { ...standby, upstream: undefined }, frozen: true },
    { step: "wait" },
  ],
  [
    "nobody follows a primary that has not published its timeline",
    { local: { ...standby, upstream: "c" }, record: { ...record, epoch: 3 } },
    { step: "wait" },
  ],
  ["an empty instance clones", { local: { name: "b", server: "stopped" } }, { step: "clone", from: "a" }],
  [
    "but not from a primary that does not serve",
    { local: { name: "b", server: "stopped" }, primaryServes: false },
    { step: "wait" },
  ],
  [
    "an old primary rewinds",
    {
      local: {
        ...standby,
        server: "stopped",
        data: { ...data, timeline: 1, timelineEpoch: 1, kind: "primary" },
      },
    },
    { step: "rewind", from: "a" },
  ],
  [
    "and clones after three rewinds that failed",
    {
      local: {
        ...standby,
        server: "stopped",
        failedRewinds: 3,
        data: { ...data, timeline: 1, timelineEpoch: 1, kind: "primary" },
      },
    },
    { step: "clone", from: "a" },
  ],
  [
    "the same number of another timeline means a clone, which no rewind would notice",
    { local: { ...standby, data: { ...data, timelineEpoch: 1 } } },
    { step: "clone", from: "a" },
  ],
  [
    "log that is gone means a clone",
    { local: { ...standby, complaint: "walGone" } },
    { step: "clone", from: "a" },
  ],
  [
    "but not on a volume that is full",
    { local: { ...standby, complaint: "walGone", noRoom: true } },
    { step: "wait", reason: "its volume is full" },
  ],
  [
    "data of another database is never started from",
    { local: { ...standby, server: "stopped", data: { ...data, systemId: "x" } } },
    { step: "clone", from: "a" },
  ],
  ["without a primary a standby campaigns", { lease: "expired" }, { step: "campaign" }],
  [
    "a crashed primary recovers as a standby before it votes",
    { lease: "expired", local: { ...standby, server: "stopped", data: { ...data, kind: "primary" } } },
    { step: "startStandby", upstream: undefined },
  ],
  ["who still receives from the dead waits", { lease: "dead" }, { step: "wait" }],
  [
    "a paused database has no elections",
    { lease: "expired", record: { ...record, policy: { ...policy, paused: true } } },
    { step: "wait" },
  ],
  ["blindness is no reason to act", { lease: "unknown" }, { step: "wait" }],
  [
    "the holder starts its data as primary",
    {
      holding: true,
      local: { ...standby, name: "a", server: "stopped", data: { ...data, kind: "primary" } },
    },
    { step: "startPrimary" },
  ],
  ["the holder promotes a standby", { holding: true, record: { ...record, epoch: 3 } }, { step: "promote" }],
  [
    "but not in an epoch in which it was primary before: that would be another timeline of the same epoch",
    { holding: true },
    { step: "giveUp" },
  ],
  ["the holder serves", { holding: true, local: { ...standby, inRecovery: false } }, { step: "serve" }],
  [
    "a holder that lost its data gives up",
    { holding: true, local: { name: "a", server: "stopped" } },
    { step: "giveUp" },
  ],
  [
    "only the first instance makes a database, and only once",
    {
      holding: true,
      local: { name: "a", server: "stopped" },
      record: { ...record, published: { quorums: [] } },
    },
    { step: "initialise" },
  ],
  [
    "nobody else does",
    {
      lease: "free",
      local: { name: "b", server: "stopped" },
      record: { ...record, holder: "", published: { quorums: [] } },
    },
    { step: "wait" },
  ],
])("%s", (_, change, expected) => {
  expect(nextStep(view(change))).toMatchObject(expected);
});

const upgrade = { id: "1-2", to: "2", instance: "b" };
const asked = { ...record, holder: "b", holderUid: "b1", policy: { ...policy, upgrade } };
const primary: Local = { ...standby, major: "1", inRecovery: false, data: { ...data, kind: "primary" } };
const stopped: Local = { ...primary, server: "stopped" };
const returned: Local = { ...stopped, major: "2", data: { ...data, kind: "primary", major: "1" } };
const free = {
  ...asked,
  holder: "",
  holderUid: "",
  published: { ...record.published, stoppedFor: { upgrade: "1-2", epoch: 2 } },
};

test.each<[string, Partial<StepView>, object]>([
  [
    "the primary stops cleanly",
    { local: primary, record: asked, holding: true },
    { step: "stop", how: "fast" },
  ],
  [
    "and says that nobody has more",
    { local: stopped, record: asked, holding: true },
    { step: "giveUp", upgrade: "1-2" },
  ],
  ["it waits for its new programs", { local: stopped, record: free, lease: "free" }, { step: "wait" }],
  ["with them it is primary again", { local: returned, record: free, lease: "free" }, { step: "claim" }],
  ["and works on its data", { local: returned, record: asked, holding: true }, { step: "upgrade" }],
  [
    "not when somebody was primary after it",
    { local: returned, record: { ...free, epoch: 3 }, lease: "free" },
    { step: "wait" },
  ],
  [
    "also when its pod was lost in the middle: nobody was primary since",
    { local: returned, uid: "b2", record: asked, lease: "expired" },
    { step: "claim" },
  ],
  [
    "but not before its lease has run out",
    { local: returned, uid: "b2", record: asked, lease: "dead" },
    { step: "wait" },
  ],
  [
    "the others elect nobody",
    { local: { ...standby, name: "c" }, record: free, lease: "free" },
    { step: "wait", reason: expect.stringContaining("b takes the data") },
  ],
  [
    "until it has failed",
    {
      local: { ...standby, name: "c" },
      record: {
        ...free,
        published: { ...free.published, upgrade: { id: "1-2", outcome: "Failed", message: "no" } },
      },
      lease: "free",
    },
    { step: "campaign" },
  ],
  [
    "data of another version is not started",
    { local: returned, record: { ...record, holder: "" }, lease: "free" },
    { step: "wait", reason: expect.stringContaining("PostgreSQL 1") },
  ],
])("in an upgrade: %s", (_, change, expected) => {
  expect(nextStep(view(change))).toMatchObject(expected);
});
