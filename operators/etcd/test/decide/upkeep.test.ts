import { expect, test } from "vitest";
import type { Status } from "../../src/api/cluster.ts";
import { corruption, defragmentation, fillsQuota, noSpace, volumes } from "../../src/decide/upkeep.ts";
import {
  alarm,
  behind,
  claim,
  cluster,
  down,
  leaderless,
  learner,
  leaving,
  readyFor,
  record,
  type Special,
  says,
  silent,
  type Trait,
  template,
  templateFor,
  three,
  voter,
} from "./observed.ts";
import { decisions } from "./table.ts";

const corrupt: Special = { alarms: [alarm("CORRUPT", 2)] };
const comparison = (change: Partial<NonNullable<Status["comparison"]>> = {}) => ({
  status: {
    comparison: { purpose: "corrupt/a2/a0,a1,a2", revision: "100", odd: [], agreed: true, ...change },
  },
});

decisions("an alarm about corrupt data", corruption, [
  ["there is none", three({ alarms: [alarm("NOSPACE", 0)] }), undefined],
  ["there is no quorum", three({ ...corrupt, quorum: false }), undefined],
  [
    "the hashes were not compared yet",
    cluster([voter(0), voter(1), voter(2), learner(3)], corrupt),
    "compareHashes Corrupt: etcd reports corrupt data; hashes are compared",
    { purpose: "corrupt/a2/a0,a1,a2", members: ["example-0", "example-1", "example-2"] },
  ],
  [
    "the hashes were compared for another alarm",
    three({ ...corrupt, ...comparison({ purpose: "corrupt/a1/a0,a1,a2" }) }),
    "compareHashes Corrupt: etcd reports corrupt data; hashes are compared",
  ],
  [
    "the hashes were compared, and another member has come into the place of one that was asked",
    cluster([voter(0), voter(1), voter(3)], { ...corrupt, ...comparison() }),
    "compareHashes Corrupt: etcd reports corrupt data; hashes are compared",
  ],
  [
    "one hash differed, and its member was replaced by one with the same name",
    cluster([voter(0), voter(1), voter(2, record({ id: "b2" }))], {
      ...corrupt,
      ...comparison({ odd: ["example-2"] }),
    }),
    "compareHashes Corrupt: etcd reports corrupt data; hashes are compared",
  ],
  [
    "no majority has the same hash",
    three({ ...corrupt, ...comparison({ agreed: false }) }),
    "refuse Corrupt: etcd reports corrupt data and no majority of the members has the same; check the members by hand",
  ],
  [
    "one hash differs",
    three({ ...corrupt, ...comparison({ odd: ["example-2"] }) }),
    "record Corrupt: example-2 will leave: its data is not that of the majority",
  ],
  [
    "one hash differs, and its member leaves already",
    cluster([voter(0), voter(1), leaving(2)], { ...corrupt, ...comparison({ odd: ["example-2"] }) }),
    undefined,
  ],
  [
    "the hashes are equal, and there is no leader",
    cluster([voter(0, leaderless)], { ...corrupt, ...comparison({ purpose: "corrupt/a2/a0" }) }),
    "wait Corrupt: the alarm is lifted when there is a leader among example-0",
  ],
  [
    "the hashes are equal",
    three({ ...corrupt, ...comparison() }),
    "disarm Corrupt: the members' data is the same again; the alarm is lifted",
    { alarms: [alarm("CORRUPT", 2)], via: "example-0" },
  ],
]);

const quota = { status: { template: templateFor({ storage: { size: "1Gi", quotaBytes: 1_000_000 } }) } };
const small = { storage: { size: "1Gi", quotaBytes: 1_000_000 } };
const full: Special = { alarms: [alarm("NOSPACE", 0)], spec: small, ...quota };
const compactedAt = (revision: string) => ({ ...full, status: { ...quota.status, space: { revision } } });
const noRoomAt = (fullAt: string, filled = "1000000") => ({
  ...full,
  status: { ...quota.status, space: { revision: "99", fullAt, quota: filled } },
});
const makeSpace = "makeSpace NoSpace: etcd is out of space; old revisions are dropped";

