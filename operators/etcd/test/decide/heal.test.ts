import { expect, test } from "vitest";
import type { Status } from "../../src/api/cluster.ts";
import { inconsistentMember, lostMember, unhealthyVoters } from "../../src/decide/heal.ts";
import { quorumLoss } from "../../src/decide/quorum-loss.ts";
import {
  alarm,
  claim,
  cluster,
  crashed,
  down,
  joining,
  leaderless,
  learner,
  leaving,
  nodeLost,
  noPod,
  obstacle,
  pod,
  readyFor,
  record,
  type Special,
  secondsAgo,
  silent,
  stopping,
  type Trait,
  three,
  unready,
  volumeDeleting,
  volumeGone,
  voter,
} from "./observed.ts";
import { decisions } from "./table.ts";

const third = (...traits: Trait[]) => cluster([voter(0), voter(1), voter(2, ...traits)]);
const serving = (action: string, ordinal: number) =>
  `${action} Healing: example-${ordinal} is replaced while it serves: its volume is being deleted`;
const lost = (why: string) => `record Healing: example-2 will leave: ${why}`;
const left = { status: { members: [{}, {}, { name: "example-2", phase: "Leaving" }] } };
const runsFor = (seconds: number) => pod({ runningSinceMs: secondsAgo(seconds) });
const emptyVolume = "could not retrieve cluster information from the given URLs";
const corrupt = "panic: failed to open database";

/** The key of the authority for peers is lost, and these have a certificate by it. */
const withoutAuthority = (...holders: string[]): Special => ({
  certificates: { peer: { trust: "old,next", phase: "Widening", expiresMs: 0, holders } },
});

