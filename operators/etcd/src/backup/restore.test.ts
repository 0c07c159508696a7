import { describe, expect, it } from "vitest";
import type { EtcdBackupObject } from "../api/backup.ts";
import { restoreContainers, restorePlan } from "./restore.ts";
import { canBumpRevisions, restoreCommand } from "./restore-command.ts";

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

describe("what a cluster is restored from", () => {
  it("is nothing unless it says so", () => {
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
      { phase: "Failed", failure: { reason: "NoMember", message: "nobody answered" } },
      "refused",
      "nobody answered",
    ],
    [{ phase: "Removed" }, "refused", "was removed"],
    [{ ...done, verifiedAt: undefined }, "refused", "was never proven"],
    [{ ...done, etcdVersion: "3.7.3" }, "refused", "was taken from etcd 3.7.3, which 3.6.16 cannot read"],
  ])("waits or refuses with a sentence: %j", (status, state, message) => {
    const plan = restorePlan(from({ backup: "nightly" }), status && backup(status), "op:1");
    expect(plan).toMatchObject({ state, message: expect.stringContaining(message) });
  });

  it("may be unproven when a person says so", () => {
    const { verifiedAt: _, ...unproven } = done;
    const wish = from({ backup: "nightly", allowUnverified: true });
    expect(restorePlan(wish, backup(unproven), "op:1")?.state).toBe("ready");
  });

  it("may be of an older minor than the new cluster", () => {
    expect(restorePlan(from({ backup: "nightly" }, "3.7.3"), backup(done), "op:1")?.state).toBe("ready");
  });

  it("is refused when it names nothing, or when nobody could fetch it", () => {
    expect(restorePlan(from({}), undefined, "op:1")).toMatchObject({ state: "refused" });
    expect(restorePlan(from({ backup: "nightly" }), backup(done), undefined)).toMatchObject({
      state: "refused",
      message: expect.stringContaining("OPERATOR_IMAGE"),
    });
  });
});

describe("the containers that restore", () => {
  const cluster = { name: "new", namespace: "default", uid: "uid-1" };
  const source = {
    store,
    name: "default/old/nightly-1",
    bumpRevisions: 1_000_000_000,
    allowUnverified: false,
    agentImage: "op:1",
  };
  const parts = restoreContainers(cluster, "new-0", { source, version: "3.6.16", image: "etcd:v3.6.16" });

  it("fetch, restore beside the data and move into place, in this order and from the right images", () => {
    expect(parts.initContainers.map(({ name, image }) => [name, image])).toEqual([
      ["fetch", "op:1"],
      ["restore", "etcd:v3.6.16"],
      ["adopt", "op:1"],
    ]);
    expect(parts.initContainers[1]?.command).toEqual([
      "/usr/local/bin/etcdutl",
      "snapshot",
      "restore",
      "/var/lib/keelson/restore/snapshot.db",
      "--data-dir=/var/lib/etcd/restoring",
      "--name=new-0",
      "--initial-cluster=new-0=http://new-0.new.default.svc:2380",
      "--initial-advertise-peer-urls=http://new-0.new.default.svc:2380",
      "--initial-cluster-token=default-new-uid-1",
      "--bump-revision=1000000000",
      "--mark-compacted",
    ]);
  });

  it("fetch only what this version can read and what was proven", () => {
    const task = JSON.parse(parts.initContainers[0]?.env?.[0]?.value ?? "{}") as { demand: unknown };
    expect(task.demand).toEqual({ version: "3.6.16", verified: true });
  });

  it("mount only what the pod has, and the pod has all that they mount beside its data", () => {
    const mounted = new Set(
      parts.initContainers.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)),
    );
    const volumes = new Set([...parts.volumes.map(({ name }) => name), "data"]);
    expect(mounted).toEqual(volumes);
  });

  it("obey the restricted pod security profile", () => {
    for (const { securityContext } of parts.initContainers) {
      expect(securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        capabilities: { drop: ["ALL"] },
        runAsNonRoot: true,
      });
    }
  });
});

describe("the command that restores", () => {
  const options = {
    file: "f",
    dataDirectory: "d",
    member: "m",
    peerUrl: "http://m",
    token: "t",
    bumpRevisions: 5,
  };

  it("is the client's in 3.4, which cannot raise revisions before 3.4.27", () => {
    expect(restoreCommand({ ...options, version: "3.4.23" })[0]).toBe("/usr/local/bin/etcdctl");
    expect(restoreCommand({ ...options, version: "3.4.23" }).join(" ")).not.toContain("bump");
    expect(restoreCommand({ ...options, version: "3.4.27" }).join(" ")).toContain("--bump-revision=5");
  });

  it.each([
    ["3.5.9", false],
    ["3.5.10", true],
    ["3.6.0", true],
    ["3.7.3", true],
  ])("of %s can raise revisions: %s", (version, can) => {
    expect(canBumpRevisions(version)).toBe(can);
  });
});
