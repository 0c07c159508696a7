import { finishedTrials, rollout } from "../../src/decide/rollout.ts";
import {
  behind,
  but,
  cluster,
  cordoned,
  down,
  madeFrom,
  pod,
  readyFor,
  record,
  type Special,
  says,
  secondsAgo,
  silent,
  type Trait,
  template,
  templateFor,
  three,
  trial,
  voter,
} from "./observed.ts";
import { decisions } from "./table.ts";

const settings = { snapshotCount: 5 };
const next = templateFor({ settings });
const newMinor = templateFor({ version: "3.7.3" });
const change: Special = { spec: { settings } };
const tried = (outcome: "succeeded" | "failed" | "running") => ({
  ...change,
  trials: [trial(next, { outcome })],
});
const triedBy = (
  decision: "tryTemplate" | "wait",
  { hash }: { hash: string },
  what = "a new configuration",
) => `${decision} RollingOut: ${what} is tried by example-trial-${hash}`;
const large = (requests: object) => ({ spec: { resources: { requests } } });
const entry = { id: "999", name: "other", peerUrls: ["http://elsewhere:2380"], clientUrls: [] };
const stuck = (seconds: number) => ({
  ...change,
  trials: [trial(next, { obstacle: "ErrImagePull", createdMs: secondsAgo(seconds) })],
});

decisions("the start of a rollout", rollout, [
  ["the members are as the spec asks", three(), undefined],
  ["there is no quorum", three({ ...change, quorum: false }), undefined],
  ["the spec asks for an impossible version", three({ spec: { version: "3.5.35" } }), undefined],
  [
    "it has failed before",
    three({ ...change, status: { failedRollout: { hash: next.hash, version: "3.6.16", message: "x" } } }),
    undefined,
  ],
  [
    "a member does not serve",
    cluster([voter(0), voter(1), voter(2, down)], change),
    "wait RollingOut: a rollout waits until example-2 has served for a while",
  ],
  [
    "a member has just become ready",
    cluster([voter(0), voter(1), voter(2, readyFor(4))], change),
    "wait RollingOut: a rollout waits until example-2 has served for a while",
  ],
  [
    "a voter is unknown to the operator",
    three({ ...change, unknownMembers: [{ ...entry, learner: false }] }),
    "wait RollingOut: a rollout waits until every member has served for a while",
  ],
  [
    "a learner is unknown to the operator",
    three({ ...change, unknownMembers: [{ ...entry, learner: true }] }),
    triedBy("tryTemplate", next),
  ],
  [
    "it has failed before, and the time has come to try it again",
    three({
      ...change,
      status: {
        failedRollout: {
          hash: next.hash,
          version: "3.6.16",
          message: "x",
          attempts: 1,
          retryAt: "2026-01-01T12:00:00.000Z",
        },
      },
    }),
    triedBy("tryTemplate", next),
  ],
  ["a new configuration was not tried yet", three(change), triedBy("tryTemplate", next), { template: next }],
  [
    "a new version was not tried yet",
    three({ spec: { version: "3.7.3" } }),
    triedBy("tryTemplate", newMinor, "etcd 3.7.3"),
    { template: newMinor },
  ],
  ["the trial runs", three(tried("running")), triedBy("wait", next)],
  [
    "the trial failed",
    three(tried("failed")),
    "record RolloutFailed: nothing is rolled out: etcd:v3.6.16 holds no etcd that runs",
    {
      status: {
        failedRollout: {
          hash: next.hash,
          version: "3.6.16",
          message: "etcd:v3.6.16 holds no etcd that runs",
        },
      },
    },
  ],
  [
    "the trial cannot start, which may pass",
    three(stuck(59)),
    `wait RollingOut: a new configuration is tried by example-trial-${next.hash}, which cannot run: ErrImagePull; it is given up after spec.timeouts.obstacleSeconds`,
  ],
  [
    "the trial cannot start",
    three(stuck(60)),
    "record RolloutFailed: nothing is rolled out: etcd:v3.6.16 cannot run: ErrImagePull",
  ],
  [
    "no node has the CPU",
    three(large({ cpu: "5" })),
    "record RolloutFailed: nothing is rolled out: no node has cpu 5, the largest has 4",
  ],
  [
    "no node has the memory",
    three(large({ memory: "32Gi" })),
    "record RolloutFailed: nothing is rolled out: no node has memory 32Gi, the largest has 16Gi",
  ],
  [
    "a node has both",
    three(large({ cpu: 4, memory: "16Gi" })),
    triedBy("tryTemplate", templateFor({ resources: { requests: { cpu: 4, memory: "16Gi" } } })),
  ],
  [
    "no node is known",
    three({ ...large({ cpu: "5" }), largestNode: undefined }),
    triedBy("tryTemplate", templateFor({ resources: { requests: { cpu: "5" } } })),
  ],
  [
    "the trial succeeded",
    three(tried("succeeded")),
    "record RollingOut: a new configuration is rolled out",
    { status: { rollout: next } },
  ],
  [
    "the trial succeeded and is being deleted",
    three({ ...change, trials: [trial(next, { outcome: "succeeded", deleting: true })] }),
    `wait RollingOut: a new configuration is tried when example-trial-${next.hash} has stopped`,
  ],
]);

