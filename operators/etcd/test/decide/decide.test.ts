/** The order of the policies: what matters more is decided first. */
import { describe, expect, it } from "vitest";
import { decide, decideBeside } from "../../src/decide/decide.ts";
import type { Observed, ObservedMember } from "../../src/observe/observed.ts";
import {
  alarm,
  but,
  claim,
  cluster,
  down,
  ended,
  joining,
  learner,
  leaving,
  madeFrom,
  name,
  noPod,
  noVolume,
  obstacle,
  pod,
  record,
  type Special,
  says,
  secondsAgo,
  silent,
  stopping,
  template,
  templateFor,
  three,
  trial,
  volumeDeleting,
  volumeGone,
  voter,
} from "./observed.ts";
import { decisions } from "./table.ts";

const unschedulable = (member: ObservedMember) => obstacle("Unschedulable: no node fits")(down(member));
const auth = { rootSecret: "root" };
const next = templateFor({ settings: { snapshotCount: 5 } });
const change: Special = { spec: { settings: { snapshotCount: 5 } } };
const foreign = says({ clusterId: BigInt("0xbad").toString() });
const asleep: Special = { spec: { hibernate: true } };
const unstarted = (member: ObservedMember) =>
  but({ entry: member.entry && { ...member.entry, name: "" } })(member);
const recovery = { survivor: "example-0", revision: "100", lost: "", phase: "Stopping" as const };

decisions("nothing is touched", decide, [
  [
    "the cluster is paused, whatever else is wrong",
    cluster([voter(0, volumeGone)], { spec: { paused: true }, secretProblem: "x" }),
    "wait Paused: the operator reports and does nothing until spec.paused is false",
  ],
  [
    "a Secret is missing, though the cluster has not formed",
    cluster([], { status: { clusterId: undefined }, secretProblem: "no Secret" }),
    "wait SecretMissing: no Secret",
  ],
  [
    "etcd refuses the password, though a member answers for another cluster",
    cluster([voter(0, foreign)], { authentication: "out" }),
    "wait LockedOut: etcd asks for a password; name a Secret with that of its user root in spec.auth.rootSecret",
  ],
  [
    "a member answers for another cluster, though it should hibernate",
    cluster([voter(0), voter(1, foreign)], asleep),
    "wait ClusterIdMismatch: example-1 belongs to cluster bad, not to c1; nothing is touched",
  ],
]);

decisions("members that were rediscovered by their volumes", decide, [
  [
    "they need a template",
    three({ status: { template: undefined } }),
    "record Healing: the cluster continues from the volumes that were kept",
    {
      status: { template, members: [{ name: "example-0", template: template.hash }, {}, {}] },
      event: "cluster c1 continues from the volumes of example-0, example-1, example-2",
    },
  ],
  [
    "they go on with the version that they have, though the spec asks for one that nobody knows",
    three({ spec: { version: "2.3.8" }, status: { template: undefined } }),
    "record Healing: the cluster continues from the volumes that were kept",
    { status: { template } },
  ],
  [
    "a claim still has the version from before they agreed on a minor",
    cluster([voter(0), voter(1), voter(2, down, claim({ etcdVersion: "3.5.35" }))], {
      status: { template: undefined },
    }),
    "record Healing: the cluster continues from the volumes that were kept",
    { status: { template } },
  ],
  [
    "nobody knows which version they have, nor the version of the spec",
    cluster([voter(0, down, claim({ etcdVersion: undefined }))], {
      spec: { version: "2.3.8" },
      status: { template: undefined },
    }),
    "refuse SpecRefused: etcd 2.3.8 is not supported; set spec.version to a version of 3.4, 3.5, 3.6, 3.7",
  ],
]);

const forcing: Special = {
  status: { recovery: { survivor: "example-0", revision: "1", lost: "nothing", phase: "Forcing" } },
  quorum: false,
};

decisions("a recovery whose survivor cannot run", decide, [
  [
    "it follows the spec",
    cluster([unschedulable(voter(0))], { ...forcing, ...change }),
    "record RollingOut: example-0 cannot run and follows the spec",
    { status: { rollout: { hash: next.hash }, members: [{ template: next.hash }] } },
  ],
  [
    "it starts from the template that it follows",
    cluster([voter(0, noPod, record({ template: next.hash }))], {
      ...forcing,
      ...change,
      status: { ...forcing.status, rollout: next },
    }),
    "createPods Recovering: example-0 starts and drops the members that are lost",
    { pods: [{ template: next, start: { mode: "force" } }] },
  ],
  [
    "nothing but a node helps it",
    cluster([unschedulable(voter(0))], forcing),
    "wait Recovering: example-0 (Unschedulable: no node fits) is starting",
  ],
]);

