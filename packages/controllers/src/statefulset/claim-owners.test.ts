import type { Stored } from "@keelson/core";
import { describe, expect, test } from "vitest";
import { pod, statefulSet } from "../../test/builders.ts";
import { claimOwners, isClaimStale } from "./claim-owners.ts";

const claim = (owners: Stored["metadata"]["ownerReferences"] = []): Stored => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: {
    name: "data-s-0",
    uid: "c",
    resourceVersion: "1",
    creationTimestamp: "2026-01-01T00:00:00Z",
    ownerReferences: owners,
  },
});
const withPolicy = (whenDeleted: "Retain" | "Delete", whenScaled: "Retain" | "Delete", replicas = 1) =>
  statefulSet({ spec: { replicas, persistentVolumeClaimRetentionPolicy: { whenDeleted, whenScaled } } });
const names = (owners: { kind: string; name: string }[] | undefined) =>
  owners?.map(({ kind, name }) => `${kind}/${name}`);
const first = pod({ name: "s-0" });

describe("a claim is owned", () => {
  test("by nobody, when it is to be kept", () => {
    expect(claimOwners(claim(), withPolicy("Retain", "Retain"), first)).toBeUndefined();
  });

  test("by the set, when it goes with it", () => {
    const set = withPolicy("Delete", "Retain");
    const owners = claimOwners(claim(), set, first);
    expect(names(owners)).toEqual(["StatefulSet/s"]);
    expect(claimOwners(claim(owners), set, first)).toBeUndefined();
  });

  test("by its pod, once that is scaled away", () => {
    expect(names(claimOwners(claim(), withPolicy("Retain", "Delete", 0), first))).toEqual(["Pod/s-0"]);
    expect(claimOwners(claim(), withPolicy("Retain", "Delete", 1), first)).toBeUndefined();
  });

  test("by somebody else, whom we leave alone", () => {
    const other = { apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "x", controller: true };
    expect(claimOwners(claim([other]), withPolicy("Delete", "Delete"), first)).toBeUndefined();
  });
});

test("a claim that still goes with an earlier pod is stale", () => {
  const earlier = { apiVersion: "v1", kind: "Pod", name: "s-0", uid: "earlier", controller: true };
  expect(isClaimStale(claim([earlier]), withPolicy("Retain", "Delete"), first)).toBe(true);
  expect(isClaimStale(claim(), withPolicy("Retain", "Delete"), first)).toBe(false);
});