const old = (version: string, traits: Trait[] = [], oldLog = "1000") => {
  const made = templateFor({ version });
  return cluster([voter(0, madeFrom(made), ...traits)], {
    spec: { size: 1, version: "3.6.16" },
    status: { template: made, oldLog: { index: oldLog } },
  });
};

decisions("an upgrade of a cluster that was etcd 3.4 once", rollout, [
  [
    "no snapshot covers the old log",
    old("3.5.35"),
    "wait RollingOut: etcd 3.6.16 cannot read what 3.4 left in the log; it follows when every member has written a snapshot, after 105000 more changes (fewer with a lower spec.settings.snapshotCount)",
  ],
  [
    "a snapshot covers the old log",
    old("3.5.35", [says({ appliedIndex: 106_000n })]),
    triedBy("tryTemplate", templateFor(), "etcd 3.6.16"),
  ],
  ["the minor stays", old("3.6.11"), triedBy("tryTemplate", templateFor(), "etcd 3.6.16")],
]);

decisions("an upgrade from etcd 3.4", rollout, [
  [
    "to 3.6: it stops at 3.5, and writes snapshots as often as 3.6",
    cluster([voter(0, madeFrom(templateFor({ version: "3.4.45" })))], {
      status: { template: templateFor({ version: "3.4.45" }) },
    }),
    triedBy(
      "tryTemplate",
      templateFor({ version: "3.5.35", settings: { snapshotCount: 10_000 } }),
      "etcd 3.5.35",
    ),
    { template: { recipe: { settings: { snapshotCount: 10_000 } } } },
  ],
  [
    "to 3.5: settings stay",
    cluster([voter(0, madeFrom(templateFor({ version: "3.4.45" })))], {
      spec: { version: "3.5.35" },
      status: { template: templateFor({ version: "3.4.45" }) },
    }),
    triedBy("tryTemplate", templateFor({ version: "3.5.35" }), "etcd 3.5.35"),
    { template: templateFor({ version: "3.5.35" }) },
  ],
]);

/** The last member has taken the new configuration. */
const oneDone = (traits: Trait[] = [], special: Special = {}, rolled = next) =>
  cluster([voter(0), voter(1), voter(2, madeFrom(rolled), ...traits)], {
    ...change,
    ...special,
    status: { rollout: { ...rolled, index: "900" }, ...special.status },
  });
const compared = (count: number, odd: string[] = [], agreed = true, rolled = next) => ({
  comparison: {
    purpose: `rollout/${rolled.hash}/${count}/a0,a1,a2`,
    revision: "100",
    odd,
    agreed,
    at: "2026-01-01T11:55:01Z",
  },
});
const differAt = (at: string | undefined) => ({
  comparison: { ...compared(1, ["example-2"]).comparison, at },
});
const stopped = (who: string) =>
  `the rollout is stopped: at revision 100 ${who}; take the spec back to undo it, or delete the claim and the pod of a member whose data is wrong; the hashes are compared again every five minutes`;