decisions("hibernation", decide, [
  [
    "members run",
    cluster([voter(0), voter(1, noPod)], asleep),
    "deletePods Hibernating: example-0: stopped, its data is kept",
    { members: ["example-0"] },
  ],
  [
    "a claim is being deleted, and would go with its pod",
    cluster([voter(0), voter(1), voter(2, volumeDeleting)], asleep),
    "record Healing: example-2 will leave: its volume is being deleted",
  ],
  [
    "the claim of a member that has left is being deleted",
    cluster([voter(0), leaving(1, volumeDeleting, record({ removed: true }))], asleep),
    "deletePods Hibernating: example-0, example-1: stopped, its data is kept",
  ],
  ["members are stopping", cluster([voter(0, stopping)], asleep), "wait Hibernating: example-0: stopping"],
  [
    "all are stopped",
    cluster([voter(0, noPod)], { ...asleep, quorum: false }),
    "nothing Hibernated: hibernated: no member runs, all data is kept",
  ],
  [
    "a volume is deleted meanwhile",
    cluster([voter(0, noPod), voter(1, noPod, volumeGone)], { ...asleep, quorum: false }),
    "nothing Hibernated: hibernated: no member runs, not all data is kept (example-1: its volume is gone)",
  ],
]);

decisions("a cluster at rest", decide, [
  ["every member serves", three(), "nothing Healthy: 3 members serve"],
  [
    "the spec asks for an older minor",
    three({ spec: { version: "3.5.35" } }),
    "refuse VersionRefused: etcd cannot go back from 3.6.16 to 3.5.35: members refuse the data of a newer minor; set spec.version back, or restore a backup into a new cluster",
  ],
  [
    "what the spec asks for has failed before",
    three({
      ...change,
      status: {
        failedRollout: { hash: next.hash, version: "3.6.16", message: "rolled back: example-2 cannot run" },
      },
    }),
    "refuse RolloutFailed: rolled back: example-2 cannot run; the members stay as they were until the spec changes",
  ],
]);

