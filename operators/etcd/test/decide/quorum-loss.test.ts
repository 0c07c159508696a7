import { describe, expect, it } from "vitest";
import type { Status } from "../../src/api/cluster.ts";
import { quorumLoss, recovering } from "../../src/decide/quorum-loss.ts";
import type { ObservedMember } from "../../src/observe/observed.ts";
import {
  but,
  claim,
  cluster,
  crashed,
  down,
  ended,
  joining,
  leaderless,
  learner,
  leaving,
  madeFrom,
  metricsOnly,
  nodeLost,
  noPod,
  obstacle,
  pod,
  record,
  type Special,
  says,
  secondsAgo,
  silent,
  stopping,
  type Trait,
  template,
  templateFor,
  three,
  volumeDeleting,
  volumeGone,
  voter,
} from "./observed.ts";
import { decisions } from "./table.ts";

const without = (members: readonly ObservedMember[], special: Special = {}) =>
  cluster(members, { unavailableSinceMs: secondsAgo(200), ...special, quorum: false });
const upgraded = templateFor({ version: "3.7.3" });
const patched = templateFor({ version: "3.6.17" });
const changed = templateFor({ settings: { snapshotCount: 5 } });
/** Two of three volumes are gone. */
const survivor = (special?: Special) =>
  without([voter(0, leaderless), voter(1, volumeGone), voter(2, volumeGone)], special);
const losses = "example-1: its volume is gone; example-2: its volume is gone";
const lost =
  "it has revision 100: nothing that was seen before would be lost, and what was acknowledged since by example-1; example-2";
type Recovery = NonNullable<Status["recovery"]>;
const proposal: Recovery = { survivor: "example-0", revision: "100", lost, phase: "Proposed" };