const oneDiffers = stopped("example-2 has other data than the majority");
const equal = (count: number, rolled = next) => ({
  status: { rollout: rolled, ...compared(count, [], true, rolled) },
});

decisions("a rollout under way", rollout, [
  [
    "no member has taken it",
    three({ ...change, status: { rollout: next } }),
    "record RollingOut: example-1 is next (0 of 3 done)",
    {
      status: {
        members: [{}, { name: "example-1", template: next.hash }, {}],
        rollout: { index: "1000" },
      },
      event: "example-1 takes etcd 3.6.16",
    },
  ],
  [
    "the updated member has no pod of it yet",
    oneDone([pod({ template: template.hash })]),
    "wait RollingOut: example-2 is restarting",
  ],
  ["the updated member does not answer", oneDone([silent]), "wait RollingOut: example-2 is restarting"],
  [
    "the updated member runs another version",
    oneDone([says({ version: "3.5.35" })]),
    "wait RollingOut: example-2 runs etcd 3.5.35",
  ],
  ["the updated member lacks entries", oneDone([behind(101)]), "wait RollingOut: example-2 is catching up"],
  [
    "the updated member cannot read",
    oneDone([but({ readThrough: false })]),
    "wait RollingOut: example-2 does not answer a linearizable read",
  ],
  [
    "the updated member has just become ready",
    oneDone([readyFor(4)]),
    "wait RollingOut: example-2 has not served for long enough",
  ],
  [
    "another member does not serve",
    cluster([voter(0), voter(1, down), voter(2, madeFrom(next))], { ...change, status: { rollout: next } }),
    "wait RollingOut: a rollout waits until every member serves",
  ],
  [
    "the node of another member is about to be drained",
    cluster([voter(0), voter(1), voter(2, madeFrom(next), cordoned)], { ...change, ...equal(1) }),
    "wait RollingOut: a rollout waits: node node-2 of example-2 is cordoned; drain it, or uncordon it",
  ],
  [
    "the node of the next member is about to be drained",
    cluster([voter(1, cordoned), voter(0), voter(2, madeFrom(next))], { ...change, ...equal(1) }),
    "record RollingOut: example-1 is next (1 of 3 done)",
  ],
  [
    "the hashes were not compared yet",
    oneDone(),
    "compareHashes RollingOut: the members' hashes are compared",
    {
      purpose: `rollout/${next.hash}/1/a0,a1,a2`,
      members: ["example-0", "example-1", "example-2"],
    },
  ],
  ["one hash differs", oneDone([], { status: compared(1, ["example-2"]) }), `refuse Corrupt: ${oneDiffers}`],
  [
    "one hash differed five minutes ago",
    oneDone([], { status: differAt("2026-01-01T11:55:00Z") }),
    `compareHashes Corrupt: ${oneDiffers}`,
  ],
  [
    "one hash differed, and the clock was set back since",
    oneDone([], { status: differAt("2026-01-01T12:00:01Z") }),
    `compareHashes Corrupt: ${oneDiffers}`,
  ],
  [
    "one hash differed, and nobody knows when",
    oneDone([], { status: differAt(undefined) }),
    `compareHashes Corrupt: ${oneDiffers}`,
  ],
  [
    "one hash differed, and its member was replaced by one with the same name",
    oneDone([record({ id: "b2" })], { status: compared(1, ["example-2"]) }),
    "compareHashes RollingOut: the members' hashes are compared",
  ],
  [
    "one hash differed, and its member was replaced",
    cluster([voter(0), voter(1, madeFrom(next)), voter(3)], {
      ...change,
      status: { rollout: next, ...compared(1, ["example-2"]) },
    }),
    "compareHashes RollingOut: the members' hashes are compared",
  ],
  [
    "no majority has the same hash",
    oneDone([], { status: compared(1, [], false) }),
    `refuse Corrupt: ${stopped("no majority of example-0, example-1, example-2 has the same data")}`,
  ],
  ["the hashes are equal", oneDone([], equal(1)), "record RollingOut: example-1 is next (1 of 3 done)"],
  [
    "only the leader is left",
    cluster([voter(0), voter(1, madeFrom(next)), voter(2, madeFrom(next))], { ...change, ...equal(2) }),
    "record RollingOut: example-0 is next (2 of 3 done)",
  ],
  [
    "the others would not trust the new certificate of a follower",
    oneDone([], {
      ...equal(1),
      certificates: {
        peer: { trust: "old,next", phase: "Widening", expiresMs: 0, holders: ["example-0", "example-2"] },
      },
    }),
    "record RollingOut: example-0 is next (1 of 3 done)",
  ],
  [
    "every member has taken it",
    cluster(
      [0, 1, 2].map((each) => voter(each, madeFrom(next))),
      { ...change, ...equal(3) },
    ),
    "record RollingOut: etcd 3.6.16 runs everywhere",
    {
      status: { template: next, rollout: undefined, failedRollout: undefined, comparison: undefined },
      event: "every member runs etcd 3.6.16 with the settings of the spec",
    },
  ],
]);

