import { describe, expect, it } from "vitest";
import { type ClaimSurroundings, decideClaim, defaultClass } from "./claim-decision.ts";
import { expansionOf } from "./expansion.ts";
import type { ClaimObject, ClassObject, VolumeObject } from "./matching.ts";
import { boundClaim, claimStatus } from "./phases.ts";
import { directoryOf, provisionedVolume } from "./provisioned-volume.ts";
import { decideVolume, unboundVolume } from "./volume-decision.ts";

const uid = "11111111-0000-0000-0000-000000000000";

interface Parts {
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}

function claim({ metadata, spec, status }: Parts = {}): ClaimObject {
  return {
    metadata: { name: "data", namespace: "ns", uid, ...metadata },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
    status: { phase: "Pending", ...status },
  } as unknown as ClaimObject;
}

function volume({ metadata, spec, status }: Parts = {}): VolumeObject {
  return {
    metadata: { name: "v", ...metadata },
    spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], ...spec },
    status: { phase: "Available", ...status },
  } as unknown as VolumeObject;
}

function storageClass(name: string, rest: object = {}, metadata: object = {}): ClassObject {
  return { metadata: { name, ...metadata }, provisioner: "example.com/p", ...rest } as ClassObject;
}

function around(part: Partial<ClaimSurroundings> = {}): ClaimSurroundings {
  return { volume: () => undefined, candidates: [], classes: [], unscheduledPods: [], ...part };
}

const marked = { annotations: { "storageclass.kubernetes.io/is-default-class": "true" } };

describe("a claim", () => {
  it("that names no class gets the newest default one", () => {
    const classes = [
      storageClass("old", {}, { ...marked, creationTimestamp: "2026-01-01T00:00:00Z" }),
      storageClass("new", {}, { ...marked, creationTimestamp: "2026-01-02T00:00:00Z" }),
      storageClass("newest", {}, { creationTimestamp: "2026-01-03T00:00:00Z" }),
    ];
    expect(defaultClass(classes)?.metadata.name).toBe("new");
    expect(decideClaim(claim(), around({ classes }))).toEqual({ type: "assign", storageClass: "new" });
  });

  it("that asks for no class in particular, but for none, waits for a volume", () => {
    const classes = [storageClass("c", {}, marked)];
    const decision = decideClaim(claim({ spec: { storageClassName: "" } }), around({ classes }));
    expect(decision).toMatchObject({ type: "wait", told: { reason: "FailedBinding" } });
  });

  it("waits for its pod where the class says so, until the scheduler chose a node", () => {
    const classes = [storageClass("c", { volumeBindingMode: "WaitForFirstConsumer" })];
    const waiting = claim({ spec: { storageClassName: "c" } });
    const pods = { classes, unscheduledPods: ["a", "b"] };
    expect(decideClaim(waiting, around(pods))).toMatchObject({
      told: { reason: "WaitForPodScheduled", message: "waiting for pods a,b to be scheduled" },
    });
    const chosen = { annotations: { "volume.kubernetes.io/selected-node": "n" } };
    expect(decideClaim({ ...waiting, metadata: { ...waiting.metadata, ...chosen } }, around(pods))).toEqual({
      type: "provision",
      provisioner: "example.com/p",
    });
  });

  it("is lost with its volume, and to another claim", () => {
    const completed = { annotations: { "pv.kubernetes.io/bind-completed": "yes" } };
    const bound = claim({ metadata: completed, spec: { volumeName: "v" } });
    expect(decideClaim(bound, around())).toMatchObject({ type: "lose", told: { reason: "ClaimLost" } });
    const taken = volume({ spec: { claimRef: { name: "other", namespace: "ns", uid: "2" } } });
    expect(decideClaim(bound, around({ volume: () => taken }))).toMatchObject({
      type: "lose",
      told: { reason: "ClaimMisbound" },
    });
  });

  it("is marked as bound by the controller only where the controller chose", () => {
    expect(boundClaim(claim(), "v").metadata.annotations).toEqual({
      "pv.kubernetes.io/bound-by-controller": "yes",
      "pv.kubernetes.io/bind-completed": "yes",
    });
    const asked = claim({ spec: { volumeName: "v" } });
    const bound = boundClaim(asked, "v");
    expect(bound.metadata.annotations).toEqual({ "pv.kubernetes.io/bind-completed": "yes" });
    expect(boundClaim(bound, "v")).toBe(bound);
  });

  it("takes its volume's capacity when they meet, and not again", () => {
    const large = volume({ spec: { capacity: { storage: "5Gi" } } });
    const met = claimStatus(claim(), "Bound", large);
    expect(met.capacity).toEqual({ storage: "5Gi" });
    const grown = volume({ spec: { capacity: { storage: "9Gi" } } });
    expect(claimStatus(claim({ status: met }), "Bound", grown).capacity).toEqual({ storage: "5Gi" });
  });

  it("grows with its volume, and keeps no sign of growing", () => {
    const completed = { annotations: { "pv.kubernetes.io/bind-completed": "yes" } };
    const conditions = [{ type: "Resizing", status: "True" }];
    const wanting = claim({
      metadata: completed,
      spec: { volumeName: "v", resources: { requests: { storage: "2Gi" } } },
      status: { phase: "Bound", capacity: { storage: "1Gi" }, conditions },
    });
    const expansion = expansionOf(wanting, volume());
    expect(expansion?.volume?.spec.capacity).toEqual({ storage: "2Gi" });
    expect(expansion?.status).toEqual({
      phase: "Bound",
      capacity: { storage: "2Gi" },
      allocatedResources: { storage: "2Gi" },
    });
    const done = { ...wanting, status: expansion?.status ?? {} };
    expect(expansionOf(done, expansion?.volume ?? volume())).toBeUndefined();
  });
});

