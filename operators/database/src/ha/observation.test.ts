import { expect, test } from "vitest";
import { Observation } from "./observation.ts";
import { defaultTimings, type LeaseRecord, type StoredRecord } from "./state.ts";

const policy = {
  instances: ["a", "b"],
  durability: "quorum",
  initialInstance: "a",
  parameters: {},
  maximumLagBytes: 0,
} as const;
const stored = (renewTime: string, holder = "a"): StoredRecord => {
  const record: LeaseRecord = {
    holder,
    holderUid: "1",
    epoch: 1,
    renewTime,
    published: { quorums: [] },
    policy,
  };
  return { record, version: renewTime };
};
const { leaseMs, deathMs } = defaultTimings;

test("a lease is fresh for its whole time from when its change was seen, by our clock", () => {
  const seen = new Observation(defaultTimings);
  expect(seen.lease(0)).toBe("unknown");
  seen.read(stored("t1"), 0, 100);
  seen.read(stored("t1"), leaseMs, leaseMs + 50);
  expect(seen.lease(leaseMs + 99)).toBe("fresh");
  expect(seen.lease(leaseMs + 100)).toBe("expired");
});

test("a renewal begins the time again", () => {
  const seen = new Observation(defaultTimings);
  seen.read(stored("t1"), 0, 0);
  seen.read(stored("t2"), leaseMs - 1, leaseMs - 1);
  seen.read(stored("t2"), leaseMs + 1, leaseMs + 1);
  expect(seen.lease(leaseMs + 2)).toBe("fresh");
});

test("who did not look does not know", () => {
  const seen = new Observation(defaultTimings);
  seen.read(stored("t1"), 0, 0);
  expect(seen.lease(leaseMs * 10)).toBe("unknown");
});

test("a promise keeps the lease fresh although it has run out", () => {
  const seen = new Observation(defaultTimings);
  seen.read(stored("t1"), 0, 0);
  seen.read(stored("t1"), leaseMs, leaseMs);
  seen.promise(leaseMs);
  expect(seen.lease(leaseMs * 2 - 1)).toBe("fresh");
  seen.read(stored("t1"), leaseMs * 2, leaseMs * 2);
  expect(seen.lease(leaseMs * 2)).toBe("expired");
});

test("a holder that is gone for long enough and does not renew is dead", () => {
  const seen = new Observation(defaultTimings);
  seen.read(stored("t1"), 0, 0);
  seen.holderGone(true, 100);
  expect(seen.lease(99 + deathMs)).toBe("fresh");
  expect(seen.lease(100 + deathMs)).toBe("dead");
  seen.read(stored("t2"), 200 + deathMs, 200 + deathMs);
  expect(seen.lease(300 + deathMs)).toBe("fresh");
});

test("a lease that was given back is free", () => {
  const seen = new Observation(defaultTimings);
  seen.read(stored("t1", ""), 0, 0);
  expect(seen.lease(1)).toBe("free");
});
