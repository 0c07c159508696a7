import { expect } from "vitest";
import { rollback, rollbackWithoutQuorum } from "../../src/decide/rollback.ts";
import {
  alarm,
  but,
  claim,
  cluster,
  crashed,
  createdAgo,
  down,
  joining,
  learner,
  madeFrom,
  obstacle,
  pod,
  record,
  type Special,
  says,
  type Trait,
  template,
  templateFor,
  three,
  unready,
  voter,
} from "./observed.ts";
import { decisions } from "./table.ts";

const withdrawnRollout = templateFor({ settings: { snapshotCount: 5 } });
const withdrawnMinor = templateFor({ version: "3.7.3" });

const settings = { snapshotCount: 5 };
const next = templateFor({ settings });
const newMinor = templateFor({ version: "3.7.3" });
/** The last member has taken a new configuration, which the spec asks for. */
const rolling = (traits: Trait[], special: Special = {}) =>
  cluster([voter(0), voter(1), voter(2, madeFrom(next), ...traits)], {
    spec: { settings },
    ...special,
    status: { rollout: next, ...special.status },
  });
const back = (why: string) => ({ rollout: { ...next, rollback: why } });
const failing = back("example-2 cannot run: CrashLoopBackOff");
const noSpace = "panic: write /data/member/wal/0.tmp: no space left on device";
const because = (why: string) => `record RollingBack: the rollout is rolled back: ${why}`;

decisions("a rollout that fails", rollback, [
  ["there is none", three(), undefined],
  ["there is nothing to go back to", rolling([down], { status: { template: undefined } }), undefined],
  ["it goes well", rolling([]), undefined],
  [
    "a member has not been restarted yet",
    cluster([voter(0), voter(1, record({ template: next.hash }), down)], {
      spec: { settings },
      status: { rollout: next },
    }),
    undefined,
  ],
  [
    "the spec asks for what was there before",
    rolling([], { spec: { settings: {} } }),
    because("the spec no longer asks for it"),
    { status: { rollout: { rollback: "the spec no longer asks for it" } } },
  ],
  [
    "the spec asks for what was there before, too late",
    cluster([voter(0, madeFrom(newMinor))], { clusterVersion: "3.7.0", status: { rollout: newMinor } }),
    undefined,
  ],
  [
    "the image holds another version",
    rolling([says({ version: "3.5.35" })]),
    because("example-2 runs etcd 3.5.35 where 3.6.16 was asked for"),
  ],
  [
    "its pod cannot start, which may pass",
    rolling([down, obstacle("ErrImagePull"), createdAgo(59)]),
    undefined,
  ],
  [
    "its pod cannot start",
    rolling([down, obstacle("ErrImagePull: no such image"), createdAgo(60)]),
    because("example-2 cannot run: ErrImagePull: no such image"),
  ],
  [
    "its container says why",
    rolling([crashed("error verifying flags, unknown flag"), obstacle("CrashLoopBackOff"), createdAgo(60)]),
    because("example-2 cannot run: CrashLoopBackOff; it said: error verifying flags, unknown flag"),
  ],
  [
    "its volume is full: no template helps it",
    rolling([crashed(noSpace), obstacle("CrashLoopBackOff"), createdAgo(400)]),
    undefined,
  ],
  [
    "its volume was full, and it has run since without getting ready",
    rolling([crashed(noSpace), pod({ runningSinceMs: 0 }), createdAgo(300)]),
    because("example-2 was not ready after 300 s"),
  ],
  ["it is not ready yet", rolling([unready, createdAgo(299)]), undefined],
  [
    "it does not get ready",
    rolling([unready, createdAgo(300)]),
    because("example-2 was not ready after 300 s"),
  ],
]);

const upgrade = (special: Special = {}) =>
  cluster([voter(0, madeFrom(newMinor)), voter(1, madeFrom(newMinor)), voter(2, madeFrom(newMinor), down)], {
    spec: { version: "3.7.3" },
    ...special,
    status: { rollout: { ...newMinor, rollback: "example-2 cannot run: x" } },
  });