decisions("a member whose data or node is lost", lostMember, [
  ["every member is well", three(), undefined],
  ["a member is down", third(down), undefined],
  ["there is no quorum", cluster([voter(0), voter(1), voter(2, volumeGone)], { quorum: false }), undefined],
  ["its volume is gone", third(volumeGone), lost("its volume is gone"), left],
  [
    "its volume is another one",
    third(claim({ uid: "other" }), down),
    lost("its volume was replaced by another"),
    left,
  ],
  ["its volume is lost", third(claim({ lost: true }), down), lost("its volume is lost"), left],
  ["its volume is being deleted", third(volumeDeleting), lost("its volume is being deleted"), left],
  ["it finds its volume empty", third(crashed(emptyVolume)), lost("its volume is empty"), left],
  ["it finds its data corrupt", third(crashed(corrupt)), lost("its data is corrupt"), left],
  [
    "it reached nobody at its first start, and runs",
    third(pod({ terminationMessage: emptyVolume }), down),
    undefined,
  ],
  ["it crashed, and serves again", third(pod({ terminationMessage: corrupt })), undefined],
  ["it crashed, and answers again", third(pod({ terminationMessage: corrupt }), unready), undefined],
  ["it crashed, and its pod is ready again", third(pod({ terminationMessage: corrupt }), silent), undefined],
  [
    "it crashed, and has started again since",
    third(crashed(corrupt), runsFor(29)),
    lost("its data is corrupt"),
  ],
  ["it crashed, and runs since, for whatever it waits", third(crashed(corrupt), runsFor(30)), undefined],
  ["it crashed, runs since, and the clock was set back", third(crashed(corrupt), runsFor(-6)), undefined],
  ["it crashed for another reason", third(crashed("listen tcp: address already in use")), undefined],
  [
    "it crashes with a template that was never rolled out",
    third(crashed(corrupt), pod({ template: "new" })),
    undefined,
  ],
  [
    "it finds its data corrupt under a new template, from which another member serves",
    cluster([
      voter(0),
      voter(1, pod({ template: "new" })),
      voter(2, crashed(corrupt), pod({ template: "new" })),
    ]),
    lost("its data is corrupt"),
    left,
  ],
  [
    "it finds its data corrupt under a new template, and so does another member",
    cluster([
      voter(0),
      voter(1, crashed(corrupt), pod({ template: "new" })),
      voter(2, crashed(corrupt), pod({ template: "new" })),
    ]),
    undefined,
  ],
  ["it has no data yet", cluster([voter(0), voter(1), joining(2, volumeGone)]), undefined],
  ["it already leaves", cluster([voter(0), voter(1), leaving(2, volumeGone)]), undefined],
  ["its node is lost for a short time", third(down, nodeLost(299)), undefined],
  [
    "its node is lost for long",
    third(down, nodeLost(300)),
    lost("its node node-2 has been gone for 300 s"),
    left,
  ],
  [
    "no node takes its pod, and that of its volume is gone for long",
    third(
      down,
      obstacle("Unschedulable: no node has the volume"),
      pod({ node: undefined }),
      claim({ selectedNode: "node-9" }),
      nodeLost(300),
    ),
    lost("its node node-9 has been gone for 300 s"),
    left,
  ],
  ["its node is lost for long, but it answers", third(unready, nodeLost(900)), undefined],
  ["its node is lost for long, but its pod is ready", third(silent, nodeLost(900)), undefined],
  [
    "a second member is lost at the same time",
    cluster([voter(0), voter(1, volumeGone), voter(2, volumeGone)]),
    "wait MembersUnhealthy: example-1 cannot be replaced now: its volume is gone, and without it the others would have no majority",
  ],
  [
    "another member answers from a node whose kubelet is silent",
    cluster([voter(0), voter(1, unready, nodeLost(60)), voter(2, volumeGone)]),
    lost("its volume is gone"),
    left,
  ],
  [
    "another member answers from a silent node, and its pod is being deleted",
    cluster([voter(0), voter(1, unready, stopping, nodeLost(600)), voter(2, volumeGone)]),
    lost("its volume is gone"),
    left,
  ],
  [
    "another member on a silent node knows no leader",
    cluster([voter(0), voter(1, unready, leaderless, nodeLost(60)), voter(2, volumeGone)]),
    "wait MembersUnhealthy: example-2 cannot be replaced now: its volume is gone, and without it the others would have no majority",
  ],
  [
    "another member answers and is not ready, as its kubelet says",
    cluster([voter(0), voter(1, unready), voter(2, volumeGone)]),
    "wait MembersUnhealthy: example-2 cannot be replaced now: its volume is gone, and without it the others would have no majority",
  ],
  [
    "the only member is lost",
    cluster([voter(0, volumeGone)], { spec: { size: 1 } }),
    "wait MembersUnhealthy: example-0 cannot be replaced now: its volume is gone, and without it the others would have no majority",
  ],
  [
    "the only member serves from a volume that is being deleted",
    cluster([voter(0, volumeDeleting)], { spec: { size: 1 } }),
    `${serving("record", 0)}; example-1 will join: 1 of 2 members`,
    { status: { members: [{ phase: "Voter" }, { name: "example-1", phase: "Joining" }], nextMember: 2 } },
  ],
  [
    "the only member serves from such a volume, and the spec asks for more",
    cluster([voter(0, volumeDeleting), joining(1)]),
    `${serving("addLearner", 0)}; example-1 joins as a learner`,
  ],
  [
    "the only member serves from such a volume, and its copy is ready",
    cluster([voter(0, volumeDeleting), learner(1, record({ lag: 0 }))], { spec: { size: 1 } }),
    `${serving("promote", 0)}; example-1 has caught up and becomes a voter`,
  ],
  [
    "its copy votes",
    cluster([voter(0, volumeDeleting), voter(1)], { spec: { size: 1 } }),
    "record Healing: example-0 will leave: its volume is being deleted",
  ],
  [
    "its copy is lost before it votes",
    cluster([voter(0, volumeDeleting), learner(1, volumeDeleting)], { spec: { size: 1 } }),
    "record Healing: example-1 will leave: its volume is being deleted",
  ],
  [
    "all serve from volumes that are being deleted, and one was removed",
    cluster([voter(1, volumeDeleting), voter(2, volumeDeleting)], { status: { nextMember: 3 } }),
    `${serving("record", 1)}; example-3 will join: 2 of 3 members`,
  ],
  [
    "another voter does not serve: what helps it comes first",
    cluster([voter(0), voter(1, down), voter(2, volumeDeleting)]),
    undefined,
  ],
  [
    "another voter does not serve, and a member that joins waits for it",
    cluster([voter(0), voter(1, down), voter(2, volumeDeleting), joining(3)], { spec: { size: 5 } }),
    undefined,
  ],
  [
    "data may be corrupt, and a member that joins waits for it",
    cluster([voter(0), voter(1), voter(2, volumeDeleting), joining(3)], {
      spec: { size: 5 },
      alarms: [alarm("CORRUPT", 1)],
    }),
    "compareHashes Corrupt: etcd reports corrupt data; hashes are compared",
  ],
  [
    "nobody can join, since the authority for peers was deleted: its certificate will serve another",
    cluster([voter(0), voter(1, volumeDeleting)], withoutAuthority("example-0", "example-1")),
    "record Healing: example-1 will leave: its volume is being deleted",
  ],
  [
    "it is alone, and nobody can join, since the authority for peers was deleted",
    cluster([voter(0, volumeDeleting)], withoutAuthority("example-0")),
    "refuse Healing: example-0 cannot be replaced: its volume is being deleted, so its data goes with its pod, and the key of the authority for peers was deleted, so nobody can join before it restarts; take an EtcdBackup and make the cluster again with spec.restoreFrom",
  ],
  [
    "two of such members, and one of them ends",
    cluster([voter(0), voter(1, volumeDeleting), voter(2, volumeDeleting, down)]),
    "record Healing: example-2 will leave: its volume is being deleted",
  ],
]);

