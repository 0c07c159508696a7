/** What comes next for a backup, one line for each state. */
import { describe, expect, it } from "vitest";
import type { EtcdBackupObject } from "../../src/api/backup.ts";
import type { EtcdClusterObject } from "../../src/api/cluster.ts";
import { aheadOf, type BackupDecision, decideBackup, type ObservedBackup } from "../../src/decide/backup.ts";
import type { Manifest } from "../../src/engine/snapshot-archive.ts";
import type { WorkerView } from "../../src/observe/backup-pod-view.ts";

const createdAt = "2026-01-01T00:00:00Z";
const createdMs = Date.parse(createdAt);

function backup(status: object = {}, spec: object = {}): EtcdBackupObject {
  return {
    metadata: { name: "nightly", namespace: "default", uid: "u1", creationTimestamp: createdAt },
    spec: {
      cluster: "prod",
      store: { claim: { name: "vault", path: "" } },
      verify: true,
      timeoutSeconds: 600,
      ...spec,
    },
    status,
  } as never;
}

const cluster = (...phases: string[]) =>
  ({
    status: { members: phases.map((phase, index) => ({ name: `prod-${index}`, phase })) },
  }) as EtcdClusterObject;

function observed(change: Partial<ObservedBackup> = {}): ObservedBackup {
  return {
    backup: backup(),
    cluster: cluster("Voter"),
    worker: undefined,
    ahead: [],
    leftovers: 0,
    agentImage: "op:1",
    nowMs: createdMs + 1_000,
    ...change,
  };
}

const working = (copied: boolean): WorkerView => ({
  state: "working",
  copied,
  message: "the snapshot is being copied",
});
const failed = (reason: string): WorkerView => ({
  state: "failed",
  reason,
  message: "no answer",
});
const verified = {
  at: "2026-01-01T00:00:09Z",
  etcdVersion: "3.6.16",
  revision: "7",
  keys: 3,
  compared: true,
};
const manifest: Manifest = {
  format: 1,
  backupUid: "u1",
  cluster: "prod",
  clusterId: "c1",
  memberId: "a1",
  etcdVersion: "3.6.16",
  takenAt: "2026-01-01T00:00:05Z",
  revisionAtLeast: "5",
  sha256: "00ff",
  sizeBytes: 4_096,
};
const done = (found?: Manifest): WorkerView => ({ state: "done", manifest: found });
const late = { nowMs: createdMs + 600_000 };
const second = { attempt: 2, failure: { reason: "NoMember", message: "no answer" } };
const retry = backup({ ...second, retryAfter: "2026-01-01T00:00:11Z" });

/** The action, then its reason and message, or those of its event. */
function textOf(decision: BackupDecision): string {
  switch (decision.do) {
    case "rest":
      return "rest";
    case "start":
      return `start attempt ${decision.attempt}`;
    case "record":
      return `record ${decision.event.type} ${decision.event.reason}: ${decision.event.message}`;
    default:
      return `${decision.do} ${decision.reason}: ${decision.message}`;
  }
}

