import type { ObjectOf } from "keelson";
import type { Node, PersistentVolumeClaim, Pod } from "keelson/kinds";
import { describe, expect, test } from "vitest";
import { annotations, labels } from "../api/names.ts";
import { claimView } from "./claim-view.ts";
import { largestNode, nodeLostSince, nodeViews } from "./nodes.ts";
import { podView, trialView } from "./pod-view.ts";

const created = "2026-01-01T00:00:00Z";
const createdMs = Date.parse(created);
const marks = { labels: { app: "etcd" }, owners: ["cluster", "claim"] };

function pod({ metadata = {}, ...rest }: { metadata?: object; spec?: object; status?: object } = {}) {
  const ownerReferences = [{ uid: "claim" }, { uid: "cluster" }];
  return {
    metadata: {
      name: "db-0",
      uid: "u",
      creationTimestamp: created,
      labels: { ...marks.labels, [labels.role]: "member", other: "x" },
      ownerReferences,
      ...metadata,
    },
    ...rest,
  } as unknown as ObjectOf<typeof Pod>;
}
const withStatus = (status: object) => podView(pod({ status }), marks);
const etcd = (status: object) => ({ containerStatuses: [{ name: "other" }, { name: "etcd", ...status }] });

describe("a pod", () => {
  test("that was just made", () => {
    expect(podView(pod(), marks)).toEqual({
      uid: "u",
      template: "",
      role: "member",
      initialCluster: "",
      initialClusterState: "",
      forceNewCluster: false,
      createdMs,
      deleting: false,
      ended: false,
      ready: false,
      readyChangedMs: createdMs,
      node: undefined,
      obstacle: undefined,
      drifted: false,
      runningSinceMs: undefined,
      terminationMessage: "",
      restarts: 0,
    });
  });
  test("as it was made, and where it runs", () => {
    const { template, initialCluster, initialClusterState, forceNewCluster } = annotations;
    const made = { [template]: "t", [initialCluster]: "a=b", [initialClusterState]: "new" };
    const view = podView(
      pod({
        metadata: { annotations: { ...made, [forceNewCluster]: "true" }, deletionTimestamp: created },
        spec: { nodeName: "n1" },
      }),
      marks,
    );
    expect(view).toMatchObject({ template: "t", initialCluster: "a=b", initialClusterState: "new" });
    expect(view).toMatchObject({ forceNewCluster: true, deleting: true, node: "n1" });
  });
  test("that is ready since a moment", () => {
    const conditions = [
      { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:01:00Z" },
      { type: "PodScheduled", status: "True" },
    ];
    expect(withStatus({ conditions })).toMatchObject({ ready: true, readyChangedMs: createdMs + 60_000 });
  });
  test.each(["Failed", "Succeeded"])("that has ended: %s", (phase) =>
    expect(withStatus({ phase }).ended).toBe(true),
  );
  test("that was restarted, and left a message", () => {
    const view = withStatus(etcd({ restartCount: 3, lastState: { terminated: { message: "panic: x" } } }));
    expect(view).toMatchObject({ restarts: 3, terminationMessage: "panic: x" });
  });
  test("that was restarted, left a message, and runs", () => {
    const lastState = { terminated: { message: "panic: x" } };
    const startedAt = "2026-01-01T00:01:00Z";
    const view = withStatus(etcd({ state: { running: { startedAt } }, lastState }));
    expect(view).toMatchObject({ runningSinceMs: createdMs + 60_000, terminationMessage: "panic: x" });
    expect(withStatus(etcd({ state: { running: {} } })).runningSinceMs).toBe(createdMs);
  });
  test("that was killed for memory has said nothing", () => {
    const terminated = { reason: "OOMKilled", message: "half a line" };
    expect(withStatus(etcd({ state: { terminated } })).terminationMessage).toBe("");
  });
  test.each([
    ["another label", { labels: { app: "web" } }],
    ["an owner less", { ownerReferences: [{ uid: "cluster" }] }],
    ["an owner more", { ownerReferences: [{ uid: "cluster" }, { uid: "claim" }, { uid: "x" }] }],
    ["another owner", { ownerReferences: [{ uid: "cluster" }, { uid: "x" }] }],
  ])("that someone gave %s", (_what, metadata) =>
    expect(podView(pod({ metadata }), marks).drifted).toBe(true),
  );
});

describe("what keeps a pod from running", () => {
  const failed = (terminated: object) => ({
    initContainerStatuses: [
      { name: "agent", state: { terminated: { exitCode: 0 } } },
      { name: "restore", state: { terminated } },
    ],
  });
  const unschedulable = (more: object) => ({
    conditions: [{ type: "PodScheduled", status: "False", ...more }],
  });
  test.each<[string, object, string | undefined]>([
    ["nothing yet", etcd({ state: { waiting: { reason: "ContainerCreating" } } }), undefined],
    [
      "an image that is not there",
      etcd({ state: { waiting: { reason: "ErrImagePull", message: "no such tag" } } }),
      "ErrImagePull: no such tag",
    ],
    [
      "a crash loop without a word",
      etcd({ state: { waiting: { reason: "CrashLoopBackOff" } } }),
      "CrashLoopBackOff",
    ],
    [
      "an init container, in its own words",
      failed({ exitCode: 1, message: '{"message":"the backup is gone"}' }),
      "restore failed: the backup is gone",
    ],
    [
      "an init container, with the end of its log",
      failed({ exitCode: 1, message: "first\nlast\n" }),
      "restore failed: last",
    ],
    ["an init container without a word", failed({ exitCode: 3 }), "restore failed: it ended with 3"],
    [
      "an init container that is tried again",
      {
        initContainerStatuses: [
          { name: "restore", state: { running: {} }, lastState: { terminated: { exitCode: 1 } } },
        ],
      },
      undefined,
    ],
    [
      "an init container that waits for its next try",
      {
        initContainerStatuses: [
          { name: "restore", state: { waiting: {} }, lastState: { terminated: { exitCode: 1 } } },
        ],
      },
      "restore failed: it ended with 1",
    ],
    [
      "no node with room",
      unschedulable({ reason: "Unschedulable", message: "too large" }),
      "Unschedulable: too large",
    ],
    ["no node, without a word", unschedulable({}), "Unschedulable: "],
  ])("%s", (_what, status, obstacle) => {
    expect(withStatus(status).obstacle).toBe(obstacle);
    expect(trialView(pod({ status })).obstacle).toBe(obstacle);
  });
});

test.each([
  ["Succeeded", "succeeded"],
  ["Failed", "failed"],
  ["Pending", "running"],
])("a trial in the phase %s", (phase, outcome) => {
  const metadata = { annotations: { [annotations.template]: "t" }, deletionTimestamp: created };
  expect(trialView(pod({ metadata, status: { phase } }))).toMatchObject({
    ...{ outcome, template: "t", createdMs, deleting: true },
  });
});

describe("a claim", () => {
  const claim = (rest: { metadata?: object; spec?: object; status?: object }) =>
    claimView(
      {
        ...rest,
        metadata: { name: "db-0", uid: "u", labels: { app: "etcd" }, ...rest.metadata },
      } as unknown as ObjectOf<typeof PersistentVolumeClaim>,
      { app: "etcd" },
    );
  test("that was just made", () =>
    expect(claim({})).toEqual({
      uid: "u",
      deleting: false,
      lost: false,
      bound: false,
      className: "",
      requested: "0",
      clusterUid: undefined,
      clusterId: undefined,
      memberId: undefined,
      etcdVersion: undefined,
      peerScheme: undefined,
      fenced: false,
      drifted: false,
      needsRestart: false,
    }));
  test("with what is on record about its data", () => {
    const { storageClass, clusterUid, clusterId, memberId, etcdVersion, fenced } = annotations;
    const known = { [storageClass]: "fast", [clusterUid]: "1", [clusterId]: "2", [memberId]: "3" };
    const found = { annotations: { ...known, [etcdVersion]: "3.6.0", [fenced]: "" } };
    const spec = { resources: { requests: { storage: "1Gi" } } };
    expect(claim({ metadata: found, spec })).toMatchObject({
      ...{ className: "fast", clusterUid: "1", clusterId: "2", memberId: "3", etcdVersion: "3.6.0" },
      ...{ fenced: true, requested: "1Gi" },
    });
  });
  test("that is bound, lost, going, unlabelled, or grown", () => {
    expect(claim({ status: { phase: "Bound" } })).toMatchObject({ bound: true, lost: false });
    expect(claim({ status: { phase: "Lost" } })).toMatchObject({ bound: false, lost: true });
    expect(claim({ metadata: { deletionTimestamp: created } }).deleting).toBe(true);
    expect(claim({ metadata: { labels: {} } }).drifted).toBe(true);
    const conditions = [{ type: "Resizing" }, { type: "FileSystemResizePending" }];
    expect(claim({ status: { conditions } }).needsRestart).toBe(true);
    expect(claim({ status: { conditions: [{ type: "Resizing" }] } }).needsRestart).toBe(false);
  });
});

describe("a node", () => {
  const node = (name: string, rest: object) =>
    ({ metadata: { name }, ...rest }) as unknown as ObjectOf<typeof Node>;
  const ready = (status: string) => ({
    conditions: [{ type: "MemoryPressure" }, { type: "Ready", status, lastTransitionTime: created }],
  });
  test.each<[string, object, object]>([
    ["new", {}, { lostSinceMs: undefined, cordoned: false }],
    ["ready", { status: ready("True") }, { lostSinceMs: undefined, cordoned: false }],
    ["silent", { status: ready("Unknown") }, { lostSinceMs: createdMs, cordoned: false }],
    ["cordoned", { spec: { unschedulable: true } }, { lostSinceMs: undefined, cordoned: true }],
  ])("that is %s", (name, rest, view) => expect(nodeViews([node(name, rest)]).get(name)).toEqual(view));

  test("the most that one offers is by number, not by its writing", () => {
    const offers = (cpu: string, memory: string) => node(cpu, { status: { allocatable: { cpu, memory } } });
    expect(largestNode([offers("900m", "2Gi"), offers("1", "900Mi")])).toEqual({ cpu: "1", memory: "2Gi" });
    expect(largestNode([offers("1", "1Gi"), offers("1000m", "1024Mi")])).toEqual({ cpu: "1", memory: "1Gi" });
    expect(largestNode([])).toBeUndefined();
    const unheard = { metadata: { name: "new" } } as ObjectOf<typeof Node>;
    expect(largestNode([unheard, offers("1", "1Gi")])).toEqual({ cpu: "1", memory: "1Gi" });
  });
});

describe("the node that a member needs", () => {
  const lostAt = "2026-01-01T00:10:00Z";
  const node = (name: string, status: string) =>
    ({
      metadata: { name },
      status: { conditions: [{ type: "Ready", status, lastTransitionTime: lostAt }] },
    }) as unknown as ObjectOf<typeof Node>;
  const nodes = nodeViews([node("well", "True"), node("silent", "Unknown")]);
  const on = (nodeName: string) => podView(pod({ spec: { nodeName } }), marks);
  const waiting = (message: string, at = created) =>
    podView(
      pod({
        metadata: { creationTimestamp: at },
        status: {
          conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }],
        },
      }),
      marks,
    );
  const madeFor = (selected: string) =>
    claimView(
      {
        metadata: { name: "db-0", annotations: { "volume.kubernetes.io/selected-node": selected } },
      } as unknown as ObjectOf<typeof PersistentVolumeClaim>,
      {},
    );
  const later = "2026-01-01T00:20:00Z";
  const elsewhere = "0/2 nodes are available: 2 node(s) had volume node affinity conflict.";

  test.each([
    ["runs a pod", on("well"), madeFor("gone"), undefined],
    ["does not answer", on("silent"), undefined, Date.parse(lostAt)],
    ["was deleted", on("gone"), undefined, createdMs],
    ["was deleted, and its volume waits there", waiting(elsewhere), madeFor("gone"), createdMs],
    [
      "does not answer, and its volume waits there",
      waiting(elsewhere),
      madeFor("silent"),
      Date.parse(lostAt),
    ],
    ["did not answer when the pod was made", waiting(elsewhere, later), madeFor("silent"), Date.parse(later)],
    ["is well and has the volume", waiting(elsewhere), madeFor("well"), undefined],
    ["was not chosen yet", waiting(elsewhere), undefined, undefined],
    ["has yet to be chosen again", podView(pod(), marks), madeFor("gone"), undefined],
    [
      "is any that the spec selects",
      waiting("2 node(s) didn't match Pod's node affinity/selector."),
      madeFor("gone"),
      undefined,
    ],
    ["is any that has room", waiting("2 Insufficient cpu."), madeFor("gone"), undefined],
    ["is not known to matter", waiting("2 node(s) had no free ports."), madeFor("gone"), undefined],
    [
      "was deleted, and one of the others has no room",
      waiting("1 Insufficient cpu, 1 node(s) didn't match PersistentVolume's node affinity."),
      madeFor("gone"),
      createdMs,
    ],
  ])("%s", (_name, view, claim, since) => {
    expect(nodeLostSince(nodes, { pod: view, claim })).toBe(since);
  });
});

test("a pod of which little is known is no trial, and has lost its marks", () => {
  const bare = { metadata: { name: "db-0", uid: "u" } } as unknown as ObjectOf<typeof Pod>;
  expect(podView(bare, marks)).toMatchObject({ createdMs: 0, role: "", drifted: true });
  expect(podView(bare, { labels: {}, owners: ["x"] }).drifted).toBe(true);
  expect(podView(bare, { labels: {}, owners: [] }).drifted).toBe(false);
  const silent = etcd({ state: { terminated: { reason: "Error" } } });
  expect(withStatus(silent).terminationMessage).toBe("");
  expect(trialView(bare)).toEqual({
    template: "",
    createdMs: 0,
    deleting: false,
    outcome: "running",
    obstacle: undefined,
  });
});