const differs = crashed("a2 found data inconsistency with peers");
const comparison = (change: Partial<NonNullable<Status["comparison"]>> = {}): Special => ({
  status: {
    comparison: { purpose: "inconsistent/a2/a0,a1", revision: "100", odd: [], agreed: true, ...change },
  },
});
const inconsistent = (special?: Special) => cluster([voter(0), voter(1), voter(2, differs)], special);

decisions("a member whose data is not that of every other member", inconsistentMember, [
  ["every member is well", three(), undefined],
  ["there is no quorum", inconsistent({ quorum: false }), undefined],
  [
    "it found so with a template that was never rolled out",
    third(differs, pod({ template: "new" })),
    undefined,
  ],
  [
    "the hashes of the others were not compared yet",
    inconsistent(),
    "compareHashes Corrupt: example-2 does not have the data of every other member; hashes are compared",
    { purpose: "inconsistent/a2/a0,a1", members: ["example-0", "example-1"] },
  ],
  [
    "the others have the same data",
    inconsistent(comparison()),
    "record Corrupt: example-2 will leave: its data is not that of the majority",
    left,
  ],
  [
    "they had the same data without one that has its name now",
    inconsistent(comparison({ purpose: "inconsistent/b2/a0,a1" })),
    "compareHashes Corrupt: example-2 does not have the data of every other member; hashes are compared",
  ],
  [
    "the others differ as well: it may be the one that is right",
    inconsistent(comparison({ agreed: false })),
    "refuse Corrupt: example-2 does not start: another member has other data, and no majority of the voters has the same without it; find out whose data is right, and delete the claim and the pod of a member whose data is wrong",
  ],
  [
    "a majority has the same data without it, and another one differs",
    cluster(
      [voter(0), voter(1), voter(2, differs), voter(3), voter(4)],
      comparison({ purpose: "inconsistent/a2/a0,a1,a3,a4", odd: ["example-4"] }),
    ),
    "record Corrupt: example-4 will leave: its data is not that of the majority",
  ],
]);

test("data that differs from another member's is not lost", () => {
  expect(lostMember(third(differs))).toBeUndefined();
  const alone = cluster([voter(0, down), voter(1, differs), voter(2, differs)], { quorum: false });
  expect(quorumLoss(alone)).toMatchObject({ do: "wait", reason: "NoQuorum" });
});

const smaller: Special = { spec: { size: 2 } };

