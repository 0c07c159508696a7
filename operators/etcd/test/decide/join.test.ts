import { joining as join } from "../../src/decide/join.ts";
import {
  alarm,
  behind,
  claim,
  cluster,
  createdAgo,
  down,
  joining,
  leaderless,
  learner,
  nodeLost,
  noPod,
  noVolume,
  obstacle,
  record,
  type Special,
  says,
  silent,
  stopping,
  type Trait,
  three,
  unready,
  volumeDeleting,
  voter,
} from "./observed.ts";
import { decisions } from "./table.ts";

const before = (traits: Trait[], special?: Special) => cluster([voter(0), joining(1, ...traits)], special);
const asLearner = (traits: Trait[], special?: Special) => cluster([voter(0), learner(1, ...traits)], special);
const lag = (entries: number) => record({ lag: entries });
const fast: Special = { spec: { storage: { size: "1Gi", className: "fast" } } };

decisions("a member that will join", join, [
  ["every member votes", three(), undefined],
  ["there is no quorum", before([], { quorum: false }), undefined],
  [
    "the authority for peers was deleted before it had a certificate",
    before([noVolume], {
      certificates: {
        peer: { trust: "old,next", phase: "Widening", expiresMs: 0, holders: ["example-0"] },
      },
    }),
    "record Growing: example-1 will leave: it has no certificate that the others trust",
  ],
  [
    "it has no volume",
    before([noVolume]),
    "createClaim Growing: example-1 gets its volume",
    { member: "example-1" },
  ],
  [
    "its volume is being deleted",
    before([volumeDeleting]),
    "wait Growing: the volume of example-1 is being deleted",
  ],
  [
    "there is no leader",
    cluster([voter(0, leaderless), joining(1)]),
    "wait Growing: example-1 waits for a leader",
  ],
  [
    "the kubelet of a voter is silent, and the voter answers",
    cluster([voter(0), voter(1, unready, nodeLost(60)), joining(2)]),
    "addLearner Growing: example-2 joins as a learner",
  ],
  [
    "a voter does not serve",
    cluster([voter(0), voter(1, down), joining(2)]),
    "wait Growing: example-2 waits until every voter serves",
  ],
  [
    "the data of a member may be corrupt",
    before([], { alarms: [alarm("CORRUPT", 0)] }),
    "wait Growing: example-1 waits: a member's data may be corrupt",
  ],
  [
    "everything is ready for it",
    before([]),
    "addLearner Growing: example-1 joins as a learner",
    { member: "example-1", via: "example-0" },
  ],
]);

decisions("a learner", join, [
  ["its pod is missing", asLearner([noPod]), "wait Growing: example-1 is starting"],
  ["its pod is being deleted", asLearner([stopping]), "wait Growing: example-1 is starting"],
  ["it has just started", asLearner([silent, createdAgo(5)]), "wait Growing: example-1 is catching up"],
  [
    "it cannot start",
    asLearner([silent, createdAgo(5), obstacle("ErrImagePull: no such image")]),
    "wait Growing: example-1 cannot start: ErrImagePull: no such image",
  ],
  [
    "it has no volume of its class",
    asLearner(
      [silent, createdAgo(5), claim({ bound: false, className: "slow" }), obstacle("Unschedulable: x")],
      {
        spec: { storage: { size: "1Gi", className: "slow" } },
      },
    ),
    "wait Growing: example-1 cannot start: no volume of storage class slow is there for it yet (Unschedulable: x)",
  ],
  [
    "its volume was never made, and the spec asks for another class",
    asLearner([silent, claim({ bound: false })], fast),
    "record Growing: example-1 will leave: its volume was never made",
  ],
  [
    "it never answered",
    asLearner([silent, createdAgo(300)]),
    "record Growing: example-1 will leave: it has not answered for 300 s",
  ],
  [
    "it never answered, and Kubernetes says why",
    asLearner([silent, createdAgo(300), obstacle("CrashLoopBackOff")]),
    "record Growing: example-1 will leave: it has not answered for 300 s (CrashLoopBackOff)",
  ],
  [
    "it is far behind",
    asLearner([behind(800), lag(900)]),
    "wait Growing: example-1 is catching up (800 entries behind)",
  ],
  ["it has come close just now", asLearner([behind(50), lag(900)]), "wait Growing: example-1 is catching up"],
  [
    "it is close, but too young for etcd",
    asLearner([behind(200), lag(200)]),
    "wait Growing: example-1 is catching up (200 entries behind)",
  ],
  [
    "it was close twice in a row",
    asLearner([behind(50), lag(60)]),
    "promote Growing: example-1 has caught up and becomes a voter",
    { member: "example-1", id: "161", via: "example-0" },
  ],
  [
    "it was just close enough twice in a row",
    cluster([
      voter(0, says({ raftIndex: 10_000n })),
      learner(1, says({ raftIndex: 10_000n, appliedIndex: 9_500n }), lag(500)),
    ]),
    "promote Growing: example-1 has caught up and becomes a voter",
  ],
  [
    "it was close twice in a row, but a voter does not serve",
    cluster([voter(0), voter(1, down), learner(2, behind(50), lag(60))]),
    "wait Growing: example-2 is catching up",
  ],
  [
    "it has caught up, and there is no leader",
    cluster([voter(0, leaderless), learner(1, says({ leader: "160" }), lag(0))]),
    "wait Growing: example-1 is catching up",
  ],
]);

const level = (raft: bigint, applied: bigint, known = 0) =>
  cluster([voter(0, says({ raftIndex: raft })), learner(1, lag(known), says({ appliedIndex: applied }))]);
const promoted = "promote Growing: example-1 has caught up and becomes a voter";

decisions("a learner is close enough", join, [
  ["at 500 entries behind, twice", level(10_000n, 9_500n, 500), promoted],
  [
    "and not at 501",
    level(10_000n, 9_499n, 500),
    "wait Growing: example-1 is catching up (501 entries behind)",
  ],
  [
    "and not when it was 501 behind before",
    level(10_000n, 9_500n, 501),
    "wait Growing: example-1 is catching up",
  ],
  ["at nine tenths of a short log", level(1_000n, 900n), promoted],
  ["and not below them", level(1_000n, 899n), "wait Growing: example-1 is catching up (101 entries behind)"],
]);

decisions("a member that joins a cluster that shrinks", join, [
  [
    "leaves before it is added",
    cluster([voter(0), voter(1), voter(2), joining(3)]),
    "record Shrinking: example-3 will leave: the cluster shrinks to 3",
  ],
  [
    "leaves as a learner",
    cluster([voter(0), voter(1), voter(2), learner(3)]),
    "record Shrinking: example-3 will leave: the cluster shrinks to 3",
  ],
]);