decisions("an alarm about space", noSpace, [
  ["there is none", three({ alarms: [alarm("CORRUPT", 0)] }), undefined],
  ["there is no quorum", three({ ...full, quorum: false }), undefined],
  [
    "history was not dropped yet",
    three(full),
    makeSpace,
    {
      via: "example-0",
      members: ["example-1", "example-2", "example-0"],
      alarms: [alarm("NOSPACE", 0)],
      quota: 1_000_000n,
    },
  ],
  [
    "nobody has a leader",
    cluster([voter(0, leaderless)], full),
    "wait NoSpace: etcd is out of space; old revisions are dropped when there is a leader among example-0",
  ],
  [
    "a member lags: history is dropped up to the newest revision",
    cluster([voter(0), voter(1, says({ revision: 98n })), voter(2)], full),
    makeSpace,
    { members: ["example-1", "example-2", "example-0"], revision: 100n },
  ],
  [
    "one member does not answer",
    cluster([voter(0), voter(1), voter(2, silent)], full),
    `${makeSpace}; example-2 follows when it answers`,
    { members: ["example-1", "example-0"] },
  ],
  ["history was dropped at an older revision", three(compactedAt("99")), makeSpace],
  [
    "history was dropped at this revision, and the data fills the quota",
    three(compactedAt("100")),
    "wait NoSpace: the data itself fills the quota of 1000000 bytes; raise spec.storage.quotaBytes or delete keys",
  ],
  [
    "history was dropped at an older revision and made no room",
    three(noRoomAt("2026-01-01T11:59:30Z")),
    "wait NoSpace: the data itself fills the quota of 1000000 bytes; raise spec.storage.quotaBytes or delete keys; old revisions are dropped again at 2026-01-01T12:00:30.000Z",
  ],
  ["dropping made no room a minute ago", three(noRoomAt("2026-01-01T11:59:00Z")), makeSpace],
  ["dropping made no room, and the clock was set back", three(noRoomAt("2026-01-01T13:00:00Z")), makeSpace],
  ["dropping made no room under another quota", three(noRoomAt("2026-01-01T11:59:30Z", "500000")), makeSpace],
  [
    "dropping made no room, and there is some now",
    cluster([voter(0, says({ dbSizeInUseBytes: 100n }))], noRoomAt("2026-01-01T11:59:30Z")),
    makeSpace,
  ],
  [
    "dropping made no room, and the spec asks for a larger quota",
    three({ ...noRoomAt("2026-01-01T11:59:30Z"), spec: { storage: { size: "1Gi", quotaBytes: 8_000_000 } } }),
    undefined,
  ],
  [
    "the data fills the quota, and the spec asks for a larger one: that is rolled out first",
    three({ ...compactedAt("100"), spec: { storage: { size: "1Gi", quotaBytes: 8_000_000 } } }),
    undefined,
  ],
  [
    "history was dropped at this revision, and there is space",
    cluster([voter(0, says({ dbSizeInUseBytes: 100n }))], compactedAt("100")),
    makeSpace,
  ],
  [
    "the quota is zero, which means etcd's default",
    three({ ...full, status: { template: templateFor({ storage: { size: "1Gi", quotaBytes: 0 } }) } }),
    makeSpace,
    { quota: 2_147_483_648n },
  ],
  [
    "the quota is zero in the spec, which asks for a larger one",
    three({ ...compactedAt("100"), spec: { storage: { size: "1Gi", quotaBytes: 0 } } }),
    undefined,
  ],
  [
    "the quota is etcd's default",
    three({ ...full, status: { template } }),
    makeSpace,
    { quota: 2_147_483_648n },
  ],
]);

const grown = claim({ needsRestart: true });
const larger: Special = { spec: { storage: { size: "2Gi" } } };
const big = claim({ requested: "2Gi" });
const waits =
  "wait Resizing: example-2 restarts for its larger volume when every member has served for a while";
const third = (...traits: Trait[]) => cluster([voter(0), voter(1), voter(2, ...traits)]);

