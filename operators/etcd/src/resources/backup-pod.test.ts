import { describe, expect, test } from "vitest";
import { EtcdBackup, type EtcdBackupObject } from "../api/backup.ts";
import { EtcdCluster, type EtcdClusterObject } from "../api/cluster.ts";
import { removerPod, workerPod } from "./backup-pod.ts";

function backupOf(spec: object): EtcdBackupObject {
  const metadata = { name: "b", namespace: "default", uid: "0123456789ab" };
  const whole = { cluster: "c", store: { claim: { name: "vault" } }, ...spec };
  return { ...EtcdBackup.parse(EtcdBackup.object({ metadata, spec: whole as never })), metadata } as never;
}

const cluster = {
  ...EtcdCluster.parse(EtcdCluster.object({ metadata: { name: "c" }, spec: { version: "3.6.16" } as never })),
  metadata: { name: "c", namespace: "default", uid: "u" },
} as unknown as EtcdClusterObject;

const containersOf = (spec: object) => {
  const pods = [
    workerPod({ backup: backupOf(spec), cluster, attempt: 1, agentImage: "op:1" }),
    removerPod(backupOf(spec), "op:1"),
  ];
  return pods.flatMap((pod) => [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])]);
};

describe("the containers of a backup", () => {
  test("request what the scheduler must know of", () => {
    const containers = containersOf({});
    expect(containers.map(({ name }) => name)).toEqual([
      "copy",
      "fetch",
      "restore",
      "verify",
      "etcd",
      "remove",
    ]);
    for (const { resources } of containers)
      expect(resources).toEqual({ requests: { cpu: "50m", memory: "64Mi" } });
  });

  test("are limited as the spec says", () => {
    const resources = { limits: { memory: "1Gi" } };
    for (const each of containersOf({ resources })) expect(each.resources).toEqual(resources);
  });
});