decisions("a cluster without quorum", quorumLoss, [
  ["there is quorum", three(), undefined],
  ["the cluster has not formed", without([voter(0)], { status: { clusterId: undefined } }), undefined],
  [
    "all pods are ready, and none answers the operator",
    without([voter(0, silent), voter(1, silent), voter(2, silent)]),
    "wait MembersUnreachable: Kubernetes reports example-0, example-1, example-2 ready, but no member answers the operator; check what is between the operator and port 2379 of these pods",
  ],
  [
    "a majority of the pods is ready, and none answers the operator",
    without([voter(0, silent), voter(1, silent), voter(2, down)]),
    "wait MembersUnreachable: Kubernetes reports example-0, example-1 ready, but no member answers the operator; check what is between the operator and port 2379 of these pods",
  ],
  [
    "some do not answer",
    without([voter(0, leaderless), voter(1, down), voter(2, down)]),
    "wait NoQuorum: waiting for example-1, example-2 to answer",
  ],
  [
    "some cannot run",
    without([voter(0, leaderless), voter(1, down), voter(2, down, obstacle("Unschedulable: no node fits"))]),
    "wait NoQuorum: waiting for example-1, example-2 (Unschedulable: no node fits) to answer",
  ],
  [
    "two nodes are gone: only a person knows whether they come back",
    without([voter(0, leaderless), voter(1, down, nodeLost(600)), voter(2, noPod)]),
    "wait NoQuorum: waiting for example-1 (its node node-1 does not answer), example-2 to answer; if a node never comes back, delete the claim and the pod of its member (example-1) to continue without it",
  ],
  [
    "all answer, and none leads",
    without([voter(0, leaderless), voter(1, leaderless), voter(2, leaderless)]),
    "wait NoQuorum: waiting for example-0, example-1, example-2 to elect a leader",
  ],
  [
    "a minority has lost its data",
    without([voter(0, leaderless), voter(1, down), voter(2, volumeGone)]),
    "wait NoQuorum: waiting for example-1 to answer",
  ],
  [
    "a member that leaves still counts, one that joins does not",
    without([voter(0, leaderless), leaving(1, down), joining(2)]),
    "wait NoQuorum: waiting for example-1 to answer",
  ],
  [
    "all have lost their data",
    without([voter(0, volumeGone), voter(1, volumeGone)]),
    "refuse AllDataLost: no data is left (example-0: its volume is gone; example-1: its volume is gone); make a new cluster with spec.restoreFrom",
  ],
  [
    "the only member finds its data corrupt after an upgrade from which there is no way back",
    without([voter(0, madeFrom(upgraded), crashed("panic: failed to open database"))], {
      status: { rollout: upgraded },
    }),
    "refuse AllDataLost: no data is left (example-0: its data is corrupt); make a new cluster with spec.restoreFrom",
  ],
  [
    "the only member found its data corrupt once, and tells how far it has got",
    without([
      voter(
        0,
        pod({ terminationMessage: "panic: failed to open database", runningSinceMs: undefined }),
        metricsOnly(90n, 900n),
      ),
    ]),
    "wait NoQuorum: waiting for example-0 to answer",
  ],
  [
    "the only member finds its data corrupt after an upgrade that can be taken back",
    without([voter(0, madeFrom(patched), crashed("panic: failed to open database"))], {
      status: { rollout: patched },
    }),
    "wait NoQuorum: waiting for example-0 to answer",
  ],
  [
    "the only member finds its data corrupt after a change of settings: the same etcd reads it",
    without([voter(0, madeFrom(changed), crashed("panic: failed to open database"))], {
      status: { rollout: changed },
    }),
    "refuse AllDataLost: no data is left (example-0: its data is corrupt); make a new cluster with spec.restoreFrom",
  ],
  [
    "a cluster was formed, and no member is known any more",
    without([]),
    "refuse AllDataLost: no data is left (no claim of a member is there); make a new cluster with spec.restoreFrom",
  ],
  [
    "all volumes are being deleted, and their pods run",
    without([voter(0, leaderless, volumeDeleting), voter(1, down, volumeDeleting), voter(2, volumeGone)]),
    "wait NoQuorum: waiting for example-1 to answer",
  ],
  [
    "the last copy goes with its pod",
    without([voter(0, leaderless, volumeDeleting), voter(1, volumeGone), voter(2, volumeGone)]),
    "refuse AllDataLost: no voter keeps its data (example-0: its volume is being deleted; example-1: its volume is gone; example-2: its volume is gone); make a new cluster with spec.restoreFrom; example-0 has it until its pod ends",
  ],
  [
    "the last copy goes with its pod, which is being deleted",
    without([voter(0, stopping, volumeDeleting)]),
    "refuse AllDataLost: no data is left (example-0: its volume is being deleted); make a new cluster with spec.restoreFrom",
  ],
  [
    "only a learner has data",
    without([voter(0, volumeGone), learner(1, leaderless)]),
    "refuse AllDataLost: no voter keeps its data (example-0: its volume is gone); make a new cluster with spec.restoreFrom; the learner example-1 may have a part of it",
  ],
  [
    "a member that is known from its claim alone says that it is a learner",
    without([voter(0, leaderless), voter(1, leaderless, says({ learner: true })), voter(2, volumeGone)]),
    "record QuorumLost: example-0 is the best survivor",
  ],
  [
    "a member that etcd removed does not count any more",
    without([voter(0, leaderless), leaving(1, noPod, record({ removed: true })), leaving(2, volumeGone)]),
    "record QuorumLost: example-0 is the best survivor",
  ],
  [
    "a member says that it was removed",
    without([
      voter(0, leaderless),
      voter(1, crashed("the member has been permanently removed from the cluster")),
      voter(2, volumeGone),
    ]),
    "record QuorumLost: example-0 is the best survivor",
  ],
  [
    "a majority has lost its data a moment ago",
    survivor({ unavailableSinceMs: secondsAgo(29) }),
    `wait QuorumLost: a majority is lost (${losses}); example-0 is asked`,
  ],
  [
    "the status does not say since when",
    survivor({ unavailableSinceMs: undefined }),
    `wait QuorumLost: a majority is lost (${losses}); example-0 is asked`,
  ],
  [
    "a survivor has not answered yet",
    without([voter(0, down), voter(1, volumeGone), voter(2, volumeGone)], {
      unavailableSinceMs: secondsAgo(119),
    }),
    `wait QuorumLost: a majority is lost (${losses}); example-0 is asked`,
  ],
  [
    "the only survivor does not answer",
    without([voter(0, down), voter(1, volumeGone), voter(2, volumeGone)], {
      unavailableSinceMs: secondsAgo(120),
    }),
    "record QuorumLost: example-0 is the best survivor",
    { status: { recovery: { survivor: "example-0", revision: "unknown" } } },
  ],
  [
    "of several survivors none answers: nobody can say which has more",
    without(
      [voter(0, down), voter(1, down), voter(2, volumeGone), voter(3, volumeGone), voter(4, volumeGone)],
      {
        unavailableSinceMs: secondsAgo(120),
      },
    ),
    "wait QuorumLost: a majority is lost (example-2: its volume is gone; example-3: its volume is gone; example-4: its volume is gone), and example-0, example-1 does not answer",
  ],
  [
    "survivors that restarted serve nobody: their metrics say which has more",
    without(
      [
        voter(0, metricsOnly(98n, 1_001n)),
        voter(1, metricsOnly(99n, 1_002n)),
        voter(2, volumeGone),
        voter(3, volumeGone),
        voter(4, volumeGone),
      ],
      { unavailableSinceMs: secondsAgo(60) },
    ),
    "record QuorumLost: example-1 is the best survivor",
    { status: { recovery: { survivor: "example-1", revision: "99" } } },
  ],
  [
    "a survivor that restarted has more than one that answers",
    without(
      [
        voter(0, leaderless),
        voter(1, metricsOnly(101n, 1_002n)),
        ...[2, 3, 4].map((n) => voter(n, volumeGone)),
      ],
      { unavailableSinceMs: secondsAgo(60) },
    ),
    "record QuorumLost: example-1 is the best survivor",
  ],
  [
    "a voter that nobody knows costs the quorum: a person may continue without it",
    without([voter(0)], {
      unavailableSinceMs: secondsAgo(60),
      unknownMembers: [
        { id: "255", name: "", peerUrls: ["http://10.9.9.9:2380"], clientUrls: [], learner: false },
      ],
    }),
    "record QuorumLost: example-0 is the best survivor",
  ],
  [
    "a survivor answers",
    survivor(),
    "record QuorumLost: example-0 is the best survivor",
    { status: { recovery: proposal }, event: `quorum is lost; example-0 could be recovered from: ${lost}` },
  ],
  [
    "a survivor answers, and 30 s are over",
    survivor({ unavailableSinceMs: secondsAgo(30) }),
    "record QuorumLost: example-0 is the best survivor",
  ],
  [
    "newer revisions had been seen before",
    survivor({ status: { lastKnownRevision: "107", lastKnownAt: "2026-01-01T11:59:00Z" } }),
    "record QuorumLost: example-0 is the best survivor",
    {
      status: {
        recovery: {
          lost: "it has revision 100: at least 7 revisions that were seen before (revision 107 at 2026-01-01T11:59:00Z) would be lost, and what was acknowledged since by example-1; example-2",
        },
      },
    },
  ],
  [
    "of two survivors, the one with more committed entries is better, whatever its term",
    without([
      voter(0, leaderless, says({ raftTerm: 3n })),
      voter(1, leaderless, says({ raftIndex: 5_000n })),
      ...[2, 3, 4].map((each) => voter(each, volumeGone)),
    ]),
    "record QuorumLost: example-1 is the best survivor",
  ],
  [
    "of two survivors of one term, the one with more committed entries is better",
    without([
      voter(0, leaderless),
      voter(1, leaderless, says({ raftIndex: 1_001n })),
      ...[2, 3, 4].map((each) => voter(each, volumeGone)),
    ]),
    "record QuorumLost: example-1 is the best survivor",
  ],
  [
    "the recovery was proposed, and the user has not approved it",
    survivor({ status: { recovery: proposal } }),
    `wait QuorumLost: ${losses}. ${lost}. To recover from example-0, annotate the cluster with etcd.keelson.dev/approve-recovery=example-0@${proposal.revision}`,
  ],
  [
    "the user has approved another survivor",
    survivor({ status: { recovery: proposal }, approved: "example-1" }),
    `wait QuorumLost: ${losses}. ${lost}. To recover from example-0, annotate the cluster with etcd.keelson.dev/approve-recovery=example-0@${proposal.revision}`,
  ],
  [
    "the user has approved the same survivor in an earlier loss",
    survivor({ status: { recovery: proposal }, approved: "example-0@1" }),
    `wait QuorumLost: ${losses}. ${lost}. To recover from example-0, annotate the cluster with etcd.keelson.dev/approve-recovery=example-0@${proposal.revision}`,
  ],
  [
    "the user has approved it",
    survivor({ status: { recovery: proposal }, approved: `example-0@${proposal.revision}` }),
    "record Recovering: recovery from example-0 starts",
    {
      status: { recovery: { ...proposal, phase: "Stopping" } },
      event: `recovery from example-0 starts: ${lost}`,
    },
  ],
  [
    "the spec allows it",
    survivor({
      status: { recovery: proposal },
      spec: { recovery: { quorumLoss: "Automatic", nodeLossTimeoutSeconds: 300 } },
    }),
    "record Recovering: recovery from example-0 starts",
  ],
]);