const last = (seconds: number) =>
  cluster([voter(0), voter(1, madeFrom(newMinor)), voter(2, madeFrom(newMinor), readyFor(seconds))], {
    spec: { version: "3.7.3" },
    ...equal(2, newMinor),
  });
const entered = (from: string, to: string) => {
  const [before, after] = [templateFor({ version: from }), templateFor({ version: to })];
  return cluster([voter(0, madeFrom(after))], {
    spec: { size: 1, version: to },
    status: { template: before, rollout: after, oldLog: { index: "5" } },
  });
};

decisions("the end of an upgrade to a new minor", rollout, [
  [
    "the others have just taken it",
    last(14),
    "wait RollingOut: example-0 is the last: the others are watched for a while",
  ],
  ["the clock was set back since", last(-3_600), "record RollingOut: example-0 is next (2 of 3 done)"],
  ["the others have run it for a while", last(15), "record RollingOut: example-0 is next (2 of 3 done)"],
  [
    "a single member does not wait",
    cluster([voter(0)], { spec: { size: 1, version: "3.7.3" }, status: { rollout: newMinor } }),
    "record RollingOut: example-0 is next (0 of 1 done)",
  ],
  [
    "from 3.4, the old log is remembered",
    entered("3.4.45", "3.5.35"),
    "record RollingOut: etcd 3.5.35 runs everywhere",
    { status: { oldLog: { index: "1000" } } },
  ],
  [
    "from 3.5, the old log is forgotten",
    entered("3.5.35", "3.6.16"),
    "record RollingOut: etcd 3.6.16 runs everywhere",
    { status: { oldLog: undefined } },
  ],
]);

decisions("trials that are over", finishedTrials, [
  ["there is none", three(), undefined],
  ["it is of the pending template", three(tried("running")), undefined],
  [
    "the rollout has started",
    three({ ...tried("succeeded"), status: { rollout: next } }),
    "endTrials RollingOut: a trial is over",
  ],
  [
    "the spec asks for something else",
    three({ trials: [trial(next)] }),
    "endTrials RollingOut: a trial is over",
  ],
  ["it is being deleted", three({ trials: [trial(next, { deleting: true })] }), undefined],
  [
    "the version is refused",
    three({ spec: { version: "3.5.35" }, trials: [trial(next)] }),
    "endTrials RollingOut: a trial is over",
  ],
]);

const leadBy = (id: number) => says({ leader: String(id) });
const held = (...holders: string[]): Special => ({
  certificates: { peer: { trust: "old,next", phase: "Widening", expiresMs: 0, holders } },
});
const rolling: Special = { ...change, status: { rollout: next } };

