import {
  endedPods,
  misinformedLearner,
  missingPods,
  outdatedPod,
  unmarkedVoter,
  unsignedClaim,
} from "../../src/decide/pods.ts";
import {
  behind,
  but,
  claim,
  cluster,
  cordoned,
  crashed,
  down,
  ended,
  joining,
  learner,
  leaving,
  noPod,
  pod,
  readyFor,
  record,
  removedFromEtcd,
  seed,
  silent,
  stopping,
  type Trait,
  template,
  templateFor,
  three,
  unready,
  volumeGone,
  voter,
} from "./observed.ts";
import { decisions } from "./table.ts";

const next = templateFor({ settings: { snapshotCount: 5 } });
const third = (...traits: Trait[]) => cluster([voter(0), voter(1), voter(2, ...traits)]);
const url = (ordinal: number) => `http://example-${ordinal}.example.default.svc:2380`;
/** Added to etcd, and never started: etcd does not know its name yet. */
const unstarted: Trait = (member) => ({
  ...member,
  status: undefined,
  entry: member.entry && { ...member.entry, name: "" },
});
/** As `unstarted`, and it answers already. */
const unstartedYet: Trait = (member) => ({ ...member, entry: member.entry && { ...member.entry, name: "" } });
const joined = (ordinals: readonly number[]) =>
  ordinals.map((each) => `example-${each}=${url(each)}`).join(",");

decisions("members without a pod", missingPods, [
  ["every member has a pod", three(), undefined],
  [
    "a voter has none",
    third(noPod),
    "createPods Healing: example-2: its pod starts",
    { pods: [{ member: "example-2", template, start: { mode: "again" }, role: "voter" }] },
  ],
  [
    "several have none, and there is no quorum",
    cluster([voter(0), voter(1, noPod), voter(2, noPod)], { quorum: false }),
    "createPods Healing: example-1, example-2: its pod starts",
  ],
  [
    "a voter was to take the new template",
    cluster([voter(0), voter(1), voter(2, noPod, record({ template: next.hash }))], {
      status: { rollout: next },
    }),
    "createPods Healing: example-2: its pod starts",
    { pods: [{ template: next }] },
  ],
  [
    "there is nothing to make it from",
    cluster([voter(0, noPod)], { status: { template: undefined } }),
    undefined,
  ],
  ["its volume is gone", third(volumeGone), undefined],
  ["its volume is lost", third(noPod, claim({ lost: true })), undefined],
  [
    "it leaves, and its vote is needed for that",
    cluster([voter(0), leaving(1, noPod)]),
    "createPods Healing: example-1: its pod starts",
  ],
  ["it leaves, and the others can remove it", cluster([voter(0), voter(1), leaving(2, noPod)]), undefined],
  [
    "it leaves, and without a quorum nobody knows whether etcd still counts it",
    cluster([voter(0), voter(1), leaving(2, noPod)], { quorum: false }),
    "createPods Healing: example-2: its pod starts",
  ],
  ["it has not been added yet", cluster([voter(0), joining(1)]), undefined],
  [
    "a learner starts for the first time",
    cluster([voter(0), learner(1, noPod, unstarted)]),
    "createPods Growing: example-1: its pod starts",
    {
      pods: [
        { start: { mode: "join", members: { "example-0": url(0), "example-1": url(1) } }, role: "learner" },
      ],
    },
  ],
  [
    "a learner that has run before",
    cluster([voter(0), learner(1, noPod)]),
    "createPods Growing: example-1: its pod starts",
    { pods: [{ start: { mode: "again" } }] },
  ],
  [
    "a learner without etcd's list: it may vote by now",
    cluster([voter(0), learner(1, noPod, unstarted)], { quorum: false }),
    "createPods Growing: example-1: its pod starts",
    { pods: [{ start: { mode: "again" }, role: "learner" }] },
  ],
  ["a learner that is not in the list", cluster([voter(0), learner(1, noPod, removedFromEtcd)]), undefined],
]);

decisions("pods that have ended", endedPods, [
  ["every pod runs", three(), undefined],
  [
    "one has ended",
    third(ended),
    "deletePods Healing: example-2: its pod has ended and is replaced",
    { members: ["example-2"] },
  ],
  ["one has ended and is being deleted", third(ended, stopping), undefined],
  ["one has ended and its member leaves", cluster([voter(0), voter(1), leaving(2, ended)]), undefined],
]);