decisions("volumes", volumes, [
  ["they have the size of the spec", three(), undefined],
  ["they are larger than the spec", third(big), undefined],
  [
    "they are smaller than the spec",
    cluster([voter(0, big), voter(1), voter(2)], larger),
    "wait Resizing: the volumes grow to spec.storage.size, 2Gi",
  ],
  ["a small one is being deleted", cluster([voter(0, claim({ deleting: true }))], larger), undefined],
  [
    "the storage class refused this size",
    three({
      ...larger,
      status: { refusedGrowth: { size: "2Gi", message: "only dynamically provisioned claims can grow" } },
    }),
    "refuse Resizing: only dynamically provisioned claims can grow; take spec.storage.size back to what it was, or allow it",
  ],
  [
    "the storage class refused this size, and it is tried again",
    three({
      ...larger,
      status: { refusedGrowth: { size: "2Gi", message: "exceeded quota", retryAt: "2026-01-01T12:05:00Z" } },
    }),
    "refuse Resizing: exceeded quota; take spec.storage.size back to what it was, or allow it; it is tried again at 2026-01-01T12:05:00Z",
  ],
  [
    "the storage class refused another size",
    three({ ...larger, status: { refusedGrowth: { size: "9Gi", message: "too large" } } }),
    "wait Resizing: the volumes grow to spec.storage.size, 2Gi",
  ],
  [
    "a volume has grown and waits for a restart",
    third(grown),
    "deletePods Resizing: example-2 restarts to use its larger volume",
    { members: ["example-2"] },
  ],
  [
    "the leader's volume has grown",
    cluster([voter(0, grown), voter(1), voter(2)]),
    "moveLeader Resizing: leadership passes from example-0 to example-1",
  ],
  ["another member does not serve", cluster([voter(0), voter(1, down), voter(2, grown)]), waits],
  [
    "another member has just become ready",
    cluster([voter(0), voter(1, readyFor(4)), voter(2, grown)]),
    waits,
  ],
  ["another member is behind", cluster([voter(0), voter(1, behind(501)), voter(2, grown)]), waits],
  [
    "another member is close to the leader",
    cluster([voter(0), voter(1, behind(500)), voter(2, grown)]),
    "deletePods Resizing: example-2 restarts to use its larger volume",
  ],
]);

const due = "2026-01-01T03:00:00.000Z";
const scheduled: Special = {
  spec: { defragmentation: { schedule: "0 3 * * *", timeZone: "UTC", minReclaimableBytes: 100_000 } },
  defragmentationDue: due,
};
const started = (...members: string[]) => ({ ...scheduled, status: { defragmentation: { due, members } } });
const compact = says({ dbSizeBytes: 900_000n });

decisions("defragmentation", defragmentation, [
  ["it is not scheduled", three({ defragmentationDue: due }), undefined],
  ["it is not due", three({ ...scheduled, defragmentationDue: undefined }), undefined],
  ["there is no quorum", three({ ...scheduled, quorum: false }), undefined],
  ["a member does not serve", cluster([voter(0), voter(1, down)], scheduled), undefined],
  ["a member has just become ready", cluster([voter(0), voter(1, readyFor(4))], scheduled), undefined],
  [
    "it is due",
    three(scheduled),
    "defragment Defragmenting: example-1 is defragmented",
    { member: "example-1", due },
  ],
  ["a follower is done", three(started("example-1")), "defragment Defragmenting: example-2 is defragmented"],
  [
    "a follower has too little to give back",
    cluster([voter(0), voter(1, compact), voter(2)], scheduled),
    "defragment Defragmenting: example-2 is defragmented",
  ],
  [
    "only the leader is left",
    three(started("example-1", "example-2")),
    "moveLeader Defragmenting: leadership passes from example-0 to example-1",
  ],
  [
    "all are done",
    three(started("example-0", "example-1", "example-2")),
    "record Defragmenting: defragmentation is over: 3 members needed it",
    { status: { defragmentation: undefined, lastDefragmentation: due } },
  ],
  [
    "none has enough to give back",
    cluster([voter(0, compact), voter(1, compact)], scheduled),
    "record Defragmenting: defragmentation is over: 0 members needed it",
  ],
]);

test("a quota is filled from nine tenths on", () => {
  expect(fillsQuota(90n, 100n)).toBe(true);
  expect(fillsQuota(89n, 100n)).toBe(false);
  expect(fillsQuota(12n, 100n)).toBe(false);
});

decisions("space that could not be made", noSpace, [
  [
    "just now",
    three({
      alarms: [alarm("NOSPACE", 0)],
      spec: { storage: { size: "1Gi", quotaBytes: 1_000 } as never },
      status: {
        template: { ...template, recipe: { ...template.recipe, quotaBytes: 1_000 } },
        space: { revision: "1", quota: "1000", fullAt: "2026-01-01T12:00:00Z" },
      },
    }),
    "wait NoSpace: the data itself fills the quota of 1000 bytes; raise spec.storage.quotaBytes or delete keys; old revisions are dropped again at 2026-01-01T12:01:00.000Z",
  ],
]);
