/** Facts that policies derive from an observation. */
import { describe, expect, test } from "vitest";
import {
  alarm,
  but,
  claim,
  cluster,
  crashed,
  down,
  joining,
  learner,
  leaving,
  madeFrom,
  metricsOnly,
  obstacle,
  pod,
  readyFor,
  record,
  removedFromEtcd,
  says,
  secondsAgo,
  seed,
  silent,
  templateFor,
  three,
  voter,
} from "../../test/decide/observed.ts";
import {
  canRestart,
  comparisonNow,
  dataLoss,
  diagnosisOf,
  isFull,
  isReversible,
  isSettled,
  lagOf,
  needsPod,
  obstacleOf,
  startedBefore,
  unchangedMs,
  voterCount,
} from "./facts.ts";

const newMinor = templateFor({ version: "3.7.3" });
const corruptData = "panic: failed to open database";

describe("a member is settled", () => {
  test.each([
    [5, true],
    [4.999, false],
    [-5, false],
    [-5.001, true],
  ])("%s seconds after it became ready: %s", (seconds, settled) => {
    const member = voter(1, readyFor(seconds));
    expect(isSettled(cluster([voter(0), member]), member)).toBe(settled);
  });

  test("never, as long as nothing says since when it is ready", () => {
    const fresh = voter(1, pod({ readyChangedMs: undefined as never }));
    expect(unchangedMs(three(), fresh)).toBe(0);
    expect(unchangedMs(three(), voter(1, but({ pod: undefined })))).toBe(0);
  });
});

describe("a pod is needed", () => {
  const rows = [
    ["a voter", voter(1), true, true],
    ["a learner", learner(1), true, true],
    ["a member that joins", joining(1), false, false],
    ["a seed", seed(1), false, false],
    ["a voter that leaves and may be removed now", leaving(1), false, true],
    ["a learner that leaves", learner(1, record({ phase: "Leaving" })), false, true],
    ["one that leaves and was removed", leaving(1, record({ removed: true })), false, false],
    ["one that leaves and never was a member", leaving(1, record({ id: undefined as never })), false, false],
    ["one that leaves and that etcd does not count", leaving(1, removedFromEtcd), false, true],
  ] as const;
  test.each(rows)("by %s, with a quorum: $2, without: $3", (_, member, withQuorum, without) => {
    expect(needsPod(cluster([voter(0), member, voter(2)]), member)).toBe(withQuorum);
    expect(needsPod(cluster([voter(0), member, voter(2)], { quorum: false }), member)).toBe(without);
  });

  test("by a voter that leaves as long as the others need its vote", () => {
    const member = leaving(1);
    expect(needsPod(cluster([voter(0), member, voter(2, down)]), member)).toBe(true);
  });
});

test("without a quorum a member that may serve is not restarted, whatever other members are there", () => {
  const member = voter(0, silent, removedFromEtcd);
  const observed = cluster([member], { quorum: false });
  expect(voterCount(observed)).toBe(0);
  expect(canRestart(observed, member)).toBe(false);
});

test("a member that is ahead of what the leader told is not behind", () => {
  const ahead = voter(1, says({ appliedIndex: 1_001n }));
  expect(lagOf(cluster([voter(0), ahead]), ahead)).toBe(0);
});

test("what a container said counts until its member is back", () => {
  expect(diagnosisOf(voter(1, crashed(corruptData)))).toBe("corrupt");
  expect(diagnosisOf(voter(1, crashed(corruptData), pod({ ready: true })))).toBeUndefined();
  expect(diagnosisOf(voter(1, pod({ ready: false, terminationMessage: corruptData })))).toBeUndefined();
});

describe("a member whose volume was full", () => {
  const full = crashed("write: no space left on device");
  const runsFor = (seconds: number) => voter(1, full, pod({ runningSinceMs: secondsAgo(seconds) }));
  test.each([
    ["has not come back", voter(1, full), true],
    ["has run for less than half a minute", runsFor(29.999), true],
    ["has run for half a minute", runsFor(30), false],
    ["runs, and the clock was set back", runsFor(-5.001), false],
    ["has just started by a clock that is a little behind", runsFor(-5), true],
    ["tells how far it has got", metricsOnly(5n, 5n)(runsFor(1)), false],
  ] as const)("%s: it is full: $2", (_, member, expected) => {
    expect(isFull(cluster([voter(0), member]), member)).toBe(expected);
  });
});