describe("a backup", () => {
  const name = "default/prod/nightly-u1";
  const rows: readonly (readonly [string, Partial<ObservedBackup>, string, object?])[] = [
    ["it is done", { backup: backup({ phase: "Done" }) }, "rest"],
    ["it has failed", { backup: backup({ phase: "Failed" }) }, "rest"],
    ["its data was removed", { backup: backup({ phase: "Removed" }) }, "rest"],
    [
      "the operator does not know its image",
      { agentImage: undefined },
      "refuse OperatorImageUnknown: the operator does not know its own image, whose agent takes backups; set OPERATOR_IMAGE in its Deployment",
    ],
    [
      "its cluster does not exist",
      { cluster: undefined },
      "wait ClusterMissing: there is no EtcdCluster prod in this namespace",
      { status: { phase: "Pending" } },
    ],
    [
      "its cluster has no voter",
      { cluster: cluster("Seed") },
      "wait ClusterNotReady: EtcdCluster prod has no voting member yet",
    ],
    [
      "its cluster has no status",
      { cluster: {} as EtcdClusterObject },
      "wait ClusterNotReady: EtcdCluster prod has no voting member yet",
    ],
    ["nothing is in its way", {}, "start attempt 1", { status: { phase: "Copying", attempt: 1, name } }],
    ["one backup of its cluster comes first", { ahead: ["a"] }, "start attempt 1"],
    [
      "two backups of its cluster come first",
      { ahead: ["a", "b"] },
      "wait Queued: a, b come first: 2 at a time",
      { status: { phase: "Pending" } },
    ],
    [
      "an earlier attempt failed a moment ago",
      { backup: retry },
      "wait Retrying: attempt 2 follows: no answer",
      { recheckMs: 10_000 },
    ],
    ["the pause after a failure is over", { backup: retry, nowMs: createdMs + 20_000 }, "start attempt 2"],
    [
      "the pod of an earlier attempt still exists",
      { backup: backup(second), leftovers: 1 },
      "wait Retrying: the last attempt's pod is stopping",
    ],
    [
      "its pod copies",
      { worker: working(false) },
      "wait Copying: the snapshot is being copied",
      { status: { phase: "Copying" }, recheckMs: 599_000 },
    ],
    [
      "its pod verifies",
      { worker: working(true) },
      "wait Verifying: the snapshot is being copied",
      { status: { phase: "Verifying" } },
    ],
    [
      "its first attempt failed",
      { worker: failed("NoMember") },
      "record Warning AttemptFailed: attempt 1 of 3: no answer",
      {
        status: {
          phase: "Pending",
          attempt: 2,
          retryAfter: "2026-01-01T00:00:11.000Z",
          failure: { reason: "NoMember" },
        },
      },
    ],
    [
      "its second attempt failed",
      { backup: backup(second), worker: failed("NoMember") },
      "record Warning AttemptFailed: attempt 2 of 3: no answer",
      { status: { attempt: 3, retryAfter: "2026-01-01T00:00:21.000Z" } },
    ],
    [
      "its third attempt failed",
      { backup: backup({ ...second, attempt: 3, retryAfter: createdAt }), worker: failed("NoMember") },
      "record Warning BackupFailed: no answer",
      {
        status: {
          phase: "Failed",
          failure: { reason: "NoMember", message: "no answer" },
        },
      },
    ],
    ...["NotOurs", "StoredDamaged", "ContentDiffers"].map(
      (reason) =>
        [
          `another attempt cannot help: ${reason}`,
          { worker: failed(reason) },
          "record Warning BackupFailed: no answer",
          { status: { phase: "Failed", failure: { reason } } },
        ] as const,
    ),
    [
      "its time is over while it copies",
      { worker: working(false), ...late },
      "record Warning BackupFailed: it was not done within 600 s: the snapshot is being copied",
      { status: { phase: "Failed", failure: { reason: "TimedOut" } } },
    ],
    [
      "its time is over after a failure",
      { worker: failed("x"), ...late },
      "record Warning BackupFailed: it was not done within 600 s: no answer",
    ],
    [
      "its time is over between two attempts",
      { backup: backup(second), ...late },
      "record Warning BackupFailed: it was not done within 600 s: no answer",
    ],
    [
      "its time is over before it could start",
      { cluster: undefined, ...late },
      "record Warning BackupFailed: it was not done within 600 s: no attempt could start",
    ],
    [
      "its pod has verified it, though its time is over",
      { worker: done({ ...manifest, verified }), ...late },
      "record Normal BackupDone: revision 7 with 3 keys, restored and compared",
      {
        status: {
          phase: "Done",
          name,
          revision: "7",
          sizeBytes: "4096",
          keys: 3,
          compared: true,
          verifiedAt: verified.at,
        },
      },
    ],
    [
      "its pod has copied it, and it is not to be verified",
      { backup: backup({}, { verify: false }), worker: done(manifest) },
      "record Normal BackupDone: revision 5 or later, not verified",
      { status: { phase: "Done", revision: "5" } },
    ],
    [
      "the report has no manifest",
      { worker: done() },
      "record Warning BackupFailed: the report has no manifest",
      { status: { failure: { reason: "NoReport" } } },
    ],
    [
      "the report is of another backup",
      { worker: done({ ...manifest, verified, backupUid: "u2" }) },
      "record Warning BackupFailed: the report is of backup u2",
    ],
    [
      "the report does not say that it was verified",
      { worker: done(manifest) },
      "record Warning BackupFailed: the report does not say that it was verified",
    ],
  ];
  for (const [state, change, expected, details = {}] of rows) {
    it(state, () => {
      const decision = decideBackup(observed(change));
      expect(textOf(decision)).toBe(expected);
      expect(decision).toMatchObject(details);
    });
  }

  it("forgets the pause when it has failed", () => {
    const last = backup({ ...second, attempt: 3, retryAfter: createdAt });
    const decision = decideBackup(observed({ backup: last, worker: failed("NoMember") }));
    expect(decision.do === "record" && "retryAfter" in decision.status).toBe(false);
  });

  const other = (name: string, status: object = {}, metadata: object = {}, cluster = "prod") => ({
    ...backup(status, { cluster }),
    metadata: { ...backup().metadata, name, uid: name, ...metadata },
  });
  it.each<[string, EtcdBackupObject, boolean]>([
    ["one that is taken", other("z", { phase: "Copying" }), true],
    ["one that is verified", other("z", { phase: "Verifying" }), true],
    ["one that waits and is older", other("z", {}, { creationTimestamp: "2025-12-31T00:00:00Z" }), true],
    ["one that waits and is named before it", other("a"), true],
    ["one that waits and is named after it", other("z"), false],
    ["one that rests after a failure", other("a", { attempt: 2, retryAfter: "2026-01-01T00:00:11Z" }), false],
    ["one that has ended", other("a", { phase: "Done" }), false],
    ["one that is being deleted", other("a", {}, { deletionTimestamp: createdAt }), false],
    [
      "one whose data is being removed",
      other("a", { phase: "Copying" }, { annotations: { "etcd.keelson.dev/remove-data": "true" } }),
      false,
    ],
    ["one of another cluster", other("a", {}, {}, "test"), false],
    ["one of another namespace", other("a", {}, { namespace: "other" }), false],
    ["itself", backup({ phase: "Copying" }), false],
  ])("of others, %s: comes first or not", (_who, each, isAhead) => {
    expect(aheadOf(backup(), [each], createdMs + 1_000).length > 0).toBe(isAhead);
  });
});