const during = (phase: Recovery["phase"], members: readonly ObservedMember[], special: Special = {}) =>
  cluster(members, { ...special, status: { recovery: { ...proposal, phase }, ...special.status } });
const gone = [voter(1, noPod, claim({ fenced: true })), voter(2, volumeGone)];
const forced = pod({ forceNewCluster: true });

decisions("a recovery", recovering, [
  ["none is under way", three(), undefined],
  ["it is only proposed", during("Proposed", [voter(0)]), undefined],
  [
    "the survivor is gone",
    during("Stopping", [voter(1)]),
    "refuse AllDataLost: the survivor example-0 is gone",
  ],
  [
    "members run",
    during("Stopping", [voter(0), voter(1), voter(2, noPod)]),
    "deletePods Recovering: example-0, example-1: stopped for the recovery",
    { members: ["example-0", "example-1"] },
  ],
  [
    "a member is being deleted on a lost node",
    during("Stopping", [voter(0, noPod), voter(1, stopping, nodeLost(5))]),
    "deletePods Recovering: example-1: stopped for the recovery",
    { now: true },
  ],
  [
    "members are being deleted",
    during("Stopping", [voter(0, stopping)]),
    "wait Recovering: example-0: stopping",
  ],
  [
    "the volume of another member could still be used",
    during("Stopping", [voter(0, noPod), voter(1, noPod)]),
    "fenceClaim Recovering: the volume of example-1 is set aside",
    { member: "example-1" },
  ],
  [
    "all are stopped, and all volumes are fenced",
    during("Stopping", [voter(0, noPod), ...gone, voter(3, noPod, volumeDeleting)]),
    "record Recovering: example-0 will continue alone",
    { status: { members: [{ name: "example-0", phase: "Voter" }], recovery: { phase: "Forcing" } } },
  ],
  [
    "the survivor loses its volume before anything is set aside",
    during("Stopping", [voter(0, noPod, volumeDeleting), voter(1, noPod)]),
    "record Recovering: the survivor example-0 is lost: its volume is being deleted",
    { status: { recovery: undefined } },
  ],
  [
    "the survivor loses its volume after that",
    during("Stopping", [voter(0, noPod, volumeDeleting), voter(1, noPod, claim({ fenced: true }))]),
    "refuse AllDataLost: no data is left (the survivor example-0 is lost: its volume is being deleted; the volumes that were set aside are kept); make a new cluster with spec.restoreFrom",
  ],
  [
    "the survivor finds its data corrupt",
    during("Forcing", [voter(0, forced, crashed("panic: failed to open database"))], { quorum: false }),
    "refuse AllDataLost: no data is left (the survivor example-0 is lost: its data is corrupt; the volumes that were set aside are kept); make a new cluster with spec.restoreFrom",
  ],
  [
    "the survivor has no pod",
    during("Forcing", [voter(0, noPod)]),
    "createPods Recovering: example-0 starts and drops the members that are lost",
    { pods: [{ member: "example-0", template, start: { mode: "force" }, role: "voter" }] },
  ],
  [
    "the survivor has no pod, and there is no template",
    during("Forcing", [voter(0, noPod)], { status: { template: undefined } }),
    "wait Recovering: example-0 starts and drops the members that are lost",
  ],
  [
    "the survivor starts",
    during("Forcing", [voter(0, forced)], { quorum: false }),
    "wait Recovering: example-0 is starting",
  ],
  [
    "the survivor's pod has ended while it starts",
    during("Forcing", [voter(0, forced, ended)], { quorum: false }),
    "deletePods Healing: example-0: its pod has ended and is replaced",
  ],
  [
    "the survivor's pod has ended when it starts as usual",
    during("Restarting", [voter(0, ended)], { quorum: false }),
    "deletePods Healing: example-0: its pod has ended and is replaced",
  ],
  [
    "the survivor leads itself",
    during("Forcing", [voter(0, forced)]),
    "record Recovering: example-0 leads a cluster of its own",
    { status: { recovery: { phase: "Restarting" } } },
  ],
  [
    "the survivor's claim is deleted while it starts: its data is there until its pod ends",
    during("Forcing", [voter(0, forced, volumeDeleting)]),
    "record Recovering: example-0 leads a cluster of its own",
  ],
  [
    "the survivor's claim is deleted before it restarts: it does not, and is replaced while it serves",
    during("Restarting", [voter(0, forced, volumeDeleting)]),
    "record Recovering: recovered from example-0",
    { status: { recovery: undefined } },
  ],
  [
    "the survivor's claim is deleted, and its pod ends",
    during("Restarting", [voter(0, forced, volumeDeleting, stopping)]),
    "refuse AllDataLost: no data is left (the survivor example-0 is lost: its volume is being deleted; the volumes that were set aside are kept); make a new cluster with spec.restoreFrom",
  ],
  [
    "it would still drop members at its next start",
    during("Restarting", [voter(0, forced)]),
    "deletePods Recovering: example-0 restarts as usual",
    { members: ["example-0"] },
  ],
  [
    "its old pod is being deleted",
    during("Restarting", [voter(0, forced, stopping)]),
    "wait Recovering: example-0 is starting",
  ],
  [
    "its old pod is gone",
    during("Restarting", [voter(0, noPod)]),
    "createPods Recovering: example-0 starts as usual",
    { pods: [{ start: { mode: "again" } }] },
  ],
  [
    "its new pod starts",
    during("Restarting", [voter(0)], { quorum: false }),
    "wait Recovering: example-0 is starting",
  ],
  [
    "it serves",
    during("Restarting", [voter(0)]),
    "record Recovering: recovered from example-0",
    {
      status: { recovery: undefined },
      event: `recovered from example-0: ${lost}. Revisions after 100 may be used a second time: restart clients that watch keys or cache them`,
    },
  ],
]);