describe("data that etcd cannot read", () => {
  const crashes = (...traits: Parameters<typeof voter>[1][]) => voter(1, crashed(corruptData), ...traits);
  const image = templateFor({ image: "other" });
  const settings = templateFor({ settings: { snapshotCount: 5 } });
  const from = ({ hash }: { hash: string }) => pod({ template: hash });
  test.each([
    ["the template in use", cluster([voter(0), crashes()]), true],
    [
      "a rollout of other settings",
      cluster([voter(0), crashes(from(settings))], { status: { rollout: settings } }),
      true,
    ],
    [
      "a rollout of another image",
      cluster([voter(0), crashes(from(image))], { status: { rollout: image } }),
      false,
    ],
    [
      "a rollout of another version",
      cluster([voter(0), crashes(from(newMinor))], { status: { rollout: newMinor } }),
      false,
    ],
    [
      "a rollout of another version from which another member serves",
      cluster([voter(0, madeFrom(newMinor)), crashes(from(newMinor))], { status: { rollout: newMinor } }),
      true,
    ],
    ["a template that nobody knows", cluster([voter(0), crashes(pod({ template: "x" }))]), false],
  ])("under %s, its data is lost: %s", (_, observed, lost) => {
    const reason = dataLoss(observed, observed.members[1] as never);
    expect(reason).toBe(lost ? "its data is corrupt" : undefined);
  });
});

describe("there is a way back from a rollout", () => {
  const on = (hash: string | undefined) => record({ template: hash as string });
  const rolling = { status: { rollout: newMinor } };
  test.each([
    ["that does not exist", three(), false],
    [
      "whose cluster has no template yet",
      three({ status: { rollout: newMinor, template: undefined as never } }),
      false,
    ],
    ["of the same minor", three({ status: { rollout: templateFor({ version: "3.6.17" }) } }), true],
    ["of a new minor that no voter has", three(rolling), true],
    [
      "of a new minor that one voter does not have",
      cluster([voter(0, on(newMinor.hash)), voter(1)], rolling),
      true,
    ],
    ["of a new minor that all voters have", cluster([voter(0, on(newMinor.hash))], rolling), false],
    [
      "of a new minor that only a learner does not have",
      cluster([voter(0, on(newMinor.hash)), learner(1)], rolling),
      false,
    ],
  ] as const)("%s: $2", (_, observed, reversible) => {
    expect(isReversible(observed)).toBe(reversible);
  });
});

describe("a comparison of hashes", () => {
  const inconsistent = crashed("found data inconsistency with peers");
  const after = (purpose: string) => ({ comparison: { purpose, revision: "1", odd: [], agreed: true } });
  test.each([
    ["for an alarm that lasts", three({ alarms: [alarm("CORRUPT", 0)], status: after("corrupt/x") }), true],
    ["for an alarm that is over", three({ status: after("corrupt/x") }), false],
    ["for an alarm about space", three({ alarms: [alarm("NOSPACE", 0)], status: after("corrupt/x") }), false],
    ["without a quorum", three({ quorum: false, status: after("corrupt/x") }), true],
    [
      "for a member that still has other data",
      cluster([voter(0), voter(1, inconsistent)], { status: after("inconsistent/a1") }),
      true,
    ],
    ["for a member that has started since", three({ status: after("inconsistent/a1") }), false],
    ["for a rollout", three({ status: after("rollout/x") }), true],
  ] as const)("%s is kept: $2", (_, observed, kept) => {
    expect(comparisonNow(observed) !== undefined).toBe(kept);
  });
});

test("a volume that is not there yet is told of only where there is a claim for one", () => {
  const stuck = (change: object) => voter(1, obstacle("Unschedulable: no node"), claim(change));
  expect(obstacleOf(stuck({ bound: true }))).toBe("Unschedulable: no node");
  expect(obstacleOf(but({ claim: undefined })(stuck({})))).toBe("Unschedulable: no node");
  expect(obstacleOf(stuck({ bound: false }))).toContain("the default storage class");
  expect(obstacleOf(stuck({ bound: false, className: "fast" }))).toContain("storage class fast");
  expect(obstacleOf(voter(1, claim({ bound: false })))).toBeUndefined();
});

test("etcd learns a member's name at its first start", () => {
  const named = (name: string) =>
    learner(1, but({ entry: { ...(learner(1).entry as never as object), name } as never }));
  expect(startedBefore(voter(1, removedFromEtcd))).toBe(true);
  expect(startedBefore(leaving(1, removedFromEtcd))).toBe(true);
  expect(startedBefore(named("example-1"))).toBe(true);
  expect(startedBefore(named(""))).toBe(false);
  expect(startedBefore(joining(1))).toBe(false);
});