const outdatedList = crashed("member count is unequal");
const current = pod({ initialCluster: joined([0, 1]) });
const misinformed = (...traits: Trait[]) => cluster([voter(0), learner(1, unstarted, ...traits)]);
const recreated =
  "deletePods Growing: example-1 was started with a list of members that has changed since; its pod is recreated";

decisions("a learner with an outdated list of members", misinformedLearner, [
  ["its list is current", misinformed(current), undefined],
  [
    "its list lacks a member",
    misinformed(pod({ initialCluster: joined([1]) })),
    recreated,
    { members: ["example-1"] },
  ],
  ["etcd says that the list is outdated", misinformed(current, outdatedList, unstarted), recreated],
  ["its pod is being deleted", misinformed(pod({ initialCluster: "" }), stopping), undefined],
  ["it has run before", cluster([voter(0), learner(1, pod({ initialCluster: "" }))]), undefined],
  [
    "there is no quorum",
    cluster([voter(0), learner(1, unstarted, pod({ initialCluster: "" }))], { quorum: false }),
    undefined,
  ],
]);

const votes = "markVoter Growing: example-2 votes and may serve";

decisions("a voter whose pod does not say so", unmarkedVoter, [
  ["every pod says so", three(), undefined],
  ["its label is of a learner", third(pod({ role: "learner" })), votes, { member: "example-2" }],
  ["it would start as a new cluster", third(pod({ initialClusterState: "new" })), votes],
  ["it would force a new cluster", third(pod({ forceNewCluster: true })), votes],
  ["it would join the others again", third(pod({ initialCluster: joined([0, 1, 2]) })), votes],
  ["its pod is being deleted", third(pod({ role: "learner" }), stopping), undefined],
  [
    "etcd still lists it as a learner",
    cluster([voter(0), learner(1, record({ phase: "Voter" }))]),
    undefined,
  ],
]);

const marked = "signClaim Growing: the volume of example-2 is marked as its own";

decisions("a volume without the identity of its data", unsignedClaim, [
  ["every volume has it", three(), undefined],
  ["it lacks the member's id", third(claim({ memberId: undefined })), marked, { member: "example-2" }],
  ["it lacks the cluster's id", third(claim({ clusterId: undefined })), marked],
  ["it names an earlier cluster object", third(claim({ clusterUid: "uid-0" })), marked],
  ["it is another volume than the record's", third(claim({ uid: "other", memberId: undefined })), undefined],
  ["it is being deleted", third(claim({ memberId: undefined, deleting: true })), undefined],
  ["its member leaves", cluster([voter(0), leaving(1, claim({ memberId: undefined }))]), undefined],
  ["its member has no id yet", cluster([voter(0), joining(1)]), undefined],
  ["its member is the seed", cluster([seed(0, record({ id: "a0" }))]), undefined],
]);

const outdated = (...traits: Trait[]) => third(pod({ template: "old" }), ...traits);
const restarts = "deletePods RollingOut: example-2 restarts from its new template";