describe("a backup that waits", () => {
  const conditions = (...is: object[]) =>
    ({
      status: { members: [{ name: "prod-0", phase: "Voter" }], conditions: is },
    }) as unknown as EtcdClusterObject;
  const wait = (change: Partial<ObservedBackup>) => decideBackup(observed(change));
  const untilItEnds = 599_000;

  it("looks again when its time is over, where only a person or another change can help", () => {
    expect(wait({ cluster: undefined })).toMatchObject({ do: "wait", recheckMs: untilItEnds });
    expect(wait({ cluster: cluster() })).toMatchObject({ reason: "ClusterNotReady", recheckMs: untilItEnds });
    expect(wait({ leftovers: 1 })).toMatchObject({ reason: "Retrying", recheckMs: untilItEnds });
    expect(wait({ worker: working(false) })).toMatchObject({ reason: "Copying", recheckMs: untilItEnds });
  });

  it("looks again soon at a cluster without a quorum, and starts where nothing says so", () => {
    const [down, up] = [
      { type: "Available", status: "False" },
      { type: "Available", status: "True" },
    ];
    expect(wait({ cluster: conditions({ type: "Progressing", status: "True" }, down) })).toMatchObject({
      do: "wait",
      reason: "ClusterNotReady",
      message: "EtcdCluster prod has no quorum; its conditions say why",
      recheckMs: 5_000,
    });
    expect(wait({ cluster: conditions(up, { type: "Progressing", status: "False" }) })).toMatchObject({
      do: "start",
    });
    expect(wait({ cluster: conditions() })).toMatchObject({ do: "start" });
    expect(wait({ cluster: cluster("Voter") })).toMatchObject({ do: "start" });
  });

  it("names at most three of those that come first", () => {
    expect(wait({ ahead: ["a", "b"] })).toMatchObject({
      message: "a, b come first: 2 at a time",
      recheckMs: 5_000,
    });
    expect(wait({ ahead: ["a", "b", "c", "d"] })).toMatchObject({
      message: "a, b, c come first: 2 at a time",
    });
    expect(wait({ ahead: ["a"] })).toMatchObject({ do: "start" });
  });

  it("pauses to the last millisecond", () => {
    const nowMs = Date.parse("2026-01-01T00:00:11Z") - 1;
    expect(wait({ backup: retry, nowMs })).toMatchObject({ reason: "Retrying", recheckMs: 1 });
    expect(wait({ backup: retry, nowMs: nowMs + 1 })).toMatchObject({ do: "start" });
  });
});

describe("the order of backups", () => {
  const other = (change: object) => {
    const { metadata, ...rest } = backup();
    return { ...rest, metadata: { ...metadata, name: "early", uid: "u0" }, ...change } as EtcdBackupObject;
  };

  it("counts an older one that has no status yet", () => {
    expect(aheadOf(backup(), [other({ status: undefined })], createdMs)).toEqual(["early"]);
  });

  it("does not count an older one that pauses, to the last millisecond of its pause", () => {
    const pausing = other({ status: { ...second, retryAfter: "2026-01-01T00:00:11Z" } });
    const endMs = Date.parse("2026-01-01T00:00:11Z");
    expect(aheadOf(backup(), [pausing], endMs - 1)).toEqual([]);
    expect(aheadOf(backup(), [pausing], endMs)).toEqual(["early"]);
  });
});
