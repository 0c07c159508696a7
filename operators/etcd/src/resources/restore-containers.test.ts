import { describe, expect, it } from "vitest";
import { restoreContainers } from "./restore-containers.ts";

const store = {
  s3: { endpoint: "http://s3", region: "us-east-1", bucket: "b", prefix: "etcd", credentialsSecret: "keys" },
};
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
    const task = JSON.parse(parts.initContainers[0]?.env?.[0]?.value ?? "{}") as { requirements: unknown };
    expect(task.requirements).toEqual({ version: "3.6.16", verified: true });
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