describe("a volume", () => {
  const reference = { name: "data", namespace: "ns", uid };

  it("is released when its claim is gone, or another has its name", () => {
    const bound = volume({ spec: { claimRef: reference } });
    expect(decideVolume(bound, undefined)).toEqual({ type: "release" });
    expect(decideVolume(bound, claim({ metadata: { uid: "2" } }))).toEqual({ type: "release" });
    expect(decideVolume(bound, claim({ spec: { volumeName: "v" } }))).toEqual({
      type: "mark",
      phase: "Bound",
    });
  });

  it("set aside for a claim that has not come is available", () => {
    const aside = volume({ spec: { claimRef: { name: "data", namespace: "ns" } } });
    expect(decideVolume(aside, undefined)).toEqual({ type: "mark", phase: "Available" });
  });

  it("whose claim went elsewhere is free again, or goes if it was made for the claim", () => {
    const elsewhere = claim({ spec: { volumeName: "other" } });
    const ours = volume({
      metadata: { annotations: { "pv.kubernetes.io/bound-by-controller": "yes" } },
      spec: { claimRef: reference },
    });
    expect(decideVolume(ours, elsewhere)).toEqual({ type: "unbind" });
    const free = unboundVolume(ours);
    expect(free.spec.claimRef).toBeUndefined();
    expect(free.metadata.annotations).toBeUndefined();
    expect(unboundVolume(volume({ spec: { claimRef: reference } })).spec.claimRef).toEqual({
      name: "data",
      namespace: "ns",
    });
    const made = volume({
      metadata: { annotations: { "pv.kubernetes.io/provisioned-by": "p" } },
      spec: { claimRef: reference, persistentVolumeReclaimPolicy: "Delete" },
    });
    expect(decideVolume(made, elsewhere)).toEqual({ type: "release" });
  });

  it("made for a claim lies in the directory of volumes; no other directory is ever removed", () => {
    const made = provisionedVolume({
      claim: claim(),
      storageClass: storageClass("c", { parameters: { capped: "true" } }),
      directory: "/volumes",
    });
    expect(made.metadata?.annotations).toMatchObject({ "node.keelson.dev/capped": "true" });
    expect(made.spec?.nodeAffinity).toBeUndefined();
    const stored = made as VolumeObject;
    expect(directoryOf(stored, "/volumes")).toBe(`/volumes/pvc-${uid}_ns_data`);
    expect(directoryOf(stored, "/elsewhere")).toBeUndefined();
    const foreign = { ...stored, spec: { ...stored.spec, hostPath: { path: "/volumes/../etc" } } };
    expect(directoryOf(foreign, "/volumes")).toBeUndefined();
  });
});