decisions("the order of policies", decide, [
  [
    "bootstrap before hibernation",
    cluster([], { ...asleep, quorum: false, status: { clusterId: undefined, template: undefined } }),
    "record Bootstrapping: example-0 will be the first member",
  ],
  [
    "hibernation before a recovery",
    cluster([voter(0)], { ...asleep, status: { recovery } }),
    "deletePods Hibernating: example-0: stopped, its data is kept",
  ],
  [
    "a recovery before missing pods",
    cluster([voter(0, noPod), voter(1, noPod)], { status: { recovery } }),
    "fenceClaim Recovering: the volume of example-1 is set aside",
  ],
  [
    "the identity of a volume before the label of a pod",
    cluster([voter(0, claim({ memberId: undefined }), pod({ role: "learner" }))]),
    "signClaim Growing: the volume of example-0 is marked as its own",
  ],
  [
    "the label of a pod before one that has ended",
    cluster([voter(0, pod({ role: "learner" })), voter(1, ended)]),
    "markVoter Growing: example-0 votes and may serve",
  ],
  [
    "an ended pod before a missing one",
    cluster([voter(0), voter(1, ended), voter(2, noPod)]),
    "deletePods Healing: example-1: its pod has ended and is replaced",
  ],
  [
    "missing pods before the loss of quorum",
    cluster([voter(0), voter(1, noPod), voter(2, noPod)], { quorum: false }),
    "createPods Healing: example-1, example-2: its pod starts",
  ],
  [
    "the loss of quorum before everything that needs it",
    cluster([voter(0, silent), leaving(1, silent)], { quorum: false, unavailableSinceMs: secondsAgo(5) }),
    "wait MembersUnreachable: Kubernetes reports example-0, example-1 ready, but no member answers the operator; check what is between the operator and port 2379 of these pods",
  ],
  [
    "a misinformed learner before a member that leaves",
    cluster([voter(0), voter(1), leaving(2), learner(3, silent, pod({ initialCluster: "" }), unstarted)]),
    "deletePods Growing: example-3 was started with a list of members that has changed since; its pod is recreated",
  ],
  [
    "a member that leaves before one that is lost",
    cluster([voter(0), voter(1), voter(2, volumeGone), leaving(3)]),
    "removeMember Shrinking: example-3 leaves etcd: it is lost",
  ],
  [
    "one that is lost before a member that cannot leave now",
    cluster([voter(0), voter(1, volumeGone), leaving(2)]),
    "record Healing: example-1 will leave: its volume is gone",
  ],
  [
    "voters that do not serve before a member that cannot leave now",
    cluster([voter(0), voter(1, down), leaving(2)]),
    "wait Healing: example-1 does not answer",
  ],
  [
    "a lost member before a rollback",
    cluster([voter(0), voter(1), voter(2, volumeGone)], { status: { rollout: { ...next, rollback: "x" } } }),
    "record Healing: example-2 will leave: its volume is gone",
  ],
  [
    "a rollback before an outdated pod",
    cluster([voter(0), voter(1), voter(2, madeFrom(next), pod({ template: "old" }))], {
      ...change,
      status: { rollout: { ...next, rollback: "x" } },
    }),
    "record RollingBack: example-2 returns to etcd 3.6.16",
  ],
  [
    "an outdated pod before corrupt data",
    cluster([voter(0), voter(1), voter(2, pod({ template: "old" }))], { alarms: [alarm("CORRUPT", 1)] }),
    "deletePods RollingOut: example-2 restarts from its new template",
  ],
  [
    "corrupt data before voters that do not serve",
    cluster([voter(0), voter(1), voter(2, down)], { alarms: [alarm("CORRUPT", 2)] }),
    "compareHashes Corrupt: etcd reports corrupt data; hashes are compared",
  ],
  [
    "missing space before voters that do not serve: without space no voter may be ready",
    cluster([voter(0), voter(1), voter(2, down)], { alarms: [alarm("NOSPACE", 0)] }),
    "makeSpace NoSpace: etcd is out of space; old revisions are dropped; example-2 follows when it answers",
  ],
  [
    "missing space before authentication",
    three({ alarms: [alarm("NOSPACE", 0)], spec: { auth }, authentication: "off" }),
    "makeSpace NoSpace: etcd is out of space; old revisions are dropped",
  ],
  [
    "authentication before a member that joins",
    cluster([voter(0), joining(1)], { spec: { auth }, authentication: "off" }),
    "enableAuthentication Securing: etcd asks for passwords from now on",
  ],
  [
    "a member that joins before a trial that is over",
    cluster([voter(0), joining(1)], { trials: [trial(next)] }),
    "addLearner Growing: example-1 joins as a learner",
  ],
  [
    "a rollout before a change of size",
    three({ spec: { settings: { snapshotCount: 5 }, size: 5 } }),
    `tryTemplate RollingOut: a new configuration is tried by example-trial-${templateFor({ settings: { snapshotCount: 5 } }).hash}`,
  ],
  [
    "a change of size before defragmentation",
    three({
      spec: { size: 5, defragmentation: { schedule: "x", timeZone: "UTC", minReclaimableBytes: 0 } },
      defragmentationDue: "2026-01-01T03:00:00Z",
    }),
    "record Growing: example-3 will join: 3 of 5 members",
  ],
  [
    "defragmentation before larger volumes",
    three({
      spec: {
        storage: { size: "2Gi" },
        defragmentation: { schedule: "x", timeZone: "UTC", minReclaimableBytes: 0 },
      },
      defragmentationDue: "2026-01-01T03:00:00Z",
    }),
    "defragment Defragmenting: example-1 is defragmented",
  ],
  [
    "larger volumes last",
    three({ spec: { storage: { size: "2Gi" } } }),
    "wait Resizing: the volumes grow to spec.storage.size, 2Gi",
  ],
  [
    "a backup to restore and volumes of an earlier cluster: only a person knows which counts",
    three({ earlierVolumes: ["example-0"] }),
    "refuse SpecRefused: spec.restoreFrom names a backup, and the claims example-0 hold the data of an earlier cluster; delete these claims to restore the backup, or make the cluster again without spec.restoreFrom to continue from them",
  ],
  [
    "volumes of an earlier cluster whose members used TLS among themselves, and this one does not",
    cluster([voter(0, claim({ peerScheme: "https" })), voter(1), voter(2)]),
    "refuse SpecRefused: the claims example-0 hold the data of an earlier cluster with TLS between members, and spec.tls.peer is not set: members could not reach each other; make the cluster again with spec.tls.peer to continue from them, or delete these claims to start without their data",
  ],
  [
    "volumes of an earlier cluster whose members used no TLS, and this one does",
    three({ cluster: { ...name, secure: { peer: true, client: false } } }),
    "refuse SpecRefused: the claims example-0, example-1, example-2 hold the data of an earlier cluster without TLS between members, and spec.tls.peer asks for it: members could not reach each other; make the cluster again without spec.tls.peer to continue from them, or delete these claims to start without their data",
  ],
  [
    "a volume is marked with how its member is addressed",
    cluster([voter(0), voter(1), voter(2, claim({ peerScheme: undefined }))]),
    "signClaim Growing: the volume of example-2 is marked as its own",
  ],
  [
    "a voter that nobody knows before a rollout",
    three({
      ...change,
      unknownMembers: [
        { id: "255", name: "", peerUrls: ["http://10.9.9.9:2380"], clientUrls: [], learner: false },
      ],
    }),
    "wait UnknownMembers: etcd has members that this operator did not add: ff (http://10.9.9.9:2380); remove them with etcdctl member remove ff",
  ],
  [
    "a member that does not run follows the spec, with or without a quorum",
    cluster([voter(0, unschedulable), voter(1, unschedulable), voter(2)], { ...change, quorum: false }),
    "record RollingOut: example-0, example-1 cannot run and follows the spec",
  ],
]);