decisions("who is next in a rollout", rollout, [
  [
    "a follower whose node is about to be drained",
    cluster([voter(0), voter(1), voter(2, cordoned)], rolling),
    "record RollingOut: example-2 is next (0 of 3 done)",
  ],
  [
    "a follower before the leader",
    cluster([voter(0), voter(1, cordoned)], { ...rolling, spec: { ...change.spec, size: 2 } }),
    "record RollingOut: example-1 is next (0 of 2 done)",
  ],
  [
    "the leader before one whose certificate the others would not trust",
    cluster([voter(0, leadBy(0xa1)), voter(1, leadBy(0xa1))], {
      ...rolling,
      ...held("example-1"),
      spec: { ...change.spec, size: 2 },
    }),
    "record RollingOut: example-1 is next (0 of 2 done)",
  ],
  [
    "one that is trusted before one that is not",
    cluster([voter(0, leadBy(0xa2)), voter(1, leadBy(0xa2)), voter(2, leadBy(0xa2))], {
      ...rolling,
      ...held("example-1", "example-2"),
    }),
    "record RollingOut: example-1 is next (0 of 3 done)",
  ],
]);

const two = (rolled: typeof next, special: Special = {}, ...traits: Trait[]) =>
  cluster([voter(0), voter(1, madeFrom(rolled), ...traits)], special);
const agreedBy = (rolled: typeof next, count: number, ids: string) => ({
  rollout: rolled,
  comparison: {
    ...compared(count, [], true, rolled).comparison,
    purpose: `rollout/${rolled.hash}/${count}/${ids}`,
  },
});

decisions("a rollout through two members", rollout, [
  [
    "hashes are compared after the first",
    two(next, rolling),
    "compareHashes RollingOut: the members' hashes are compared",
  ],
  [
    "the first of a new minor is watched",
    two(newMinor, { spec: { version: "3.7.3" }, status: agreedBy(newMinor, 1, "a0,a1") }, readyFor(14)),
    "wait RollingOut: example-0 is the last: the others are watched for a while",
  ],
  [
    "of other settings, the last follows at once",
    two(next, { ...change, status: agreedBy(next, 1, "a0,a1") }, readyFor(14)),
    "record RollingOut: example-0 is next (1 of 2 done)",
  ],
]);

decisions("a rollout of a new minor through three members", rollout, [
  [
    "only the last waits for the others",
    cluster([voter(0), voter(1), voter(2, madeFrom(newMinor), readyFor(14))], {
      spec: { version: "3.7.3" },
      status: agreedBy(newMinor, 1, "a0,a1,a2"),
    }),
    "record RollingOut: example-1 is next (1 of 3 done)",
  ],
  [
    "a member that has applied what there was has caught up",
    oneDone([behind(100)], { status: { ...equal(1).status, rollout: { ...next, index: "900" } } }),
    "record RollingOut: example-1 is next (1 of 3 done)",
  ],
]);

decisions("what 3.4 left in the log", rollout, [
  [
    "one more change is to come",
    old("3.5.35", [says({ appliedIndex: 105_999n })]),
    "wait RollingOut: etcd 3.6.16 cannot read what 3.4 left in the log; it follows when every member has written a snapshot, after 1 more changes (fewer with a lower spec.settings.snapshotCount)",
  ],
]);

decisions("hashes that differ", rollout, [
  [
    "were compared just now",
    oneDone([], { status: differAt("2026-01-01T12:00:00Z") }),
    `refuse Corrupt: ${oneDiffers}`,
  ],
]);

decisions("a rollout without a template of before", rollout, [
  [
    "goes to what the spec asks for",
    three({ status: { template: undefined } }),
    triedBy("tryTemplate", template, "etcd 3.6.16"),
  ],
]);

decisions("a rollout whose beginning nobody remembers", rollout, [
  [
    "ends where every member has it",
    cluster([voter(0, madeFrom(next))], {
      spec: { ...change.spec, size: 1 },
      status: { template: undefined, rollout: next },
    }),
    "record RollingOut: etcd 3.6.16 runs everywhere",
  ],
  [
    "does not wait for entries, where no index was written down",
    oneDone([says({ appliedIndex: 0n })], { status: { rollout: next, ...compared(1) } }),
    "record RollingOut: example-1 is next (1 of 3 done)",
  ],
  [
    "waits for a snapshot over the old log",
    three({ status: { template: undefined, oldLog: { index: "5" } } }),
    "wait RollingOut: etcd 3.6.16 cannot read what 3.4 left in the log; it follows when every member has written a snapshot, after 104005 more changes (fewer with a lower spec.settings.snapshotCount)",
  ],
]);