const knows = (change: Partial<Status>) => survivor({ status: change });
const proposedFor = (observed: ReturnType<typeof cluster>) => {
  const decision = quorumLoss(observed);
  return decision?.do === "record" ? decision.status.recovery : undefined;
};

describe("what a recovery would cost", () => {
  it.each([
    ["nothing was seen before", knows({}), "it has revision 100: nothing that was seen before would"],
    [
      "the same revision was seen",
      knows({ lastKnownRevision: "100" }),
      "revision 100: nothing that was seen before would",
    ],
    [
      "a later one was seen",
      knows({ lastKnownRevision: "101" }),
      "revision 100: at least 1 revisions that were seen before would",
    ],
    [
      "a later one was seen, and when",
      knows({ lastKnownRevision: "101", lastKnownAt: "2026-01-01T00:00:00Z" }),
      "(revision 101 at 2026-01-01T00:00:00Z) would",
    ],
    [
      "the survivor has nothing, and nothing was seen before",
      without([voter(0, leaderless, says({ revision: 0n })), voter(1, volumeGone), voter(2, volumeGone)]),
      "it has revision 0: nothing that was seen before would",
    ],
  ])("%s", (_, observed, lost) => {
    expect(proposedFor(observed)?.lost).toContain(lost);
  });
});