decisions("a pod of another template than its record", outdatedPod, [
  ["every pod is of its template", three(), undefined],
  ["a follower's", outdated(), restarts, { members: ["example-2"] }],
  ["it is being deleted", outdated(stopping), undefined],
  ["its member leaves", cluster([voter(0), leaving(1, pod({ template: "old" }))]), undefined],
  ["its member asks for none", outdated(but({}), record({ template: undefined })), undefined],
  [
    "another voter does not serve",
    cluster([voter(0), voter(1, down), voter(2, pod({ template: "old" }))]),
    "wait RollingOut: example-2 waits for its turn until example-1 has served for a while",
  ],
  [
    "another voter has only just begun to serve",
    cluster([voter(0), voter(1, readyFor(2)), voter(2, pod({ template: "old" }))]),
    "wait RollingOut: example-2 waits for its turn until example-1 has served for a while",
  ],
  [
    "it answers and is not ready yet, and neither is another voter",
    cluster([voter(0), voter(1, unready), voter(2, pod({ template: "old" }), unready)]),
    "wait RollingOut: example-2 waits for its turn until example-1 has served for a while",
  ],
  [
    "it is ready and does not answer the operator, and another voter does not serve",
    cluster([voter(0), voter(1, down), voter(2, pod({ template: "old" }), silent)]),
    "wait RollingOut: example-2 waits for its turn until example-1 has served for a while",
  ],
  [
    "of two, one does not serve",
    cluster([voter(0), voter(1, pod({ template: "old" })), voter(2, pod({ template: "old" }), down)]),
    restarts,
  ],
  [
    "it is a learner's that answers",
    cluster([voter(0), voter(1, down), learner(2, pod({ template: "old" }), unready)]),
    restarts,
  ],
  [
    "it does not serve itself",
    cluster([voter(0), voter(1, down), voter(2, pod({ template: "old" }), down)]),
    restarts,
  ],
  [
    "it is the leader",
    cluster([voter(0, pod({ template: "old" })), voter(1, behind(5)), voter(2)]),
    "moveLeader RollingOut: leadership passes from example-0 to example-2",
    { toId: "162" },
  ],
  [
    "it is the leader, and a follower's node is about to be drained",
    cluster([voter(0, pod({ template: "old" })), voter(1), voter(2, cordoned)]),
    "moveLeader RollingOut: leadership passes from example-0 to example-1",
  ],
  [
    "it is the leader, and no follower can take over",
    cluster([voter(0, pod({ template: "old" })), voter(1, cordoned), voter(2, cordoned)]),
    "deletePods RollingOut: example-0 restarts from its new template",
  ],
  [
    "it is the only member",
    cluster([voter(0, pod({ template: "old" }))]),
    "deletePods RollingOut: example-0 restarts from its new template",
  ],
]);

const sameName: Trait = (member) => ({ ...member, entry: undefined, record: { ...member.record, id: "b1" } });

decisions("members without a pod and without an entry", missingPods, [
  [
    "a voter goes on with its data",
    third(noPod, removedFromEtcd),
    "createPods Healing: example-2: its pod starts",
    { pods: [{ start: { mode: "again" }, role: "voter" }] },
  ],
  [
    "a learner whose name another member has in the list",
    { ...cluster([voter(0), learner(1, noPod, sameName)]), list: cluster([voter(0), learner(1)]).list },
    undefined,
  ],
  [
    "a learner that has no id, without a quorum",
    cluster([voter(0), learner(1, noPod, unstarted, record({ id: undefined as never }))], { quorum: false }),
    undefined,
  ],
  [
    "a learner that etcd does not list, without a quorum",
    cluster([voter(0), learner(1, noPod, removedFromEtcd)], { quorum: false }),
    "createPods Growing: example-1: its pod starts",
    { pods: [{ start: { mode: "again" }, role: "learner" }] },
  ],
  [
    "a learner that leaves, and whose vote nobody knows",
    cluster([voter(0), learner(1, noPod, record({ phase: "Leaving" }))], { quorum: false }),
    "createPods Growing: example-1: its pod starts",
    { pods: [{ role: "learner" }] },
  ],
]);

decisions("a learner that is not misinformed", misinformedLearner, [
  ["it has no pod", misinformed(noPod), undefined],
  ["it answers", cluster([voter(0), learner(1, unstartedYet, pod({ initialCluster: "" }))]), undefined],
  [
    "there is no quorum, and etcd says that its list is outdated",
    cluster([voter(0), learner(1, unstarted, outdatedList, unstarted)], { quorum: false }),
    undefined,
  ],
]);

decisions("a voter that nothing is to be marked on", unmarkedVoter, [
  ["it has no pod", third(noPod), undefined],
  ["etcd does not list it", third(removedFromEtcd, pod({ role: "learner" })), undefined],
  [
    "it is a learner by its record",
    cluster([voter(0), voter(1, record({ phase: "Learner" }), pod({ role: "learner" }))]),
    undefined,
  ],
]);

decisions("the leader of two", outdatedPod, [
  [
    "hands over before it restarts",
    cluster([voter(0, pod({ template: "old" })), voter(1)]),
    "moveLeader RollingOut: leadership passes from example-0 to example-1",
  ],
]);