describe("beside every decision", () => {
  const besides = (observed: Observed) => decideBeside(observed).map((each) => each.do);

  it("ends trials, grows volumes and repairs what was changed by hand", () => {
    const observed = cluster(
      [voter(0, pod({ drifted: true })), voter(1, claim({ drifted: true })), voter(2, down)],
      {
        spec: { storage: { size: "2Gi" } },
        trials: [trial(templateFor({ version: "3.7.3" }))],
        quorum: false,
      },
    );
    expect(besides(observed)).toEqual(["repairPod", "repairClaim", "growClaim", "endTrials"]);
  });

  it("touches nothing while the cluster is paused", () => {
    expect(besides(three({ spec: { paused: true, storage: { size: "2Gi" } } }))).toEqual([]);
  });

  it("has nothing to do at rest", () => {
    expect(besides(three())).toEqual([]);
  });
});

describe("beside a decision that nothing may be touched", () => {
  const drifted = [voter(0, pod({ drifted: true }))];
  it.each([
    ["a member is of another cluster", cluster(drifted, { status: { clusterId: "c2" } })],
    [
      "a backup and volumes of an earlier cluster are there",
      cluster(drifted, { earlierVolumes: ["example-0"] }),
    ],
    [
      "volumes are of a cluster with TLS",
      cluster([voter(0, pod({ drifted: true }), claim({ peerScheme: "https" }))]),
    ],
  ])("%s: nothing is done", (_, observed) => {
    expect(decideBeside(observed)).toEqual([]);
    expect(decideBeside(cluster(drifted))).toMatchObject([{ do: "repairPod", member: "example-0" }]);
  });
});

describe("what was changed by hand", () => {
  const done = (...members: ObservedMember[]) => decideBeside(cluster(members)).map((each) => each.do);

  it("is left alone on what is going or gone", () => {
    expect(done(voter(0, pod({ drifted: true }), stopping))).toEqual([]);
    expect(done(voter(0, claim({ drifted: true, deleting: true })))).toEqual([]);
    expect(done(voter(0, noPod, noVolume))).toEqual([]);
  });
});

describe("members that were rediscovered", () => {
  const versionFor = (clusterVersion: string | undefined, ...members: ObservedMember[]) => {
    const decision = decide(
      cluster(members, { clusterVersion, spec: { version: "3.6.16" }, status: { template: undefined } }),
    );
    return (decision as { status?: { template?: { recipe: { version: string } } } }).status?.template?.recipe
      .version;
  };
  const runs = (ordinal: number, version: string) =>
    voter(ordinal, says({ version }), claim({ etcdVersion: version }));
  const ran = (ordinal: number, version: string) => voter(ordinal, silent, claim({ etcdVersion: version }));

  it("go on with the lowest version that ran on their volumes", () => {
    expect(versionFor("3.5.0", runs(0, "3.5.36"), runs(1, "3.5.35"))).toBe("3.5.35");
    expect(versionFor("3.5.0", runs(0, "3.5.36"), ran(1, "3.5.35"))).toBe("3.5.35");
    expect(versionFor("3.5.35", ran(0, "3.5.35"))).toBe("3.5.35");
    expect(versionFor(undefined, ran(0, "3.5.35"))).toBe("3.5.35");
    expect(versionFor("3.5.0", voter(0, silent, noVolume), runs(1, "3.5.35"))).toBe("3.5.35");
    expect(versionFor(undefined, voter(0, silent, noVolume), runs(1, "3.5.35"))).toBe("3.5.35");
  });

  it("go on with the spec where nothing ran on them, or only what the members have left behind", () => {
    expect(versionFor(undefined, voter(0, silent, claim({ etcdVersion: undefined })))).toBe("3.6.16");
    expect(versionFor("3.6.0", ran(0, "3.5.35"))).toBe("3.6.16");
  });
});