describe("the best survivor", () => {
  const gone = [voter(2, volumeGone), voter(3, volumeGone), voter(4, volumeGone)];
  const of = (...two: ObservedMember[]) =>
    proposedFor(without([...two, ...gone], { spec: { size: 5 } }))?.survivor;
  const has = (revision: bigint, raftIndex: bigint) => [leaderless, says({ revision, raftIndex })];

  it("is the one with the longer log, whatever its revision", () => {
    expect(of(voter(0, ...has(200n, 10n)), voter(1, ...has(100n, 11n)))).toBe("example-1");
    expect(of(voter(0, ...has(100n, 11n)), voter(1, ...has(200n, 10n)))).toBe("example-0");
  });

  it("is the one with the later revision where the logs are as long", () => {
    expect(of(voter(0, ...has(100n, 10n)), voter(1, ...has(101n, 10n)))).toBe("example-1");
    expect(of(voter(0, ...has(101n, 10n)), voter(1, ...has(100n, 10n)))).toBe("example-0");
  });
});

const learns: Trait = but({ progress: { revision: 100n, index: 1_000n, learner: true, peers: [] } });

decisions("a cluster without quorum, and learners", quorumLoss, [
  [
    "a member that says of itself that it learns is no voter",
    without([voter(0, noPod, learns), voter(1, volumeGone), voter(2, volumeGone)]),
    "refuse AllDataLost: no voter keeps its data (example-1: its volume is gone; example-2: its volume is gone); make a new cluster with spec.restoreFrom; the learner example-0 may have a part of it",
  ],
  [
    "a learner whose volume is gone keeps nothing",
    without([voter(0, volumeGone), learner(1, volumeGone)]),
    "refuse AllDataLost: no data is left (example-0: its volume is gone); make a new cluster with spec.restoreFrom",
  ],
]);