decisions("a rollback", rollback, [
  [
    "a changed member does not serve",
    rolling([down], { status: failing }),
    "record RollingBack: example-2 returns to etcd 3.6.16",
    { status: { members: [{}, {}, { name: "example-2", template: templateFor().hash }] } },
  ],
  [
    "of the changed members, the one that does not serve goes first",
    cluster([voter(0, madeFrom(next)), voter(1, madeFrom(next), down), voter(2)], {
      spec: { settings },
      status: failing,
    }),
    "record RollingBack: example-1 returns to etcd 3.6.16",
  ],
  [
    "another voter does not serve",
    cluster([voter(0), voter(1, down), voter(2, madeFrom(next))], { spec: { settings }, status: failing }),
    "wait RollingBack: example-2 waits for its turn until example-1 has served for a while",
  ],
  [
    "a member is missing: no restart is to cost the quorum",
    cluster([voter(0), voter(2, madeFrom(next))], {
      spec: { settings },
      status: { ...failing, nextMember: 3 },
    }),
    "record RollingBack: example-3 will join: 2 of 3 members",
    { status: { members: [{}, {}, { name: "example-3", template: templateFor().hash }] } },
  ],
  [
    "a member is missing, and one that returns does not serve",
    cluster([voter(0), voter(2, madeFrom(next), down)], { spec: { settings }, status: failing }),
    "record RollingBack: example-2 returns to etcd 3.6.16",
  ],
  [
    "a member is missing, and the others can do without one more",
    cluster([voter(0), voter(1), voter(2, madeFrom(next))], { spec: { settings, size: 4 }, status: failing }),
    "record RollingBack: example-2 returns to etcd 3.6.16",
  ],
  [
    "a member joins",
    cluster([voter(0), voter(2, madeFrom(next)), joining(3)], { spec: { settings }, status: failing }),
    "addLearner RollingBack: example-3 joins as a learner",
  ],
  [
    "a member is missing, and data may be corrupt",
    cluster([voter(0), voter(2, madeFrom(next))], {
      spec: { settings },
      status: failing,
      alarms: [alarm("CORRUPT", 0)],
    }),
    "record RollingBack: example-2 returns to etcd 3.6.16",
  ],
  [
    "every member is back",
    three({ spec: { settings }, status: failing }),
    "record RollingBack: every member is back at etcd 3.6.16",
    {
      status: {
        rollout: undefined,
        failedRollout: {
          hash: next.hash,
          version: "3.6.16",
          message: "rolled back: example-2 cannot run: CrashLoopBackOff",
        },
      },
    },
  ],
  [
    "every member is back, as the spec asks",
    three({ status: back("the spec no longer asks for it") }),
    "record RollingBack: every member is back at etcd 3.6.16",
    { status: { failedRollout: undefined } },
  ],
  [
    "the members have agreed on the new minor",
    upgrade({ clusterVersion: "3.7.0" }),
    "record RollingBack: there is no way back to etcd 3.6.16",
    {
      status: { rollout: newMinor },
      event: "there is no way back to etcd 3.6.16: the members have agreed on 3.7",
    },
  ],
  [
    "the members have agreed on the new minor while another joins",
    cluster([voter(0, madeFrom(newMinor)), joining(1)], {
      spec: { version: "3.7.3" },
      clusterVersion: "3.7.0",
      status: { rollout: { ...newMinor, rollback: "x" } },
    }),
    "record RollingBack: there is no way back to etcd 3.6.16",
    { status: { members: [{ template: newMinor.hash }, { template: newMinor.hash }] } },
  ],
  [
    "the members have not agreed on the new minor",
    upgrade(),
    "record RollingBack: example-2 returns to etcd 3.6.16",
  ],
  [
    "the version that they agreed on is unknown",
    upgrade({ clusterVersion: undefined }),
    "record RollingBack: example-2 returns to etcd 3.6.16",
  ],
]);

const nowhere = "Unschedulable: no node has these labels";
/** The first member returned to the old template, and cannot run from it; the second serves from the new one. */
const stranded = (traits: Trait[], special: Special = {}) =>
  cluster(
    [voter(0, down, obstacle(nowhere), createdAgo(60), ...traits), voter(1, madeFrom(next)), voter(2)],
    {
      spec: { settings },
      ...special,
      status: { ...failing, ...special.status },
    },
  );
const waitsFor = (obstacle: string) =>
  `wait RollingBack: example-1 waits for its turn until example-0 (${obstacle}) has served for a while`;
