import { rollback } from "../../src/decide/rollback.ts";
import {
  alarm,
  cluster,
  crashed,
  createdAgo,
  down,
  joining,
  madeFrom,
  obstacle,
  record,
  type Special,
  says,
  type Trait,
  templateFor,
  three,
  unready,
  voter,
} from "./observed.ts";
import { decisions } from "./table.ts";

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
    "wait RollingBack: example-2 waits for its turn: another voter does not serve",
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