decisions("the time in which a majority may come back", quorumLoss, [
  [
    "is half a minute where the survivor answers",
    survivor({ unavailableSinceMs: secondsAgo(29.999) }),
    `wait QuorumLost: a majority is lost (${losses}); example-0 is asked`,
  ],
  [
    "is over",
    survivor({ unavailableSinceMs: secondsAgo(30) }),
    "record QuorumLost: example-0 is the best survivor",
  ],
]);

const silentSurvivor = { ...proposal, revision: "unknown" };
const unheard = (status: Partial<Status> = {}) =>
  without([voter(0, down), voter(1, volumeGone), voter(2, volumeGone)], { status });

describe("the approval of a survivor that does not answer", () => {
  it.each([
    ["nothing was ever seen", unheard(), "example-0@unknown-0"],
    ["a revision was seen", unheard({ lastKnownRevision: "77" }), "example-0@unknown-77"],
  ])("names what was seen: %s", (_, observed, approval) => {
    const recovery = proposedFor(observed);
    expect(recovery).toMatchObject({ survivor: "example-0", revision: silentSurvivor.revision });
    const asked = { ...observed, status: { ...observed.status, recovery } } as typeof observed;
    expect(quorumLoss(asked)?.message).toContain(`etcd.keelson.dev/approve-recovery=${approval}`);
    expect(quorumLoss({ ...asked, approved: approval })).toMatchObject({ do: "record" });
  });
});

describe("a rollout that a recovery meets", () => {
  const stopped = (rollout: Status["rollout"], made = template) =>
    recovering(
      without(
        [
          voter(0, noPod, record({ template: made.hash })),
          voter(1, volumeGone, record({ template: made.hash })),
        ],
        {
          status: { rollout, recovery: { ...proposal, phase: "Stopping" } },
        },
      ),
    );

  it("is given up as long as there is a way back, and kept where there is none", () => {
    expect(stopped(changed)).toMatchObject({ do: "record", status: { rollout: undefined } });
    expect(stopped(upgraded, upgraded)).toMatchObject({ do: "record", status: { rollout: upgraded } });
  });
});