decisions("voters that do not serve", unhealthyVoters, [
  ["every voter serves", three(), undefined],
  ["a member that does not vote does not serve", cluster([voter(0), joining(1)]), undefined],
  ["it has no pod", third(noPod), "wait Healing: example-2 has no pod"],
  ["its pod is being deleted", third(stopping), "wait Healing: example-2 is stopping"],
  [
    "its pod cannot start",
    third(down, obstacle("CrashLoopBackOff")),
    "wait Healing: example-2 CrashLoopBackOff",
  ],
  ["it does not answer", third(silent, unready), "wait Healing: example-2 does not answer"],
  ["it knows no leader", third(leaderless), "wait Healing: example-2 knows no leader"],
  [
    "it serves for etcd, and its pod is not ready",
    third(unready, readyFor(1)),
    "wait Settling: example-2 is not ready",
  ],
  [
    "its kubelet is silent, and nobody is missing",
    third(unready, nodeLost(60)),
    "wait Settling: example-2 is not ready",
  ],
  [
    "its kubelet is silent, and a member is missing",
    cluster([voter(0), voter(1, unready, nodeLost(60))]),
    undefined,
  ],
  [
    "its kubelet is silent, and a member joins",
    cluster([voter(0), voter(1, unready, nodeLost(60)), joining(2)]),
    undefined,
  ],
  [
    "its kubelet is silent, a member is missing, and another does not answer",
    cluster([voter(0), voter(1, unready, nodeLost(60)), voter(2, down)], { spec: { size: 5 } }),
    "wait Healing: example-1 is not ready; example-2 does not answer",
  ],
  [
    "several do not serve",
    cluster([voter(0), voter(1, unready), voter(2, noPod)]),
    "wait Healing: example-1 is not ready; example-2 has no pod",
  ],
  [
    "another one serves from a volume that is being deleted",
    cluster([voter(0), voter(1, down), voter(2, volumeDeleting)]),
    "wait Healing: example-1 does not answer; example-2 is replaced after that: its volume is being deleted",
  ],
  [
    "one too many does not serve",
    cluster([voter(0), voter(1), voter(2, down)], smaller),
    "record Shrinking: example-2 will leave: the cluster shrinks to 2",
    left,
  ],
  [
    "one too many does not serve, and there is no quorum",
    cluster([voter(0), voter(1), voter(2, down)], { ...smaller, quorum: false }),
    "wait Healing: example-2 does not answer",
  ],
]);

const goneFor = (seconds: number): Trait => pod({ ready: false, readyChangedMs: secondsAgo(seconds) });

decisions("a voter too many that does not serve", unhealthyVoters, [
  [
    "for a minute",
    cluster([voter(0), voter(1), voter(2, silent, goneFor(60))], smaller),
    "record Shrinking: example-2 will leave: the cluster shrinks to 2",
  ],
  [
    "for less than a minute: it may just restart",
    cluster([voter(0), voter(1), voter(2, silent, goneFor(59.999))], smaller),
    "wait Healing: example-2 does not answer",
  ],
  [
    "and has no pod: that is made first",
    cluster([voter(0), voter(1), voter(2, noPod)], smaller),
    "wait Healing: example-2 has no pod",
  ],
  [
    "and is stopping",
    cluster([voter(0), voter(1), voter(2, silent, goneFor(60), stopping)], smaller),
    "wait Healing: example-2 is stopping",
  ],
  [
    "and leads, as the others say",
    cluster([voter(0, silent, goneFor(60)), voter(1), voter(2)], smaller),
    "wait Healing: example-0 does not answer",
  ],
  [
    "beside one that joins: it is not one too many",
    cluster([voter(0), voter(1), voter(2, silent, goneFor(60)), joining(3)]),
    "wait Healing: example-2 does not answer",
  ],
  [
    "and that the others need for a majority",
    cluster([voter(0), voter(1, silent, goneFor(5)), voter(2, silent, goneFor(60)), voter(3)], smaller),
    "wait Healing: example-1 does not answer; example-2 does not answer",
  ],
]);

decisions("a member with other data that cannot leave now", inconsistentMember, [
  [
    "since another voter does not serve",
    cluster([voter(0), voter(1, down), voter(2, differs)], comparison({ purpose: "inconsistent/a2/a0" })),
    "wait Corrupt: example-2 cannot be replaced now: without it the others would have no majority",
  ],
]);

decisions("a member that is lost while it serves", lostMember, [
  [
    "and is joined by another, beside one that does not serve",
    cluster([voter(0), voter(1, silent), voter(2, volumeDeleting)], {
      status: { nextMember: 3 },
      spec: { size: 4 },
    }),
    "record Healing: example-2 is replaced while it serves: its volume is being deleted; example-3 will join: 3 of 4 members",
  ],
]);
