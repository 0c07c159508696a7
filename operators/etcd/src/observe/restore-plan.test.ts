import { describe, expect, it } from "vitest";
import type { EtcdBackupObject } from "../api/backup.ts";
import { restorePlan } from "./restore-plan.ts";

const store = {
  s3: { endpoint: "http://s3", region: "us-east-1", bucket: "b", prefix: "etcd", credentialsSecret: "keys" },
};
const done = {
  phase: "Done",
  name: "default/old/nightly-1",
  etcdVersion: "3.6.16",
  verifiedAt: "2026-01-01T00:00:00Z",
} as const;

function backup(status: object): EtcdBackupObject {
  return { metadata: { name: "nightly" }, spec: { cluster: "old", store, verify: true }, status } as never;
}

const from = (restoreFrom: object, version = "3.6.16") =>
  ({
    version,
    restoreFrom: { bumpRevisions: 1_000_000_000, allowUnverified: false, ...restoreFrom },
  }) as const;

describe("the source that a cluster is restored from", () => {
  it("is undefined without restoreFrom", () => {
    expect(restorePlan({ version: "3.6.16" }, undefined, "op:1")).toBeUndefined();
  });

  it("is the backup that it names, where that one was put", () => {
    expect(restorePlan(from({ backup: "nightly" }), backup(done), "op:1")).toEqual({
      state: "ready",
      source: {
        store,
        name: "default/old/nightly-1",
        bumpRevisions: 1_000_000_000,
        allowUnverified: false,
        agentImage: "op:1",
      },
    });
  });

  it("is an object in a store when its EtcdBackup is gone", () => {
    const plan = restorePlan(from({ store, name: "default/old/nightly-1" }), undefined, "op:1");
    expect(plan).toMatchObject({ state: "ready", source: { store, name: "default/old/nightly-1" } });
  });

  it.each([
    [undefined, "waiting", "there is no EtcdBackup nightly"],
    [{ phase: "Verifying" }, "waiting", "is not done yet"],
    [
      { phase: "Failed", failure: { reason: "NoMember", message: "no member answered" } },
      "refused",
      "no member answered",
    ],
    [{ phase: "Removed" }, "refused", "was removed"],
    [{ ...done, verifiedAt: undefined }, "refused", "was never verified"],
    [{ ...done, etcdVersion: "3.7.3" }, "refused", "was taken from etcd 3.7.3, which 3.6.16 cannot read"],
  ])("waits or refuses with a sentence: %j", (status, state, message) => {
    const plan = restorePlan(from({ backup: "nightly" }), status && backup(status), "op:1");
    expect(plan).toMatchObject({ state, message: expect.stringContaining(message) });
  });

  it("may be unverified when the user allows it", () => {
    const { verifiedAt: _, ...unverified } = done;
    const spec = from({ backup: "nightly", allowUnverified: true });
    expect(restorePlan(spec, backup(unverified), "op:1")?.state).toBe("ready");
  });

  it("may be of an older minor than the new cluster", () => {
    expect(restorePlan(from({ backup: "nightly" }, "3.7.3"), backup(done), "op:1")?.state).toBe("ready");
  });

  it("is what the spec itself names, where its backup does not say where it was put", () => {
    const { name: _, ...unnamed } = done;
    const named = from({ backup: "nightly", store, name: "elsewhere" });
    expect(restorePlan(named, backup(unnamed), "op:1")).toMatchObject({ source: { name: "elsewhere" } });
    expect(restorePlan(named, backup(done), "op:1")).toMatchObject({
      source: { name: "default/old/nightly-1" },
    });
    expect(restorePlan(from({ backup: "nightly" }), backup(unnamed), "op:1")).toMatchObject({
      state: "refused",
    });
  });

  it("is neither a store without a name nor a name without a store", () => {
    expect(restorePlan(from({ store }), undefined, "op:1")).toMatchObject({ state: "refused" });
    expect(restorePlan(from({ name: "x" }), undefined, "op:1")).toMatchObject({ state: "refused" });
  });

  it("waits for a backup that has no status yet", () => {
    expect(restorePlan(from({ backup: "nightly" }), backup(undefined as never), "op:1")?.state).toBe(
      "waiting",
    );
  });

  it("is refused when it names nothing, or when the image of the agent is unknown", () => {
    expect(restorePlan(from({}), undefined, "op:1")).toMatchObject({ state: "refused" });
    expect(restorePlan(from({ backup: "nightly" }), backup(done), undefined)).toMatchObject({
      state: "refused",
      message: expect.stringContaining("OPERATOR_IMAGE"),
    });
  });
});