const waits = waitsFor(nowhere);
const forward = "record RollingOut: example-0 cannot run from the old template and follows the spec";
const pauseUntil = (retryAt: string) => ({
  failedRollout: { hash: next.hash, version: "3.6.16", message: "it failed", attempts: 1, retryAt },
});
const later = (seconds: number) => new Date(three().nowMs + seconds * 1_000).toISOString();

decisions("a rollback to a template that does not run any more", rollback, [
  [
    "the rollout goes on, since the spec asks for it and another member serves from it",
    stranded([]),
    forward,
    {
      status: {
        rollout: expect.not.objectContaining({ rollback: expect.anything() }),
        members: [{ template: next.hash }, { template: next.hash }, { template: templateFor().hash }],
        failedRollout: {
          hash: next.hash,
          message: `example-2 cannot run: CrashLoopBackOff; example-0 cannot run from the old template either: ${nowhere}`,
          attempts: 1,
          retryAt: later(300),
        },
      },
    },
  ],
  ["what keeps the member from running may pass", stranded([createdAgo(59)]), waits],
  ["the member runs by now", stranded([obstacle("x"), but({ status: voter(0).status })]), waitsFor("x")],
  ["its pod is still of another template", stranded([pod({ template: next.hash })]), waits],
  [
    "its volume is full: no template helps it",
    stranded([crashed(noSpace), obstacle("CrashLoopBackOff")]),
    waitsFor("CrashLoopBackOff"),
  ],
  ["its data is lost: no template helps it", stranded([claim({ lost: true })]), waits],
  ["the spec asks for the old template", stranded([], { spec: { settings: {} } }), waits],
  [
    "the spec asks for a later version as well",
    stranded([], { spec: { settings, version: "3.7.3" } }),
    forward,
  ],
  ["neither template runs: the next attempt waits", stranded([], { status: pauseUntil(later(1)) }), waits],
  [
    "neither template runs: the pause is over",
    stranded([], { status: pauseUntil(later(0)) }),
    forward,
    { status: { failedRollout: { attempts: 2, retryAt: later(600) } } },
  ],
  [
    "one that joins cannot run from it, and those that serve are not restarted for it",
    cluster(
      [
        voter(0, madeFrom(next)),
        voter(1, madeFrom(next)),
        learner(2, down, obstacle(nowhere), createdAgo(60)),
      ],
      { spec: { settings }, status: failing },
    ),
    "record RollingOut: example-2 cannot run from the old template and follows the spec",
  ],
  [
    "the others do not serve from the new one either",
    cluster([voter(0, down, obstacle(nowhere), createdAgo(60)), voter(1, madeFrom(next), down), voter(2)], {
      spec: { settings },
      status: failing,
    }),
    "record RollingBack: example-1 returns to etcd 3.6.16",
  ],
]);

const asked = { spec: { settings: { snapshotCount: 5 } } };

decisions("a rollback without a quorum", rollbackWithoutQuorum, [
  ["there is a quorum", three({ status: { rollout: withdrawnRollout } }), undefined],
  [
    "the rollout is taken back",
    three({ quorum: false, status: { rollout: withdrawnRollout } }),
    "record RollingBack: the rollout is rolled back: the spec no longer asks for it",
  ],
  [
    "the rollout is asked for",
    three({ ...asked, quorum: false, status: { rollout: withdrawnRollout } }),
    undefined,
  ],
  [
    "all voters have the new minor: there is no way back",
    cluster([voter(0, madeFrom(withdrawnMinor), down)], {
      quorum: false,
      status: { rollout: withdrawnMinor },
    }),
    undefined,
  ],
  ["there is no rollout", three({ quorum: false }), undefined],
]);

decisions("a rollback after the members have agreed on the new minor", rollback, [
  [
    "who has yet to join follows the new minor, and the others go on with the rollout",
    cluster([voter(0, madeFrom(withdrawnMinor)), voter(1), learner(2), joining(3)], {
      clusterVersion: "3.7.0",
      status: { rollout: { ...withdrawnMinor, rollback: "it failed" } },
    }),
    "record RollingBack: there is no way back to etcd 3.6.16",
    {
      status: {
        members: [
          { template: withdrawnMinor.hash },
          { template: template.hash },
          { template: withdrawnMinor.hash },
          { template: withdrawnMinor.hash },
        ],
      },
    },
  ],
]);
